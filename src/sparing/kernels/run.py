"""What Python calls: one ask, one tell, or a compiled loop of the very same two over rows."""

import numpy as np

from sparing.kernels.ask import ask
from sparing.kernels.compiling import entry
from sparing.kernels.gather import gather_csr, gather_dense
from sparing.kernels.tell import tell


@entry
def ask_once(model, table, options, draws):
    """Fill ``draws`` with the looks of the next round."""
    ask(model, table, options, draws)


@entry
def tell_once(model, seen, options, draws, values, y):
    """One round after its values are known."""
    looks = draws.attributes.size
    tell(model, seen, options, draws, values, y, np.empty(looks), np.empty(y.size))


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
