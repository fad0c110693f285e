"""Read the named attributes of one row, and nothing else."""

from sparing.kernels.compiling import part


@part
def gather_dense(X, row, attributes, n, values):
    """``values[a] = X[row, attributes[a]]`` for the first n attributes."""
    for a in range(n):
        values[a] = X[row, attributes[a]]


@part
def gather_csr(data, indices, indptr, row, attributes, n, values):
    """The same for CSR rows with sorted indices: a binary search an attribute."""
    first, last = indptr[row], indptr[row + 1]
    for a in range(n):
        low, high, wanted = first, last, attributes[a]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        values[a] = data[low] if low < last and indices[low] == wanted else 0.0
