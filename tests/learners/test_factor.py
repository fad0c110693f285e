"""The factor model: expectations of a conditional Gaussian, EM that climbs, and what it recovers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import Ridge

from sparing.cells import Cells
from sparing.geometry.cells import describe
from sparing.kernels import covariance as full_kernel
from sparing.kernels import factor as kernel
from sparing.learners import FactorModel
from sparing.learners import expectation as shared_module
from sparing.learners import factor as learner_module
from sparing.learners.factor import (
    PRIOR,
    Standard,
    covariance_rounds,
    factor_rounds,
    factor_weights,
    first_factors,
    held_out_likelihood,
    one_round,
)

D, OUTPUTS = 9, 2
SIZE = D + OUTPUTS


def random_factors(rank, seed=0):
    rng = np.random.default_rng(seed)
    return kernel.Factors(rng.standard_normal((SIZE, rank)), rng.uniform(0.2, 1.5, SIZE))


def random_cells(n, sizes, seed=0, n_outputs=OUTPUTS):
    rng = np.random.default_rng(seed)
    cells = Cells(D, n_outputs=n_outputs)
    for _ in range(n):
        size = rng.integers(sizes[0], sizes[1] + 1)
        cells.append(rng.permutation(D)[:size], rng.standard_normal(size), rng.standard_normal(n_outputs))
    return cells


def seen_of(cells, example):
    """Indices and values of what is known of an example, attributes and then targets."""
    here = slice(cells.starts[example], cells.starts[example + 1])
    index = np.append(cells.attributes[here], np.arange(D, D + cells.n_outputs)).astype(int)
    return index, np.append(cells.values[here], cells.targets[example])


# Expectations, against the textbook ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("rank", "sizes"), [(6, (0, 4)), (3, (2, D)), (1, (0, D)), (4, (1, 3))])
def test_expectations_are_those_of_the_conditional_gaussian(rank, sizes):
    """Few cells (up to the rank, targets included) and more cells go different ways."""
    factors, cells = random_factors(rank), random_cells(25, sizes)
    sums, room = kernel.new_sums(SIZE, rank), kernel.new_room(D, OUTPUTS, rank)
    kernel.expect_rows(
        factors, cells.starts, cells.attributes, cells.values, np.array(cells.targets), 0, 25, room, sums
    )
    seconds, products = np.zeros((SIZE, rank, rank)), np.zeros((SIZE, rank))
    for example in range(25):
        index, x = seen_of(cells, example)
        L = factors.loadings[index]
        gain = L.T @ np.linalg.inv(L @ L.T + np.diag(factors.noise[index]))
        z = gain @ x
        seconds[index] += np.eye(rank) - gain @ L + np.outer(z, z)
        products[index] += np.outer(x, z)
    np.testing.assert_allclose(sums.seconds, seconds[:, *np.tril_indices(rank)], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.products, products, rtol=1e-9, atol=1e-9)


def test_the_likelihood_of_targets_is_that_of_all_less_that_of_attributes():
    factors, cells = random_factors(3), random_cells(20, (0, D))
    room, likelihoods = kernel.new_room(D, OUTPUTS, 3), np.empty(20)
    kernel.target_likelihood(
        factors, cells.starts, cells.attributes, cells.values, np.array(cells.targets), room, likelihoods
    )
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    for example in range(20):
        index, x = seen_of(cells, example)
        expected = multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        if index.size > OUTPUTS:
            index, x = index[:-OUTPUTS], x[:-OUTPUTS]
            expected -= multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        assert likelihoods[example] == pytest.approx(expected, rel=1e-9)


def test_second_moments_are_those_of_the_conditional_gaussian():
    cells = random_cells(15, (0, D))
    A = np.random.default_rng(3).standard_normal((SIZE, SIZE))
    covariance, found = A @ A.T + np.eye(SIZE), np.zeros((SIZE, SIZE))
    n = D + OUTPUTS
    room = (np.empty(n, np.int64), np.empty(n), np.empty((n, n)), np.empty((n, SIZE)), np.empty(SIZE))
    targets = np.array(cells.targets)
    full_kernel.expect_second_moments(
        covariance, cells.starts, cells.attributes, cells.values, targets, 0, 15, room, found
    )
    expected = np.zeros((SIZE, SIZE))
    for example in range(15):
        index, x = seen_of(cells, example)
        gain = covariance[:, index] @ np.linalg.inv(covariance[np.ix_(index, index)])
        expected += np.outer(gain @ x, gain @ x) - gain @ covariance[index]
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_weights_solve_with_the_covariance_that_the_factors_imply(rank):
    factors, cells = random_factors(rank), random_cells(30, (1, 4))
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    expected = np.linalg.solve(covariance[:D, :D], covariance[:D, D:])
    found = factor_weights(Standard(cells, describe(cells)), factors)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


# Rounds -------------------------------------------------------------------------------------------------------------


def planted(n, d=20, rank=2, seed=0, noise=0.3):
    """Attributes and a target that two factors make, and targets without their own noise to judge by."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d + 1, rank))
    together = rng.standard_normal((n, rank)) @ loadings.T
    X = together[:, :d] + noise * rng.standard_normal((n, d))
    return X * rng.uniform(0.5, 5.0, d) + rng.normal(size=d), together[:, d] + 0.1 * rng.standard_normal(n)


def log_likelihood(data, factors):
    """Of all that was seen, by scipy, with what the noise's imagined examples add."""
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    total = -np.sum(np.log(factors.noise) + 0.5 / factors.noise)
    for example in range(data.starts.size - 1):
        here = slice(data.starts[example], data.starts[example + 1])
        index = np.append(data.attributes[here], np.arange(data.n_attributes, factors.noise.size)).astype(int)
        x = np.append(data.values[here], data.targets[example])
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
        factors = one_round(data, factors)
        heights.append(log_likelihood(data, factors))
    steps = np.diff(heights)
    assert steps.min() > -1e-8 * abs(heights[0])
    assert heights[-1] - heights[0] > 5.0


def test_a_round_is_its_formula():
    """Plain regression of each attribute on expected factors, spelt out example by example."""
    X, y = planted(50, d=6)
    cells = FactorModel(6, budget=3, rank=2, rounds=1, design="uniform").run(X, y).bought
    data = Standard(cells, describe(cells))
    factors = kernel.Factors(*(array[:7] for array in random_factors(2, seed=4)))
    A, b, squares, counts = np.zeros((7, 2, 2)), np.zeros((7, 2)), np.zeros(7), np.zeros(7)
    spread = np.zeros((2, 2))
    for example in range(50):
        here = slice(data.starts[example], data.starts[example + 1])
        index = np.append(data.attributes[here], 6).astype(int)
        x = np.append(data.values[here], data.targets[example])
        L = factors.loadings[index]
        gain = L.T @ np.linalg.inv(L @ L.T + np.diag(factors.noise[index]))
        second = np.eye(2) - gain @ L + np.outer(gain @ x, gain @ x)
        A[index] += second
        b[index] += np.outer(x, gain @ x)
        squares[index] += x**2
        counts[index] += 1
        spread += second / 50
    loadings = np.array([np.linalg.solve(A[i] + PRIOR * np.eye(2), b[i]) for i in range(7)])
    noise = (squares - np.sum(loadings * b, axis=1) + 1) / (counts + 2)
    after = one_round(data, factors)
    np.testing.assert_allclose(after.noise, noise, rtol=1e-9)
    np.testing.assert_allclose(after.loadings @ after.loadings.T, loadings @ spread @ loadings.T, rtol=1e-8, atol=1e-12)


def test_at_full_budget_a_full_covariance_is_the_samples_and_its_prior():
    X, y = planted(80, d=6)
    learner = FactorModel(6, budget=6, rank="full", rounds=3).run(X, y)
    seen = describe(learner.bought)
    Z = np.column_stack([(X - X.mean(axis=0)) / np.sqrt(seen.variances), (y - y.mean()) / y.std()])
    rounds = covariance_rounds(learner.bought, seen)
    for _ in range(3):  # all is seen, so that the first round is the last
        _, covariance = next(rounds)
        np.testing.assert_allclose(covariance, (Z.T @ Z + PRIOR * np.eye(7)) / (80 + PRIOR), rtol=1e-8, atol=1e-10)
    plain = Ridge(alpha=PRIOR, fit_intercept=False).fit(Z[:, :6], Z[:, 6])
    np.testing.assert_allclose(learner.coef, plain.coef_ / np.sqrt(seen.variances) * y.std(), rtol=1e-7)
    assert learner.intercept == pytest.approx(y.mean() - X.mean(axis=0) @ learner.coef)


# What it is good for ------------------------------------------------------------------------------------------------


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
    for rank in (3, "full"):
        alone = FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef
        for workers in (1, 2, 7):
            pools = []
            with monkeypatch.context() as patch:
                patch.setattr(shared_module, "WORTH_THREADS", 0)
                made = lambda _, n=workers, to=pools: to.append(n) or ThreadPoolExecutor(n)  # noqa: E731
                patch.setattr(shared_module, "ThreadPoolExecutor", made)
                coef = FactorModel(20, budget=5, rank=rank, rounds=5).fit_cells(cells).coef
            assert pools == [workers] * 5
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
