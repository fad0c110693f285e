"""What Python calls: one ask, one tell, or a compiled loop of the very same two over rows."""

from sparing.kernels.ask import ask_inner, ask_point, fetch_model
from sparing.kernels.compiling import entry, part
from sparing.kernels.gather import fetch, gather
from sparing.kernels.state import ROUND
from sparing.kernels.tell import tell


@entry
def ask_once(model, table, options, draws):
    """Fill ``draws`` with the looks of the next round."""
    ask_point(table, options, draws, model.counts[ROUND])
    ask_inner(model, options, draws)


@entry
def tell_once(model, seen, options, draws, values, y, point, phi):
    """One round after its values are known; ``point`` and ``phi`` are room for its estimates."""
    tell(model, seen, options, draws, values, y, point, phi)


@part
def _take_over(ahead, draws):
    """Make the round that was prepared ahead the present one."""
    for r in range(draws.point_weights.size):
        draws.place[r] = ahead.place[r]
        draws.point_weights[r] = ahead.point_weights[r]
    for a in range(ahead.sizes[1]):
        draws.attributes[a] = ahead.attributes[a]
    draws.sizes[1] = ahead.sizes[1]


@entry
def run_rows(model, table, seen, options, draws, values, point, phi, ahead, rows, y, first, last):
    """Rounds over rows first..last of a matrix.

    The point of the next round is drawn before the present one is told, and what it will need is asked for, so that the
    wait for memory falls into other work. ``draws`` and ``ahead`` share their lookup table.
    """
    ask_point(table, options, ahead, model.counts[ROUND])
    for row in range(first, last):
        _take_over(ahead, draws)
        gather(rows, row, draws.attributes, 0, draws.sizes[1], values)
        ask_inner(model, options, draws)
        gather(rows, row, draws.attributes, draws.sizes[1], draws.sizes[0], values)
        if row + 1 < last:
            ask_point(table, options, ahead, model.counts[ROUND] + 1)
            fetch(rows, row + 1, ahead.attributes, ahead.sizes[1])
            fetch_model(model, ahead)
        tell(model, seen, options, draws, values, y[row], point, phi)
