"""Completed rows: draws have the conditional distribution, and show where trees count information several times."""

from dataclasses import replace

import numpy as np
import pytest

from planted_cells import uniform_cells
from sparing.cells import Cells
from sparing.models.bases import learn_basis
from sparing.models.completed_rows import DRAWS, completed_rows
from sparing.models.cross_validation import Split
from sparing.models.curves import LINES, Kind
from sparing.models.gaussian import Gaussian
from sparing.models.selection import affordable_families, select
from sparing.models.tree_share import likely_share

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


def held_out(rows, levels=None):
    """A split whose functions are learnt from the same rows that are held out."""
    return Split(bought(rows), bought(rows)).of_functions(None, levels)


@pytest.mark.parametrize("gaussian", GAUSSIANS.values(), ids=GAUSSIANS)
def test_draws_have_the_conditional_mean_and_covariance(gaussian):
    """All examples have the same two values; the others are within five standard errors of theory in every draw."""
    rows = np.tile([2.0, np.nan, -4.0, np.nan], (N, 1))
    rows[N // 2 :, 0] = np.nan  # half of the examples are shorter, so examples are put in another order on the way
    split = held_out(rows)
    summary = split.summary._replace(means=MEANS, variances=np.diagonal(COVARIANCE))
    draws = list(completed_rows(split, summary, gaussian, None))
    assert len(draws) == DRAWS
    for seen, part in (([0, 2], slice(N // 2)), ([2], slice(N // 2, None))):
        missing = np.setdiff1d(range(4), seen)
        known, gain = rows[0, seen], COVARIANCE[np.ix_(missing, seen)] @ np.linalg.inv(COVARIANCE[np.ix_(seen, seen)])
        mean = MEANS[missing] + gain @ (known - MEANS[seen])
        covariance = COVARIANCE[np.ix_(missing, missing)] - gain @ COVARIANCE[np.ix_(seen, missing)]
        errors = 5.0 * np.sqrt(np.diagonal(covariance) / (N // 2))
        for drawn in draws:
            np.testing.assert_array_equal(drawn[part][:, seen], np.tile(known, (N // 2, 1)))
            assert (np.abs(drawn[part][:, missing].mean(axis=0) - mean) < errors).all()
            np.testing.assert_allclose(np.cov(drawn[part][:, missing].T), covariance, atol=0.06 * covariance.max())
    first, second = (drawn[: N // 2, 1] for drawn in draws[:2])
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_a_few_examples_have_as_many_different_draws():
    rows = np.array([[1.0, np.nan, np.nan, 9.0], [np.nan, 0.0, -2.0, np.nan]])
    split = held_out(rows)
    summary = split.summary._replace(means=MEANS, variances=np.diagonal(COVARIANCE))
    draws = np.stack(list(completed_rows(split, summary, GAUSSIANS["dense"], None)))
    assert len(np.unique(draws[:, 0, 1])) == len(np.unique(draws[:, 1, 3])) == DRAWS


def test_whole_rows_are_returned_once():
    rows = GAUSSIANS["dense"].simulate(50, np.random.default_rng(0))
    split = held_out(rows)
    (same,) = completed_rows(split, split.summary, GAUSSIANS["dense"], None)
    np.testing.assert_array_equal(same, rows)


@pytest.mark.parametrize("kind", [LINES, Kind("winsorized", 3), Kind("normal scores", 1)], ids=lambda kind: kind.name)
def test_values_are_found_again_from_their_functions(kind):
    """Of a line everywhere, of a curve between its ends; a column without looks has no value."""
    rows = np.column_stack([np.random.default_rng(0).lognormal(size=500), np.full(500, np.nan)])
    basis = learn_basis(kind, bought(rows))
    found, inside = basis.inverse(basis.functions(rows)), slice(None)
    if kind != LINES:
        ends = basis.columns[0].knots[[0, -1]]
        inside = (rows[:, 0] > ends[0]) & (rows[:, 0] < ends[1])
        assert 480 < inside.sum() < 500
    np.testing.assert_allclose(found[inside, 0], rows[inside, 0], rtol=1e-9)
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize(
    "frequencies", [[0.5, 0.3, 0.2], [0.97, 0.02, 0.01], np.full(30, 1 / 30), [0.5] + [0.5 / 19] * 19], ids=len
)
def test_unseen_categories_are_drawn_as_often_as_they_occur(frequencies):
    """Common and rare ones, and more of them than have an indicator, if nothing correlated is known."""
    k, rng = len(frequencies), np.random.default_rng(0)
    rows = np.column_stack([rng.choice(k, 6000, p=frequencies), rng.standard_normal(6000)])
    rows[:2000, 0] = np.nan
    split = held_out(rows, np.array([k, 0]))
    gaussian = Gaussian.uncorrelated(np.zeros(split.basis.size), np.ones(split.basis.size))
    draws = completed_rows(split, split.summary, gaussian, np.array([k, 0]))
    drawn = np.concatenate([whole[:2000, 0] for whole in draws]).astype(int)
    seen = np.bincount(rows[2000:, 0].astype(int), minlength=k) / 4000
    found = np.bincount(drawn, minlength=k) / drawn.size
    np.testing.assert_allclose(found, seen, atol=5.0 * np.sqrt(0.25 / drawn.size))


def test_categories_follow_what_is_correlated_with_them():
    """The second column says which of two categories it is, but for its sign in one case of ten."""
    rng = np.random.default_rng(0)
    second = rng.random(4000) < 0.5
    first = np.where(rng.random(4000) < 0.1, ~second, second)
    rows = np.column_stack([first, np.where(second, 1.0, -1.0)]).astype(float)
    rows[:1000, 0] = np.nan
    levels = np.array([2, 0])
    split = held_out(rows, levels)
    functions = split.basis.functions(rows[1000:])
    gaussian = Gaussian.of_covariance(functions.mean(axis=0), np.cov(functions.T))
    draws = np.stack([whole[:1000, 0] for whole in completed_rows(split, split.summary, gaussian, levels)])
    assert np.mean(draws == second[:1000]) == pytest.approx(0.9, abs=0.02)


def test_a_category_that_is_too_rare_for_a_function_stays_unknown():
    """Three categories, of which only one was seen often enough; the other column is completed."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.zeros(200), rng.standard_normal(200)])
    rows[:4, 0] = [1.0, 1.0, 2.0, 2.0]
    rows[100:150, 0] = rows[150:, 1] = np.nan
    levels = np.array([3, 0])
    split = held_out(rows, levels)
    assert split.basis.columns[0].values.shape[1] == 0
    for whole in completed_rows(split, split.summary, Gaussian.of_covariance(np.zeros(1), np.eye(1)), levels):
        np.testing.assert_array_equal(np.isnan(whole), np.isnan(rows) & [True, False])


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


def test_the_share_of_whole_rows_is_regressed_on_all_held_out_examples():
    """Signs of products, seen whole by 12,000 examples: trees know nearly everything, whatever the order of targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 3))
    y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * rng.standard_normal(12_000)
    cells = uniform_cells(X, y, 3).in_order()
    model = select(cells, affordable_families(cells)[:1], "auto")
    assert model.trees_share > 0.95


@pytest.mark.parametrize(
    ("slope", "error", "share"), [(0.5, 0.0, 0.5), (0.5, 0.5, 0.25), (4.0, 0.0, 1.0), (4.0, 3.0, 0.1)]
)
def test_the_share_is_the_slope_reduced_by_its_uncertainty_and_at_most_one(slope, error, share):
    residuals = np.random.default_rng(0).standard_normal(1000)
    residuals *= error * np.sqrt(1000) / residuals.std()
    products = slope + residuals - residuals.mean()
    assert likely_share(products, np.ones(1000)) == pytest.approx(share)
