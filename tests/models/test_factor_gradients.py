"""Slopes of the likelihood of a factor model: against the textbook, and the same whichever way they are made."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from planted_cells import OUTPUTS, SIZE, D, a_round, planted, random_cells, random_factors, seen_of
from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.kernels.covariance import add_covariance_slopes
from sparing.kernels.sweep import LANES, Looks, new_block, own_lines
from sparing.learners import FactorModel
from sparing.models import factor_gradients as slopes_module
from sparing.models.factor import Standard, first_factors
from sparing.models.factor_gradients import parts_of, slopes_of
from sparing.models.summary import describe


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
