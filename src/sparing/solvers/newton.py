r"""Smooth losses: Newton steps by conjugate gradients, preconditioned by a sketch if necessary.

For a loss of curvature between :math:`\alpha` and :math:`\beta`, a sketch of the rows reduces the condition number to
that of the loss, :math:`O(\beta/\alpha)`, whatever the spectrum of A (Agarwal & Gonen, section 5). Here the sketched
rows are weighted by the curvature at the current point, which removes that ratio as well.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparing import checks
from sparing.linalg.rows import Rows
from sparing.linalg.threads import one_blas_thread
from sparing.solvers.ball import within_ball
from sparing.solvers.certificates import TERMS
from sparing.solvers.conjugate import conjugate_gradients
from sparing.solvers.curved import HessianInverse
from sparing.solvers.least_squares import REFINEMENTS
from sparing.solvers.ridge import METHODS
from sparing.solvers.smooth_losses import SmoothLoss, match_shape
from sparing.types import Solution

QUICK_STEPS = 20  # steps of L-BFGS before the first Newton step
MOST_STEPS = 1000  # maximum number of conjugate gradient steps per Newton step
ONE_THREAD = 1 << 21  # values of a dense matrix up to which several BLAS threads are no faster
MOST_CHANGE = 0.5  # change of a score up to which the quadratic model holds within a factor of two
UNITS = 8.0  # rounding units per product, in rough bounds
STALLED = 0.01  # decrease of the objective over the tolerance below which a refused claim counts as a failure
QUIET = 0.9  # fraction of the tolerance up to which rough bounds suffice
FORCING = 0.3  # relative residual of a Newton step, in the norm of the inverse Hessian


def solve_smooth(
    A,
    loss: SmoothLoss,
    ridge,
    *,
    n_outputs: int = 1,
    fit_intercept: bool = False,
    method: str = "auto",
    radius: float | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    random_state=None,
) -> Solution:
    r"""Minimise :math:`\sum_i \phi_i(a_i W + b) + \tfrac\lambda2 \|W\|^2` for smooth convex losses :math:`\phi_i`.

    Parameters
    ----------
    A : array, CSR matrix or Rows of shape (n, d)
    loss : SmoothLoss
        For example :class:`~sparing.solvers.smooth_losses.LogisticLoss`.
    ridge : float
        :math:`\lambda > 0`.
    n_outputs : int
        Columns of W.
    fit_intercept : bool
        Whether to fit b, which is not penalised.
    method : {"auto", "sketch", "cholesky", "cg"}
        How Newton steps are preconditioned: by a sketch, by all rows, or not at all. "auto" starts with L-BFGS, which
        suffices for easy problems, continues with plain Newton steps, and preconditions those if they take too many
        iterations: by a sketch, or by all rows if a dense problem is small or the sketch would be too large.
    radius : float, optional
        The constraint :math:`\|W\| \le B`.
    start : array of shape (d + 1, n_outputs), optional
        Weights, the intercepts last.
    tol : float
        Relative tolerance on the excess of the objective over its minimum. A solution with ``converged`` is within
        it, rounding errors included; within 5 ``tol`` if a sketch was used.
    max_iter : int
        Maximum number of steps, of which at most half are L-BFGS.

    Returns
    -------
    Solution
        ``coef`` has shape (d + 1, n_outputs), the intercepts last; ``iterations`` are Newton steps and, with
        "auto", the steps of L-BFGS before them.

    Examples
    --------
    >>> from sparing.solvers.smooth_losses import LogisticLoss
    >>> loss = LogisticLoss(np.array([1.0, 1.0, -1.0]), np.ones(3))
    >>> solution = solve_smooth([[1.0], [2.0], [-1.0]], loss, ridge=1.0)
    >>> solution.converged, solution.coef.round(3).ravel()
    (True, array([0.88, 0.  ]))
    """
    rows, ridge = Rows.of(A), checks.positive("ridge", ridge)
    checks.one_of("method", method, METHODS)
    match_shape(loss, rows.shape[0], checks.whole("n_outputs", n_outputs))
    newton = Newton(rows, loss, ridge, fit_intercept, method, np.random.default_rng(checks.seed(random_state)))
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    if radius is None:
        return newton.run(checks.start(start, (rows.shape[1] + 1, n_outputs)), tol, max_iter)
    options: dict[str, Any] = {"n_outputs": n_outputs, "fit_intercept": fit_intercept, "method": method}
    options |= {"tol": tol, "max_iter": max_iter, "random_state": random_state}
    return within_ball(
        lambda larger, start: solve_smooth(rows, loss, larger, start=start, **options),
        ridge,
        checks.positive("radius", radius),
        newton.slope(n_outputs),
        size=lambda coef: float(np.linalg.norm(coef[:-1])),
    )


class Newton:
    r"""Newton's method for one problem, with the preconditioner that it needs.

    The penalty is :math:`\tfrac\lambda2 \|W\|^2 + \tfrac\mu2 \|W - C\|^2`, with ``pull`` for :math:`\mu` and ``centre``
    for C, which proximal steps update; ``total_ridge`` is :math:`\lambda + \mu`.
    """

    def __init__(self, rows: Rows, loss: SmoothLoss, ridge: float, fit_intercept: bool, method: str, rng, pull=0.0):
        self.rows, self.loss, self.ridge, self.fit_intercept, self.rng = rows, loss, ridge, fit_intercept, rng
        self.pull, self.total_ridge = pull, ridge + pull
        self.centre: np.ndarray = np.zeros(1)
        self.tol = 0.0
        self.inverse = HessianInverse(rows, loss, self.total_ridge, method, rng)

    @cached_property
    def norm(self) -> float:
        """The Frobenius norm of the rows and a column of ones."""
        return float(np.hypot(self.rows.norm(), np.sqrt(self.rows.shape[0]) if self.fit_intercept else 0.0))

    def run(self, W: np.ndarray, tol: float, max_iter: int) -> Solution:
        """Newton steps with backtracking until the certified excess is within the tolerance."""
        with one_blas_thread(self.rows.is_sparse or self.rows.n_values <= ONE_THREAD):
            return self._run(W, tol, max_iter)

    def _run(self, W: np.ndarray, tol: float, max_iter: int) -> Solution:
        W, n_steps, self.tol = W.astype(np.float64), 0, tol
        if self.inverse.adaptive:
            W, Z, gradient, n_steps = self._quick_steps(W, tol, max_iter // 2)
        else:
            Z = self._scores(W)
            gradient = self._gradient(W, Z)
        value = self._value(W, Z)
        excess, first, refused = np.inf, 0.0, 0
        while n_steps < max_iter:
            n_steps += 1
            step, decrement, left, taken = self._direction(Z, gradient, tol * value, first)
            first = first or decrement
            excess = 0.5 * (decrement + left) / max(value, np.finfo(float).tiny)
            claimed = excess <= tol
            if claimed and taken == 0 and not self._is_near(Z, left):  # a zero step does not test the quadratic model
                step, decrement, left, taken = self._direction(Z, gradient, FORCING**2 * left, 0.0)
            change = self._scores(step)
            if claimed:
                excess = self._certified(W, Z, value, gradient, step, change, left, taken)
            before = value
            W, Z, value, moved = self._search(W, Z, value, step, change, decrement)
            refused += claimed and excess > tol and before - value <= STALLED * tol * value
            if (claimed and excess <= tol) or not moved or refused > REFINEMENTS:
                break
            gradient = self._gradient(W, Z)
        size = 0 if self.inverse.sample is None else len(self.inverse.sample.indices)
        return Solution(W, n_steps, excess, excess <= tol, size, self.inverse.effective_dimension)

    def _certified(self, W, Z, value: float, gradient, step, change, left: float, taken: int) -> float:
        """An upper bound on the relative excess at W, rounding errors included.

        The quadratic model at W holds within a factor of two if no score changes by more than one half. That the loss
        agrees with the model at the end of the step is not enough: it may fall in directions the step leaves out.
        """
        if taken and not np.max(np.abs(change), initial=0.0) <= MOST_CHANGE:
            return np.inf
        curved = self.loss.curve(Z)(change)
        inside = np.sqrt(max(float(np.sum(change * curved)), 0.0) + self.total_ridge * np.sum(step[:-1] ** 2))
        root, norm, unit = np.sqrt(self.total_ridge), self.norm, UNITS * float(np.finfo(float).eps)
        slopes = np.linalg.norm(self.loss.slopes(Z))
        drift = taken * norm**2 * np.linalg.norm(step) + norm * slopes + self.total_ridge * np.linalg.norm(W)
        total = inside + np.sqrt(left) + unit * (norm * np.linalg.norm(W) + drift / root)
        if unit * norm**2 <= 0.01 * self.total_ridge and 0.5 * total**2 <= QUIET * self.tol * value:
            return float(0.5 * (inside + np.sqrt(left)) ** 2 / max(value, np.finfo(float).tiny))
        return self._certified_carefully(W, Z, value, gradient, step, curved, inside)

    def _is_near(self, Z, energy: float) -> bool:
        r"""Whether no score changes by much on the way to the minimum: :math:`|a_i v| \le \rho \|v\|_H`,
        where :math:`\rho^2` is at most :math:`\|a_i\|^2/\lambda` and one over the curvature of the example."""
        with np.errstate(divide="ignore"):
            most = np.minimum(self.rows.squared_norms() / self.total_ridge, 1.0 / self.loss.curvature(Z))
        return bool(energy * np.max(most) <= MOST_CHANGE**2)

    def _certified_carefully(self, W, Z, value: float, gradient, step, curved, inside: float) -> float:
        """The same from the true residual of the step, with componentwise bounds on rounding errors."""
        ridge, magnitudes = self.total_ridge, self.rows.magnitudes()
        units = np.finfo(float).eps * (TERMS + np.sqrt(np.array(self.rows.shape)))
        z_error = units[1] * (magnitudes @ np.abs(W[:-1]) + np.abs(W[-1]))
        if not np.max(z_error, initial=0.0) <= MOST_CHANGE:
            return np.inf
        left = gradient + self._transposed(curved) + self._weights_only(ridge * step)
        slopes = np.abs(self.loss.slopes(Z))
        g_error = units[0] * magnitudes.transposed(slopes + np.abs(curved)) + TERMS * units[0] * ridge * np.abs(W[:-1])
        missed = np.linalg.norm(np.sqrt(self.loss.curvature(Z))[:, None] * z_error)
        missed += np.linalg.norm(g_error) / np.sqrt(ridge)
        energy = inside + missed + self.inverse.residual_norm(Z, left)
        least = value - float(np.sum(slopes * z_error)) - 0.5 * energy**2
        return float(0.5 * energy**2 / least) if least > 0 else np.inf

    def _quick_steps(self, W, tol: float, max_iter: int):
        """Steps of L-BFGS, each two products with A, until the objective hardly decreases.

        Returns the weights, their scores, the gradient there and the number of steps.
        """
        unit = self.loss.value(np.zeros((self.rows.shape[0], W.shape[1]))) or 1.0
        scores: dict[bytes, np.ndarray] = {}  # of the last point evaluated, nearly always the final one

        def objective(w):
            scores.clear()
            trial = w.reshape(W.shape)
            Z = scores[w.tobytes()] = self._scores(trial)
            return self._value(trial, Z) / unit, self._gradient(trial, Z).ravel() / unit

        options = {"maxiter": min(QUICK_STEPS, max_iter), "ftol": tol, "gtol": 0.0}
        found = minimize(objective, W.ravel(), jac=True, method="L-BFGS-B", options=options)
        W, Z = found.x.reshape(W.shape), scores.get(found.x.tobytes())
        return W, self._scores(W) if Z is None else Z, unit * found.jac.reshape(W.shape), int(found.nit)

    def slope(self, n_outputs: int) -> float:
        """The norm of the gradient of the loss at zero weights and optimal intercepts."""
        zero = Newton(Rows(np.zeros((self.rows.shape[0], 1))), self.loss, 1.0, self.fit_intercept, "cholesky", self.rng)
        intercepts = zero.run(np.zeros((2, n_outputs)), 1e-8, 100).coef[-1]
        Z = np.zeros((self.rows.shape[0], n_outputs)) + intercepts
        return float(np.linalg.norm(self._transposed(self.loss.slopes(Z))[:-1]))

    def _direction(self, Z, gradient, goal: float, first: float) -> tuple[np.ndarray, float, float, int]:
        """The Newton step, its decrement, the remaining energy and the number of conjugate gradient steps.

        The step is inexact while the gradient is large. An inexact step may miss weak directions, and its decrement
        says nothing about them; if only the remaining energy keeps the excess above the goal, the step is refined.
        """
        shape, curve = gradient.shape, self.loss.curve(Z)

        def hessian(v):
            V = v.reshape(shape)
            return (self._transposed(curve(self._scores(V))) + self._weights_only(self.total_ridge * V)).reshape(-1, 1)

        def descend(start, limit, fine):
            inverse = self.inverse.at(Z)
            energy = max(float(np.sum(gradient * inverse(gradient))), 0.0)  # rounding errors can make it negative
            forcing = min(FORCING, np.sqrt(energy / first)) if first else FORCING
            left_over = 0.1 * goal if fine else max(forcing**2 * energy, 0.1 * goal)
            descent = conjugate_gradients(
                hessian,
                -gradient.reshape(-1, 1),  # outputs may be coupled: one vector, not several columns
                lambda v: inverse(v.reshape(shape)).reshape(-1, 1),
                enough=lambda left, _: left <= left_over,
                max_iter=limit,
                start=start,
            )
            self.inverse.served(descent.iterations)
            return descent

        def solve(start, fine):
            limit = self.inverse.plain_steps if self.inverse.adaptive else MOST_STEPS
            descent = descend(start, limit, fine)
            if self.inverse.adaptive and descent.iterations == limit:
                self.inverse.precondition(Z)
                return descend(descent.point, MOST_STEPS, fine)
            return descent

        descent = solve(None, False)
        decrement, left, taken = _decrement(gradient, descent.point), float(descent.energy[0]), descent.iterations
        if decrement <= 2.0 * goal < decrement + left:
            descent = solve(descent.point, True)
            decrement, left = _decrement(gradient, descent.point), float(descent.energy[0])
            taken += descent.iterations
        return descent.point.reshape(shape), decrement, left, taken

    def _search(self, W, Z, value, step, change, decrement):
        """Backtracking line search; scores are updated along the step, so that no pass over A is needed."""
        length = 1.0
        while length > 1e-10:
            trial, scores = W + length * step, Z + length * change
            fallen = self._value(trial, scores)
            if fallen <= value - 1e-4 * length * decrement + np.finfo(float).eps * abs(value):
                return trial, scores, fallen, True
            length /= 2
        return W, Z, value, False

    def _scores(self, W):
        return self.rows @ W[:-1] + W[-1]

    def _transposed(self, R):
        """The transpose of ``_scores``."""
        intercepts = R.sum(axis=0, keepdims=True) if self.fit_intercept else np.zeros((1, R.shape[1]))
        return np.concatenate([self.rows.transposed(R), intercepts])

    def _weights_only(self, W):
        """W, a new array, with zeros for the intercepts, which are not penalised."""
        W[-1] = 0.0
        return W

    def _gradient(self, W, Z) -> np.ndarray:
        penalty = self.ridge * W + self.pull * (W - self.centre)
        return self._transposed(self.loss.slopes(Z)) + self._weights_only(penalty)

    def _value(self, W, Z) -> float:
        away = self.pull * np.sum((W - self.centre)[:-1] ** 2) if self.pull else 0.0
        return self.loss.value(Z) + 0.5 * float(self.ridge * np.sum(W[:-1] ** 2) + away)


def _decrement(gradient: np.ndarray, step: np.ndarray) -> float:
    return float(-np.sum(gradient.ravel() * step.ravel()))
