"""Inverses of Gram matrices plus a ridge, by Cholesky and QR factorisations."""

import numpy as np
from scipy.linalg import cho_solve, eigh, qr, solve_triangular
from scipy.linalg.lapack import get_lapack_funcs

from sparing.linalg.products import times
from sparing.linalg.rows import Rows

EXACT = 256  # rows up to which the trace of an inverse is computed exactly
PROBES = 16  # random vectors that estimate it beyond that
LARGE = 300  # effective dimension from which random signs alone estimate it within two per cent


class ShiftedInverse:
    r""":math:`(M + \lambda I)^{-1}` for a positive semidefinite array M, by its Cholesky factor.

    A ridge below the rounding errors of M is raised to their level, so that a factor exists even for a singular M.
    ``ridge`` is the value in use, ``asked`` the requested one, ``triangle`` the factor L with
    :math:`L L^T = M + \lambda I`.
    """

    def __init__(self, M: np.ndarray, ridge: float):
        precision = np.finfo(M.dtype)
        rounding = float(precision.eps * np.trace(M))
        self.asked, failed = ridge, True
        while failed:
            self.ridge = max(ridge, rounding)
            shifted = M.copy(order="C").T  # LAPACK takes this layout without a copy; M is symmetric
            shifted.ravel("K")[:: len(M) + 1] += self.ridge
            (factorize,) = get_lapack_funcs(("potrf",), (shifted,))
            self.triangle, failed = factorize(shifted, lower=1, overwrite_a=1)
            if failed:
                rounding = 10 * max(rounding, float(precision.eps * np.abs(M).max()), float(precision.tiny))

    def __call__(self, V: np.ndarray) -> np.ndarray:
        return cho_solve((self.triangle, True), V.astype(self.triangle.dtype, copy=False), check_finite=False)

    def condition(self, M: np.ndarray) -> float:
        """An upper bound on the condition number of M plus the requested ridge."""
        return 1.0 + float(np.sqrt(np.einsum("ij,ij->i", M, M).sum(dtype=float))) / self.asked

    def rounding(self, M: np.ndarray, energies: np.ndarray, n_terms: int = 0) -> np.ndarray:
        r"""Upper bounds on the energy of rounding errors in solutions with these energies.

        The computed factor is exact for a matrix within a relative distance of n times the rounding unit u (Higham
        2002, section 10.1), plus :math:`\sqrt{n_{terms}}\, u` for the sums in M. With condition number
        :math:`\kappa` the relative error of a solution is :math:`n u \kappa` in the norm of the system. The bound is
        infinite if the ridge was raised.
        """
        if self.ridge != self.asked:
            return np.full(energies.shape, np.inf)
        unit = (len(M) + np.sqrt(n_terms)) * float(np.finfo(M.dtype).eps)
        return (unit * self.condition(M)) ** 2 * np.abs(energies.astype(float))

    def diagonal(self) -> np.ndarray:
        """The diagonal of the inverse: the squared column norms of L^-1."""
        (invert,) = get_lapack_funcs(("trtri",), (self.triangle,))
        inverse, _ = invert(self.triangle, lower=1)
        return np.einsum("ij,ij->j", inverse, inverse)

    @property
    def effective_dimension(self) -> float:
        r""":math:`\mathrm{tr}\, M (M + \lambda I)^{-1}`: exact up to 256 columns, else accurate to a few per cent.

        Large traces are estimated with random signs (Hutchinson). Smaller ones are computed exactly on the span of a
        few random combinations of columns and estimated on its complement (Hutch++, Meyer et al. 2021). Either way
        this takes a fraction of the cost of the factor, which the exact trace would double.
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
    """An orthonormal basis of nearly the same span, from the Gram matrix of the columns: ten times as fast as QR."""
    values, vectors = eigh(times(columns.T, columns), check_finite=False)
    kept = values > 1e-10 * values[-1]
    return times(columns, vectors[:, kept] / np.sqrt(values[kept]))


class RidgeInverse:
    r""":math:`P^{-1} = (A^T A + \lambda I)^{-1}` as an operator; one product costs O(m d) for m rows of d columns.

    With fewer rows than columns it uses the Gram matrix of the rows (Woodbury):
    :math:`P^{-1} V = (V - A^T (A A^T + \lambda I)^{-1} A V) / \lambda`.
    """

    def __init__(self, rows: Rows, ridge: float, products: np.ndarray | None = None):
        self.rows = rows
        self.products = rows.products() if products is None else products
        self.within = ShiftedInverse(self.products, ridge)

    @property
    def ridge(self) -> float:
        """The ridge in use."""
        return self.within.ridge

    def at(self, ridge: float) -> "RidgeInverse":
        """The inverse for another ridge, from the same Gram matrix."""
        return RidgeInverse(self.rows, ridge, self.products)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        if self.rows.shape[0] >= self.rows.shape[1]:
            return self.within(V)
        return (V - self.rows.transposed(self.within(self.rows @ V))) / self.within.ridge


class OrthogonalInverse:
    r""":math:`(A^T A + \lambda I)^{-1} = R^{-1} R^{-T}` from a QR factorisation of A on top of :math:`\sqrt\lambda I`.

    The condition number of R is the square root of that of :math:`A^T A + \lambda I`. Sorted rows and column pivoting
    make the factorisation accurate for rows and columns of very different scales (Higham 2002, section 19.4).
    """

    def __init__(self, A: np.ndarray, ridge: float):
        self.A, self.rows, self.ridge = A, Rows(A), ridge
        stacked = np.concatenate([A, np.sqrt(ridge) * np.eye(A.shape[1])])
        self.order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
        self.Q, self.R, self.pivots = qr(stacked[self.order], mode="economic", pivoting=True, check_finite=False)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        return self._columns(self._triangle(self._triangle(V[self.pivots], trans="T")))

    def least_squares(self, y: np.ndarray) -> np.ndarray:
        r"""The minimiser of :math:`\|A w - y\|^2 + \lambda \|w\|^2`."""
        stacked = np.concatenate([y, np.zeros((self.A.shape[1], y.shape[1]))])
        return self._columns(self._triangle(self.Q.T @ stacked[self.order]))

    def least_norm(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""The minimiser of :math:`\|A^T w - y\|^2 + \lambda \|w\|^2`, and v with w = A v."""
        stacked = np.empty((len(self.order), y.shape[1]))
        stacked[self.order] = self.Q @ self._triangle(y[self.pivots], trans="T")
        n = len(self.A)
        return stacked[:n], stacked[n:] / np.sqrt(self.ridge)

    def _triangle(self, V: np.ndarray, trans: str = "N") -> np.ndarray:
        return solve_triangular(self.R, V, trans=trans, check_finite=False)

    def _columns(self, V: np.ndarray) -> np.ndarray:
        """Undo the column pivoting."""
        ordered = np.empty_like(V)
        ordered[self.pivots] = V
        return ordered
