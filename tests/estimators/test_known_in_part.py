"""Estimators on rows known in part: arrays, DataFrames that lack columns, and whole rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sparing import BudgetClassifier, BudgetRidge


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X, y, BudgetRidge(budget=5, features="additive", random_state=0).fit(X, y)


def test_whole_rows_are_predicted_as_ever():
    """Bit for bit the weights applied to the row, dense or sparse; also for rows among others with holes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    y = X @ rng.standard_normal((6, 2))
    model = BudgetRidge(budget=3, features="linear", random_state=0).fit(X, y)
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), expected, rtol=1e-12)
    holes = np.vstack([X[:3], np.full((1, 6), np.nan)])
    mean, std = model.predict(holes, return_std=True)
    np.testing.assert_allclose(mean[:3], expected[:3], rtol=1e-12)
    np.testing.assert_allclose(mean[3], y.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(std[3], y.std(axis=0), rtol=1e-6)
    assert (std[:3] < std[3]).all()


def test_a_column_that_a_frame_lacks_is_missing(diabetes):
    X, _, model = diabetes
    lacking = X.drop(columns=["s5", "age"])
    np.testing.assert_array_equal(model.predict(lacking), model.predict(X.assign(s5=np.nan, age=np.nan)))
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(X.rename(columns={"s5": "s7"}))
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X.assign(s5=np.inf))
    np.testing.assert_allclose(model.predict(X[:2] * np.nan), model.learner_.fitted.center[0], rtol=1e-12)


def test_more_knowledge_is_more_certain(diabetes):
    X, y, model = diabetes
    nothing, half, whole = (
        model.predict(X.assign(**dict.fromkeys(missing, np.nan)), return_std=True)[1].mean()
        for missing in (X.columns, X.columns[5:], [])
    )
    assert whole < half < nothing
    assert nothing == pytest.approx(y.std(ddof=0))
    low, high = model.predict_interval(X, 0.9)
    assert (low < high).all()
    narrow = model.predict_interval(X, 0.5)
    assert (narrow[0] >= low).all()
    assert (narrow[1] <= high).all()


def test_trees_take_rows_with_holes():
    """A product of two columns, which no sum of curves can say: half of it is lost when a column is."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (1500, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(1500)
    model = BudgetRidge(budget=3, random_state=0).fit(X, y)
    assert model.report_["trees_share"] > 0.5
    assert model.score(X, y) > 0.4
    seen = np.where(np.arange(4) == 0, np.nan, X)
    assert abs(model.score(seen, y)) < 0.1
    assert np.unique(model.predict(X[:5] * np.nan)).size == 1


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_labels_are_the_most_probable_ones(load):
    X, y = load(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = BudgetClassifier(budget=6, features="linear", random_state=0).fit(X, names)
    seen = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, np.nan)
    for rows in (X, seen):
        chances = model.predict_proba(rows)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(rows), model.classes_[chances.argmax(axis=1)])
    frequencies = np.unique(names, return_counts=True)[1] / len(y)
    np.testing.assert_allclose(model.predict_proba(X[:1] * np.nan)[0], frequencies, atol=1e-9)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


def test_probabilities_of_rare_classes_are_calibrated():
    """1 % positives: among 6,000 rows as many as expected, within four standard errors; better than the prior."""
    rng = np.random.default_rng(1)
    y = rng.random(10_000) < 0.01
    X = rng.standard_normal((10_000, 8)) + 1.2 * y[:, None] * (np.arange(8) < 4)
    model = BudgetClassifier(budget=4, features="linear", random_state=0).fit(X[:4000], y[:4000])
    chances = model.predict_proba(X[4000:])[:, 1]
    assert abs(chances.sum() - y[4000:].sum()) < 4 * np.sqrt(y[4000:].sum())
    likelihood = np.where(y[4000:], np.log(chances), np.log1p(-chances)).mean()
    prior = y[:4000].mean()
    assert likelihood > np.where(y[4000:], np.log(prior), np.log1p(-prior)).mean()


def test_frames_of_classes_may_lack_columns():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = BudgetClassifier(budget=5, features="linear", random_state=0).fit(X, y)
    few = X[["alcohol", "proline", "flavanoids"]]
    assert model.predict_proba(few).shape == (178, 3)
    assert np.mean(model.predict(pd.DataFrame(few)) == y) > 0.75
