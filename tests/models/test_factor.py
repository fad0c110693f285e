"""The factor model: EM iterations that increase the likelihood, and what they recover."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from planted_cells import D, one_step, planted, random_cells, random_factors, uniform_cells
from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.learners import FactorModel
from sparing.models import em as em_module
from sparing.models import factor as factor_module
from sparing.models import factor_gradients as gradients_module
from sparing.models.em import StandardizedCells
from sparing.models.factor import PRIOR, em_iterates, factor_candidate, factor_iterates, initial_factors
from sparing.models.factor_gradients import factor_gradients
from sparing.models.summary import summarize


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_weights_solve_with_the_covariance_that_the_factors_imply(rank):
    factors, cells = random_factors(rank), random_cells(30, (1, 4))
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    expected = np.linalg.solve(covariance[:D, :D], covariance[:D, D:])
    summary = summarize(cells)
    candidate = factor_candidate("name", StandardizedCells(cells, summary), factors)
    standard = candidate.weights * summary.spreads[:, None] / summary.target_spreads
    np.testing.assert_allclose(standard, expected, rtol=1e-9, atol=1e-11)
    scale = np.outer(summary.spreads, summary.spreads)
    np.testing.assert_allclose(candidate.attributes().covariance, covariance[:D, :D] * scale, rtol=1e-12)
    np.testing.assert_array_equal(candidate.attributes().means, summary.means)
    assert candidate.setting == "name"


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


def test_no_iteration_decreases_the_likelihood(monkeypatch):
    """With parameter expansion too; the prior on loadings, which is no part of it, is off."""
    monkeypatch.setattr(factor_module, "PRIOR", 0.0)
    X, y = planted(60, d=8)
    cells = uniform_cells(X, y, 4)
    data = StandardizedCells(cells, summarize(cells))
    factors = initial_factors(cells, data, 2)
    likelihoods = [log_likelihood(data, factors)]
    for _ in range(12):
        factors = one_step(data, factors)
        likelihoods.append(log_likelihood(data, factors))
    assert np.diff(likelihoods).min() > -1e-8 * abs(likelihoods[0])
    assert likelihoods[-1] - likelihoods[0] > 5.0


def test_one_step_is_its_formula():
    """A step of each attribute's regression on expected factors, spelt out example by example."""
    X, y = planted(50, d=6)
    cells = uniform_cells(X, y, 3)
    data = StandardizedCells(cells, summarize(cells))
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
    informed = min(2.0, counts @ (shared / (shared + factors.noise)) / 50)
    for i, before in enumerate(factors.loadings):
        uphill, curvature = b[i] - A[i] @ before, (counts[i] + informed) * spread
        step = np.linalg.solve(curvature + PRIOR * np.eye(2), uphill - PRIOR * before)
        loadings[i] = before + step
        left = squares[i] - 2 * b[i] @ before + before @ A[i] @ before - 2 * step @ uphill + step @ curvature @ step
        noise[i] = (left + PRIOR * loadings[i] @ loadings[i] + 1) / (counts[i] + 2)
    after = one_step(data, factors)
    np.testing.assert_allclose(after.noise, noise, rtol=1e-9)
    np.testing.assert_allclose(after.loadings @ after.loadings.T, loadings @ spread @ loadings.T, rtol=1e-8, atol=1e-12)


def test_an_attribute_never_seen_has_no_loadings():
    cells = random_cells(40, (1, 3), n_outputs=1)
    wider = Cells(D + 2)
    sizes, targets = np.diff(cells.starts), np.array(cells.targets)
    wider.extend(sizes, cells.attributes, cells.values, targets)
    data = StandardizedCells(wider, summarize(wider))
    factors = one_step(data, kernel.Factors(np.ones((D + 3, 2)), np.ones(D + 3)))
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
def test_the_likelihood_increases_though_examples_of_an_attribute_are_no_fair_sample(ratio, rank):
    """There the curvature common to all is far too small for some: without caution weights are not numbers at all."""
    cells, X = sites(ratio, seed=0)
    learner = FactorModel(20, budget=6, rank=rank, rounds=40).fit_cells(cells)
    error = X[:, 20] - X[:, :20] @ learner.coef - learner.intercept
    assert 1 - np.var(error) / np.var(X[:, 20]) > 0.95
    data = StandardizedCells(cells, summarize(cells))
    iterates = em_iterates(data, initial_factors(cells, data, rank))
    likelihoods = [factor_gradients(data, factors).likelihood[0] for factors in islice(iterates, 15)]
    assert np.diff(likelihoods).min() > -0.01 * 1000
    assert likelihoods[-1] > likelihoods[0]


@pytest.mark.parametrize("rank", [2, "auto", "full"])
def test_a_planted_model_is_recovered_from_five_looks(rank):
    """Two factors behind 20 attributes, 400 examples: R^2 on fresh rows was 0.97 to 0.98 over six seeds."""
    X, y = planted(1400)
    learner = FactorModel(20, budget=5, rank=rank, random_state=1).run(X[:400], y[:400])
    error = X[400:] @ learner.coef + learner.intercept - y[400:]
    assert 1 - np.mean(error**2) / np.var(y[400:]) > 0.94


def test_threads_do_not_change_a_bit(monkeypatch):
    X, y = planted(300)
    cells = uniform_cells(X, y, 5)
    for rank, table in ((3, 0), (6, 0), (6, 2**17), ("full", 0)):
        monkeypatch.setattr(gradients_module, "TABLE", table)
        at_once, found = FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef, []
        for workers in (1, 2, 7):
            pools = []
            with monkeypatch.context() as patch:
                patch.setattr(em_module, "WORTH_THREADS", 0)
                made = lambda _, n=workers, to=pools: to.append(n) or ThreadPoolExecutor(n)  # noqa: E731
                patch.setattr(em_module, "ThreadPoolExecutor", made)
                found.append(FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef)
            assert set(pools) == {workers}
            np.testing.assert_array_equal(found[-1], found[0])
        np.testing.assert_allclose(found[0], at_once, rtol=1e-8, atol=1e-10)  # few examples are summed in one part


def test_at_full_rank_the_start_is_the_correlations_shrunk():
    """At full budget nothing is noise: loadings hold all of the correlations, less what is left to the noise."""
    X, y = planted(400, d=5)
    cells = uniform_cells(X, y, 5)
    data = StandardizedCells(cells, summarize(cells))
    factors = initial_factors(cells, data, 6)
    Z = np.column_stack([(X - data.summary.means) / data.spreads, (y - y.mean()) / y.std()])
    values, vectors = np.linalg.eigh(Z.T @ Z / 400)
    loadings = vectors * np.sqrt(np.maximum(values, 1e-6))
    loadings *= np.sqrt(np.minimum(1.0, 0.8 / np.sum(loadings**2, axis=1, keepdims=True)))
    np.testing.assert_allclose(factors.loadings @ factors.loadings.T, loadings @ loadings.T, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(factors.noise, 1.0 - np.sum(factors.loadings**2, axis=1), atol=1e-9)


def test_very_wide_data_starts_at_random_and_the_same_every_time(monkeypatch):
    cells = random_cells(30, (1, 4))
    data = StandardizedCells(cells, summarize(cells))
    monkeypatch.setattr(factor_module, "WIDEST_START", D - 1)
    one, other = (initial_factors(cells, data, 3) for _ in range(2))
    np.testing.assert_array_equal(one.loadings, other.loadings)
    assert one.loadings.shape == (data.counts.size, 3)
    assert next(factor_iterates(cells, data, 100)).loadings.shape[1] == D  # no more factors than attributes
