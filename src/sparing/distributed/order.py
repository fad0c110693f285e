"""Every k-th example of all parts, in the order of :meth:`sparing.cells.Cells.in_order`.

Held-out examples must not depend on how rows are divided, so positions in that order are found exactly. Parts are
sorted and divided at the same keys, and all examples between two keys come to one worker.
"""

import numpy as np

from sparing.cells import Cells
from sparing.distributed.parts import Parts

PARTS_PER_RANGE = 4  # examples that come together, in parts; with fewer, there would be more tasks
KEYS = 64  # keys of each part, from which ranges of about equal size are found


def every_in_order(parts: Parts, step: int) -> Cells:
    """Every ``step``-th example of all parts; with a step of one, all of them."""
    if step <= 1:
        return Cells.merge(parts.gathered()).in_order()
    client, ordered = parts.client, parts.each(Cells.in_order)
    n_ranges = -(-len(parts) // PARTS_PER_RANGE)
    ends = np.array(ordered.each(_ends, _even_keys(ordered.each(_some_keys).gathered(), n_ranges)).gathered())
    before = np.concatenate([[0], ends.sum(axis=0)])  # examples of all parts, before each range
    samples = []
    for place in range(ends.shape[1]):
        begins = ends[:, place - 1] if place else 0 * ends[:, 0]
        pieces = client.map(_piece, ordered.futures, begins.tolist(), ends[:, place].tolist(), pure=False)
        first = -int(before[place]) % step
        samples.append(client.submit(_thinned, pieces, first, step, pure=False))
    return Cells.merge(client.gather(samples))


def _keys(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """The first keys of the order."""
    return cells.hashes()[0], cells.targets[:, 0]


def _some_keys(cells: Cells) -> list[np.ndarray]:
    return [key[:: -(-cells.n_examples // KEYS)] for key in _keys(cells)]


def _even_keys(of_parts: list, n_ranges: int) -> list[np.ndarray]:
    """Keys that cut all examples into ranges of about equal size; fewer, where keys are equal."""
    seen, target = (np.concatenate(keys) for keys in zip(*of_parts, strict=True))
    order = np.lexsort((target, seen))
    chosen = order[np.linspace(0, order.size, n_ranges + 1).astype(int)[1:-1]]
    return [seen[chosen], target[chosen]]


def _ends(cells: Cells, cuts: list[np.ndarray]) -> np.ndarray:
    """The number of examples of a sorted part before each of the cuts, and the number of all its examples."""
    seen, target = _keys(cells)
    counts = [np.sum((seen < s) | ((seen == s) & (target < t))) for s, t in zip(*cuts, strict=True)]
    return np.array([*counts, cells.n_examples])


def _piece(cells: Cells, begin: int, end: int) -> Cells:
    return cells.take(slice(begin, end))


def _thinned(pieces: list[Cells], first: int, step: int) -> Cells:
    return Cells.merge(pieces).in_order().take(slice(first, None, step))
