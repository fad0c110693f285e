"""Exp-concave losses beyond logistic regression: Poisson, kernel logistic, portfolios; against generic solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics.pairwise import rbf_kernel

from sparing.linalg.gram import Gram
from sparing.solvers import (
    proximal_smooth,
    solve_kernel_ridge,
    solve_kernel_smooth,
    solve_portfolio,
    solve_ridge,
    solve_smooth,
)
from sparing.solvers.kernel import KernelGram
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss, PoissonLoss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5)) / np.arange(1, 6)
COUNTS = RNG.poisson(np.exp(X @ [0.8, -0.5, 1.0, 0.0, 2.0] + 0.7)).astype(float)
LABELS = np.where(X[:, 0] ** 2 + X[:, 1] + 0.3 * RNG.standard_normal(300) > 0.6, 1.0, -1.0)


@pytest.mark.parametrize("method", ["auto", "sketch", "cholesky", "cg"])
def test_poisson_regression_is_that_of_scikit_learn(method):
    weights = RNG.random(300) + 0.5
    expected = PoissonRegressor(alpha=0.01, tol=1e-10, max_iter=10_000).fit(X, COUNTS, sample_weight=weights)
    loss, ridge = PoissonLoss(COUNTS, weights), 0.01 * weights.sum()
    for A in (X, sparse.csr_array(X)):
        found = solve_smooth(A, loss, ridge, fit_intercept=True, method=method, tol=1e-12, random_state=0)
        assert found.converged
        np.testing.assert_allclose(found.coef[:, 0], [*expected.coef_, expected.intercept_], atol=1e-5)


def test_poisson_regression_in_other_ways():
    """By proximal steps, and within a ball against a generic solver."""
    loss, ridge = PoissonLoss(COUNTS, np.ones(300)), 1.0
    plain = solve_smooth(X, loss, ridge, tol=1e-12)
    steps = proximal_smooth(X, loss, ridge, larger=4.0, tol=1e-11, random_state=0)
    assert steps.converged
    np.testing.assert_allclose(steps.coef, plain.coef, atol=1e-4)
    radius = 0.5 * np.linalg.norm(plain.coef[:-1])
    ball = solve_smooth(X, loss, ridge, radius=radius, tol=1e-12)
    expected = minimize(
        lambda w: (np.sum(np.exp(X @ w) - COUNTS * (X @ w)) + 0.5 * w @ w) / 1000,  # keeps its first step short
        np.zeros(5),
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w},
        tol=1e-12,
    )
    np.testing.assert_allclose(ball.coef[:-1, 0], expected.x, atol=1e-4)


def test_poisson_loss_has_the_derivatives_it_says_and_starts_anywhere():
    loss = PoissonLoss(np.array([0.0, 1.0, 7.0]), np.array([1.0, 2.0, 0.5]))
    Z, U = RNG.standard_normal((3, 1)), RNG.standard_normal((3, 1))
    numeric = [(loss.value(Z + 1e-6 * e) - loss.value(Z - 1e-6 * e)) / 2e-6 for e in np.eye(3)[:, :, None]]
    np.testing.assert_allclose(loss.slopes(Z)[:, 0], numeric, atol=1e-6)
    along = (loss.slopes(Z + 1e-6 * U) - loss.slopes(Z - 1e-6 * U)) / 2e-6
    np.testing.assert_allclose(loss.curve(Z)(U), along, atol=1e-7)
    assert loss.value(np.log([[1e-300], [1.0], [7.0]])) == pytest.approx(0.0, abs=1e-12)
    large = PoissonLoss(np.full(50, 1e6), np.ones(50))  # the first Newton step from zero is a million too long
    assert solve_smooth(np.ones((50, 1)), large, 1e-3, tol=1e-9).coef[0, 0] == pytest.approx(np.log(1e6), abs=1e-5)
    ones = PoissonLoss(np.ones(50), np.ones(50))  # solved by zero, where the loss is zero
    np.testing.assert_allclose(solve_smooth(X[:50], ones, 1.0).coef, 0.0, atol=1e-6)


@pytest.mark.parametrize("method", ["auto", "sketch", "cg"])
def test_kernel_logistic_regression_against_explicit_features(method):
    """A polynomial kernel is a linear model on its monomials, which scikit-learn fits."""
    first = X[:, :2]
    a, b = first.T
    features = np.column_stack([np.ones(300), np.sqrt(2) * a, np.sqrt(2) * b, a * a, np.sqrt(2) * a * b, b * b])
    K = (1 + first @ first.T) ** 2
    expected = LogisticRegression(C=1 / 0.5, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(features, LABELS)
    found = solve_kernel_smooth(K, LogisticLoss(LABELS, np.ones(300)), 0.5, method=method, tol=1e-10, random_state=0)
    assert found.converged
    np.testing.assert_allclose(K @ found.coef, expected.decision_function(features), atol=1e-3)


@pytest.mark.parametrize("loss", [LogisticLoss(LABELS, RNG.random(300)), PoissonLoss(COUNTS, np.ones(300))])
def test_kernel_losses_against_a_generic_solver(loss):
    """L-BFGS in the basis of the eigenvectors, where the penalty is a plain ridge; stored and computed kernels."""
    K = rbf_kernel(X, gamma=0.5)
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(values.clip(0.0))

    def objective(w):
        Z = (features @ w)[:, None]
        return loss.value(Z) + 0.5 * 0.3 * w @ w, features.T @ loss.slopes(Z)[:, 0] + 0.3 * w

    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(objective, np.zeros(300), jac=True, method="L-BFGS-B", options=options)
    computed = KernelGram(lambda rows, columns: rbf_kernel(X[rows], X[columns], gamma=0.5), 300)
    for gram in (K, Gram(K), computed):
        found = solve_kernel_smooth(gram, loss, 0.3, tol=1e-10, random_state=0)
        assert found.converged
        scores = K @ found.coef
        value = loss.value(scores[:, None]) + 0.15 * found.coef @ scores
        assert value <= best.fun * (1 + 1e-8)
        np.testing.assert_allclose(scores, features @ best.x, atol=1e-3)


def test_a_kernel_solution_is_not_claimed_too_early():
    K, loss = rbf_kernel(X, gamma=0.5), LogisticLoss(LABELS, np.ones(300))
    best = solve_kernel_smooth(K, loss, 0.01, tol=1e-12)
    for steps in (1, 2, 3):
        early = solve_kernel_smooth(K, loss, 0.01, tol=1e-9, max_iter=steps)
        values = [loss.value((K @ a)[:, None]) + 0.005 * a @ K @ a for a in (early.coef, best.coef)]
        assert early.residual >= (values[0] - values[1]) / values[0] * (1 - 1e-9)
        assert early.converged == (early.residual <= 1e-9)


def generic_portfolio(R, ridge):
    n, d = R.shape
    return minimize(
        lambda w: (0.5 * ridge * w @ w - np.log(R @ w).sum()) / n,
        np.full(d, 1.0 / d),
        jac=lambda w: (ridge * w - R.T @ (1.0 / (R @ w))) / n,
        bounds=[(0.0, 1.0)] * d,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    ).x


@pytest.mark.parametrize("ridge", [0.0, 5.0])
@pytest.mark.parametrize("shape", [(200, 8), (10, 30)])
def test_portfolios_against_a_generic_solver(shape, ridge):
    R = np.exp(0.2 * np.random.default_rng(1).standard_normal(shape) + 0.05 * np.linspace(-1, 1, shape[1]))
    found = solve_portfolio(R, ridge=ridge, tol=1e-10)
    expected = generic_portfolio(R, ridge)

    def loss(w):
        return 0.5 * ridge * w @ w - np.log(R @ w).sum()

    assert found.converged
    assert found.coef.min() >= 0
    assert found.coef.sum() == pytest.approx(1.0)
    assert loss(found.coef) <= loss(expected) + 1e-7
    if shape[0] > shape[1]:  # otherwise several portfolios are best
        np.testing.assert_allclose(found.coef, expected, atol=1e-3)


def test_portfolios_with_known_answers():
    np.testing.assert_allclose(solve_portfolio([[2.0, 1.0], [3.0, 1.0]]).coef, [1.0, 0.0], atol=1e-6)
    kelly = solve_portfolio([[2.0, 1.0]] * 6 + [[0.0, 1.0]] * 4, tol=1e-12)  # even odds at 0.6: stake 2p - 1
    np.testing.assert_allclose(kelly.coef, [0.2, 0.8], atol=1e-5)
    start = solve_portfolio([[2.0, 0.5], [0.5, 2.0]], start=[1.0, 0.0])
    np.testing.assert_allclose(start.coef, [0.5, 0.5], atol=1e-3)
    assert solve_portfolio([[3.0], [0.5]]).coef.tolist() == [1.0]
    early = solve_portfolio(np.exp(np.random.default_rng(0).standard_normal((50, 5))), max_iter=1)
    assert not early.converged


def test_bad_portfolios_are_refused():
    R = [[2.0, 0.5], [0.5, 2.0]]
    with pytest.raises(ValueError, match=r"off the simplex: its smallest share is 0\.6 and its sum 1\.3"):
        solve_portfolio(R, start=[0.6, 0.7])
    with pytest.raises(ValueError, match=r"off the simplex: its smallest share is -0\.2"):
        solve_portfolio(R, start=[1.2, -0.2])
    with pytest.raises(ValueError, match=r"one finite share for each of 2 assets; got shape \(3,\)"):
        solve_portfolio(R, start=[0.5, 0.5, 0.0])
    with pytest.raises(ValueError, match=r"period 1, asset 0 has -0\.1. Pass price relatives"):
        solve_portfolio([[2.0, 0.5], [-0.1, 2.0]])
    with pytest.raises(ValueError, match="all assets lose everything in period 1"):
        solve_portfolio([[2.0, 0.5], [0.0, 0.0]])
    with pytest.raises(ValueError, match="ridge must be a non-negative finite number"):
        solve_portfolio(R, ridge=-1.0)
    with pytest.raises(ValueError, match="NaN"):
        solve_portfolio([[np.nan, 1.0]])


def test_bad_losses_and_kernels_are_refused():
    with pytest.raises(ValueError, match=r"y must be finite and not negative; entry 1 is -2\.0"):
        PoissonLoss(np.array([1.0, -2.0]), np.ones(2))
    with pytest.raises(ValueError, match="weights must be finite and not negative; entry 0 is nan"):
        PoissonLoss(np.ones(2), np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match=r"labels -1 and \+1; got 0\.0"):
        LogisticLoss(np.array([0.0, 1.0]), np.ones(2))
    with pytest.raises(ValueError, match="weights must be finite and not negative"):
        LogisticLoss(np.array([-1.0, 1.0]), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="3 weights for 2 targets"):
        PoissonLoss(np.ones(2), np.ones(3))
    loss = LogisticLoss(np.array([1.0, -1.0]), np.ones(2))
    for bad, message in (
        (np.ones((2, 3)), "square, symmetric"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (-np.eye(2), "entry 0 of the diagonal of the kernel matrix is negative"),
        (np.full((2, 2), np.nan), "NaN"),
        (sparse.eye_array(2, format="csr"), "dense"),
    ):
        with pytest.raises(ValueError, match=message):
            solve_kernel_smooth(bad, loss, 1.0)
        with pytest.raises(ValueError, match=message):
            solve_kernel_ridge(bad, [1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="has weights"):
        solve_kernel_smooth(Gram(np.eye(2), scale=np.ones(2)), loss, 1.0)
    with pytest.raises(ValueError, match="method must be one of"):
        solve_kernel_smooth(np.eye(2), loss, 1.0, method="newton")
    for solve in (solve_smooth, solve_kernel_smooth, proximal_smooth):
        with pytest.raises(ValueError, match="the loss has 2 examples and the matrix 3"):
            solve(np.eye(3), loss, 1.0)
        with pytest.raises(ValueError, match="the loss is of 2 scores per example; got n_outputs=1"):
            solve(np.eye(2), MultinomialLoss(np.array([0, 1]), 2, np.ones(2)), 1.0)
    with pytest.raises(ValueError, match="classes must be whole numbers from 0 to 2"):
        MultinomialLoss(np.array([0, 3]), 3, np.ones(2))
    with pytest.raises(ValueError, match=r"y must be a vector of labels -1 and \+1; got shape \(2, 1\)"):
        LogisticLoss(np.ones((2, 1)), np.ones(2))


def test_bad_starts_are_refused():
    loss = LogisticLoss(np.array([1.0, -1.0]), np.ones(2))
    with pytest.raises(ValueError, match=r"start must hold finite coefficients of shape \(3, 1\); got shape \(2, 1\)"):
        solve_smooth(np.eye(2), loss, 1.0, start=np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"of shape \(2,\); got NaN or infinity"):
        solve_ridge(np.eye(2), [1.0, 2.0], 1.0, start=[np.nan, 0.0])
    with pytest.raises(ValueError, match=r"of shape \(2, 1\); got shape \(2,\)"):
        solve_ridge(np.eye(2), [[1.0], [2.0]], 1.0, start=[1.0, 0.0])
    with pytest.raises(ValueError, match="n_outputs must be a whole number"):
        solve_smooth(np.eye(2), loss, 1.0, n_outputs=0)
