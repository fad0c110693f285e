"""SketchedLogistic gives what scikit-learn's LogisticRegression gives, by C or by alpha = 1/C."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from sparing import SketchedLogistic
from sparing.solvers.newton import QUICK_STEPS

RNG = np.random.default_rng(0)
N, D = 400, 20
X = RNG.standard_normal((N, D)) / np.arange(1, D + 1) + 0.5
SCORES = X @ RNG.standard_normal((D, 3)) * 3
LABELS = np.array(["a", "b", "c"])[(SCORES + RNG.gumbel(size=SCORES.shape)).argmax(axis=1)]
WEIGHTS = RNG.integers(0, 3, N).astype(float)


@pytest.mark.parametrize("solver", ["auto", "sketch", "cholesky", "cg"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_it_is_logistic_regression(solver, n_classes, fit_intercept, weights):
    y = LABELS if n_classes == 3 else np.where(LABELS == "a", "a", "other")
    expected = LogisticRegression(C=2.0, tol=1e-9, max_iter=10_000, fit_intercept=fit_intercept).fit(X, y, weights)
    for form in (X, sparse.csr_array(X)):
        model = SketchedLogistic(0.5, solver=solver, tol=1e-12, fit_intercept=fit_intercept, random_state=0)
        model.fit(form, y, weights)
        assert model.coef_.shape == expected.coef_.shape
        np.testing.assert_allclose(model.predict_proba(form), expected.predict_proba(X), atol=2e-5)
        assert (model.predict(form) == expected.predict(X)).mean() > 0.99


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_c_is_that_of_scikit_learn(C, n_classes):
    """On half and on all of the rows: C weighs the sum of the losses, not their mean."""
    for rows in (slice(N // 2), slice(N)):
        y = (LABELS if n_classes == 3 else np.where(LABELS == "a", "a", "other"))[rows]
        expected = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X[rows], y)
        model = SketchedLogistic(C=C, tol=1e-14, random_state=0).fit(X[rows], y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
        if n_classes == 2:
            np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-4)
        else:  # a number added to all intercepts changes nothing
            np.testing.assert_allclose(*(m.intercept_ - m.intercept_.mean() for m in (model, expected)), atol=1e-4)
        np.testing.assert_array_equal(
            SketchedLogistic(1 / C, tol=1e-14, random_state=0).fit(X[rows], y).coef_, model.coef_
        )


def test_the_default_is_c_of_one():
    y = np.where(LABELS == "a", 1.0, -1.0)
    plain, given = (SketchedLogistic(random_state=0, **options).fit(X, y) for options in ({}, {"C": 1.0}))
    np.testing.assert_array_equal(plain.coef_, given.coef_)


def test_ill_conditioned_rows_call_for_a_sketch():
    """Plain steps would take hundreds: "auto" finds out, makes a sketch and gets by with few Newton steps."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((2000, 1100)) * 3000 * np.arange(1, 1101) ** -3.0
    y = np.where(A[:, :50].sum(axis=1) + 3000 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    model = SketchedLogistic(1.0, tol=1e-8, random_state=0).fit(A, y)
    assert 0 < model.sketch_size_ < 600
    assert model.n_iter_ < QUICK_STEPS + 20
    expected = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-8).fit(A, y)

    def objective(fitted):
        return np.logaddexp(0, -y * fitted.decision_function(A)).sum() + 0.5 * np.sum(fitted.coef_**2)

    assert objective(model) / objective(expected) - 1 < 1e-7


def test_the_ball_is_kept_to():
    y = np.where(LABELS == "a", 1.0, -1.0)
    radius = 0.5 * np.linalg.norm(SketchedLogistic(0.1).fit(X, y).coef_)
    model = SketchedLogistic(0.1, radius=radius, tol=1e-10).fit(X, y)
    assert np.linalg.norm(model.coef_) == pytest.approx(radius, rel=1e-4)


def test_what_goes_wrong_is_said():
    with pytest.raises(ValueError, match="alpha must be a positive"):
        SketchedLogistic(0.0).fit(X, LABELS)
    with pytest.raises(ValueError, match="C must be a positive"):
        SketchedLogistic(C=0.0).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"got alpha=0.5 and C=2.0; they are inverses: pass one of the two"):
        SketchedLogistic(0.5, C=2.0).fit(X, LABELS)
    with pytest.raises(ValueError, match="of one class only"):
        SketchedLogistic().fit(X, np.zeros(N))
    with pytest.raises(ValueError, match="method must be one of"):
        SketchedLogistic(solver="fast").fit(X, LABELS)
    with pytest.warns(ConvergenceWarning, match="raise max_iter, tol or alpha"):
        SketchedLogistic(1e-4, max_iter=1).fit(X, LABELS)
