r"""Ridge regression by conjugate gradients that a sketch preconditions (Agarwal & Gonen, section 5).

Some :math:`d_\lambda \log d_\lambda` rows :math:`\tilde A`, drawn by leverage and rescaled, make
:math:`P = \tilde A^T \tilde A + \lambda I` a constant approximation of :math:`A^T A + \lambda I`. Preconditioned
by P, the problem is well conditioned whatever the spectrum of A is: the number of passes over A depends on the
accuracy asked for alone, and P costs :math:`O(d_\lambda^2 d)` beside them.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from sparing import checks
from sparing.geometry.leverage import draw, draw_by_leverage
from sparing.geometry.products import times
from sparing.geometry.rows import RidgeInverse, Rows
from sparing.sketches import srht
from sparing.solvers.ball import within_ball
from sparing.solvers.conjugate import Operator, conjugate_gradients
from sparing.types import Solution

OVERSAMPLING = 0.5  # rows of a sketch over d log d: more of them cost more than the steps that they save
METHODS = ("auto", "sketch", "cholesky", "cg")
SKETCHES = ("auto", "leverage", "uniform", "srht")
UNEVEN = 1.3  # the mean square of scores over the square of their mean, from which on few rows carry a lot
SMALL = 1000  # up to so many rows or columns a Cholesky factor costs less than asking whether something else would
COLUMNS = 64  # that a Hadamard transform takes at a time
PLAIN_STEPS = 50  # of conjugate gradients on a sparse matrix before a sketch is tried


class Preconditioner(NamedTuple):
    """An approximate inverse, the rows of the sketch it was made of, and the effective dimension if it is known.

    ``system`` is the matrix of the problem, where making the inverse has left a faster one than passes over A, and
    ``first`` the solution, but for rounding errors, where it has left that: twice the objective is larger by at most
    ``rounding`` for those. The true error may be ``slack`` times the energy that this inverse measures.
    """

    inverse: Operator
    size: int = 0
    effective_dimension: float | None = None
    system: Operator | None = None
    slack: float = 1.0
    first: np.ndarray | None = None
    rounding: np.ndarray | float = np.inf


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
        How far the objective may be above its minimum, relative to it.
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


class LeastSquares:
    """One ridge problem and the ways to solve it."""

    def __init__(self, rows: Rows, targets: np.ndarray, ridge: float, tol: float, max_iter: int):
        self.rows, self.ridge, self.max_iter = rows, ridge, max_iter
        self.targets, self.right = targets, rows.transposed(targets)
        self.total = np.einsum("ij,ij->j", targets, targets)
        self.tol = max(tol, float(np.finfo(rows.dtype).eps))

    def fastest(self, sketch: str, rng, start: np.ndarray | None) -> Solution:
        """The method that is likely to cost least; what a failed attempt has reached is the start of the next."""
        smaller = min(self.rows.shape)
        dense = not self.rows.is_sparse
        if dense and smaller <= SMALL:
            return self.descend(self.whole(), start)
        if not dense:
            tried = self.descend(self.plain(), start, PLAIN_STEPS)
            if tried.converged:
                return tried
            start = tried.coef
        made = self.sketched(sketch, self.ridge, rng, most=smaller // 2)
        if made.size or not dense:
            return self.descend(made, start)
        return self.descend(self.whole(), start)

    def preconditioner(self, method: str, sketch: str, rng) -> Preconditioner:
        """What a path of ridges shares: by ``method``, or what a sketch that is not too large or all rows give."""
        smaller = min(self.rows.shape)
        if method == "sketch" or (method == "auto" and smaller > SMALL):
            made = self.sketched(sketch, self.ridge, rng, most=smaller // 2 if method == "auto" else None)
            if made.size:
                return made
        return self.plain() if method == "cg" or (method == "auto" and self.rows.is_sparse) else self.whole()

    def plain(self) -> Preconditioner:
        """The ridge alone: its energy bounds the excess, as the Hessian is no less than the ridge."""
        return Preconditioner(lambda V: V / self.ridge)

    def whole(self) -> Preconditioner:
        r"""All rows: a Cholesky solution, which conjugate gradients refine where it is in doubt.

        Rounding errors are relative to :math:`w^T A^T y \le \|y\|^2`; from the products of rows to the objective
        itself, but for another condition number.
        """
        inverse = RidgeInverse(self.rows, self.ridge)
        dimension, products = inverse.within.effective_dimension, inverse.products
        condition, error = inverse.within.rounding(products)
        if self.rows.shape[0] >= self.rows.shape[1]:
            system = lambda V: times(products, V) + self.ridge * V  # noqa: E731
            first = inverse(self.right)
            return Preconditioner(inverse, 0, dimension, system, first=first, rounding=error**2 * self.total)
        # the inverse takes a difference of nearly equal vectors here, and its digits with it; this does not
        dual = inverse.within(self.targets)
        objective = self.ridge * np.einsum("ij,ij->j", self.targets, dual)
        first = self.rows.transposed(dual)
        return Preconditioner(inverse, 0, dimension, first=first, rounding=condition * error**2 * objective)

    def sketched(self, sketch: str, ridge: float, rng, most: int | None = None) -> Preconditioner:
        """Some rows by leverage, or as many of another kind; of size 0 and plain if that takes more than ``most``."""
        sample = draw_by_leverage(self.rows, ridge, rng, oversampling=OVERSAMPLING, most=most)
        if most is not None and sample.wanted > most:
            return self.plain()
        scores, size = sample.scores, len(sample.indices)
        if sketch == "uniform":
            sample = draw(np.ones(len(scores)), size, rng)
        uneven = not self.rows.is_sparse and np.mean(scores**2) > UNEVEN * np.mean(scores) ** 2
        mixed = sketch == "srht" or (sketch == "auto" and uneven)
        rows = mix(self.rows, size, rng) if mixed else self.rows.take(sample.indices, sample.factors)
        inverse = RidgeInverse(rows, ridge)
        # A sketch's own dimension is too low on average, the sum of the scores too high (Jensen both times).
        dimension = float(np.sqrt(inverse.within.effective_dimension * scores.sum()))
        return Preconditioner(inverse, len(sample.indices), dimension, slack=ridge / self.ridge)

    def descend(self, made: Preconditioner, start: np.ndarray | None, max_iter: int | None = None) -> Solution:
        """Conjugate gradients until the excess is within the tolerance."""
        made_one = made.first is not None
        if made.first is not None and np.all(made.rounding <= (allowed := self.allowed(made.first))):
            residual = float(np.max(self.tol * made.rounding / np.maximum(allowed, np.finfo(float).tiny)))
            return Solution(made.first, 1, residual, True, made.size, made.effective_dimension)
        descent = conjugate_gradients(
            made.system or (lambda V: self.rows.normal(V) + self.ridge * V),
            self.right,
            made.inverse,
            enough=lambda energy, W: made.slack * energy <= self.allowed(W),
            max_iter=(self.max_iter if max_iter is None else max_iter) - made_one,
            start=made.first if made_one else start,
        )
        allowed, energy = self.allowed(descent.point), made.slack * descent.energy
        residual = float(np.max(self.tol * energy / np.maximum(allowed, np.finfo(float).tiny)))
        converged = bool(np.all(energy <= allowed))
        steps = descent.iterations + made_one
        return Solution(descent.point, steps, residual, converged, made.size, made.effective_dimension)

    def allowed(self, W: np.ndarray) -> np.ndarray:
        """tol times twice the objective, which is ||y||^2 - w . A^T y at the minimum, and never less than rounding."""
        objective = self.total - np.einsum("ij,ij->j", W, self.right)
        return self.tol * np.maximum(objective, np.finfo(W.dtype).eps * self.total)


def mix(rows: Rows, size: int, rng) -> Rows:
    """Random combinations of all rows by a subsampled Hadamard transform, some columns at a time."""
    transform = srht(size, rows.shape[0], int(rng.integers(2**31)), scaled=True)
    mixed = np.empty((size, rows.shape[1]), dtype=rows.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        part = slice(start, start + COLUMNS)
        mixed[:, part] = np.transpose([transform @ column for column in rows.columns(part)])
    return Rows(mixed)


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
