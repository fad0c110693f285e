"""A matrix whose rows may be weighted and centred without copying it."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from sparing.linalg.products import squares, times

_BLOCK_VALUES = 2**20  # 8 MB of float64 at a time
_DIGITS_LOST = 1e-3  # relative size of a difference below which it has lost too many digits
_SIGNS = 8  # random vectors that estimate the norms of rows and columns of a LinearOperator
_CACHED_VALUES = 2**19  # values that stay in a processor's cache between two uses


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
        """The caller's matrix, checked to be finite; ``Rows`` are returned unchanged."""
        return A if isinstance(A, Rows) else cls(matrix(A))

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def n_values(self) -> int:
        """The number of values that one pass over the rows reads."""
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
        """A^T A V for a matrix V of columns; a large array is read once for both products."""
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

    def normal_and_squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A^T A V, and the squared norms of the columns of A V."""
        scores = self @ V
        return self.transposed(scores), np.einsum("ij,ij->j", scores, scores)

    def squared_norms(self) -> np.ndarray:
        """The squared norm of each row."""
        from sklearn.utils.extmath import row_norms

        if not isinstance(self.X, LinearOperator):
            norms = centred = row_norms(self.X, squared=True)
            if self.shift is not None:
                centred = norms - 2 * times(self.X, self.shift[:, None])[:, 0] + self.shift @ self.shift
            if self.is_sparse or np.all(centred >= _DIGITS_LOST * norms):
                return np.maximum(centred, 0.0) * (1.0 if self.scale is None else self.scale**2)
        return np.concatenate([row_norms(block, squared=True) for block in self._blocks()])

    def parts(self) -> Iterator[tuple[slice, "Rows"]]:
        """All rows in blocks that are not copied, each with its place; sparse rows and operators in one block."""
        step = max(1, _BLOCK_VALUES // self.shape[1]) if isinstance(self.X, np.ndarray) else self.shape[0]
        if step >= self.shape[0]:
            yield slice(None), self
            return
        for start in range(0, self.shape[0], step):
            part = slice(start, start + step)
            yield part, Rows(self.X[part], scale=None if self.scale is None else self.scale[part], shift=self.shift)

    def magnitudes(self) -> "Rows":
        r"""Rows :math:`|s_i| (|x_i| + |\mu|)`: rounding errors of a product with A are relative to one with these."""
        X = _Norms(self.X) if isinstance(self.X, LinearOperator) else abs(self.X)
        scale, shift = (None if part is None else np.abs(part) for part in (self.scale, self.shift))
        return Rows(X, scale=scale, shift=None if shift is None else -shift)

    def norm(self) -> float:
        """The Frobenius norm; of rows with a shift, that of X and the shift side by side, which is larger."""
        if isinstance(self.X, LinearOperator):
            return float(np.linalg.norm(_Norms(self.X).rows))
        from sklearn.utils.extmath import row_norms

        squared = row_norms(self.X, squared=True).astype(np.float64)
        if self.shift is not None:
            squared += float(self.shift @ self.shift)
        return float(np.sqrt(np.sum(squared if self.scale is None else squared * self.scale**2)))

    def take(self, indices: np.ndarray, factors: np.ndarray | None = None) -> "Rows":
        """Selected rows, each multiplied by its factor; sparse rows stay sparse."""
        factors = np.ones(len(indices)) if factors is None else factors
        factors = (factors if self.scale is None else factors * self.scale[indices]).astype(self.dtype)
        if self.is_sparse:
            return Rows(self.X[indices], scale=factors, shift=self.shift)
        rows = self._dense(indices)
        rows *= factors[:, None]
        return Rows(rows)

    def columns(self, part: slice) -> np.ndarray:
        """Selected columns of A, as the rows of a new array."""
        if isinstance(self.X, LinearOperator):
            columns = (self.X @ np.eye(self.shape[1], dtype=self.dtype)[:, part]).T
        else:
            columns = (self.X[:, part].toarray() if self.is_sparse else self.X[:, part]).T
        columns = np.array(columns, order="C")
        if self.shift is not None:
            columns -= self.shift[part, None]
        return columns if self.scale is None else columns * self.scale

    def products(self) -> np.ndarray:
        """A A^T or A^T A, whichever is smaller: their nonzero eigenvalues are the same."""
        return self.inner() if self.shape[0] < self.shape[1] else self.outer()

    def inner(self) -> np.ndarray:
        """The Gram matrix A A^T of the rows."""
        if not self.is_sparse:
            blocks = list(self._blocks())
            return squares([blocks[0] if len(blocks) == 1 else np.concatenate(blocks)])
        products = (self.X @ self.X.T).toarray()
        if self.shift is not None:
            along = self.X @ self.shift
            products += self.shift @ self.shift - along[:, None] - along
        return products if self.scale is None else products * self.scale[:, None] * self.scale

    def outer(self) -> np.ndarray:
        """A^T A, centred block by block, so that large means lose no digits."""
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
        """Rows of a dense X or an operator, centred but not scaled."""
        if isinstance(self.X, LinearOperator):
            chosen = np.arange(self.shape[0])[indices]
            units = np.zeros((self.shape[0], len(chosen)), dtype=self.dtype)
            units[chosen, np.arange(len(chosen))] = 1.0
            rows = np.ascontiguousarray((self.X.T @ units).T)
        else:
            rows = self.X[indices]
        return rows if self.shift is None else rows - self.shift

    def _blocks(self) -> Iterator[np.ndarray]:
        """All rows in blocks; in one block if they need neither scaling nor centring."""
        if isinstance(self.X, np.ndarray) and self.X.flags.forc and self.scale is None and self.shift is None:
            yield self.X
            return
        step = max(1, _BLOCK_VALUES // self.shape[1])
        for start in range(0, self.shape[0], step):
            block = self._dense(slice(start, start + step))
            yield block if self.scale is None else block * self.scale[start : start + step, None]


def matrix(X):
    """X as CSR, a ``LinearOperator`` or an array of floats, finite and with two dimensions."""
    if isinstance(X, LinearOperator):
        return X
    from sklearn.utils import check_array

    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")


class _Norms(LinearOperator):
    """Products with the absolute values of a ``LinearOperator``, bounded by norms that random signs estimate."""

    def __init__(self, X: LinearOperator):
        rng = np.random.default_rng(0)
        along, across = (rng.choice((-1.0, 1.0), (size, _SIGNS)) for size in X.shape)
        self.rows = np.sqrt(np.mean(np.square(X @ across), axis=1))
        self.columns = np.sqrt(np.mean(np.square(X.T @ along), axis=1))
        super().__init__(np.float64, X.shape)

    def _matmat(self, V):
        return self.rows[:, None] * np.linalg.norm(V, axis=0)

    def _rmatmat(self, R):
        return self.columns[:, None] * np.linalg.norm(R, axis=0)
