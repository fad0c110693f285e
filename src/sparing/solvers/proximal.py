"""The proximal point method: a sequence of easier problems with a larger ridge."""

from dataclasses import replace
from functools import partial

import numpy as np

from sparing import checks
from sparing.geometry.larger_ridge import best_ridge
from sparing.geometry.leverage import rows_of
from sparing.linalg.gram import Gram
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows
from sparing.solvers.certificates import certify, certify_kernel
from sparing.solvers.conjugate import Descent, Operator, columnwise, conjugate_gradients
from sparing.solvers.kernel import allowed_kernel, precondition_kernel
from sparing.solvers.least_squares import LeastSquares, Preconditioner
from sparing.solvers.newton import Newton
from sparing.solvers.smooth_losses import SmoothLoss, match_shape
from sparing.types import Solution

INNER = 0.01  # relative energy at which a proximal step stops


def proximal_point(
    A,
    y,
    ridge,
    *,
    larger: float | None = None,
    gram: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    random_state=None,
) -> Solution:
    r"""Ridge regression by proximal steps at a larger ridge :math:`\lambda'` (Agarwal & Gonen, section 6).

    Each step minimises

    .. math:: \tfrac12 \|A w - y\|^2 + \tfrac\lambda2 \|w\|^2 + \tfrac{\lambda' - \lambda}2 \|w - w_{t-1}\|^2,

    whose total ridge is :math:`\lambda'`, so that one sketch for :math:`\lambda'` serves all steps; each step reduces
    the distance to the solution by the factor :math:`1 - \lambda/\lambda'`. This is the method of the paper, for
    comparison. For squared loss use :func:`~sparing.solvers.solve_ridge` with ``sketch_ridge``, which needs the square
    root of that number of passes.

    Parameters
    ----------
    A, y, ridge, tol, random_state
        As for :func:`~sparing.solvers.solve_ridge`.
    larger : float, optional
        :math:`\lambda' \ge \lambda`; by default :func:`~sparing.geometry.best_ridge`.
    gram : bool
        Whether A is a kernel matrix K: the same steps in the dual, :math:`(K + \lambda' I) \alpha_t = y + (\lambda' -
        \lambda) \alpha_{t-1}`, preconditioned by landmarks (Corollary 4). ``coef`` is then :math:`\alpha`, and ``tol``
        as for :func:`~sparing.solvers.solve_kernel_ridge`.
    max_iter : int
        Maximum number of conjugate gradient steps over all proximal steps.

    Examples
    --------
    >>> solution = proximal_point([[1.0], [1.0]], [1.0, 1.0], ridge=2.0, larger=8.0)
    >>> solution.converged, solution.coef.round(4)
    (True, array([0.5]))
    >>> proximal_point([[1.0, 1.0], [1.0, 1.0]], [1.0, 1.0], ridge=2.0, larger=8.0, gram=True).coef.round(4)
    array([0.25, 0.25])
    """
    rows, ridge = rows_of(A, gram), checks.positive("ridge", ridge)
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    larger = _larger_ridge(rows, ridge, larger, random_state)
    targets, rng = checks.targets(y, rows.shape[0]), np.random.default_rng(checks.seed(random_state))
    if isinstance(rows, Gram):
        made = precondition_kernel(rows, larger, "sketch", rng)._replace(slack=larger / ridge)
        bound: Operator = partial(allowed_kernel, targets, tol)
        certificate = partial(certify_kernel, rows, targets, ridge)
        found = _proximal_steps(lambda V: rows @ V, targets, made, larger, ridge, bound, max_iter)
    else:
        targets = targets.astype(rows.dtype, copy=False)
        problem = LeastSquares(rows, targets, ridge, tol, max_iter)
        made, tol = problem.sketched("auto", larger, rng), problem.tol
        bound, certificate = problem.allowed, partial(certify, rows, targets, ridge)
        found = _proximal_steps(rows.normal, problem.right, made, larger, ridge, bound, max_iter)
    excess = float(np.max(tol * made.slack * found.energy / bound(found.point)))
    if excess <= tol:
        inverse = made.inverse if isinstance(made.inverse, RidgeInverse) else None
        excess = certificate(found.point, inverse, made.slack).excess
    coef = found.point[:, 0] if np.ndim(y) == 1 else found.point
    return Solution(coef, found.iterations, excess, excess <= tol, made.size, made.effective_dimension)


def _proximal_steps(
    apply: Operator,
    right: np.ndarray,
    made: Preconditioner,
    larger: float,
    ridge: float,
    allowed: Operator,
    max_iter: int,
) -> Descent:
    """Solve (M + ridge) X = B by solutions with M + larger, until the energy at the ridge is within ``allowed``."""
    W, image, residual, steps = np.zeros_like(right), np.zeros_like(right), right, 0
    while True:
        energy = columnwise(residual, made.inverse(residual))
        if steps >= max_iter or np.all(made.slack * energy <= allowed(W)):
            return Descent(W, image, steps, energy)
        descent = conjugate_gradients(
            lambda V: apply(V) + larger * V,
            residual,  # at w_{t-1} the proximal and the original problem have the same residual
            made.inverse,
            enough=partial(_fallen, energy),
            max_iter=max_iter - steps,
        )
        W, image = W + descent.point, image + descent.image - (larger - ridge) * descent.point
        residual = right - image
        steps += descent.iterations


def proximal_smooth(
    A,
    loss: SmoothLoss,
    ridge,
    *,
    larger: float | None = None,
    n_outputs: int = 1,
    fit_intercept: bool = False,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    random_state=None,
) -> Solution:
    r"""The proximal point method for smooth losses: each step is solved as by :func:`~sparing.solvers.solve_smooth`.

    All steps share one sketch. After a step from :math:`W_{t-1}` to :math:`W_t` the gradient of the original objective
    is :math:`(\lambda' - \lambda)(W_{t-1} - W_t)`, and its squared norm over :math:`2\lambda` bounds the excess.

    Parameters
    ----------
    A, loss, ridge, n_outputs, fit_intercept, tol, random_state
        As for :func:`~sparing.solvers.solve_smooth`.
    larger : float, optional
        :math:`\lambda'`; by default :func:`~sparing.geometry.best_ridge` of the rows times the square root of the
        curvature at zero.
    max_iter : int
        Maximum number of Newton steps over all proximal steps.

    Examples
    --------
    >>> from sparing.solvers.smooth_losses import LogisticLoss
    >>> loss = LogisticLoss(np.array([1.0, 1.0, -1.0]), np.ones(3))
    >>> solution = proximal_smooth([[1.0], [2.0], [-1.0]], loss, ridge=1.0, larger=3.0, tol=1e-9)
    >>> solution.converged, solution.coef.round(3).ravel()
    (True, array([0.88, 0.  ]))
    """
    rows, ridge, tol = Rows.of(A), checks.positive("ridge", ridge), checks.positive("tol", tol)
    match_shape(loss, rows.shape[0], checks.whole("n_outputs", n_outputs))
    scale = np.sqrt(loss.curvature(np.zeros((rows.shape[0], n_outputs))))
    curved = Rows(rows.X, scale=scale if rows.scale is None else scale * rows.scale, shift=rows.shift)
    larger = _larger_ridge(curved, ridge, larger, random_state)
    rng = np.random.default_rng(checks.seed(random_state))
    newton = Newton(rows, loss, ridge, fit_intercept, "sketch", rng, pull=larger - ridge)
    W: np.ndarray = np.zeros((rows.shape[1] + 1, n_outputs))
    steps, excess = 0, np.inf
    while excess > tol and steps < checks.whole("max_iter", max_iter):
        newton.centre = W
        solution = newton.run(W, tol * ridge / larger, max_iter - steps)
        gradient = newton.pull * np.linalg.norm((solution.coef - W)[:-1])
        W, steps = solution.coef, steps + solution.iterations
        value = loss.value(rows @ W[:-1] + W[-1]) + 0.5 * ridge * np.sum(W[:-1] ** 2)
        excess = float(gradient**2 / (2 * ridge * value) + solution.residual)
    return replace(solution, iterations=steps, residual=excess, converged=excess <= tol)


def _larger_ridge(rows: Rows | Gram, ridge: float, larger: float | None, random_state) -> float:
    larger = best_ridge(rows, ridge, random_state) if larger is None else checks.positive("larger", larger)
    if larger < ridge:
        raise ValueError(f"larger is {larger}, below the ridge {ridge}; pass a larger one, or None.")
    return larger


def _fallen(start: np.ndarray, energy: np.ndarray, _) -> np.ndarray:
    return energy <= INNER * start
