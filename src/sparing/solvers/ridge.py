"""Ridge regression: one problem, by whichever method is likely to be fastest."""

from dataclasses import replace
from functools import partial

import numpy as np

from sparing import checks
from sparing.linalg.rows import Rows
from sparing.solvers.ball import within_ball
from sparing.solvers.least_squares import LeastSquares
from sparing.types import Solution

METHODS = ("auto", "sketch", "cholesky", "cg")
SKETCHES = ("auto", "leverage", "uniform", "srht")


def solve_ridge(
    A,
    y,
    ridge,
    *,
    method: str = "auto",
    sketch: str = "auto",
    sketch_ridge: float | None = None,
    radius: float | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state=None,
) -> Solution:
    r"""Minimise :math:`F(w) = \tfrac12 \|A w - y\|^2 + \tfrac\lambda2 \|w\|^2`, for one target or several.

    Parameters
    ----------
    A : array, CSR matrix, LinearOperator or Rows of shape (n, d)
    y : array of shape (n,) or (n, n_targets)
    ridge : float
        :math:`\lambda > 0`.
    method : {"auto", "sketch", "cholesky", "cg"}
        "sketch" is conjugate gradients preconditioned by a sketch, "cg" without one. "auto" takes whichever is
        likely to be fastest: a Cholesky factor for small problems; the sketch where the effective dimension is
        small against both sides of A; for sparse problems plain steps first, a sketch if those do not do.
    sketch : {"auto", "leverage", "uniform", "srht"}
        What a sketch is made of: rows drawn by leverage; as many drawn alike, which does where rows are much alike; or
        as many random combinations of all rows (:func:`sparing.sketches.srht`), which take a Hadamard transform of
        every column, but save steps where few rows carry a lot. "auto" is "srht" for dense rows of that kind, else
        "leverage".
    sketch_ridge : float, optional
        A larger ridge to make the sketch for: it needs fewer rows, and the number of steps grows by up to
        :math:`\sqrt{\lambda'/\lambda}`.
    radius : float, optional
        The constraint :math:`\|w\| \le B`, for each target by itself.
    start : array of the shape of coef, optional
    tol : float
        How far the objective may be above its minimum, relative to it; 1.2e-7 at least for float32. A solution that
        says ``converged`` is within ``tol``, rounding errors included; with a sketch, which stands for A up to
        a constant, within 5 ``tol``.
    max_iter : int
        Steps at most, each of them two products with A.
    random_state : int, RandomState or None
        For the sketch.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((3000, 600)) / np.arange(1, 601)
    >>> solution = solve_ridge(A, A[:, 0] - A[:, 1], ridge=1.0, random_state=0)
    >>> solution.converged, solution.iterations < 40, solution.coef[:2].round(3)
    (True, True, array([ 1.   , -0.999]))
    """
    rows, ridge = Rows.of(A), checks.positive("ridge", ridge)
    checks.one_of("method", method, METHODS)
    checks.one_of("sketch", sketch, SKETCHES)
    sketch_ridge = ridge if sketch_ridge is None else checks.positive("sketch_ridge", sketch_ridge)
    if sketch_ridge < ridge:
        raise ValueError(f"sketch_ridge is {sketch_ridge}, below the ridge {ridge}; pass a larger one, or None.")
    targets = checks.targets(y, rows.shape[0]).astype(rows.dtype, copy=False)
    if radius is not None:
        if start is not None or sketch_ridge != ridge:
            raise ValueError("with radius= there is no start= or sketch_ridge=: leave them out.")
        options = {"method": method, "sketch": sketch, "tol": tol, "max_iter": max_iter, "random_state": random_state}
        return _in_ball(rows, targets, ridge, checks.positive("radius", radius), np.ndim(y), options)
    problem = LeastSquares(rows, targets, ridge, checks.positive("tol", tol), checks.whole("max_iter", max_iter))
    rng = np.random.default_rng(checks.seed(random_state))
    first = None if start is None else np.asarray(start, dtype=rows.dtype).reshape(rows.shape[1], -1)
    if method == "auto":
        solution = problem.fastest(sketch, rng, first)
    elif method == "sketch":
        solution = problem.descend(problem.sketched(sketch, sketch_ridge, rng), first)
    else:
        solution = problem.descend(problem.whole() if method == "cholesky" else problem.plain(), first)
    return replace(solution, coef=solution.coef[:, 0]) if np.ndim(y) == 1 else solution


def _in_ball(rows: Rows, targets: np.ndarray, ridge: float, radius: float, n_dimensions: int, options) -> Solution:
    """One target at a time: each has a ridge of its own at which it reaches the ball's surface."""
    found = []
    for y in targets.T:
        slope = float(np.linalg.norm(rows.transposed(y[:, None])))
        found.append(within_ball(partial(_from_start, rows, y, options), ridge, radius, slope))
    return replace(
        max(found, key=lambda solution: solution.residual),
        coef=np.column_stack([solution.coef for solution in found]) if n_dimensions == 2 else found[0].coef,
        iterations=sum(solution.iterations for solution in found),
        converged=all(solution.converged for solution in found),
    )


def _from_start(rows: Rows, y: np.ndarray, options, ridge: float, start: np.ndarray | None) -> Solution:
    return solve_ridge(rows, y, ridge, start=start, **options)
