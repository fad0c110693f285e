"""Read the named attributes of one row, and nothing else, whatever the matrix is stored like."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparing.kernels.compiling import part
from sparing.kernels.prefetch import prefetch


class MatrixView(NamedTuple):
    """A matrix as kernels see it: one type for row-major, column-major, sliced and CSR matrices of one dtype.

    Dense: entry (r, i) is ``values[r * row_step + i * column_step]``. CSR: ``indptr`` is not empty, and the indices of
    a row are sorted.
    """

    values: np.ndarray
    row_step: int
    column_step: int
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


def matrix_view(X) -> MatrixView:
    """Rows of a dense or CSR matrix. Nothing is copied, unless a slice runs backwards or between entries."""
    if sparse.issparse(X):
        return MatrixView(_flat(X.data), 0, 0, _flat(X.indices), _flat(X.indptr))
    steps = [step / X.itemsize for step in X.strides]
    if any(step < 0 or step != int(step) for step in steps):
        X = np.ascontiguousarray(X)
        steps = [step // X.itemsize for step in X.strides]
    none = np.zeros(0, np.int32)
    return MatrixView(_flat(X), int(steps[0]), int(steps[1]), none, none)


@part
def gather(rows, row, attributes, first, last, values):
    """``values[a] = X[row, attributes[a]]`` for a from first to last; in CSR rows by a binary search each.

    Returns an attribute whose value is infinite, -1 if there is none.
    """
    cells, indices, indptr, step, infinite = rows.values, rows.indices, rows.indptr, rows.column_step, -1
    if indptr.size == 0:
        start = row * rows.row_step
        for a in range(first, last):
            values[a] = cells[start + attributes[a] * step]
    else:
        begin, end = indptr[row], indptr[row + 1]
        for a in range(first, last):
            low, high, wanted = begin, end, attributes[a]
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            values[a] = cells[low] if low < end and indices[low] == wanted else 0.0
    for a in range(first, last):
        if abs(values[a]) == np.inf:
            infinite = attributes[a]
    return infinite


@part
def fetch(rows, row, attributes, first, last):
    """Have attributes first..last of a dense row fetched, which will be read soon."""
    if rows.indptr.size == 0:
        cells, start, step = rows.values, row * rows.row_step, rows.column_step
        for a in range(first, last):
            prefetch(cells, start + attributes[a] * step)
