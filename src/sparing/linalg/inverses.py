"""Inverses of Gram matrices with a ridge: by a Cholesky factor, and through the smaller side of a matrix."""

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.linalg.lapack import get_lapack_funcs

from sparing.linalg.products import times
from sparing.linalg.rows import Rows

EXACT = 256  # rows up to which the trace of an inverse is computed exactly
PROBES = 16  # random vectors that estimate it beyond that
LARGE = 300  # an effective dimension that random signs alone estimate within two per cent


class ShiftedInverse:
    r""":math:`(M + \lambda I)^{-1}` for a positive semidefinite array M, by its Cholesky factor.

    A ridge below the rounding errors of M is raised to them, so that there is a factor even where M is singular;
    ``ridge`` is the one in use, ``asked`` that asked for, ``triangle`` the factor L with :math:`L L^T = M + \lambda I`.
    """

    def __init__(self, M: np.ndarray, ridge: float):
        precision = np.finfo(M.dtype)
        rounding = float(precision.eps * np.trace(M))
        self.asked, failed = ridge, True
        while failed:
            self.ridge = max(ridge, rounding)
            shifted = M.copy(order="C").T  # what LAPACK takes without a copy of its own; M is symmetric
            shifted.ravel("K")[:: len(M) + 1] += self.ridge
            (factorize,) = get_lapack_funcs(("potrf",), (shifted,))
            self.triangle, failed = factorize(shifted, lower=1, overwrite_a=1)
            if failed:
                rounding = 10 * max(rounding, float(precision.eps * np.abs(M).max()), float(precision.tiny))

    def __call__(self, V: np.ndarray) -> np.ndarray:
        return cho_solve((self.triangle, True), V, check_finite=False)

    def condition(self, M: np.ndarray) -> float:
        """The condition number of the matrix that was asked for, or more."""
        return 1.0 + float(np.sqrt(np.einsum("ij,ij->i", M, M).sum(dtype=float))) / self.asked

    def rounding(self, M: np.ndarray, energies: np.ndarray) -> np.ndarray:
        r"""How far solutions of these energies may be off by rounding alone: the energies of their errors, at most.

        The factor is that of a matrix whose relative distance is at most n times the rounding unit u (Higham 2002,
        section 10.1): for a condition number :math:`\kappa` errors are :math:`n u \kappa` of the solution, in the norm
        of the system. Of a ridge that was raised nothing is known.
        """
        if self.ridge != self.asked:
            return np.full(energies.shape, np.inf)
        return (len(M) * float(np.finfo(M.dtype).eps) * self.condition(M)) ** 2 * np.abs(energies.astype(float))

    def diagonal(self) -> np.ndarray:
        """The diagonal of the inverse: column sums of squares of L^-1."""
        (invert,) = get_lapack_funcs(("trtri",), (self.triangle,))
        inverse, _ = invert(self.triangle, lower=1)
        return np.einsum("ij,ij->j", inverse, inverse)

    @property
    def effective_dimension(self) -> float:
        r""":math:`\mathrm{tr}\, M (M + \lambda I)^{-1}`: exact up to 256 columns, else within some per cent.

        By random signs, where the trace is so large that few say enough. Else over the span of a few random
        combinations of columns, where most of it is, plus that of the rest by random signs (Hutch++, Meyer et al.
        2021). Either way it takes a fraction of the factor's cost, which the exact one would double.
        """
        n = len(self.triangle)
        if n <= EXACT:
            return n - self.ridge * float(self.diagonal().sum())
        rng = np.random.default_rng(0)
        signs = rng.choice((-1.0, 1.0), (n, PROBES))
        if (large := self._trace(signs) / PROBES) > LARGE:
            return large
        span = _orthonormal(self._smooth(rng.standard_normal((n, PROBES))))
        signs -= times(span, times(span.T, signs))
        return self._trace(span) + self._trace(signs) / PROBES

    def _trace(self, V: np.ndarray) -> float:
        """The sum of v . M (M + ridge)^-1 v over columns v."""
        return float(np.sum(V * self._smooth(V)))

    def _smooth(self, V: np.ndarray) -> np.ndarray:
        """M (M + ridge)^-1 V."""
        return V - self.ridge * self(V)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """A basis of nearly the same span, from the products of few columns: ten times as fast as a QR factorisation."""
    values, vectors = eigh(times(columns.T, columns), check_finite=False)
    kept = values > 1e-10 * values[-1]
    return times(columns, vectors[:, kept] / np.sqrt(values[kept]))


class RidgeInverse:
    r""":math:`P^{-1} = (A^T A + \lambda I)^{-1}` as an operator, in O(m d) a product for m rows of d columns.

    With fewer rows than columns it is applied through the products of rows (Woodbury):
    :math:`P^{-1} V = (V - A^T (A A^T + \lambda I)^{-1} A V) / \lambda`.
    """

    def __init__(self, rows: Rows, ridge: float, products: np.ndarray | None = None):
        self.rows = rows
        self.products = rows.products() if products is None else products
        self.within = ShiftedInverse(self.products, ridge)

    def at(self, ridge: float) -> "RidgeInverse":
        """The same rows with another ridge, from the same products."""
        return RidgeInverse(self.rows, ridge, self.products)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        if self.rows.shape[0] >= self.rows.shape[1]:
            return self.within(V)
        return (V - self.rows.transposed(self.within(self.rows @ V))) / self.within.ridge
