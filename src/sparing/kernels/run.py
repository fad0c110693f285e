"""What Python calls: one ask, one tell, or a compiled loop of the very same two over rows."""

from sparing.kernels.ask import ask_inner, ask_point, touch
from sparing.kernels.compiling import entry
from sparing.kernels.gather import gather
from sparing.kernels.tell import tell


@entry
def ask_once(model, table, options, draws):
    """Fill ``draws`` with the looks of the next round."""
    ask_point(model, table, options, draws)
    ask_inner(model, options, draws)


@entry
def tell_once(model, seen, options, draws, values, y, point, phi):
    """One round after its values are known; ``point`` and ``phi`` are room for its estimates."""
    tell(model, seen, options, draws, values, y, point, phi)


@entry
def run_rows(model, table, seen, options, draws, values, point, phi, rows, y, first, last):
    """Rounds over rows first..last of a matrix.

    What the point needs is fetched before the inner product is drawn: the draws take as long as memory does.
    """
    attributes, sizes = draws.attributes, draws.sizes
    for row in range(first, last):
        ask_point(model, table, options, draws)
        gather(rows, row, attributes, 0, sizes[1], values)
        phi[0] = touch(model, draws)
        ask_inner(model, options, draws)
        gather(rows, row, attributes, sizes[1], sizes[0], values)
        tell(model, seen, options, draws, values, y[row], point, phi)
