"""Unusual input that is valid, and what it means."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

D, N = 6, 80
X = np.random.default_rng(0).standard_normal((N, D))
Y = X @ np.arange(1.0, D + 1)
LABELS = np.where(Y > 0, "up", "down")
REGRESSORS = [BudgetRidge, BudgetLasso, BudgetSVR]
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)
every_estimator = pytest.mark.parametrize("cls", [*REGRESSORS, BudgetClassifier])


@every_regressor
@pytest.mark.parametrize("constant", [0.0, 0.1, -7e5])
def test_a_constant_target_gives_zero_weights_and_that_constant(cls, constant):
    model = cls(3, random_state=0).fit(X, np.full(N, constant))
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-12 * max(1.0, abs(constant)))
    assert model.intercept_ == pytest.approx(constant, rel=1e-12, abs=1e-12)


@every_estimator
def test_columns_of_zeros_and_constants_do_no_harm(cls):
    y = LABELS if cls is BudgetClassifier else Y
    for rows in (0.0 * X, 0.0 * X + 3.0, X * (np.arange(D) != 2)):
        assert np.isfinite(cls(3, features="linear", random_state=0).fit(rows, y).coef_).all()
        model = cls(3, random_state=0).fit(rows, y)  # of lines, curves or trees
        assert np.isfinite(model.predict(rows) if cls is not BudgetClassifier else model.decision_function(rows)).all()


@every_regressor
def test_one_row_is_its_target(cls):
    with pytest.warns(ConvergenceWarning, match="so the model is their mean"):
        model = cls(3, learner="online", random_state=0).fit(X[:1], [4.5])
    np.testing.assert_array_equal(model.predict(X), 4.5)
    assert model.cells_ == 3


@every_estimator
def test_a_column_that_the_pilot_never_saw_is_looked_at_later(cls):
    """One pilot row of two looks leaves at least four of six columns unseen; each of them gets its weight later."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, D))
    y = X.sum(axis=1)
    y = np.where(y > 0, 1, 0) if cls is BudgetClassifier else y
    model = cls(2, learner="online", pilot=1, radius=3.0, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert (model.coef_ > 0.02).all()


@every_estimator
@pytest.mark.parametrize("learner", ["auto", "online"])
def test_nan_is_an_unavailable_value(cls, learner, tmp_path):
    """The values that are there decide: the holes leave a model about as good. They are paid for all the same."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1500, D)) + 5.0
    y = X @ np.arange(1.0, D + 1)
    y = y > np.median(y) if cls is BudgetClassifier else y
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    np.save(tmp_path / "X.npy", holes)
    model, whole, mapped = (cls(3, learner=learner, random_state=0) for _ in range(3))
    assert model.fit(holes, y).score(X, y) > whole.fit(X, y).score(X, y) - 0.1
    assert model.n_iter_ == 1500
    assert model.cells_ == pytest.approx(whole.cells_, rel=0.02)
    mapped.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    np.testing.assert_array_equal(mapped.coef_, model.coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [10, 12])
def test_curves_that_no_column_has_looks_for_are_no_error(n):
    """They were chosen by folds, and left a model without functions, which could not be calibrated: lexsort failed."""
    rows, y = load_wine(return_X_y=True)
    for seed in range(6):
        some = np.random.default_rng(7000 + seed).permutation(len(y))[:n]
        model = BudgetRidge(3, random_state=seed).fit(rows[some], y[some])
        assert np.isfinite(model.predict(np.where(rows > 13.0, np.nan, rows), return_std=True)).all()


def test_too_few_looks_are_warned_of():
    with pytest.warns(ConvergenceWarning, match=re.escape("about 3.2 looks")):
        BudgetRidge(2, learner="online", random_state=0).fit(X[:10], Y[:10])
    with pytest.warns(ConvergenceWarning, match="the pilot used up all 30 examples"):
        BudgetRidge(2, learner="online", pilot=30, random_state=0).fit(X[:30], Y[:30])
