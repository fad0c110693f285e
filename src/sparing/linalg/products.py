"""Products of dense arrays by scipy's BLAS, which also computes the factorisations.

numpy and scipy each ship a BLAS, and the threads of both spin for a while after every call. A product by one library
followed by a factorisation by the other would compete with idle threads for the cores, at half the speed.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg import blas

_PREFIXES = {"f": "s", "d": "d"}  # of the functions for float32 and float64
FEW_AT_ONCE = 4  # columns up to which multiplying one at a time is faster
_MIRRORED = 512  # block size when copying one triangle to the other
_CONVERTED = 2**17  # values converted to double precision at a time, which stay in a processor's cache


def times(A, B: np.ndarray) -> np.ndarray:
    """``A @ B`` for two matrices.

    >>> times(np.eye(2), np.array([[1.0], [2.0]]))
    array([[1.],
           [2.]])
    """
    as_it_is = isinstance(A, np.ndarray) and A.flags.forc and A.dtype.char in _PREFIXES and A.dtype == B.dtype
    if not (as_it_is and A.size and B.size):
        large = isinstance(A, np.ndarray) and A.size > _CONVERTED and A.flags.forc
        return _converted(A, B) if large and (A.dtype.char, B.dtype.char) == ("f", "d") else A @ B
    columns, turned = _columns(A)
    if B.shape[1] <= FEW_AT_ONCE:
        multiply = _function("gemv", A)
        products = [multiply(1.0, columns, column, trans=turned) for column in B.T]
        return products[0][:, None] if len(products) == 1 else np.stack(products).T
    return _function("gemm", A)(1.0, columns, B, trans_a=turned)


def _converted(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``A @ B`` in double precision, without a copy of all of A."""
    by_rows = A.flags.c_contiguous
    step = max(1, _CONVERTED // A.shape[by_rows])
    parts = [slice(start, start + step) for start in range(0, A.shape[not by_rows], step)]
    if by_rows:
        return np.concatenate([times(A[part].astype(B.dtype), B) for part in parts])
    total = np.zeros((A.shape[0], B.shape[1]))
    for part in parts:
        total += times(A[:, part].astype(B.dtype), B[part])
    return total


def squares(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of ``P @ P.T`` over parts P; only one triangle is computed.

    >>> squares([np.array([[1.0], [2.0]]), np.array([[0.0], [1.0]])])
    array([[1., 2.],
           [2., 5.]])
    """
    total = None
    for part in parts:
        columns, turned = _columns(part)
        options: dict[str, Any] = {} if total is None else {"beta": 1.0, "c": total, "overwrite_c": True}
        total = _function("syrk", part)(1.0, columns, trans=turned, lower=1, **options)
    assert total is not None
    for start in range(0, len(total), _MIRRORED):
        stop = start + _MIRRORED
        within = total[start:stop, start:stop]
        within += np.tril(within, -1).T
        total[start:stop, stop:] = total[stop:, start:stop].T
    return total


def _function(name: str, A: np.ndarray):
    return getattr(blas, _PREFIXES[A.dtype.char] + name)


def _columns(M: np.ndarray) -> tuple[np.ndarray, bool]:
    """M or its transpose, whichever is in column-major order, and whether it was transposed."""
    return (M, False) if M.flags.f_contiguous else (M.T, True)
