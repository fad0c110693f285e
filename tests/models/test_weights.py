"""Weights of examples: weight two counts as two equal examples, and weight zero as none."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from sparing.cells import Cells
from sparing.models import families, pairwise
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import factor_gradients
from sparing.models.imputed import imputed_candidates, imputed_errors
from sparing.models.pair_moments import pair_moments
from sparing.models.selection import affordable_families, select, usual_model
from sparing.models.summary import summarize
from sparing.models.trees import BINS, FIRST, BoostedTrees, rows_with_holes

D, N = 6, 150
RNG = np.random.default_rng(2)
X = RNG.standard_normal((N, 2)) @ RNG.standard_normal((2, D)) + 0.7 * RNG.standard_normal((N, D))
Y = np.column_stack([X[:, 0] - X[:, 3] + RNG.standard_normal(N), X[:, 1] ** 2])
SEEN = [np.sort(RNG.choice(D, RNG.integers(2, 5), replace=False)) for _ in range(N)]
WHOLE = RNG.integers(1, 4, N)


def store(weights=None, examples=range(N)):
    cells = Cells(D, n_outputs=2)
    for e in examples:
        weight = None if weights is None else float(weights[e])
        cells.append(SEEN[e], X[e, SEEN[e]], Y[e], probabilities=0.5, weight=weight)
    return cells


def repeated():
    return store(examples=np.repeat(np.arange(N), WHOLE))


MODELS = {
    "pairwise": lambda cells: pairwise.given_model(cells, "ridge", 0.1),
    "lasso": lambda cells: pairwise.given_model(cells, "lasso", 0.1),
    "pairwise usual": lambda cells: usual_model(cells, families.pairwise_moments("ridge")),
    "mean-imputed": lambda cells: usual_model(cells, families.mean_imputed()),
    "full covariance": lambda cells: usual_model(cells, families.full_covariance("ridge", iterations=8)),
    "near factors": lambda cells: usual_model(cells, families.near_factors("ridge")),
    "few factors": lambda cells: usual_model(cells, families.factor("ridge", (1,), (6,))),
    "many factors": lambda cells: usual_model(cells, families.factor("ridge", (5,), (6,))),
    "mean target": lambda cells: usual_model(cells, families.mean_target()),
}


@pytest.mark.parametrize("name", MODELS)
def test_whole_weights_are_repeated_examples(name):
    weighted, often = MODELS[name](store(WHOLE)), MODELS[name](repeated())
    np.testing.assert_allclose(weighted.weights, often.weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept, often.intercept, rtol=1e-9)
    np.testing.assert_allclose(weighted.residual_variance, often.residual_variance, rtol=1e-9)
    np.testing.assert_allclose(weighted.attributes.covariance, often.attributes.covariance, rtol=1e-9, atol=1e-12)
    if name != "mean target":
        assert np.abs(weighted.weights - MODELS[name](store()).weights).max() > 1e-3  # and they do matter


def test_counts_means_and_pairs_are_those_of_repeated_examples():
    weighted, often = summarize(store(WHOLE)), summarize(repeated())
    for name in ("counts", "means", "ranges", "variances", "target_means", "target_variances"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(often, name), rtol=1e-12, err_msg=name)
    for one, other in zip(pair_moments(store(WHOLE), weighted), pair_moments(repeated(), often), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_gradients_and_likelihood_are_those_of_repeated_examples(rank):
    """By a table, by parts and by factors: which of them is taken depends on the rank and the cells of an example."""
    from sparing.kernels.factor import Factors

    factors = Factors(RNG.standard_normal((D + 2, rank)) / 2, np.linspace(0.3, 0.8, D + 2))
    found = [
        factor_gradients(StandardizedCells(cells, summarize(cells)), factors) for cells in (store(WHOLE), repeated())
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_trees_take_weights():
    cells = store(WHOLE)
    rows, learnt = rows_with_holes(cells), np.arange(N) % 4 != 0
    for output, predictions in enumerate(BoostedTrees(cells).predict_without(0, rows).T):
        trees = HistGradientBoostingRegressor(max_bins=BINS, early_stopping=False, random_state=0, **FIRST)
        trees.fit(rows[learnt], Y[learnt, output], sample_weight=WHOLE[learnt])
        np.testing.assert_allclose(trees.predict(rows), predictions, atol=1e-5)  # targets are rounded to a fine grid
    assert not np.allclose(BoostedTrees(cells).predict(rows), BoostedTrees(store()).predict(rows), rtol=1e-3)


def test_errors_on_imputed_rows_are_weighted():
    assert not np.allclose(imputed_errors(store(WHOLE)) / WHOLE.mean(), imputed_errors(store()), rtol=1e-3)
    twice = np.array(imputed_errors(store(np.full(N, 2.0))))
    assert len(imputed_candidates(store(), summarize(store()))) == twice.size


@pytest.mark.parametrize("features", ["linear", "additive", "auto"])
def test_the_unit_of_weights_does_not_matter_and_equal_ones_change_no_bit(features):
    def chosen(cells):
        cells = cells.to_learn_from()
        return select(cells, affordable_families(cells)[:2], features).predict(X)

    np.testing.assert_array_equal(chosen(store(np.full(N, 0.3))), chosen(store()))
    np.testing.assert_allclose(chosen(store(WHOLE)), chosen(store(WHOLE * 0.37)), rtol=1e-9)
    zeros = np.where(np.arange(N) % 3 == 0, 0, WHOLE)
    without = chosen(store(WHOLE, np.flatnonzero(zeros)))
    np.testing.assert_array_equal(chosen(store(zeros)), without)
    assert np.abs(without - chosen(store(WHOLE))).max() > 1e-3


def test_judging_is_weighted():
    """Half of the examples say that a curve is right, the other half that nothing is: weights decide."""
    rng = np.random.default_rng(0)
    x, which = rng.standard_normal(600), np.arange(600) % 2
    y = np.where(which, 3 * np.abs(x), rng.standard_normal(600))
    models = []
    for weight in (which + 1e-6, 1 - which + 1e-6):
        cells = Cells(2)
        cells.extend([2] * 600, np.tile([0, 1], 600), np.column_stack([x, rng.standard_normal(600)]).ravel(), y,
                     probabilities=1.0, weights=weight)  # fmt: skip
        models.append(select(cells.to_learn_from(), affordable_families(cells)[:1], "additive"))
    at = np.column_stack([np.linspace(-2, 2, 9), np.zeros(9)])
    assert np.corrcoef(models[0].predict(at)[:, 0], np.abs(at[:, 0]))[0, 1] > 0.95
    assert np.ptp(models[1].predict(at)) < 0.3 * np.ptp(models[0].predict(at))
