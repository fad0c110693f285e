"""The factor model: expectations of a conditional Gaussian, EM that climbs, and what it recovers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import Ridge

from sparing.cells import Cells
from sparing.geometry.cells import describe
from sparing.kernels import factor as kernel
from sparing.kernels.covariance import add_covariance_slopes
from sparing.kernels.sweep import LANES, Looks, new_block, own_lines
from sparing.learners import FactorModel
from sparing.learners import expectation as shared_module
from sparing.learners import factor as learner_module
from sparing.learners import slopes as slopes_module
from sparing.learners.covariance_families import near_factors_family
from sparing.learners.factor import (
    FULL_PRIOR,
    PRIOR,
    Standard,
    climb,
    covariance_rounds,
    factor_rounds,
    factor_weights,
    first_factors,
    held_out_likelihood,
    step,
)
from sparing.learners.full_covariance import tails
from sparing.learners.slopes import implied_covariance, parts_of, slopes_of

D, OUTPUTS = 9, 2
SIZE = D + OUTPUTS


def a_round(data, factors):
    return step(data, factors, slopes_of(data, factors))


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


# Slopes, against the textbook ---------------------------------------------------------------------------------------


def looks_of(cells):
    return Looks(cells.starts, cells.attributes, cells.values, np.array(cells.targets))


def textbook_slopes(covariance, cells):
    """The sum of a a^T less the inverse of the covariance of what was seen, a that inverse times the values."""
    slopes = np.zeros((SIZE, SIZE))
    for example in range(cells.n_examples):
        index, x = seen_of(cells, example)
        inverse = np.linalg.inv(covariance[np.ix_(index, index)])
        slopes[np.ix_(index, index)] += np.outer(inverse @ x, inverse @ x) - inverse
    return slopes


@pytest.mark.parametrize(("rank", "sizes"), [(6, (0, 4)), (3, (2, D)), (1, (0, D)), (4, (1, 3))])
def test_slopes_are_those_of_the_likelihood_whichever_way(rank, sizes):
    """Two blocks of examples and a part of one, of unequal length; some have no cells."""
    n = 2 * LANES + 5
    factors, cells = random_factors(rank), random_cells(n, sizes)
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    expected, likelihood = textbook_slopes(covariance, cells), 0.0
    for example in range(n):
        index, x = seen_of(cells, example)
        likelihood += multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        likelihood += index.size * np.log(2 * np.pi) / 2
    slopes = kernel.Slopes(np.zeros((SIZE, rank)), np.zeros(SIZE), np.zeros(1))
    kernel.add_slopes_of_many(factors, looks_of(cells), 0, n, kernel.new_room(rank), slopes)
    np.testing.assert_allclose(slopes.loadings, expected @ factors.loadings, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slopes.noise, expected.diagonal(), rtol=1e-9, atol=1e-9)
    parts, height = kernel.Parts(np.zeros((SIZE, rank)), np.zeros(SIZE), np.zeros((OUTPUTS, SIZE))), np.zeros(1)
    kernel.add_slopes_of_few(parts_of(factors, OUTPUTS), looks_of(cells), 0, n, new_block(SIZE), parts, height)
    between = expected[:D, :D] - np.diag(expected.diagonal()[:D])
    np.testing.assert_allclose(parts.loadings[:D], between @ factors.loadings[:D], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.variances, expected.diagonal(), rtol=1e-9, atol=1e-9)
    later = np.tri(OUTPUTS, k=-1, dtype=bool).T  # targets after this one
    np.testing.assert_allclose(parts.with_targets[:, :D], expected[D:, :D], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.with_targets[:, D:], expected[D:, D:] * later, rtol=1e-9, atol=1e-9)
    found, heights = np.zeros((SIZE, SIZE)), np.zeros(1)
    add_covariance_slopes(covariance, looks_of(cells), 0, n, new_block(SIZE), found, heights)
    assert [slopes.likelihood[0], height[0], heights[0]] == pytest.approx([likelihood] * 3, rel=1e-9)
    np.testing.assert_allclose(found + found.T - np.diag(found.diagonal()), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("most", [3, 40, 400])
def test_long_examples_take_less_room_each(most):
    block = new_block(most)
    assert 1 <= block.scaled.size <= LANES
    assert block.gram.nbytes <= max(8 * 2**15, 8 * most * (most + 1))


def test_lines_of_the_cache_are_not_shared():
    rooms = [own_lines(shape) for shape in ((1,), (3, 5), (1,), (7,))]
    lines = [range(room.ctypes.data // 64, (room.ctypes.data + room.nbytes - 1) // 64 + 1) for room in rooms]
    assert all(room.ctypes.data % 64 == 0 and not room.any() for room in rooms)
    assert len({line for room in lines for line in room}) == sum(map(len, lines))


def test_all_three_ways_make_the_same_round(monkeypatch):
    X, y = planted(300, d=12)
    cells = FactorModel(12, budget=4, rank=2, rounds=1, design="uniform").run(X, y).bought
    data = Standard(cells, describe(cells))
    factors = first_factors(cells, describe(cells), data, 6)
    table = a_round(data, factors)
    monkeypatch.setattr(slopes_module, "TABLE", 0)
    few = a_round(data, factors)
    monkeypatch.setattr(slopes_module, "FEW", 0.0)
    many = a_round(data, factors)
    for other in (few, many):
        np.testing.assert_allclose(other.noise, table.noise, rtol=1e-9)
        np.testing.assert_allclose(np.abs(other.loadings), np.abs(table.loadings), rtol=1e-6, atol=1e-9)


def test_the_likelihood_of_targets_is_that_of_all_less_that_of_attributes():
    factors, cells = random_factors(3), random_cells(20, (0, D))
    likelihoods, others = np.empty((2, 20))
    kernel.target_likelihoods_of_few(parts_of(factors, OUTPUTS), looks_of(cells), 0, 20, new_block(SIZE), likelihoods)
    kernel.target_likelihoods_of_many(factors, looks_of(cells), 0, 20, kernel.new_room(3), others)
    np.testing.assert_allclose(others, likelihoods, rtol=1e-9)
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    for example in range(20):
        index, x = seen_of(cells, example)
        expected = multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        if index.size > OUTPUTS:
            index, x = index[:-OUTPUTS], x[:-OUTPUTS]
            expected -= multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        assert likelihoods[example] == pytest.approx(expected, rel=1e-9)


def test_a_round_of_any_covariance_is_its_conditional_expectation():
    """From the second round on, where the covariance is not the identity any more."""
    cells = random_cells(30, (0, D))
    data = Standard(cells, describe(cells))
    A = np.random.default_rng(1).standard_normal((SIZE, SIZE))
    target = A @ A.T + np.eye(SIZE)
    before, found = islice(covariance_rounds(data, target, PRIOR), 2)
    expected = PRIOR * target
    for example in range(30):
        here = slice(data.looks.starts[example], data.looks.starts[example + 1])
        index = np.append(data.looks.attributes[here], np.arange(D, SIZE)).astype(int)
        x = np.append(data.looks.values[here], data.looks.targets[example])
        gain = before[:, index] @ np.linalg.inv(before[np.ix_(index, index)])
        expected += np.outer(gain @ x, gain @ x) + before - gain @ before[index]
    np.testing.assert_allclose(found, expected / (30 + PRIOR), rtol=1e-8, atol=1e-10)


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


def test_at_full_budget_a_full_covariance_is_the_samples_and_its_prior():
    X, y = planted(80, d=6)
    learner = FactorModel(6, budget=6, rank="full", rounds=3).run(X, y)
    seen = describe(learner.bought)
    Z = np.column_stack([(X - X.mean(axis=0)) / np.sqrt(seen.variances), (y - y.mean()) / y.std()])
    rounds = covariance_rounds(Standard(learner.bought, seen), np.eye(7), FULL_PRIOR)
    for covariance in islice(rounds, 3):  # all is seen, so that the first round is the last
        expected = (Z.T @ Z + FULL_PRIOR * np.eye(7)) / (80 + FULL_PRIOR)
        np.testing.assert_allclose(covariance, expected, rtol=1e-8, atol=1e-10)
    usual = np.sqrt(1.0 + tails(Standard(learner.bought, seen))[:6])
    plain = Ridge(alpha=FULL_PRIOR, fit_intercept=False).fit(Z[:, :6] / usual, Z[:, 6])
    np.testing.assert_allclose(learner.coef, plain.coef_ / usual / np.sqrt(seen.variances) * y.std(), rtol=1e-7)
    assert learner.intercept == pytest.approx(y.mean() - X.mean(axis=0) @ learner.coef)


def test_an_attribute_with_outliers_is_expected_to_have_more():
    """One value in two hundred of the last is ten times as large as others; two have another unit, so each its own.

    Attributes that never vary, or were never seen, are no rule to go by.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 4)) * [1.0, 1.0, 1_000.0, 1_000.0]
    X[::200, 3] *= 10.0
    found = []
    for constants in (0, 4):
        rows = np.hstack([X, np.ones((1_000, constants))])
        cells = Cells(4 + 2 * constants)  # as many more are never seen
        sizes, attributes = np.full(1_000, rows.shape[1]), np.tile(np.arange(rows.shape[1]), 1_000)
        cells.extend(sizes, attributes, rows.ravel(), X.sum(axis=1)[:, None])
        found.append(tails(Standard(cells, describe(cells))))
    assert found[0][3] > 1.0
    assert max(found[0][:3]) < 0.3
    np.testing.assert_array_equal(found[0][4:], 0.0)  # the target is always seen
    np.testing.assert_array_equal(found[1][4:], 0.0)
    np.testing.assert_allclose(found[1][:4], found[0][:4], atol=0.3)


def test_what_factors_imply_is_expected_to_have_more_too():
    X, y = planted(300, d=12)
    X[::50, 3] *= 30.0
    X[:, 6:] *= 1_000.0  # other units, so that each has its own
    cells = FactorModel(12, budget=6, rank=2, rounds=1, design="uniform").run(X, y).bought.in_order()
    seen = describe(cells)
    (candidate,) = near_factors_family()(cells, seen)
    data = Standard(cells, seen)
    *_, (_, factors) = islice(factor_rounds(cells, seen, 12), 20)
    target = implied_covariance(factors) + np.diag(tails(data))
    *_, covariance = islice(covariance_rounds(data, target, 50.0), 40)
    assert tails(data).max() > 0.5
    expected = np.linalg.solve(covariance[:12, :12], covariance[:12, 12:]) / data.units[:, None] * data.target_units
    np.testing.assert_allclose(candidate.weights, expected, rtol=1e-9)


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


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_few_long_examples_go_their_own_way(n_outputs):
    """Whole rows among short ones: the same round, wherever an example's system is solved."""
    rng = np.random.default_rng(0)
    cells, all_rows = Cells(60, n_outputs=n_outputs), 60 + n_outputs
    for size in [4] * 50 + [60] * 3 + [7] * 40:
        seen = rng.permutation(60)[:size]
        cells.append(seen, rng.standard_normal(size), rng.standard_normal(n_outputs))
    data = Standard(cells, describe(cells))
    assert data.rows.tolist() == [4 + n_outputs] * 50 + [7 + n_outputs] * 40 + [all_rows] * 3
    factors = kernel.Factors(0.3 * rng.standard_normal((all_rows, 10)), np.full(all_rows, 0.7))
    found = slopes_of(data, factors)
    alone = kernel.Slopes(np.zeros((all_rows, 10)), np.zeros(all_rows), np.zeros(1))
    kernel.add_slopes_of_many(factors, data.looks, 0, 93, kernel.new_room(10), alone)
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


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
