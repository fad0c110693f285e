r"""Ridge regression by conjugate gradients preconditioned with a sketch (Agarwal & Gonen, section 5).

For about :math:`d_\lambda \log d_\lambda` rows :math:`\tilde A`, sampled by leverage and rescaled,
:math:`P = \tilde A^T \tilde A + \lambda I` approximates :math:`A^T A + \lambda I` up to a constant factor.
Preconditioned by P the problem is well conditioned whatever the spectrum of A: the number of passes over A depends
only on the required accuracy, and P costs another :math:`O(d_\lambda^2 d)`.
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from sparing.geometry.effective_dimension import rough_dimension
from sparing.geometry.leverage import FIRST_SIZE, PRECONDITIONER, draw, draw_by_leverage, sketch_size
from sparing.linalg.inverses import OrthogonalInverse, RidgeInverse
from sparing.linalg.products import times
from sparing.linalg.rows import Rows
from sparing.sketches import srht
from sparing.solvers.certificates import TERMS, Certificate, certify, certify_dual
from sparing.solvers.choice import largest_dimension, sample_rows
from sparing.solvers.conjugate import Descent, Operator, columnwise, conjugate_gradients
from sparing.types import Solution

UNEVEN = 1.3  # ratio of mean square to squared mean of the scores above which few rows have high leverage
SMALL = 1000  # rows or columns of a sparse matrix, up to which a path of ridges takes plain steps
COLUMNS = 64  # columns transformed at a time
REFINEMENTS = 3  # maximum number of refinements of a solution whose certificate fails
MARGIN = 0.25  # fraction of the tolerance that a refinement aims at
AFFORDABLE = 2**31  # multiplications up to which an inaccurate Cholesky factor is replaced by a QR factorisation
PLAIN_STEPS = 50  # plain steps on a sparse matrix before a sketch is tried


class Preconditioner(NamedTuple):
    """An approximate inverse, the size of its sketch, and the effective dimension if it is known.

    ``system`` multiplies by the matrix of the problem where that is cheaper than passes over A. A direct method also
    gives the solution ``first``, in terms of the rows ``dual`` if these are fewer, up to rounding errors that add at
    most ``rounding`` to twice the objective. The error is at most ``slack`` times the energy in this inverse.
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
    """One ridge problem and the methods that solve it."""

    def __init__(self, rows: Rows, targets: np.ndarray, ridge: float, tol: float, max_iter: int):
        self.rows, self.ridge, self.max_iter = rows, ridge, max_iter
        self.targets, self.right = targets, rows.transposed(targets)
        self.total = np.einsum("ij,ij->j", targets, targets)
        self.tol = max(tol, float(np.finfo(rows.dtype).eps))

    def fastest(self, sketch: str, rng, start: np.ndarray | None) -> Solution:
        """The method that is likely to be fastest; a failed attempt is the starting point of the next."""
        if not self.rows.is_sparse:
            most = self._affordable_rows(rng)
            made = self.sketched(sketch, self.ridge, rng, most=most) if most else self.plain()
            return self.descend(made, start) if made.size else self.direct()
        tried = self.descend(self.plain(), start, PLAIN_STEPS)
        if tried.converged:
            return tried
        return self.descend(self.sketched(sketch, self.ridge, rng, most=min(self.rows.shape) // 2), tried.coef)

    def _affordable_rows(self, rng, n_ridges: int = 1) -> int:
        """The maximum size of a sketch that should cost less than a Cholesky factor of dense rows; 0 if none should.

        Allows for an estimate of the effective dimension that is too low by half.
        """
        problem = *self.rows.shape, self.targets.shape[1], n_ridges
        if not (largest := largest_dimension(*problem)):
            return 0
        dimension = rough_dimension(self.rows, self.ridge, rng, sample_rows(largest, *problem))
        if dimension > largest:
            return 0
        return min(self.rows.shape[0], max(FIRST_SIZE, int(2 * sketch_size(dimension, PRECONDITIONER))))

    def direct(self, inverse: RidgeInverse | None = None) -> Solution:
        """A Cholesky factorisation, or a QR factorisation if rounding errors are too large."""
        found = self.descend(self.whole(inverse), None)
        too_large = self.rows.n_values * min(self.rows.shape) > AFFORDABLE
        if found.converged or too_large or isinstance(self.rows.X, LinearOperator):
            return found
        other = self.descend(self.orthogonal(), None)
        better = other if self._objective(other.coef) < self._objective(found.coef) else found
        return replace(
            better, effective_dimension=found.effective_dimension, iterations=found.iterations + other.iterations
        )

    def shared(self, method: str, sketch: str, rng, n_ridges: int) -> Preconditioner:
        """The preconditioner that a path of ridges shares; "auto" chooses for dense rows as ``fastest`` does."""
        most = None
        if method == "auto":
            smaller = min(self.rows.shape)
            within = smaller // 2 if smaller > SMALL else 0
            most = within if self.rows.is_sparse else self._affordable_rows(rng, n_ridges)
        if method == "sketch" or most:
            made = self.sketched(sketch, self.ridge, rng, most=most)
            if made.size:
                return made
        if method == "cg" or (method == "auto" and self.rows.is_sparse):
            return self.plain()
        return Preconditioner(RidgeInverse(self.rows, self.ridge))

    def plain(self) -> Preconditioner:
        """The ridge alone; its energy bounds the excess, as the Hessian is at least the ridge."""
        return Preconditioner(lambda V: V / self.ridge)

    def whole(self, inverse: RidgeInverse | None = None) -> Preconditioner:
        """The Cholesky solution from all rows, on the smaller side of A."""
        inverse = inverse or RidgeInverse(self.rows, self.ridge)
        within, products = inverse.within, inverse.products
        dimension, slack = within.effective_dimension, within.ridge / self.ridge  # a ridge below rounding was raised
        n, d = self.rows.shape
        system = lambda V: times(products, V) + self.ridge * V  # noqa: E731
        if n >= d:
            rounding = within.rounding(products, self.total, n)
            return Preconditioner(inverse, 0, dimension, system, slack, inverse(self.right), None, rounding)
        dual = within(self.targets)
        # From the dual system to the objective, errors grow by another condition number.
        objective = self.ridge * columnwise(self.targets, dual)
        rounding = within.condition(products) * within.rounding(products, objective, d)
        return Preconditioner(within, 0, dimension, system, slack, self.rows.transposed(dual), dual, rounding)

    def orthogonal(self) -> Preconditioner:
        """The QR solution from all rows: several times the cost of a Cholesky factor and twice its digits."""
        precise = Rows(self.rows.X.astype(np.float64), scale=self.rows.scale, shift=self.rows.shift)
        A, targets = precise.columns(slice(None)).T, self.targets.astype(np.float64)
        if A.shape[0] >= A.shape[1]:
            inverse = OrthogonalInverse(A, self.ridge)
            return Preconditioner(inverse, first=inverse.least_squares(targets).astype(self.rows.dtype))
        inverse = OrthogonalInverse(A.T, self.ridge)
        first, dual = inverse.least_norm(targets)
        system = lambda V: A @ (A.T @ V) + self.ridge * V  # noqa: E731
        return Preconditioner(inverse, system=system, first=first.astype(self.rows.dtype), dual=dual)

    def sketched(self, sketch: str, ridge: float, rng, most: int | None = None) -> Preconditioner:
        """A sketch by leverage, or one of the same size of another kind; plain if it needs more than ``most`` rows."""
        sample = draw_by_leverage(self.rows, ridge, rng, oversampling=PRECONDITIONER, most=most)
        if most is not None and sample.wanted > most:
            return self.plain()
        scores, size = sample.scores, len(sample.indices)
        if sketch == "uniform":
            sample = draw(np.ones(len(scores)), size, rng)
        uneven = not self.rows.is_sparse and np.mean(scores**2) > UNEVEN * np.mean(scores) ** 2
        mixed = sketch == "srht" or (sketch == "auto" and uneven)
        rows = mix(self.rows, size, rng) if mixed else self.rows.take(sample.indices, sample.factors)
        inverse = RidgeInverse(rows, ridge)
        # The dimension of the sketch is biased downwards, the sum of the scores upwards (Jensen's inequality).
        dimension = float(np.sqrt(inverse.within.effective_dimension * min(scores.sum(), *self.rows.shape)))
        return Preconditioner(inverse, len(sample.indices), dimension, slack=inverse.within.ridge / self.ridge)

    def descend(self, made: Preconditioner, start: np.ndarray | None, max_iter: int | None = None) -> Solution:
        """Conjugate gradients until the certified excess is within the tolerance."""
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
        """Conjugate gradients for a right-hand side until the energy is within the goal."""
        return conjugate_gradients(
            made.system or (lambda V: self.rows.normal(V) + self.ridge * V),
            right,
            made.inverse,
            enough=lambda energy, W: made.slack * energy <= (self.allowed(W) if goal is None else goal),
            max_iter=max_iter,
            start=start,
        )

    def _is_accurate(self, made: Preconditioner, W: np.ndarray, energy: np.ndarray, steps: int) -> bool:
        """Whether rounding errors of double precision are negligible, by a rough bound from norms."""
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
        # The objective is computed from w . A^T y, which is exact at the minimum only.
        least = self.allowed(W) / self.tol - 2 * np.sqrt(energy * self.total) - unit * self.total
        return bool(unit * norm**2 <= 0.01 * self.ridge and np.all(energy <= self.tol * least))

    def _confirmed(self, made: Preconditioner, W: np.ndarray, steps: int, most: int) -> tuple[np.ndarray, int, float]:
        """Iterative refinement with the true residual: the solution, the number of steps and the certified excess."""
        dual, best = made.dual, (W, steps, np.inf)
        with np.errstate(all="ignore"):  # overflow is not certified
            for _ in range(REFINEMENTS + 1):
                found = self._certificate(made, W, dual)
                if found.excess >= 0.5 * best[2]:
                    break
                best = W, steps, found.excess
                if found.excess <= self.tol or steps >= most:
                    break
                goal = MARGIN * self.tol * np.maximum(found.least, np.finfo(float).eps * self.total)
                if dual is not None:  # the primal excess is at most the largest eigenvalue times the dual energy
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
        """Twice the objective, summed over the targets, in double precision."""
        W = W.astype(np.float64)
        missed = self.rows @ W - self.targets
        return float(np.sum(missed**2) + self.ridge * np.sum(W**2))

    def allowed(self, W: np.ndarray) -> np.ndarray:
        """tol times twice the objective, ||y||^2 - w . A^T y at the minimum, and at least its rounding error."""
        objective = self.total - np.einsum("ij,ij->j", W, self.right)
        return self.tol * np.maximum(objective, np.finfo(W.dtype).eps * self.total)


def _ratio(energy: np.ndarray | float, allowed: np.ndarray) -> float:
    return float(np.max(energy / np.maximum(allowed, np.finfo(float).tiny)))


def mix(rows: Rows, size: int, rng) -> Rows:
    """Random combinations of all rows by a subsampled Hadamard transform, in blocks of columns."""
    transform = srht(size, rows.shape[0], int(rng.integers(2**31)), scaled=True)
    mixed = np.empty((size, rows.shape[1]), dtype=rows.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        part = slice(start, start + COLUMNS)
        mixed[:, part] = np.transpose([transform @ column for column in rows.columns(part)])
    return Rows(mixed)
