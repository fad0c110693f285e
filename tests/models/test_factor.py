"""The factor model: EM that climbs, and what it recovers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from planted_cells import D, a_round, planted, random_cells, random_factors
from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.learners import FactorModel
from sparing.models import em as shared_module
from sparing.models import factor as learner_module
from sparing.models import factor_gradients as slopes_module
from sparing.models.factor import (
    PRIOR,
    Standard,
    climb,
    factor_rounds,
    factor_weights,
    first_factors,
    held_out_likelihood,
)
from sparing.models.factor_gradients import slopes_of
from sparing.models.summary import describe


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_weights_solve_with_the_covariance_that_the_factors_imply(rank):
    factors, cells = random_factors(rank), random_cells(30, (1, 4))
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    expected = np.linalg.solve(covariance[:D, :D], covariance[:D, D:])
    found = factor_weights(Standard(cells, describe(cells)), factors)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def log_likelihood(data, factors):
    """Of all that was seen, by scipy, with what the noise's imagined examples add."""
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    total = -np.sum(np.log(factors.noise) + 0.5 / factors.noise)
    for example in range(data.n_examples):
        here = slice(data.looks.starts[example], data.looks.starts[example + 1])
        index = np.append(data.looks.attributes[here], np.arange(data.n_attributes, factors.noise.size)).astype(int)
        x = np.append(data.looks.values[here], data.looks.targets[example])
        total += multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
    return total


def test_no_round_goes_down(monkeypatch):
    """Expanding parameters climbs in the likelihood; the prior on loadings, which is not part of it, is off."""
    monkeypatch.setattr(learner_module, "PRIOR", 0.0)
    X, y = planted(60, d=8)
    cells = FactorModel(8, budget=4, rank=2, rounds=1, design="uniform").run(X, y).bought
    seen = describe(cells)
    data = Standard(cells, seen)
    factors = first_factors(cells, seen, data, 2)
    heights = [log_likelihood(data, factors)]
    for _ in range(12):
        factors = a_round(data, factors)
        heights.append(log_likelihood(data, factors))
    steps = np.diff(heights)
    assert steps.min() > -1e-8 * abs(heights[0])
    assert heights[-1] - heights[0] > 5.0


def test_a_round_is_its_formula():
    """A step of each attribute's regression on expected factors, spelt out example by example."""
    X, y = planted(50, d=6)
    cells = FactorModel(6, budget=3, rank=2, rounds=1, design="uniform").run(X, y).bought
    data = Standard(cells, describe(cells))
    factors = kernel.Factors(*(array[:7] for array in random_factors(2, seed=4)))
    A, b, squares, counts = np.zeros((7, 2, 2)), np.zeros((7, 2)), np.zeros(7), np.zeros(7)
    spread = np.zeros((2, 2))
    for example in range(50):
        here = slice(cells.starts[example], cells.starts[example + 1])
        index = np.append(cells.attributes[here], 6).astype(int)
        x = np.append(data.looks.values[here], data.looks.targets[example])
        L = factors.loadings[index]
        gain = L.T @ np.linalg.inv(L @ L.T + np.diag(factors.noise[index]))
        second = np.eye(2) - gain @ L + np.outer(gain @ x, gain @ x)
        A[index] += second
        b[index] += np.outer(x, gain @ x)
        squares[index] += x**2
        counts[index] += 1
        spread += second / 50
    loadings, noise = np.empty((7, 2)), np.empty(7)
    shared = np.sum(factors.loadings**2, axis=1)
    told_of = min(2.0, counts @ (shared / (shared + factors.noise)) / 50)
    for i, before in enumerate(factors.loadings):
        uphill, curvature = b[i] - A[i] @ before, (counts[i] + told_of) * spread
        step = np.linalg.solve(curvature + PRIOR * np.eye(2), uphill - PRIOR * before)
        loadings[i] = before + step
        left = squares[i] - 2 * b[i] @ before + before @ A[i] @ before - 2 * step @ uphill + step @ curvature @ step
        noise[i] = (left + PRIOR * loadings[i] @ loadings[i] + 1) / (counts[i] + 2)
    after = a_round(data, factors)
    np.testing.assert_allclose(after.noise, noise, rtol=1e-9)
    np.testing.assert_allclose(after.loadings @ after.loadings.T, loadings @ spread @ loadings.T, rtol=1e-8, atol=1e-12)


def test_an_attribute_never_seen_has_no_loadings():
    cells = random_cells(40, (1, 3), n_outputs=1)
    wider = Cells(D + 2)
    sizes, targets = np.diff(cells.starts), np.array(cells.targets)
    wider.extend(sizes, cells.attributes, cells.values, targets)
    data = Standard(wider, describe(wider))
    factors = a_round(data, kernel.Factors(np.ones((D + 3, 2)), np.ones(D + 3)))
    np.testing.assert_array_equal(factors.loadings[D : D + 2], 0.0)


def sites(ratio, seed, n=1000, d=20):
    """Cells of two places: one in twenty comes from where factors are larger, and attributes 0 to 4 from there only."""
    rng = np.random.default_rng(seed)
    factors, loadings = rng.standard_normal((n, 2)), rng.standard_normal((2, d + 1))
    other = rng.random(n) < 0.05
    factors[other] *= ratio
    X, cells = factors @ loadings, Cells(d)
    X[:, :d] += 0.3 * rng.standard_normal((n, d))
    for row, large in zip(X, other, strict=True):
        seen = rng.permutation(d if large else d - 5)[:6] + (0 if large else 5)
        cells.append(seen, row[seen], row[d])
    return cells, X


@pytest.mark.parametrize("ratio", [3.0, 10.0])
@pytest.mark.parametrize("rank", [2, 5])
def test_rounds_climb_though_examples_of_an_attribute_are_no_fair_sample(ratio, rank):
    """There the curvature common to all is far too small for some: without caution weights are not numbers at all."""
    cells, X = sites(ratio, seed=0)
    learner = FactorModel(20, budget=6, rank=rank, rounds=40).fit_cells(cells)
    error = X[:, 20] - X[:, :20] @ learner.coef - learner.intercept
    assert 1 - np.var(error) / np.var(X[:, 20]) > 0.95
    data = Standard(cells, describe(cells))
    rounds = climb(data, first_factors(cells, describe(cells), data, rank))
    heights = [slopes_of(data, factors).likelihood[0] for factors in islice(rounds, 15)]
    assert np.diff(heights).min() > -0.01 * 1000
    assert heights[-1] > heights[0]


@pytest.mark.parametrize("rank", [2, "auto", "full"])
def test_a_planted_model_is_recovered_from_five_looks(rank):
    """Two factors behind 20 attributes, 400 examples: R^2 on fresh rows was 0.97 to 0.98 over six seeds."""
    X, y = planted(1400)
    learner = FactorModel(20, budget=5, rank=rank, random_state=1).run(X[:400], y[:400])
    error = X[400:] @ learner.coef + learner.intercept - y[400:]
    assert 1 - np.mean(error**2) / np.var(y[400:]) > 0.94


def test_threads_do_not_change_a_bit(monkeypatch):
    X, y = planted(300)
    cells = FactorModel(20, budget=5, rank=3, rounds=5, design="uniform").run(X, y).bought
    for rank, table in ((3, 0), (6, 0), (6, 2**17), ("full", 0)):
        monkeypatch.setattr(slopes_module, "TABLE", table)
        alone = FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef
        for workers in (1, 2, 7):
            pools = []
            with monkeypatch.context() as patch:
                patch.setattr(shared_module, "WORTH_THREADS", 0)
                made = lambda _, n=workers, to=pools: to.append(n) or ThreadPoolExecutor(n)  # noqa: E731
                patch.setattr(shared_module, "ThreadPoolExecutor", made)
                coef = FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef
            assert set(pools) == {workers}
            np.testing.assert_array_equal(coef, alone)


def test_rounds_and_ranks_are_chosen_by_held_out_targets():
    X, y = planted(200)
    learner = FactorModel(20, budget=5, random_state=1, design="uniform").run(X, y)
    facts, cells = learner.fitted.facts, learner.bought.in_order()
    rank, rounds = (int(word) for word in facts["setting"].replace("rank", "").replace("rounds", "").split(","))
    held_out = np.arange(cells.n_examples) % 5 == 0
    learnt, judged = cells.take(~held_out), cells.take(held_out)
    seen, found = describe(learnt), {}
    for tried in (5, 20):
        for n, (_, factors) in zip(range(1, rounds + 1), factor_rounds(learnt, seen, tried), strict=False):
            found[tried, n] = held_out_likelihood(judged, seen, factors)
    assert found[rank, rounds] == pytest.approx(facts["held_out_likelihood"], rel=1e-9)
    assert found[rank, rounds] == max(found.values())
