"""SketchedLogistic gives what scikit-learn's LogisticRegression gives, with C = 1/alpha."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from sparing import SketchedLogistic
from sparing.linalg.rows import Rows
from sparing.solvers import proximal_smooth, solve_smooth
from sparing.solvers.curved import HessianInverse
from sparing.solvers.newton import QUICK_STEPS
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss

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


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_losses_have_the_derivatives_they_say(kind):
    rng = np.random.default_rng(0)
    weights = rng.random(4)
    if kind == "logistic":
        loss, shape = LogisticLoss(np.array([1.0, -1.0, 1.0, -1.0]), weights), (4, 1)
    else:
        loss, shape = MultinomialLoss(np.array([0, 2, 1, 2]), 3, weights), (4, 3)
    Z, U = rng.standard_normal(shape), rng.standard_normal(shape)
    slopes = approx_fprime(Z.ravel(), lambda z: loss.value(z.reshape(shape)))
    np.testing.assert_allclose(loss.slopes(Z).ravel(), slopes, atol=1e-6)
    along = (loss.slopes(Z + 1e-6 * U) - loss.slopes(Z - 1e-6 * U)) / 2e-6
    np.testing.assert_allclose(loss.curve(Z)(U), along, atol=1e-8)


def test_the_ball_is_kept_to():
    A, y = X[:200, :5], np.where(LABELS[:200] == "a", 1.0, -1.0)
    loss = LogisticLoss(y, np.ones(200))
    radius = 0.5 * np.linalg.norm(solve_smooth(A, loss, 0.1).coef)
    bound = solve_smooth(A, loss, 0.1, radius=radius)
    expected = minimize(
        lambda w: np.logaddexp(0, -y * (A @ w)).sum() + 0.05 * w @ w,
        np.zeros(5),
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w},
        tol=1e-12,
    )
    np.testing.assert_allclose(bound.coef[:-1, 0], expected.x, atol=1e-4)
    model = SketchedLogistic(0.1, radius=radius).fit(A, y)
    assert np.linalg.norm(model.coef_) == pytest.approx(radius, rel=1e-4)


@pytest.mark.parametrize("larger", [None, 0.1, 2.0])
def test_proximal_steps_lead_to_the_same_solution(larger):
    """Against a general solver, at any larger ridge; the intercept is not drawn to where it was."""
    A, y = X[:200, :5], np.where(LABELS[:200] == "a", 1.0, -1.0)
    loss = LogisticLoss(y, np.ones(200))
    found = proximal_smooth(A, loss, 0.1, larger=larger, fit_intercept=True, tol=1e-11, random_state=0)
    expected = minimize(
        lambda w: np.logaddexp(0, -y * (A @ w[:-1] + w[-1])).sum() + 0.05 * w[:-1] @ w[:-1], np.zeros(6), tol=1e-12
    )
    assert found.converged
    np.testing.assert_allclose(found.coef[:, 0], expected.x, atol=1e-4)
    assert not proximal_smooth(A, loss, 0.1, larger=2.0, tol=1e-11, max_iter=3).converged
    with pytest.raises(ValueError, match="below the ridge"):
        proximal_smooth(A, loss, 0.1, larger=0.05)


def test_what_goes_wrong_is_said():
    with pytest.raises(ValueError, match="alpha must be a positive"):
        SketchedLogistic(0.0).fit(X, LABELS)
    with pytest.raises(ValueError, match="of one class only"):
        SketchedLogistic().fit(X, np.zeros(N))
    with pytest.raises(ValueError, match="method must be one of"):
        SketchedLogistic(solver="fast").fit(X, LABELS)
    with pytest.warns(ConvergenceWarning, match="raise max_iter, tol or alpha"):
        SketchedLogistic(1e-4, max_iter=1).fit(X, LABELS)


@pytest.mark.parametrize("method", ["auto", "sketch", "cholesky", "cg"])
def test_what_a_coarse_step_leaves_out_is_not_taken_for_solved(method):
    """The gradient is nearly all in a column ten thousand times as large as the one that tells the classes."""
    tells = np.tile([1.0, 1.0, -1.0, -1.0], 250)
    large = 1e4 * (np.tile([1.0, -1.0, 1.0, -1.0], 250) + 5e-4 * tells)
    A, loss = np.column_stack([large, tells]), LogisticLoss(tells, np.ones(1000))

    def objective(w):
        return loss.value((A @ w)[:, None]) + 0.5e-3 * np.sum(w**2)

    solution = solve_smooth(A, loss, 1e-3, method=method, max_iter=1000, random_state=0)
    best = minimize(lambda w: objective(w * [1e-4, 1.0]), np.zeros(2), method="BFGS", options={"gtol": 1e-9}).fun
    assert solution.converged
    assert objective(solution.coef[:-1, 0]) <= best * (1 + 2e-6)


def test_a_preconditioner_that_serves_on_stays_below_the_hessian():
    """Made at one point and used at another: the energy of a residual bounds its error only if P is below H."""
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((60, 6)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    loss, ridge = LogisticLoss(y, np.ones(60)), 0.7
    inverse = HessianInverse(Rows(A), loss, ridge, "cholesky", rng)
    inverse.at(np.zeros((60, 1)))
    first = inverse.made
    scores = 2.0 * rng.standard_normal((60, 1)).clip(-1.2, 1.2)
    P = np.linalg.inv(inverse.at(scores)(np.eye(7, 6))[:-1])
    assert inverse.made is first
    H = (A.T * loss.curvature(scores)) @ A + ridge * np.eye(6)
    assert np.linalg.eigvalsh(H - P).min() >= -1e-9 * np.linalg.norm(H, 2)
    inverse.at(20.0 * scores)  # curvatures fell by far more than a bound can be kept for
    assert inverse.made is not first
