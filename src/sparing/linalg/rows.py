"""A matrix seen by its rows, which may be weighted and centred without a copy being made."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, eigh
from scipy.linalg.lapack import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator

from sparing.linalg.products import squares, times

_BLOCK_VALUES = 2**20  # 8 MB of float64 at a time
EXACT, PROBES = 256, 16  # columns up to which a trace is exact; random vectors that estimate others
LARGE = 300  # a trace that so many random signs give within two per cent
_DIGITS_LOST = 1e-3  # the least part that a difference may be of what it was taken from
_CACHED_VALUES = 2**19  # as many as stay in a processor's cache between two uses


class Rows:
    r"""The matrix A of rows :math:`a_i = s_i (x_i - \mu)`: X dense, CSR or a ``LinearOperator``.

    Weights and intercept of a regression are such a scale s and shift :math:`\mu`, so X is never copied.

    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 0.0]]), shift=np.array([2.0, 1.0]))
    >>> rows.outer()
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    def __init__(self, X, *, scale: np.ndarray | None = None, shift: np.ndarray | None = None):
        self.X, self.scale, self.shift = X, scale, shift
        self.shape: tuple[int, int] = X.shape
        self.dtype = X.dtype

    @classmethod
    def of(cls, A) -> "Rows":
        """What a caller passed, once it is known to be finite; rows as they are."""
        return A if isinstance(A, Rows) else cls(matrix(A))

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def n_values(self) -> int:
        """How many values a pass over the rows reads."""
        return self.X.nnz if self.is_sparse else self.shape[0] * self.shape[1]

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """A V for a matrix V of columns."""
        product = times(self.X, V)
        if self.shift is not None:
            product -= self.shift @ V
        return product if self.scale is None else product * self.scale[:, None]

    def transposed(self, R: np.ndarray) -> np.ndarray:
        """A^T R for a matrix R of columns."""
        R = R if self.scale is None else R * self.scale[:, None]
        product = times(self.X.T, R)
        if self.shift is not None:
            product -= self.shift[:, None] * R.sum(axis=0)
        return product

    def normal(self, V: np.ndarray) -> np.ndarray:
        """A^T A V for a matrix V of columns; a large array is read once for both products, not twice."""
        if not isinstance(self.X, np.ndarray) or self.X.size <= _BLOCK_VALUES:
            return self.transposed(self @ V)
        step = max(1, _CACHED_VALUES // self.shape[1])
        total = np.zeros((self.shape[1], V.shape[1]), dtype=np.result_type(self.dtype, V.dtype))
        along = 0.0 if self.shift is None else self.shift @ V
        sums = np.zeros(V.shape[1], dtype=total.dtype)
        for start in range(0, self.shape[0], step):
            part = slice(start, start + step)
            scores = times(self.X[part], V) - along
            if self.scale is not None:
                scores *= np.square(self.scale[part])[:, None]
            total += times(self.X[part].T, scores)
            sums += scores.sum(axis=0)
        return total if self.shift is None else total - np.outer(self.shift, sums)

    def squared_norms(self) -> np.ndarray:
        """One ||a_i||^2 a row."""
        from sklearn.utils.extmath import row_norms

        if not isinstance(self.X, LinearOperator):
            norms = centred = row_norms(self.X, squared=True)
            if self.shift is not None:
                centred = norms - 2 * times(self.X, self.shift[:, None])[:, 0] + self.shift @ self.shift
            if self.is_sparse or np.all(centred >= _DIGITS_LOST * norms):
                return np.maximum(centred, 0.0) * (1.0 if self.scale is None else self.scale**2)
        return np.concatenate([row_norms(block, squared=True) for block in self._blocks()])

    def take(self, indices: np.ndarray, factors: np.ndarray | None = None) -> "Rows":
        """Some of the rows, each times its factor; sparse rows stay sparse."""
        factors = np.ones(len(indices)) if factors is None else factors
        factors = (factors if self.scale is None else factors * self.scale[indices]).astype(self.dtype)
        if self.is_sparse:
            return Rows(self.X[indices], scale=factors, shift=self.shift)
        rows = self._dense(indices)
        rows *= factors[:, None]
        return Rows(rows)

    def columns(self, part: slice) -> np.ndarray:
        """Some columns of A, one in each row of a new array."""
        if isinstance(self.X, LinearOperator):
            columns = (self.X @ np.eye(self.shape[1], dtype=self.dtype)[:, part]).T
        else:
            columns = (self.X[:, part].toarray() if self.is_sparse else self.X[:, part]).T
        columns = np.array(columns, order="C")
        if self.shift is not None:
            columns -= self.shift[part, None]
        return columns if self.scale is None else columns * self.scale

    def products(self) -> np.ndarray:
        """A A^T or A^T A, whichever is smaller: they have the same eigenvalues, but for zeros."""
        return self.inner() if self.shape[0] < self.shape[1] else self.outer()

    def inner(self) -> np.ndarray:
        """A A^T, which holds the products of rows."""
        if not self.is_sparse:
            blocks = list(self._blocks())
            return squares([blocks[0] if len(blocks) == 1 else np.concatenate(blocks)])
        products = (self.X @ self.X.T).toarray()
        if self.shift is not None:
            along = self.X @ self.shift
            products += self.shift @ self.shift - along[:, None] - along
        return products if self.scale is None else products * self.scale[:, None] * self.scale

    def outer(self) -> np.ndarray:
        """A^T A, centred block by block: means far from zero do no harm."""
        if not self.is_sparse:
            return squares(block.T for block in self._blocks())
        scaled = self.X if self.scale is None else self.X.multiply(self.scale[:, None]).tocsr()
        products = (scaled.T @ scaled).toarray()
        if self.shift is not None:
            weights = np.ones(self.shape[0]) if self.scale is None else self.scale**2
            along = np.outer(self.X.T @ weights, self.shift)
            products += weights.sum() * np.outer(self.shift, self.shift) - along - along.T
        return products

    def _dense(self, indices) -> np.ndarray:
        """Rows of X that are not sparse, centred but not scaled."""
        if isinstance(self.X, LinearOperator):
            chosen = np.arange(self.shape[0])[indices]
            units = np.zeros((self.shape[0], len(chosen)), dtype=self.dtype)
            units[chosen, np.arange(len(chosen))] = 1.0
            rows = np.ascontiguousarray((self.X.T @ units).T)
        else:
            rows = self.X[indices]
        return rows if self.shift is None else rows - self.shift

    def _blocks(self) -> Iterator[np.ndarray]:
        """All rows, some at a time; all at once where nothing needs to be done to them."""
        if isinstance(self.X, np.ndarray) and self.X.flags.forc and self.scale is None and self.shift is None:
            yield self.X
            return
        step = max(1, _BLOCK_VALUES // self.shape[1])
        for start in range(0, self.shape[0], step):
            block = self._dense(slice(start, start + step))
            yield block if self.scale is None else block * self.scale[start : start + step, None]


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


def matrix(X):
    """X as CSR, a ``LinearOperator`` or an array of floats, finite and with two dimensions."""
    if isinstance(X, LinearOperator):
        return X
    from sklearn.utils import check_array

    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
