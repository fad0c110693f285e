"""What Python calls: one ask, one tell, or a compiled loop of the very same two over rows."""

from sparing.kernels.ask import aim_point, ask_inner, ask_point, fetch_model, weigh
from sparing.kernels.compiling import entry, part
from sparing.kernels.gather import fetch, gather
from sparing.kernels.state import ROUND
from sparing.kernels.tell import tell


@entry(short_loops=True)
def ask_once(model, cells, options, draws, scratch):
    """Fill ``draws`` with the looks of the next round."""
    aim_point(cells, options, scratch.aims, model.counts[ROUND])
    ask_point(cells, options, draws, scratch.lookup, scratch.aims)
    weigh(model, options, draws, ask_inner(model, options, draws, scratch))


@entry(short_loops=True)
def tell_once(model, seen, options, draws, values, y, weight, point, phi):
    """One round after its values are known; ``point`` and ``phi`` are room for its estimates."""
    tell(model, seen, options, draws, values, y, weight, point, phi)


@part
def _take_over(ahead, draws):
    """Make the round that was prepared ahead the present one."""
    for r in range(draws.point_weights.size):
        draws.place[r] = ahead.place[r]
        draws.point_weights[r] = ahead.point_weights[r]
    for a in range(ahead.sizes[1]):
        draws.attributes[a] = ahead.attributes[a]
    draws.sizes[1] = ahead.sizes[1]


@entry(short_loops=True)
def run_rows(
    model, cells, seen, options, draws, ahead, scratch, values, point, phi, rows, y, weights, first, last
):  # fmt: skip
    """Rounds over rows first..last of a matrix; without ``weights`` each counts one.

    While the cells of a round are on their way from memory, the point of the next round is drawn, and what that will
    need is asked for, so that hardly anything is waited for. The loop begins two rows early, with what is done ahead:
    so every part stands here once, and is compiled once.

    Returns the row, and the attribute, at which an infinite value ended it; the attribute is -1 if none did.
    """
    round, total = model.counts[ROUND], 0.0
    for row in range(first - 2, last):
        if row >= first:
            _take_over(ahead, draws)
            total = ask_inner(model, options, draws, scratch)
            fetch(rows, row, draws.attributes, draws.sizes[1], draws.sizes[0])
        if first <= row + 1 < last:
            ask_point(cells, options, ahead, scratch.lookup, scratch.aims)
            fetch(rows, row + 1, ahead.attributes, 0, ahead.sizes[1])
            fetch_model(model, ahead)
        aim_point(cells, options, scratch.aims, round + row + 2 - first)
        if row < first:
            continue
        weigh(model, options, draws, total)
        infinite = gather(rows, row, draws.attributes, draws.sizes[0], values)
        if infinite >= 0:
            return row, infinite
        tell(model, seen, options, draws, values, y[row], weights[row] if weights.size else 1.0, point, phi)
    return last, -1
