"""Completed rows: draws have the conditional distribution, and show where trees count information several times."""

from dataclasses import replace

import numpy as np
import pytest

from planted_cells import uniform_cells
from sparing.cells import Cells
from sparing.models.bases import learn_basis, transformed
from sparing.models.completed_rows import DRAWS, completed_rows
from sparing.models.curves import LINES, Kind
from sparing.models.gaussian import Gaussian
from sparing.models.selection import affordable_families, select
from sparing.models.summary import summarize

N = 20_000
LOADINGS = np.array([[1.0, 0.2], [-0.5, 1.0], [2.0, 0.0], [0.3, 0.7]])
NOISE, MEANS = np.array([0.5, 1.0, 0.2, 2.0]), np.array([1.0, 0.0, -3.0, 10.0])
COVARIANCE = LOADINGS @ LOADINGS.T + np.diag(NOISE)
GAUSSIANS = {
    "dense": Gaussian.of_covariance(MEANS, COVARIANCE),
    "factors": Gaussian.of_factors(MEANS, LOADINGS, NOISE),
}


def bought(rows):
    """Cells of rows with holes, and targets without meaning."""
    cells = Cells(rows.shape[1])
    there = ~np.isnan(rows)
    cells.extend(there.sum(axis=1), np.nonzero(there)[1], rows[there], np.zeros(len(rows)))
    return cells


@pytest.mark.parametrize("gaussian", GAUSSIANS.values(), ids=GAUSSIANS)
def test_draws_have_the_conditional_mean_and_covariance(gaussian):
    """All examples have the same two values; the others are within five standard errors of theory in every draw."""
    rows = np.tile([2.0, np.nan, -4.0, np.nan], (N, 1))
    rows[: N // 2, 0] = np.nan  # half of the examples are shorter, so examples are put in another order on the way
    cells = bought(rows)
    cells = Cells.merge([cells.take(slice(N // 2, None)), cells.take(slice(N // 2))])
    summary = summarize(cells)._replace(means=MEANS, variances=np.diagonal(COVARIANCE))
    draws = list(completed_rows(cells, cells, None, summary, gaussian, None))
    assert len(draws) == DRAWS
    for seen, part in (([0, 2], slice(N // 2)), ([2], slice(N // 2, None))):
        missing = np.setdiff1d(range(4), seen)
        known, gain = rows[-1, seen], COVARIANCE[np.ix_(missing, seen)] @ np.linalg.inv(COVARIANCE[np.ix_(seen, seen)])
        mean = MEANS[missing] + gain @ (known - MEANS[seen])
        covariance = COVARIANCE[np.ix_(missing, missing)] - gain @ COVARIANCE[np.ix_(seen, missing)]
        errors = 5.0 * np.sqrt(np.diagonal(covariance) / (N // 2))
        for drawn in draws:
            np.testing.assert_array_equal(drawn[part][:, seen], np.tile(known, (N // 2, 1)))
            assert (np.abs(drawn[part][:, missing].mean(axis=0) - mean) < errors).all()
            np.testing.assert_allclose(np.cov(drawn[part][:, missing].T), covariance, atol=0.06 * covariance.max())
    first, second = (drawn[: N // 2, 1] for drawn in draws[:2])
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_whole_rows_are_returned_once():
    rows = GAUSSIANS["dense"].simulate(50, np.random.default_rng(0))
    cells = bought(rows)
    (same,) = completed_rows(cells, cells, None, summarize(cells), GAUSSIANS["dense"], None)
    np.testing.assert_array_equal(same, rows)


@pytest.mark.parametrize("kind", [LINES, Kind("winsorized", 3), Kind("normal scores", 1)], ids=lambda kind: kind.name)
def test_values_are_found_again_from_their_functions(kind):
    """Of a line everywhere, of a curve between its ends; categories that have an indicator, and one never seen."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.lognormal(size=500), rng.integers(0, 3, 500), np.full(500, np.nan)])
    cells, levels = bought(rows), np.array([0, 3, 0])
    basis = learn_basis(kind, cells, levels)
    found, inside = basis.inverse(basis.functions(rows), levels), slice(None)
    if kind != LINES:
        ends = basis.columns[0].knots[[0, -1]]
        inside = (rows[:, 0] > ends[0]) & (rows[:, 0] < ends[1])
        assert 480 < inside.sum() < 500
    np.testing.assert_allclose(found[inside, 0], rows[inside, 0], rtol=1e-9)
    np.testing.assert_array_equal(found[:, 1], rows[:, 1])
    assert np.isnan(found[:, 2]).all()
    between = basis.functions(np.array([[1.0, 0.0, np.nan]])) + 1e-3  # the nearest category
    assert basis.inverse(between, levels)[0, 1] == 0.0


def test_unseen_categories_are_drawn_as_often_as_they_occur():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.choice(3, 4000, p=[0.5, 0.3, 0.2]), rng.standard_normal(4000)])
    rows[:2000, 0] = np.nan
    levels = np.array([3, 0])
    basis, functions, summary = transformed(None, levels, bought(rows))
    gaussian = Gaussian.uncorrelated(np.zeros(basis.size), np.ones(basis.size))
    drawn = [row[:2000, 0] for row in completed_rows(bought(rows), functions, basis, summary, gaussian, levels)]
    frequencies = [np.mean(np.array(drawn) == category) for category in range(3)]
    np.testing.assert_allclose(frequencies, [0.5, 0.3, 0.2], atol=0.06)


def test_trees_that_count_information_several_times_have_a_smaller_share_of_whole_rows():
    """Six noisy copies of one factor, two of them seen: each split on a copy stands for all of the factor.

    With the share that was regressed on seen parts, errors on whole rows would be larger.
    """
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(3000)
    X = factor[:, None] + 0.7 * rng.standard_normal((3000, 6))
    y = np.where(np.abs(factor) > 1.0, 1.0, 0.0) + 0.5 * factor + 0.2 * rng.standard_normal(3000)
    cells = uniform_cells(X[:1500], y[:1500], 2).in_order()
    model = select(cells, affordable_families(cells)[:1], "auto")
    assert model.trees_share < 0.8 * model.trees_share_in_part
    errors = [
        np.mean((replace(model, trees_share=share).predict(X[1500:])[:, 0] - y[1500:]) ** 2)
        for share in (model.trees_share, model.trees_share_in_part)
    ]
    assert errors[0] < errors[1]
