"""Kernel matrices accessed by columns, stored or computed on demand."""

from copy import copy

import numpy as np
from scipy.linalg import get_blas_funcs

from sparing.linalg.inverses import ShiftedInverse
from sparing.linalg.products import times

FEW_COLUMNS = 6  # columns up to which multiplying one at a time is faster


class Gram:
    r"""A stored kernel matrix K, the inner products of feature vectors :math:`a_i` that are never formed.

    With a scale s it represents :math:`s_i K_{ij} s_j`, the kernel matrix of weighted examples.
    """

    stored = True

    def __init__(self, K: np.ndarray, *, scale: np.ndarray | None = None):
        self.K, self.scale = K, scale
        self.shape = K.shape

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K V for a matrix V of columns."""
        return self._scaled(self._product(self._scaled(V)))

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Selected columns of K, as a new array."""
        columns = self._scaled(self._columns(indices))
        return columns if self.scale is None else columns * self.scale[indices]

    def squared_norms(self) -> np.ndarray:
        """The diagonal of K: the squared norm of each feature vector."""
        diagonal = self._diagonal()
        return diagonal if self.scale is None else diagonal * self.scale**2

    def weighted(self, scale: np.ndarray) -> "Gram":
        """The kernel matrix of the same examples with other weights, which takes no copy."""
        other = copy(self)
        other.scale = scale
        return other

    def products(self) -> np.ndarray:
        """K itself."""
        return self.K if self.scale is None else self.columns(np.arange(self.shape[0]))

    def _scaled(self, V: np.ndarray) -> np.ndarray:
        return V if self.scale is None else V * self.scale[:, None]

    def _product(self, V: np.ndarray) -> np.ndarray:
        if V.shape[1] > FEW_COLUMNS or V.dtype != self.K.dtype:
            return times(self.K, V)
        (symv,) = get_blas_funcs(("symv",), (self.K, V))  # reads one half of K only; a transposed view is no copy
        return np.column_stack([symv(1.0, self.K.T, column) for column in V.T])

    def _columns(self, indices: np.ndarray) -> np.ndarray:
        return self.K[indices].T  # K is symmetric, and its rows lie in one piece

    def _diagonal(self) -> np.ndarray:
        return np.diagonal(self.K).copy()


def is_symmetric(K: np.ndarray) -> bool:
    """Whether K and its transpose have the same product with a vector: all entries would take as long as a factor."""
    probe = 1.0 + 0.5 * np.cos(np.arange(len(K)))[:, None].astype(K.dtype)
    one_way, other_way = times(K, probe), times(K.T, probe)
    return not np.abs(one_way - other_way).max() > 1e-6 * np.abs(one_way).max()


def leverage_through_columns(columns, indices, factors, squared_norms, ridge: float) -> np.ndarray:
    r"""Leverage scores of all rows from the sampled columns S of K alone (Woodbury):

    .. math:: a_i^T (A_S^T A_S + \lambda I)^{-1} a_i = (K_{ii} - c_i^T (K_{SS} + \lambda I)^{-1} c_i) / \lambda

    with :math:`c_i` the products of row i with the sampled rows, each times its factor.
    """
    products = columns * factors
    inverse = ShiftedInverse(products[indices] * factors[:, None], ridge)
    within = whitened(products, inverse.triangle).T
    return np.maximum(squared_norms - np.einsum("ij,ij->j", within, within), 0.0) / inverse.ridge


def whitened(columns: np.ndarray, triangle: np.ndarray) -> np.ndarray:
    r""":math:`C L^{-T}`, computed in place; C must be in column-major order."""
    (solve,) = get_blas_funcs(("trsm",), (triangle, columns))
    return solve(1.0, triangle, columns, side=1, lower=1, trans_a=1, overwrite_b=1)
