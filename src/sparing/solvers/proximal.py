"""The proximal point method: many easy problems at a larger ridge in place of one at the ridge asked for."""

from functools import partial

import numpy as np

from sparing import checks
from sparing.geometry.effective_dimension import best_ridge
from sparing.geometry.rows import Rows
from sparing.solvers.conjugate import conjugate_gradients
from sparing.solvers.least_squares import LeastSquares
from sparing.types import Solution

INNER = 0.01  # of the energy that a proximal step starts from it may leave


def proximal_point(
    A, y, ridge, *, larger: float | None = None, tol: float = 1e-10, max_iter: int = 10_000, random_state=None
) -> Solution:
    r"""Ridge regression by proximal steps at a larger ridge :math:`\lambda'` (Agarwal & Gonen, section 6).

    Each step minimises

    .. math:: \tfrac12 \|A w - y\|^2 + \tfrac\lambda2 \|w\|^2 + \tfrac{\lambda' - \lambda}2 \|w - w_{t-1}\|^2,

    whose ridge is :math:`\lambda'` in all, so that a sketch for :math:`\lambda'` serves every step; the distance to
    the solution shrinks by :math:`1 - \lambda/\lambda'` a step. :func:`~sparing.solvers.solve_ridge` with
    ``sketch_ridge`` uses the same sketch for conjugate gradients at :math:`\lambda` itself, and needs
    the root of that many passes: take that one for squares. This is the paper's method, to compare with.

    Parameters
    ----------
    A, y, ridge, tol, random_state
        As for :func:`~sparing.solvers.solve_ridge`.
    larger : float, optional
        :math:`\lambda'`; by default :func:`~sparing.geometry.best_ridge`.
    max_iter : int
        Steps of conjugate gradients at most, over all proximal steps.

    Examples
    --------
    >>> solution = proximal_point([[1.0], [1.0]], [1.0, 1.0], ridge=2.0, larger=8.0)
    >>> solution.converged, solution.coef.round(4)
    (True, array([0.5]))
    """
    rows, ridge = A if isinstance(A, Rows) else Rows(A), checks.positive("ridge", ridge)
    larger = best_ridge(rows.X, ridge, random_state) if larger is None else checks.positive("larger", larger)
    if larger < ridge:
        raise ValueError(f"larger is {larger}, below the ridge {ridge}; pass a larger one, or None.")
    targets = checks.targets(y, rows.shape[0]).astype(rows.dtype, copy=False)
    problem = LeastSquares(rows, targets, ridge, checks.positive("tol", tol), checks.whole("max_iter", max_iter))
    made = problem.sketched("leverage", larger, np.random.default_rng(checks.seed(random_state)))
    W, residual, steps, excess = np.zeros_like(problem.right), problem.right, 0, np.inf
    while steps < max_iter:
        energy = np.einsum("ij,ij->j", residual, made.inverse(residual))
        # The sketch stands for the larger ridge: an energy at the smaller one is at most so many times as much.
        excess = float(np.max(problem.tol * energy * (larger / ridge) / problem.allowed(W)))
        if excess <= problem.tol:
            break
        descent = conjugate_gradients(
            lambda V: rows.transposed(rows @ V) + larger * V,
            residual,  # of the proximal problem at w_{t-1}, where it is that of the original one
            made.inverse,
            enough=partial(_fallen, energy),
            max_iter=max_iter - steps,
        )
        W = W + descent.point
        residual = residual - descent.image + (larger - ridge) * descent.point
        steps += descent.iterations
    coef = W[:, 0] if np.ndim(y) == 1 else W
    return Solution(coef, steps, excess, excess <= problem.tol, made.size, made.effective_dimension)


def _fallen(start: np.ndarray, energy: np.ndarray, _) -> np.ndarray:
    return energy <= INNER * start
