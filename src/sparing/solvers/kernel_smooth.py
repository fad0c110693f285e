r"""Smooth losses of functions in a kernel's space, such as kernel logistic regression.

The minimiser of :math:`\sum_i \phi_i(f(x_i)) + \tfrac\lambda2 \|f\|^2` is :math:`f = \sum_j \alpha_j k(x_j, \cdot)`.
With :math:`g = \phi'(K\alpha) + \lambda\alpha`, the gradient of the objective is :math:`\sum_i g_i k(x_i, \cdot)`: at
any :math:`\alpha` the excess is at most :math:`g^T K g/(2\lambda)`, as the objective is strongly convex.
"""

import numpy as np

from sparing import checks
from sparing.geometry.leverage import gram_of
from sparing.linalg.gram import Gram
from sparing.solvers.kernel import solve_kernel_ridge
from sparing.solvers.ridge import METHODS
from sparing.solvers.smooth_losses import SmoothLoss, match_shape
from sparing.types import Solution

STEP_TOLERANCE = 1e-8  # of the linear system of a Newton step


def solve_kernel_smooth(
    gram: Gram | np.ndarray,
    loss: SmoothLoss,
    ridge,
    *,
    method: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    random_state=None,
) -> Solution:
    r"""Minimise :math:`\sum_i \phi_i((K\alpha)_i) + \tfrac\lambda2 \alpha^T K \alpha` for smooth convex losses.

    Newton's method: with curvatures D and the g above, the step is
    :math:`-(g - D^{1/2} u)/\lambda` for :math:`(D^{1/2} K D^{1/2} + \lambda I) u = D^{1/2} K g`, a problem of kernel
    ridge regression with weighted examples, solved by :func:`~sparing.solvers.solve_kernel_ridge`.

    Parameters
    ----------
    gram : array of shape (n, n), or Gram
        K, stored or computed.
    loss : SmoothLoss
        With one score per example: :class:`~sparing.solvers.smooth_losses.LogisticLoss` or ``PoissonLoss``.
    ridge : float
        :math:`\lambda > 0`.
    method : {"auto", "sketch", "cholesky", "cg"}
        For the steps, as for :func:`~sparing.solvers.solve_kernel_ridge`.
    tol : float
        Relative tolerance on the excess of the objective over its minimum. ``converged`` says that the bound above is
        within it; rounding errors are not counted.
    max_iter : int
        Maximum number of Newton steps.
    random_state : int, RandomState or None
        For the landmarks.

    Returns
    -------
    Solution
        ``coef`` is :math:`\alpha`. There is no intercept: add a constant to the kernel for one that is penalised.

    Examples
    --------
    >>> from sparing.solvers.smooth_losses import LogisticLoss
    >>> loss = LogisticLoss(np.array([1.0, 1.0, -1.0]), np.ones(3))
    >>> solution = solve_kernel_smooth(np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]), loss, ridge=1.0)
    >>> solution.converged, float(np.round(solution.coef @ [1.0, 2.0, -1.0], 3))  # the weight of the linear kernel
    (True, 0.88)
    """
    gram, ridge = gram_of(gram), checks.positive("ridge", ridge)
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    if gram.scale is not None:
        raise ValueError("the kernel matrix has weights; pass them to the loss.")
    checks.one_of("method", method, METHODS)
    match_shape(loss, gram.shape[0], 1)
    seed = checks.seed(random_state)
    alpha, scores = np.zeros((gram.shape[0], 1)), np.zeros((gram.shape[0], 1))
    value, excess, steps, last = loss.value(scores), np.inf, 0, None
    while True:
        g = loss.slopes(scores) + ridge * alpha
        image = gram @ g
        excess = max(float(np.sum(g * image)), 0.0) / (2 * ridge * max(value, np.finfo(float).tiny))
        if excess <= tol or steps == max_iter:
            break
        root = np.sqrt(loss.curvature(scores))
        last = solve_kernel_ridge(
            gram.weighted(root), root[:, None] * image, ridge, method=method, tol=STEP_TOLERANCE, random_state=seed
        )
        step = (root[:, None] * last.coef - g) / ridge
        found = _search(loss, ridge, alpha, scores, value, step, gram @ step, float(np.sum(image * step)))
        if found is None:
            break
        alpha, scores, value = found
        steps += 1
    size, dimension = (last.sketch_size, last.effective_dimension) if last else (0, None)
    return Solution(alpha[:, 0], steps, excess, excess <= tol, size, dimension)


def _search(loss: SmoothLoss, ridge: float, alpha, scores, value: float, step, change, slope: float):
    """Backtracking: the next coefficients, scores and objective, or None if no step decreases it."""
    length = 1.0
    while length > 1e-10:
        trial, moved = alpha + length * step, scores + length * change
        fallen = loss.value(moved) + 0.5 * ridge * float(np.sum(trial * moved))
        if fallen <= value + 1e-4 * length * slope + np.finfo(float).eps * abs(value):
            return trial, moved, fallen
        length /= 2
    return None
