"""The compiled loops of ``run``: the same ask and tell, row after row."""

import numpy as np
from sparing.kernels.compiling import entry

from sparing.kernels.ask import ask
from sparing.kernels.gather import gather_csr, gather_dense
from sparing.kernels.tell import tell


@entry
def run_dense(model, table, seen, options, draws, X, y, first, last):
    """Rounds over rows first..last of a dense matrix."""
    looks = draws.attributes.size
    values, point, phi = np.empty(looks), np.empty(looks), np.empty(y.shape[1])
    for row in range(first, last):
        ask(model, table, options, draws)
        gather_dense(X, row, draws.attributes, draws.sizes[0], values)
        tell(model, seen, options, draws, values, y[row], point, phi)


@entry
def run_csr(model, table, seen, options, draws, data, indices, indptr, y, first, last):
    """Rounds over rows first..last of a CSR matrix."""
    looks = draws.attributes.size
    values, point, phi = np.empty(looks), np.empty(looks), np.empty(y.shape[1])
    for row in range(first, last):
        ask(model, table, options, draws)
        gather_csr(data, indices, indptr, row, draws.attributes, draws.sizes[0], values)
        tell(model, seen, options, draws, values, y[row], point, phi)
