"""Smooth losses by Newton's method, with every preconditioner and by proximal steps."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from sparing.linalg.rows import Rows
from sparing.solvers import proximal_smooth, solve_smooth
from sparing.solvers.curved import HessianInverse
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss

RNG = np.random.default_rng(0)
A = RNG.standard_normal((200, 5)) / np.arange(1, 6) + 0.5
LABELS = np.where(A @ RNG.standard_normal(5) + RNG.logistic(size=200) > 0, 1.0, -1.0)


def test_the_ball_is_kept_to():
    loss = LogisticLoss(LABELS, np.ones(200))
    radius = 0.5 * np.linalg.norm(solve_smooth(A, loss, 0.1).coef)
    bound = solve_smooth(A, loss, 0.1, radius=radius)
    expected = minimize(
        lambda w: np.logaddexp(0, -LABELS * (A @ w)).sum() + 0.05 * w @ w,
        np.zeros(5),
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w},
        tol=1e-12,
    )
    np.testing.assert_allclose(bound.coef[:-1, 0], expected.x, atol=1e-4)


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


@pytest.mark.parametrize("larger", [None, 0.1, 2.0])
def test_proximal_steps_lead_to_the_same_solution(larger):
    """Against a general solver, at any larger ridge; the intercept is not drawn to where it was."""
    loss = LogisticLoss(LABELS, np.ones(200))
    found = proximal_smooth(A, loss, 0.1, larger=larger, fit_intercept=True, tol=1e-11, random_state=0)
    expected = minimize(
        lambda w: np.logaddexp(0, -LABELS * (A @ w[:-1] + w[-1])).sum() + 0.05 * w[:-1] @ w[:-1], np.zeros(6), tol=1e-12
    )
    assert found.converged
    np.testing.assert_allclose(found.coef[:, 0], expected.x, atol=1e-4)
    assert not proximal_smooth(A, loss, 0.1, larger=2.0, tol=1e-11, max_iter=3).converged
    with pytest.raises(ValueError, match="below the ridge"):
        proximal_smooth(A, loss, 0.1, larger=0.05)


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
