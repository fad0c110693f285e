r"""Ridge regression by conjugate gradients that a sketch preconditions (Agarwal & Gonen, section 5).

Some :math:`d_\lambda \log d_\lambda` rows :math:`\tilde A`, drawn by leverage and rescaled, make
:math:`P = \tilde A^T \tilde A + \lambda I` a constant approximation of :math:`A^T A + \lambda I`. Preconditioned
by P, the problem is well conditioned whatever the spectrum of A is: the number of passes over A depends on the
accuracy asked for alone, and P costs :math:`O(d_\lambda^2 d)` beside them.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from sparing.geometry.leverage import draw, draw_by_leverage
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.products import times
from sparing.linalg.rows import Rows
from sparing.sketches import srht
from sparing.solvers.conjugate import Descent, Operator, columnwise, conjugate_gradients
from sparing.types import Solution

OVERSAMPLING = 0.5  # rows of a sketch over d log d: more of them cost more than the steps that they save
UNEVEN = 1.3  # the mean square of scores over the square of their mean, from which on few rows carry a lot
SMALL = 1000  # up to so many rows or columns a Cholesky factor costs less than asking whether something else would
COLUMNS = 64  # that a Hadamard transform takes at a time
REFINEMENTS = 3  # of a solution in single precision, at most
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
        slack = inverse.within.ridge / self.ridge  # a ridge below rounding errors was raised to them
        if self.rows.shape[0] >= self.rows.shape[1]:
            system = lambda V: times(products, V) + self.ridge * V  # noqa: E731
            first = inverse(self.right)
            return Preconditioner(
                inverse, 0, dimension, system, slack, first, inverse.within.rounding(products, self.total)
            )
        # the inverse takes a difference of nearly equal vectors here, and its digits with it; this does not
        dual = inverse.within(self.targets)
        objective = self.ridge * np.einsum("ij,ij->j", self.targets, dual)
        first = self.rows.transposed(dual)
        rounding = inverse.within.condition(products) * inverse.within.rounding(products, objective)
        return Preconditioner(inverse, 0, dimension, None, slack, first, rounding)

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
        return Preconditioner(inverse, len(sample.indices), dimension, slack=inverse.within.ridge / self.ridge)

    def descend(self, made: Preconditioner, start: np.ndarray | None, max_iter: int | None = None) -> Solution:
        """Conjugate gradients until the excess is within the tolerance."""
        made_one = made.first is not None
        if made.first is not None and np.all(made.rounding <= (allowed := self.allowed(made.first))):
            residual = float(np.max(self.tol * made.rounding / np.maximum(allowed, np.finfo(float).tiny)))
            return Solution(made.first, 1, residual, True, made.size, made.effective_dimension)
        most = (self.max_iter if max_iter is None else max_iter) - made_one
        descent = self._conjugate(made, self.right, most, made.first if made_one else start)
        if self.rows.dtype == np.float32 and not isinstance(self.rows.X, LinearOperator):
            descent = self._refined(made, descent, most)
        if made.first is not None and made.system is None:
            # the inverse of wide matrices, taken by differences, may have led away from where it began
            better = self._objective(made.first) < self._objective(descent.point)
            descent = descent._replace(point=np.where(better, made.first, descent.point))
        allowed, energy = self.allowed(descent.point), made.slack * descent.energy
        residual = float(np.max(self.tol * energy / np.maximum(allowed, np.finfo(float).tiny)))
        converged = bool(np.all(energy <= allowed))
        steps = descent.iterations + made_one
        return Solution(descent.point, steps, residual, converged, made.size, made.effective_dimension)

    def _conjugate(self, made: Preconditioner, right, max_iter: int, start=None, around=0.0) -> Descent:
        """Steps towards the solution for a right-hand side, which is to be added to the point ``around``."""
        return conjugate_gradients(
            made.system or (lambda V: self.rows.normal(V) + self.ridge * V),
            right,
            made.inverse,
            enough=lambda energy, W: made.slack * energy <= self.allowed(around + W),
            max_iter=max_iter,
            start=start,
        )

    def _refined(self, made: Preconditioner, descent: Descent, max_iter: int) -> Descent:
        """The solution corrected by what is left of it in truth: residuals in single precision drift from theirs."""
        point, steps = descent.point, descent.iterations
        for attempt in range(REFINEMENTS + 1):
            residual = self._residual(point)
            energy = np.abs(columnwise(residual, made.inverse(residual)))  # below zero if rounding errors prevail
            if attempt == REFINEMENTS or np.all(made.slack * energy <= self.allowed(point)) or steps >= max_iter:
                break
            more = self._conjugate(made, residual, max_iter - steps, around=point)
            point, steps = point + more.point, steps + more.iterations
        return Descent(point, descent.image, steps, energy)

    def _residual(self, W: np.ndarray) -> np.ndarray:
        """A^T (y - A W) - ridge W, computed in double precision, some dense rows at a time."""
        n, d = self.rows.shape
        W = W.astype(np.float64)
        total, step = -self.ridge * W, n if self.rows.is_sparse else max(1, 2**20 // d)
        for some in np.split(np.arange(n), np.arange(step, n, step)):
            part = self.rows if step == n else self.rows.take(some)
            total += part.transposed(self.targets[some] - part @ W)
        return total.astype(self.rows.dtype)

    def _objective(self, W: np.ndarray) -> np.ndarray:
        missed = self.rows @ W - self.targets
        return columnwise(missed, missed) + self.ridge * columnwise(W, W)

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
