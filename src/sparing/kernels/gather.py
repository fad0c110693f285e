"""Read the named attributes of one row, and nothing else, whatever the matrix is stored like."""

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from scipy import sparse

from sparing.kernels.compiling import PIECE
from sparing.kernels.prefetch import prefetch


class DenseView(NamedTuple):
    """Entry (r, i) is ``values[r * row_step + i * column_step]``: one type for row-major, column-major and sliced."""

    values: np.ndarray
    row_step: int
    column_step: int


class SparseView(NamedTuple):
    """Rows in CSR form, each with its indices sorted."""

    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


class _SameMemory:
    """Memory of an array under another shape, not marked read-only: kernels never write to it."""

    def __init__(self, array, shape, strides):
        self.array = array  # keeps the memory alive
        described = {"data": (array.ctypes.data, False), "shape": shape, "strides": strides}
        self.__array_interface__ = array.__array_interface__ | described


def _flat(array: np.ndarray) -> np.ndarray:
    """All memory from the first to the last entry of an array as a vector, without a copy."""
    item = array.itemsize
    length = 1 + sum((size - 1) * step // item for size, step in zip(array.shape, array.strides, strict=True))
    return np.asarray(_SameMemory(array, (length if array.size else 0,), (item,)))


def matrix_view(X) -> DenseView | SparseView:
    """Rows of a dense or CSR matrix. Nothing is copied, unless a slice runs backwards or between entries."""
    if sparse.issparse(X):
        return SparseView(_flat(X.data), _flat(X.indices), _flat(X.indptr))
    steps = [step / X.itemsize for step in X.strides]
    if any(step < 0 or step != int(step) for step in steps):
        X = np.ascontiguousarray(X)
        steps = [step // X.itemsize for step in X.strides]
    return DenseView(_flat(X), int(steps[0]), int(steps[1]))


def _gather_dense(rows, row, attributes, n, values):
    cells, start, step = rows.values, row * rows.row_step, rows.column_step
    infinite = -1
    for a in range(n):
        values[a] = cells[start + attributes[a] * step]
        if abs(values[a]) == np.inf:
            infinite = attributes[a]
    return infinite


def _gather_sparse(rows, row, attributes, n, values):
    cells, indices = rows.values, rows.indices
    begin, end = rows.indptr[row], rows.indptr[row + 1]
    infinite = -1
    for a in range(n):
        low, high, wanted = begin, end, attributes[a]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        values[a] = cells[low] if low < end and indices[low] == wanted else 0.0
        if abs(values[a]) == np.inf:
            infinite = wanted
    return infinite


def gather(rows, row, attributes, n, values):
    """``values[a] = X[row, attributes[a]]`` for the first n attributes; in CSR rows by a binary search each.

    Returns an attribute whose value is infinite, -1 if there is none. Kernels are compiled for the kind of rows alone.
    """
    return (_gather_dense if isinstance(rows, DenseView) else _gather_sparse)(rows, row, attributes, n, values)


@overload(gather, jit_options=PIECE)
def _compiled_gather(rows, row, attributes, n, values):
    return _gather_dense if rows.instance_class is DenseView else _gather_sparse


def fetch(rows, row, attributes, first, last):
    """Have attributes first..last of a dense row fetched, which will be read soon."""


def _fetch_dense(rows, row, attributes, first, last):
    cells, start, step = rows.values, row * rows.row_step, rows.column_step
    for a in range(first, last):
        prefetch(cells, start + attributes[a] * step)


@overload(fetch, jit_options=PIECE)
def _compiled_fetch(rows, row, attributes, first, last):
    return _fetch_dense if rows.instance_class is DenseView else fetch
