"""The papers' scaling of real data."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sparing import checks


class Scaling(NamedTuple):
    """The offset subtracted from each attribute (None: nothing), and the size that it was divided by."""

    offset: np.ndarray | None
    size: np.ndarray

    def transform(self, X):
        """Other data, scaled the same way."""
        X = _floats(X) if self.offset is None else _floats(X) - self.offset
        return X.multiply(1.0 / self.size).tocsr() if sparse.issparse(X) else X / self.size

    def inverse_transform(self, X):
        """The data as they were before :meth:`transform`."""
        X = _floats(X)
        X = X.multiply(self.size).tocsr() if sparse.issparse(X) else X * self.size
        return X if self.offset is None else X + self.offset


def scale_max_abs(X, *, center: bool = True) -> tuple[Any, Scaling]:
    """Centre each attribute, then divide it by its largest absolute value, as Kukliansky & Shamir 2015 did.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_examples, n_attributes)
        NaN stands for a missing value and stays. float32 stays float32; all else becomes float64.
    center : bool, default=True
        A sparse matrix cannot be centred and stay sparse: pass False.

    Returns
    -------
    scaled : array or CSR matrix
        Entries between -1 and 1; with ``center`` a constant attribute is 0.
    scaling : Scaling
        ``scaling.transform(X_test)`` scales other data the same way, ``inverse_transform`` undoes it.

    Examples
    --------
    >>> scaled, scaling = scale_max_abs([[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]])
    >>> scaled
    array([[-0.66666667, 0. ], [-0.33333333, 0. ], [ 1. , 0. ]])
    >>> scaling.transform([[3.0, 8.0]])
    array([[0., 1.]])
    """
    X, center = _floats(X), checks.boolean("center", center)
    if center and sparse.issparse(X):
        raise ValueError("X is sparse and centring would fill it with numbers; pass center=False, or X.toarray().")
    offset = _middle(X) if center else None
    scaling = Scaling(offset, _largest(X if offset is None else X - offset))
    return scaling.transform(X), scaling


def _floats(X):
    """The matrix as numbers of single or double precision."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must be a matrix with at least one row; got shape {X.shape}.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _middle(X: np.ndarray) -> np.ndarray:
    """Means, exact for a constant attribute, whose rounding error would otherwise be scaled up to 1."""
    least, most = np.fmin.reduce(X), np.fmax.reduce(X)
    known = np.isfinite(X)
    means = np.sum(X, axis=0, where=known, dtype=np.float64) / np.maximum(known.sum(axis=0), 1)
    return np.where(least == most, least, means).astype(X.dtype)


def _largest(X) -> np.ndarray:
    """Largest absolute value of each attribute; 1 if all values are zero."""
    largest = abs(X).max(axis=0).toarray().ravel() if sparse.issparse(X) else np.fmax.reduce(abs(X))
    return np.where(largest > 0, largest, 1).astype(X.dtype)
