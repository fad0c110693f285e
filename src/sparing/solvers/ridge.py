"""Ridge regression by a sketch, a Cholesky factor or conjugate gradients."""

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
        "sketch" is conjugate gradients preconditioned by a sketch, "cg" is conjugate gradients alone. "auto" picks the
        method that is likely to be fastest. For a dense A that is a sketch if the effective dimension is small enough
        for it to cost less than a Cholesky factor (or a QR factorisation, where rounding errors call for it). For a
        sparse A it is plain steps first, and a sketch if these do not converge.
    sketch : {"auto", "leverage", "uniform", "srht"}
        The kind of sketch: rows sampled by leverage; rows sampled uniformly, which suffices if leverages are similar;
        or random combinations of all rows (:func:`sparing.sketches.srht`), which need a Hadamard transform of every
        column but save steps if few rows have high leverage. "auto" is "srht" for dense rows of that kind, else
        "leverage".
    sketch_ridge : float, optional
        A larger ridge for the sketch of method="sketch", which then needs fewer rows; the number of steps grows by up
        to :math:`\sqrt{\lambda'/\lambda}`.
    radius : float, optional
        The constraint :math:`\|w\| \le B`, for each target separately.
    start : array of the shape of coef, optional
    tol : float
        Relative tolerance on the excess of the objective over its minimum; at least 1.2e-7 for float32. A solution
        with ``converged`` is within it, rounding errors included; within 5 ``tol`` if a sketch was used, as that
        approximates A up to a constant.
    max_iter : int
        Maximum number of steps, each two products with A.
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
    sketch_ridge = checked_sketch_ridge(sketch_ridge, ridge, method)
    targets = checks.targets(y, rows.shape[0]).astype(rows.dtype, copy=False)
    if radius is not None:
        if start is not None or sketch_ridge != ridge:
            raise ValueError("with radius= there is no start= or sketch_ridge=: leave them out.")
        options = {"method": method, "sketch": sketch, "tol": tol, "max_iter": max_iter, "random_state": random_state}
        return _in_ball(rows, targets, ridge, checks.positive("radius", radius), np.ndim(y), options)
    problem = LeastSquares(rows, targets, ridge, checks.positive("tol", tol), checks.whole("max_iter", max_iter))
    rng = np.random.default_rng(checks.seed(random_state))
    shape = (rows.shape[1], *np.shape(y)[1:])
    first = None if start is None else checks.start(start, shape).astype(rows.dtype).reshape(rows.shape[1], -1)
    solution = solved(problem, method, sketch, sketch_ridge, rng, first)
    return replace(solution, coef=solution.coef[:, 0]) if np.ndim(y) == 1 else solution


def solved(
    problem: LeastSquares, method: str, sketch: str, sketch_ridge: float, rng, start: np.ndarray | None = None
) -> Solution:
    """The solution of a problem by one of ``METHODS``."""
    if method == "auto":
        return problem.fastest(sketch, rng, start)
    if method == "sketch":
        return problem.descend(problem.sketched(sketch, sketch_ridge, rng), start)
    return problem.descend(problem.whole() if method == "cholesky" else problem.plain(), start)


def checked_sketch_ridge(sketch_ridge: float | None, ridge: float, method: str) -> float:
    """The larger ridge, or the ridge itself; only a sketch can be made for another one."""
    if sketch_ridge is None:
        return ridge
    sketch_ridge = checks.positive("sketch_ridge", sketch_ridge)
    if sketch_ridge < ridge:
        raise ValueError(f"sketch_ridge is {sketch_ridge}, below the ridge {ridge}; pass a larger one, or None.")
    if method != "sketch":
        raise ValueError(f"sketch_ridge is for method='sketch'; got method={method!r}. Leave one of them out.")
    return sketch_ridge


def _in_ball(rows: Rows, targets: np.ndarray, ridge: float, radius: float, n_dimensions: int, options) -> Solution:
    """One target at a time: each reaches the surface of the ball at a ridge of its own."""
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
