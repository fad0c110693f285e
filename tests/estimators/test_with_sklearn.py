"""Budget estimators with online learners: several outputs and classes, and the company of scikit-learn."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from online_estimators import (
    BUDGET,
    LABELS,
    D,
    N,
    X,
    Y,
    assert_same,
    every_estimator,
    every_regressor,
    fit,
    make,
    target,
)
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

# Several outputs and classes ----------------------------------------------------------------------------------------


@every_regressor
def test_several_outputs_learn_from_the_same_looks(cls):
    both = make(cls).fit(X, np.column_stack([Y, Y, -Y]))
    assert both.coef_.shape == (3, D)
    assert both.intercept_.shape == (3,)
    assert both.predict(X).shape == (N, 3)
    np.testing.assert_array_equal(both.coef_[0], both.coef_[1])
    assert both.score(X, np.column_stack([Y, Y, -Y])) > 0.3
    assert both.cells_ <= BUDGET * N
    assert make(cls).fit(X, Y[:, None]).predict(X).shape == (N, 1)


def test_two_classes_have_one_weight_vector():
    model = fit(BudgetClassifier)
    scores = model.decision_function(X)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.coef_.shape == (1, D)
    assert scores.shape == (N,)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "low", "high"))
    assert model.score(X, LABELS) > 0.75


def test_three_classes_have_three():
    y = np.array(["a", "b", "c"])[(X[:, :3] / X[:, :3].std(axis=0)).argmax(axis=1)]
    model = make(BudgetClassifier).fit(X, y)
    scores = model.decision_function(X)
    assert model.coef_.shape == (3, D)
    assert scores.shape == (N, 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, y) > 1.3 * max(np.mean(y == label) for label in "abc")


def test_classes_may_come_late():
    y = np.array([7, 3, 5])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = make(BudgetClassifier, n_examples=N)
    order = np.argsort(y, kind="stable")  # the first chunk holds one class only
    model.partial_fit(X[order[:30]], y[order[:30]], classes=[3, 5, 7])
    model.partial_fit(X[order[30:]], y[order[30:]])
    assert model.classes_.tolist() == [3, 5, 7]
    assert_same(model, make(BudgetClassifier).fit(X[order], y[order]))


# In company ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "plain"),
    [(BudgetRidge, Ridge), (BudgetLasso, Lasso), (BudgetSVR, LinearSVR), (BudgetClassifier, SGDClassifier)],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_to_sklearn_is_a_plain_fitted_model(cls, plain, fit_intercept, tmp_path):
    model = fit(cls, fit_intercept=fit_intercept)
    joblib.dump(model.to_sklearn(), tmp_path / "plain.joblib")
    for copy in (model.to_sklearn(), joblib.load(tmp_path / "plain.joblib")):
        assert type(copy) is plain
        assert copy.fit_intercept is fit_intercept
        assert copy.n_features_in_ == D
        for rows in (X, sparse.csr_array(X)):
            if cls is BudgetClassifier:
                np.testing.assert_allclose(copy.decision_function(rows), model.decision_function(X), atol=1e-12)
                np.testing.assert_array_equal(copy.predict(rows), model.predict(X))
            else:
                np.testing.assert_allclose(copy.predict(rows), model.predict(X), atol=1e-12)


@pytest.mark.parametrize(
    ("cls", "plain"), [(BudgetRidge, Ridge), (BudgetLasso, LinearRegression), (BudgetSVR, LinearRegression)]
)
def test_to_sklearn_of_several_outputs(cls, plain):
    model = make(cls).fit(X, np.column_stack([Y, -Y]))
    assert type(model.to_sklearn()) is plain
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(model.to_sklearn().predict(rows), model.predict(X), atol=1e-12)


def test_to_sklearn_of_three_classes():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = make(BudgetClassifier).fit(X, y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@every_estimator
def test_clones_have_the_options_and_nothing_else(cls):
    model = fit(cls, design="uniform")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.get_params()["design"] == "uniform"
    assert not hasattr(copy, "coef_")
    assert_same(copy.set_params(design="auto").fit(X, target(cls)), fit(cls))


@every_estimator
def test_pipeline_and_grid_search(cls):
    pipeline = make_pipeline(StandardScaler(), make(cls))
    search = GridSearchCV(pipeline, {f"{cls.__name__.lower()}__budget": [2, 8]}, cv=3, error_score="raise")
    search.fit(X, target(cls))
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0]  # four times the looks
    assert search.predict(X).shape == (N,)
