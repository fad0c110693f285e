"""Boosted trees: scikit-learn's own on the same rows, and a share of them where columns matter together."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from planted_cells import uniform_cells
from sparing.cells import Cells
from sparing.models import selection, trees
from sparing.models.selection import affordable_families, select
from sparing.models.trees import BINS, FIRST, BoostedTrees, boosting_seconds, rows_with_holes


def holes(n=120, d=5, seed=0, n_outputs=2, seen=0.5):
    """Rows with holes, the cells of them, and targets; the last column is never seen."""
    rng, cells = np.random.default_rng(seed), Cells(d, n_outputs=n_outputs)
    rows = np.where(rng.random((n, d)) < seen, rng.standard_normal((n, d)), np.nan)
    rows[:, -1] = np.nan
    targets = rng.standard_normal((n, n_outputs)) + np.nan_to_num(rows[:, :1])
    for row, y in zip(rows, targets, strict=True):
        there = rng.permutation(np.flatnonzero(~np.isnan(row)))
        cells.append(there, row[there], y)
    return rows, cells, targets


def test_rows_have_holes_where_nothing_was_bought():
    rows, cells, _ = holes()
    np.testing.assert_array_equal(rows_with_holes(cells), rows)


@pytest.mark.parametrize("seen", [0.5, 0.9])
def test_predictions_are_scikit_learns_and_a_column_never_seen_is_harmless(seen):
    """Two outputs, and fits without the first, without the second of four folds, and of all: their average predicts.

    Targets are standardized, and rounded to twenty binary places. Where most values were seen, examples are fitted once
    more with a part of them hidden. The rows to predict are whole, also in the column that was never seen.
    """
    rows, cells, targets = holes(seen=seen)
    boosted, fresh = BoostedTrees(cells), np.random.default_rng(1).standard_normal((50, 5))
    middles, spreads = (targets.min(axis=0) + targets.max(axis=0)) / 2.0, targets.std(axis=0)
    standard = np.round((targets - middles) / spreads * 2**20) / 2**20
    for X in (fresh, rows):
        by_fold = np.empty((3, len(X), 2))
        with threadpool_limits(1, user_api="openmp"):  # more threads wait for each other on so few rows
            for fold, output in np.ndindex(3, 2):
                learnt = (np.arange(120) % 4 != fold) | (fold == 2)
                fitted, aims = rows[learnt], standard[learnt, output]
                if seen > 0.5:
                    fitted = np.vstack([fitted, rows_with_holes(cells.take(learnt).partly_hidden())])
                    aims = np.tile(aims, 2)
                options = {"early_stopping": False, "random_state": 0} | (FIRST if fold == 0 else {})
                own = HistGradientBoostingRegressor(max_bins=BINS, **options)
                own.fit(fitted[:, :4], aims)
                by_fold[fold, :, output] = middles[output] + spreads[output] * own.predict(X[:, :4])
        np.testing.assert_allclose(boosted.predict(X), by_fold.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose([boosted.predict_without(fold, X) for fold in range(2)], by_fold[:2], rtol=1e-12)
    fresh[:, 4] = np.nan
    np.testing.assert_array_equal(boosted.predict(fresh), boosted.predict(np.nan_to_num(fresh)))


def test_fits_side_by_side_are_the_same(monkeypatch):
    rows, cells, _ = holes()
    alone = BoostedTrees(cells).predict(rows)
    monkeypatch.setattr(trees, "SIDE_BY_SIDE", 0)
    together = BoostedTrees(cells)
    assert together.take_long
    np.testing.assert_array_equal(together.predict(rows), alone)


def test_costs_grow_with_examples_columns_and_outputs():
    small = boosting_seconds(holes()[1])
    assert boosting_seconds(holes(n=240)[1]) > small
    assert boosting_seconds(holes(d=10)[1]) > small
    assert boosting_seconds(holes(n_outputs=4)[1]) == pytest.approx(2 * small)


# Their share --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((3000, 6))


def test_where_columns_matter_together_trees_have_a_share(rows):
    """y = x0 x1, from three of six columns of 1,500 rows: no sum of curves says anything of it."""
    X, y = rows, rows[:, 0] * rows[:, 1]
    cells = uniform_cells(X[:1500], y[:1500], 3).in_order()
    errors = {}
    for features in ("additive", "auto"):
        model = select(cells, affordable_families(cells), features)
        errors[features] = np.mean((model.predict(X[1500:])[:, 0] - y[1500:]) ** 2) / y[1500:].var()
        assert (model.trees is not None) == (features == "auto") == (model.trees_share > 0)
    assert model.trees_share > 0.1
    assert "averaged with boosted trees, whose share is" in model.facts["why"]
    assert model.facts["trees_share"] == model.trees_share
    assert errors["additive"] > 0.95
    assert errors["auto"] < 0.9 * errors["additive"]


def test_of_lines_trees_have_no_share(rows):
    X, y = rows[:1500], rows[:1500] @ np.arange(1.0, 7.0)
    cells = uniform_cells(X, y, 3).in_order()
    model = select(cells, affordable_families(cells), "auto")
    assert (model.trees, model.trees_share) == (None, 0.0)
    assert "boosted trees" not in model.facts["why"]


def test_the_prediction_is_the_average_by_their_share(rows):
    X, y = rows[:600], rows[:600, 0] * rows[:600, 1]
    cells = uniform_cells(X, y, 4).in_order()
    model = select(cells, affordable_families(cells)[:1], "auto")
    assert model.trees is not None
    curves = rows[600:] if model.basis is None else model.basis.functions(rows[600:])
    sums, share = curves @ model.weights + model.intercept, model.trees_share
    expected = (1 - share) * sums + share * BoostedTrees(cells).predict(rows[600:])
    np.testing.assert_allclose(model.predict(rows[600:]), expected, rtol=1e-12)


def test_of_rows_known_in_part_trees_have_the_share_that_was_regressed(rows):
    """Where lines explain some of whole rows, less is left to trees there; where nothing is known they have no say."""
    X = rows[:2000, :4]
    cells = uniform_cells(X, 4.0 * X[:, 0] * X[:, 1] + X @ np.ones(4), 2).in_order()
    model = select(cells, affordable_families(cells)[:1], "auto")
    assert 0.0 < model.trees_share < model.trees_share_in_part
    known = np.where(np.random.default_rng(0).random((50, 4)) < 0.3, np.nan, rows[2000:2050, :4])
    known[0] = np.nan
    in_part = np.isnan(known).any(axis=1)
    own = replace(model, trees=None).predict(known)
    share = np.where(in_part, model.trees_share_in_part, model.trees_share)[:, None]
    share[0] = 0.0
    np.testing.assert_allclose(model.predict(known), (1 - share) * own + share * model.trees.predict(known))


def test_trees_are_not_tried_where_they_cost_too_much(rows, monkeypatch):
    monkeypatch.setattr(selection, "boosting_seconds", lambda cells: selection.AFFORDABLE + 1.0)
    cells = uniform_cells(rows[:300], rows[:300, 0] * rows[:300, 1], 4).in_order()
    assert select(cells, affordable_families(cells)[:1], "auto").trees is None
