r"""Ridge regression by conjugate gradients that a sketch preconditions (Agarwal & Gonen, section 5).

Some :math:`d_\lambda \log d_\lambda` rows :math:`\tilde A`, drawn by leverage and rescaled, make
:math:`P = \tilde A^T \tilde A + \lambda I` a constant approximation of :math:`A^T A + \lambda I`. Preconditioned
by P, the problem is well conditioned whatever the spectrum of A is: the number of passes over A depends on the
accuracy asked for alone, and P costs :math:`O(d_\lambda^2 d)` beside them.
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from sparing.geometry.leverage import draw, draw_by_leverage
from sparing.linalg.inverses import OrthogonalInverse, RidgeInverse
from sparing.linalg.products import times
from sparing.linalg.rows import Rows
from sparing.sketches import srht
from sparing.solvers.certificates import TERMS, Certificate, certify, certify_dual
from sparing.solvers.choice import affordable_sketch
from sparing.solvers.conjugate import Descent, Operator, columnwise, conjugate_gradients
from sparing.types import Solution

OVERSAMPLING = 0.5  # rows of a sketch over d log d: more of them cost more than the steps that they save
UNEVEN = 1.3  # the mean square of scores over the square of their mean, from which on few rows carry a lot
SMALL = 1000  # rows or columns, up to which a path of ridges shares a Cholesky factor
COLUMNS = 64  # that a Hadamard transform takes at a time
REFINEMENTS = 3  # of a solution whose certificate fails, at most
MARGIN = 0.25  # of the tolerance that a refinement aims at
AFFORDABLE = 2**31  # products, up to which a QR factorisation is tried where a Cholesky factor was not accurate
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
    dual: np.ndarray | None = None
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
        if not self.rows.is_sparse:
            most, largest = affordable_sketch(*self.rows.shape, self.targets.shape[1])
            made = self.sketched(sketch, self.ridge, rng, most=most, largest=largest) if most else None
            return self.descend(made, start) if made is not None and made.size else self.direct()
        tried = self.descend(self.plain(), start, PLAIN_STEPS)
        if tried.converged:
            return tried
        return self.descend(self.sketched(sketch, self.ridge, rng, most=min(self.rows.shape) // 2), tried.coef)

    def direct(self, inverse: RidgeInverse | None = None) -> Solution:
        """A Cholesky factor, or a QR factorisation where rounding errors of that are too large."""
        found = self.descend(self.whole(inverse), None)
        too_large = self.rows.n_values * min(self.rows.shape) > AFFORDABLE
        if found.converged or too_large or isinstance(self.rows.X, LinearOperator):
            return found
        other = self.descend(self.orthogonal(), None)
        better = other if self._objective(other.coef) < self._objective(found.coef) else found
        return replace(
            better, effective_dimension=found.effective_dimension, iterations=found.iterations + other.iterations
        )

    def shared(self, method: str, sketch: str, rng) -> Preconditioner:
        """What a path of ridges shares: by ``method``, or what a sketch that is not too large or all rows give."""
        smaller = min(self.rows.shape)
        if method == "sketch" or (method == "auto" and smaller > SMALL):
            made = self.sketched(sketch, self.ridge, rng, most=smaller // 2 if method == "auto" else None)
            if made.size:
                return made
        if method == "cg" or (method == "auto" and self.rows.is_sparse):
            return self.plain()
        return Preconditioner(RidgeInverse(self.rows, self.ridge))

    def plain(self) -> Preconditioner:
        """The ridge alone: its energy bounds the excess, as the Hessian is no less than the ridge."""
        return Preconditioner(lambda V: V / self.ridge)

    def whole(self, inverse: RidgeInverse | None = None) -> Preconditioner:
        """All rows: a Cholesky solution, on the smaller side of A."""
        inverse = inverse or RidgeInverse(self.rows, self.ridge)
        within, products = inverse.within, inverse.products
        dimension, slack = within.effective_dimension, within.ridge / self.ridge  # a ridge below rounding was raised
        n, d = self.rows.shape
        system = lambda V: times(products, V) + self.ridge * V  # noqa: E731
        if n >= d:
            rounding = within.rounding(products, self.total, n)
            return Preconditioner(inverse, 0, dimension, system, slack, inverse(self.right), None, rounding)
        dual = within(self.targets)
        # From products of rows to the objective itself errors grow by another condition number.
        objective = self.ridge * columnwise(self.targets, dual)
        rounding = within.condition(products) * within.rounding(products, objective, d)
        return Preconditioner(within, 0, dimension, system, slack, self.rows.transposed(dual), dual, rounding)

    def orthogonal(self) -> Preconditioner:
        """All rows by a QR factorisation, at several times the cost of a Cholesky factor and twice its digits."""
        precise = Rows(self.rows.X.astype(np.float64), scale=self.rows.scale, shift=self.rows.shift)
        A, targets = precise.columns(slice(None)).T, self.targets.astype(np.float64)
        if A.shape[0] >= A.shape[1]:
            inverse = OrthogonalInverse(A, self.ridge)
            return Preconditioner(inverse, first=inverse.least_squares(targets).astype(self.rows.dtype))
        inverse = OrthogonalInverse(A.T, self.ridge)
        first, dual = inverse.least_norm(targets)
        system = lambda V: A @ (A.T @ V) + self.ridge * V  # noqa: E731
        return Preconditioner(inverse, system=system, first=first.astype(self.rows.dtype), dual=dual)

    def sketched(
        self, sketch: str, ridge: float, rng, most: int | None = None, largest: int | None = None
    ) -> Preconditioner:
        """Some rows by leverage, or as many of another kind; of size 0 and plain if that takes more than ``most``."""
        sample = draw_by_leverage(self.rows, ridge, rng, oversampling=OVERSAMPLING, most=most, largest=largest)
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
        dimension = float(np.sqrt(inverse.within.effective_dimension * min(scores.sum(), *self.rows.shape)))
        return Preconditioner(inverse, len(sample.indices), dimension, slack=inverse.within.ridge / self.ridge)

    def descend(self, made: Preconditioner, start: np.ndarray | None, max_iter: int | None = None) -> Solution:
        """Conjugate gradients until the excess is within the tolerance, which a certificate confirms."""
        most = self.max_iter if max_iter is None else max_iter
        if made.first is None:
            descent = self._conjugate(made, self.right, most, start)
            allowed, energy = self.allowed(descent.point), made.slack * descent.energy
            W, steps, excess = descent.point, descent.iterations, _ratio(self.tol * energy, allowed)
            settled = not np.all(energy <= allowed) or self._is_accurate(made, W, energy, steps)
        else:
            W, steps, excess = made.first, 1, _ratio(self.tol * made.rounding, self.allowed(made.first))
            settled = excess <= self.tol
        if not settled:
            W, steps, excess = self._confirmed(made, W, steps, most)
        return Solution(W, steps, excess, excess <= self.tol, made.size, made.effective_dimension)

    @cached_property
    def norm(self) -> float:
        return self.rows.norm()

    def _conjugate(self, made: Preconditioner, right, max_iter: int, start=None, goal=None) -> Descent:
        """Steps towards the solution for a right-hand side, until the energy is within the goal."""
        return conjugate_gradients(
            made.system or (lambda V: self.rows.normal(V) + self.ridge * V),
            right,
            made.inverse,
            enough=lambda energy, W: made.slack * energy <= (self.allowed(W) if goal is None else goal),
            max_iter=max_iter,
            start=start,
        )

    def _is_accurate(self, made: Preconditioner, W: np.ndarray, energy: np.ndarray, steps: int) -> bool:
        """Whether rounding errors of double precision are too small to matter: a rough bound, from norms alone."""
        if self.rows.dtype == np.float32:
            return False
        if isinstance(made.inverse, RidgeInverse):  # a sketch has about the norm of all rows
            norm = float(np.sqrt(np.trace(made.inverse.products)))
            if self.rows.shift is not None:
                weight = self.rows.shape[0] if self.rows.scale is None else np.sum(self.rows.scale**2)
                norm = float(np.hypot(norm, np.linalg.norm(self.rows.shift) * np.sqrt(weight)))
        else:
            norm = self.norm
        unit = (TERMS + steps) * float(np.finfo(float).eps)
        noise = unit * norm * (norm * np.linalg.norm(W, axis=0) + np.sqrt(self.total)) / np.sqrt(self.ridge)
        energy = (np.sqrt(energy) + noise) ** 2
        # The objective is known from w . A^T y, which is that of the minimum up to this error.
        least = self.allowed(W) / self.tol - 2 * np.sqrt(energy * self.total) - unit * self.total
        return bool(unit * norm**2 <= 0.01 * self.ridge and np.all(energy <= self.tol * least))

    def _confirmed(self, made: Preconditioner, W: np.ndarray, steps: int, most: int) -> tuple[np.ndarray, int, float]:
        """The solution, corrected by its true residual as long as that helps; its steps and its certified excess."""
        dual, best = made.dual, (W, steps, np.inf)
        with np.errstate(all="ignore"):  # infinities have no certificate
            for _ in range(REFINEMENTS + 1):
                found = self._certificate(made, W, dual)
                if found.excess >= 0.5 * best[2]:
                    break
                best = W, steps, found.excess
                if found.excess <= self.tol or steps >= most:
                    break
                goal = MARGIN * self.tol * np.maximum(found.least, np.finfo(float).eps * self.total)
                if dual is not None:  # an energy of the dual system is at least the excess over the largest eigenvalue
                    goal /= self.norm**2 + self.ridge
                more = self._conjugate(made, found.residual.astype(self.rows.dtype), most - steps, goal=goal)
                steps += more.iterations
                if dual is not None:
                    dual = dual + more.point
                    W = self.rows.transposed(dual).astype(self.rows.dtype)
                else:
                    W = (W + more.point).astype(self.rows.dtype)
        return best[0], steps, best[2]

    def _certificate(self, made: Preconditioner, W: np.ndarray, dual: np.ndarray | None) -> Certificate:
        if dual is not None:
            return certify_dual(self.rows, self.targets, self.ridge, W, dual)
        inverse = made.inverse if isinstance(made.inverse, RidgeInverse | OrthogonalInverse) else None
        return certify(self.rows, self.targets, self.ridge, W, inverse, made.slack)

    def _objective(self, W: np.ndarray) -> float:
        """Over all targets, in double precision."""
        W = W.astype(np.float64)
        missed = self.rows @ W - self.targets
        return float(np.sum(missed**2) + self.ridge * np.sum(W**2))

    def allowed(self, W: np.ndarray) -> np.ndarray:
        """tol times twice the objective, which is ||y||^2 - w . A^T y at the minimum, and never less than rounding."""
        objective = self.total - np.einsum("ij,ij->j", W, self.right)
        return self.tol * np.maximum(objective, np.finfo(W.dtype).eps * self.total)


def _ratio(energy: np.ndarray | float, allowed: np.ndarray) -> float:
    return float(np.max(energy / np.maximum(allowed, np.finfo(float).tiny)))


def mix(rows: Rows, size: int, rng) -> Rows:
    """Random combinations of all rows by a subsampled Hadamard transform, some columns at a time."""
    transform = srht(size, rows.shape[0], int(rng.integers(2**31)), scaled=True)
    mixed = np.empty((size, rows.shape[1]), dtype=rows.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        part = slice(start, start + COLUMNS)
        mixed[:, part] = np.transpose([transform @ column for column in rows.columns(part)])
    return Rows(mixed)
