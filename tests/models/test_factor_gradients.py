"""Gradients of a factor model's likelihood: against the textbook, and the same whichever way they are computed."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from planted_cells import OUTPUTS, SIZE, D, one_step, planted, random_cells, random_factors, seen_of, uniform_cells
from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.kernels.covariance import add_covariance_gradients
from sparing.kernels.sweep import LANES, Looks, new_block
from sparing.models import factor_gradients as gradients_module
from sparing.models.em import StandardizedCells
from sparing.models.factor import initial_factors
from sparing.models.factor_gradients import covariance_parts, factor_gradients
from sparing.models.summary import summarize


def looks_of(cells):
    return Looks(cells.starts, cells.attributes, cells.values, np.array(cells.targets), cells.weights)


def textbook_gradients(covariance, cells):
    """The sum of a a^T less the inverse of the covariance of what was seen, a that inverse times the values."""
    gradients = np.zeros((SIZE, SIZE))
    for example in range(cells.n_examples):
        index, x = seen_of(cells, example)
        inverse = np.linalg.inv(covariance[np.ix_(index, index)])
        gradients[np.ix_(index, index)] += np.outer(inverse @ x, inverse @ x) - inverse
    return gradients


@pytest.mark.parametrize(("rank", "sizes"), [(6, (0, 4)), (3, (2, D)), (1, (0, D)), (4, (1, 3))])
def test_gradients_are_those_of_the_likelihood_whichever_way(rank, sizes):
    """Two blocks of examples and a part of one, of unequal length; some have no cells."""
    n = 2 * LANES + 5
    factors, cells = random_factors(rank), random_cells(n, sizes)
    covariance = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
    expected, likelihood = textbook_gradients(covariance, cells), 0.0
    for example in range(n):
        index, x = seen_of(cells, example)
        likelihood += multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
        likelihood += index.size * np.log(2 * np.pi) / 2
    gradients = kernel.Gradients(np.zeros((SIZE, rank)), np.zeros(SIZE), np.zeros(1))
    kernel.add_gradients_of_many(factors, looks_of(cells), 0, n, kernel.new_room(rank), gradients)
    np.testing.assert_allclose(gradients.loadings, expected @ factors.loadings, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradients.noise, expected.diagonal(), rtol=1e-9, atol=1e-9)
    parts, height = kernel.Parts(np.zeros((SIZE, rank)), np.zeros(SIZE), np.zeros((OUTPUTS, SIZE))), np.zeros(1)
    kernel.add_gradients_of_few(
        covariance_parts(factors, OUTPUTS), looks_of(cells), 0, n, new_block(SIZE), parts, height
    )
    between = expected[:D, :D] - np.diag(expected.diagonal()[:D])
    np.testing.assert_allclose(parts.loadings[:D], between @ factors.loadings[:D], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.variances, expected.diagonal(), rtol=1e-9, atol=1e-9)
    later = np.tri(OUTPUTS, k=-1, dtype=bool).T  # targets after this one
    np.testing.assert_allclose(parts.with_targets[:, :D], expected[D:, :D], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.with_targets[:, D:], expected[D:, D:] * later, rtol=1e-9, atol=1e-9)
    found, heights = np.zeros((SIZE, SIZE)), np.zeros(1)
    add_covariance_gradients(covariance, looks_of(cells), 0, n, new_block(SIZE), found, heights)
    assert [gradients.likelihood[0], height[0], heights[0]] == pytest.approx([likelihood] * 3, rel=1e-9)
    np.testing.assert_allclose(found + found.T - np.diag(found.diagonal()), expected, rtol=1e-9, atol=1e-9)


def test_all_three_ways_make_the_same_step(monkeypatch):
    X, y = planted(300, d=12)
    cells = uniform_cells(X, y, 4)
    data = StandardizedCells(cells, summarize(cells))
    factors = initial_factors(cells, data, 6)
    table = one_step(data, factors)
    monkeypatch.setattr(gradients_module, "TABLE", 0)
    few = one_step(data, factors)
    monkeypatch.setattr(gradients_module, "SHORT", 0.0)
    many = one_step(data, factors)
    for other in (few, many):
        np.testing.assert_allclose(other.noise, table.noise, rtol=1e-9)
        np.testing.assert_allclose(np.abs(other.loadings), np.abs(table.loadings), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_few_long_examples_go_their_own_way(n_outputs):
    """Whole rows among short ones: the same gradients, wherever an example's system is solved."""
    rng = np.random.default_rng(0)
    cells, all_rows = Cells(60, n_outputs=n_outputs), 60 + n_outputs
    for size in [4] * 50 + [60] * 3 + [7] * 40:
        seen = rng.permutation(60)[:size]
        cells.append(seen, rng.standard_normal(size), rng.standard_normal(n_outputs))
    data = StandardizedCells(cells, summarize(cells))
    assert data.rows.tolist() == [4 + n_outputs] * 50 + [7 + n_outputs] * 40 + [all_rows] * 3
    factors = kernel.Factors(0.3 * rng.standard_normal((all_rows, 10)), np.full(all_rows, 0.7))
    found = factor_gradients(data, factors)
    alone = kernel.Gradients(np.zeros((all_rows, 10)), np.zeros(all_rows), np.zeros(1))
    kernel.add_gradients_of_many(factors, data.looks, 0, 93, kernel.new_room(10), alone)
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
