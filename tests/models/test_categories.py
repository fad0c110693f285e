"""Categorical columns: functions are indicators, made uncorrelated; models are those of indicators by scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder

from sparing.cells import Cells
from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.models.bases import LINES, MOST_LEVELS, Kind, learn_basis
from sparing.models.summary import LOOKS_FOR_A_SCALE
from sparing.models.trees import BoostedTrees

KINDS = [LINES, Kind("winsorized", 1), Kind("normal scores", 3)]
LEVELS = np.array([5, 0, 0, 3])
few = settings(max_examples=30, deadline=None)


def whole_cells(*columns, targets=None):
    rows = np.column_stack(columns).astype(float)
    n, d = rows.shape
    cells = Cells(d)
    cells.extend(np.full(n, d), np.tile(np.arange(d), n), rows.ravel(), np.zeros(n) if targets is None else targets)
    return cells


def table(n=1200, seed=0):
    """Codes whose effects do not follow their order, beside correlated numbers."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 5, n), rng.integers(0, 3, n)
    x = rng.standard_normal((n, 2)) + 0.5 * np.array([1.0, -1.0, 1.0, -1.0, 0.0])[first][:, None]
    y = np.array([3.0, -2.0, 1.0, -3.0, 2.0])[first] + np.array([-1.0, 2.0, -1.0])[second] + x @ [1.0, -0.5]
    return np.column_stack([first, x, second]), y + 0.3 * rng.standard_normal(n)


@few
@given(st.lists(st.integers(0, 7), min_size=1, max_size=120), st.sampled_from(KINDS))
def test_functions_span_the_indicators_of_common_categories(codes, kind):
    """Centred, uncorrelated, of variance one; regression on them is regression on indicators, rare ones lumped."""
    codes = np.array(codes)
    (column,) = learn_basis(kind, whole_cells(codes), np.array([8])).columns
    found = column(codes.astype(float))
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.T @ found / codes.size, np.eye(found.shape[1]), atol=1e-8)
    counts = np.bincount(codes, minlength=8)
    common = counts >= LOOKS_FOR_A_SCALE
    rare = counts[~common].sum()
    n_groups = common.sum() + (rare >= LOOKS_FOR_A_SCALE)
    assert found.shape[1] == max(n_groups - 1, 0)
    if found.shape[1]:
        group = np.where(common, np.arange(8), 8 if rare >= LOOKS_FOR_A_SCALE else counts.argmax())[codes]
        ones = (group[:, None] == np.unique(group)).astype(float)
        both = np.column_stack([ones, found])
        assert np.linalg.matrix_rank(both, tol=1e-6) == ones.shape[1] == 1 + found.shape[1]


def test_of_very_many_categories_the_most_common_have_functions():
    codes = np.repeat(np.arange(60), 60 - np.arange(60))
    (column,) = learn_basis(LINES, whole_cells(codes), np.array([60])).columns
    assert column.values.shape == (60, MOST_LEVELS)
    others = column.values[MOST_LEVELS:]
    np.testing.assert_array_equal(others, np.broadcast_to(others[0], others.shape))
    assert np.unique(column.values, axis=0).shape[0] == MOST_LEVELS + 1


def test_an_unknown_category_is_unknown():
    X, _ = table(100)
    basis = learn_basis(LINES, whole_cells(*X.T), LEVELS)
    X[0, [0, 1]] = np.nan
    found = basis.functions(X)[0]
    assert np.isnan(found[: basis.starts[2]]).all()
    assert np.isfinite(found[basis.starts[2] :]).all()


def test_a_line_is_the_column_less_its_mean_and_goes_on():
    X, _ = table(200)
    basis = learn_basis(LINES, whole_cells(*X.T), LEVELS)
    ahead = X + np.array([0, 1e3, -1e3, 0])
    found = basis.functions(ahead)[:, basis.starts[1] : basis.starts[3]]
    np.testing.assert_allclose(found, (ahead - X.mean(axis=0))[:, 1:3], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("learner", [PairwiseMoments, AutoLearner, FactorModel])
def test_from_whole_rows_the_model_is_regression_on_indicators(learner):
    X, y = table()
    fitted = learner(4, budget=4, levels=LEVELS).run(X, y).fitted
    encoder = OneHotEncoder(sparse_output=False, drop="first").fit(X[:, [0, 3]])
    dense = np.column_stack([X[:, 1:3], encoder.transform(X[:, [0, 3]])])
    expected = LinearRegression().fit(dense, y).predict(dense)
    error = np.mean((fitted.predict(X)[:, 0] - expected) ** 2) / y.var()
    assert error < {PairwiseMoments: 1e-3, AutoLearner: 1e-3, FactorModel: 0.01}[learner]  # their ridges; codes: 0.8


@pytest.mark.parametrize("features", ["linear", "auto"])
def test_a_few_looks_learn_what_categories_add(features):
    X, y = table(3000)
    learner = AutoLearner(4, budget=2, levels=LEVELS, features=features, random_state=0).run(X[:2000], y[:2000])
    error = np.mean((learner.fitted.predict(X[2000:])[:, 0] - y[2000:]) ** 2) / y.var()
    plain = AutoLearner(4, budget=2, features="linear", random_state=0).run(X[:2000], y[:2000])
    assert error < 0.08 < np.mean((plain.fitted.predict(X[2000:])[:, 0] - y[2000:]) ** 2) / y.var()
    codes, adds = learner.fitted.effect(0)
    assert codes.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert np.argsort(adds[:, 0]).tolist() == [3, 1, 2, 4, 0]
    assert learner.fitted.importance[:, 0].argmax() == 0
    with pytest.raises(AttributeError, match="categories, curves or trees instead of weights"):
        _ = learner.coef


def test_the_names_of_categories_do_not_matter():
    """Codes in another order are other names: predictions are the same, up to rounding."""
    X, y = table(600)
    order = np.array([3, 0, 4, 1, 2])
    other = X.copy()
    other[:, 0] = order[X[:, 0].astype(int)]
    models = [AutoLearner(4, budget=4, levels=LEVELS, random_state=0).run(rows, y) for rows in (X, other)]
    np.testing.assert_allclose(models[1].fitted.predict(other), models[0].fitted.predict(X), rtol=1e-3, atol=1e-3)


def test_looks_go_to_the_column_that_matters_for_all_its_functions():
    """The design plans on indicators: by codes, the first column has hardly any weight."""
    X, y = table(4000)
    learner = AutoLearner(4, budget=2, levels=LEVELS, n_examples=4000, random_state=0).run(X, y)
    counts = np.bincount(learner.bought.attributes[-2000:], minlength=4)
    assert counts.argmax() == 0


def test_boosted_trees_split_by_category():
    """Twelve categories of alternating effect: a first split by code separates nothing, one by category everything."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 400)
    y = np.where(codes % 2 == 0, 1.0, -1.0)
    cells = whole_cells(codes, rng.standard_normal(400), targets=y)
    trees = BoostedTrees(cells, np.array([12, 0]))
    X = np.column_stack([codes, np.zeros(400)])
    assert np.mean((trees.predict(X)[:, 0] - y) ** 2) < 0.01
    codes_as_numbers = BoostedTrees(cells, np.array([300, 0])).predict(X), BoostedTrees(cells).predict(X)
    np.testing.assert_array_equal(*codes_as_numbers)  # scikit-learn has no room for so many categories


@pytest.mark.parametrize("levels", [[2, 0], [2, 0, -1], [2.0, 0.0, 0.0], "ab"])
def test_bad_levels_are_refused(levels):
    with pytest.raises(ValueError, match="levels must hold, for each of the 3 attributes, its number of categories"):
        AutoLearner(3, budget=2, levels=levels)
