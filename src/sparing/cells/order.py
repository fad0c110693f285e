"""The order of examples that depends on their contents only, and ranks of entries by several keys."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sparing.cells.store import Cells


def by_contents(cells: "Cells") -> tuple[np.ndarray, np.ndarray | None]:
    """The numbers of examples in order, and the numbers of their blocks in that order, from 0 on.

    Examples are ordered by which of their attributes were seen, then by targets, values, probabilities and weights.
    """
    seen, chances = cells.hashes()
    ranks = ranks_of([seen, *cells.targets.T])
    del seen  # examples may be very many
    for place in range(int(np.diff(cells.starts).max(initial=0))):
        if are_distinct(ranks):
            break
        starts = cells.starts
        tied = np.flatnonzero((np.bincount(ranks)[ranks] > 1) & (np.diff(starts) > place))
        if not tied.size:
            break
        values = np.zeros(ranks.size)
        values[tied] = cells.values[starts[tied] + place]
        ranks = ranks_of([ranks, values])
    more = [chances, cells.weights] if cells.is_weighted else [chances]
    if cells.blocks is not None:
        return _of_blocks(cells.blocks, ranks_of([ranks, *more]))
    return inverse(ranks) if are_distinct(ranks) else np.lexsort((*more[::-1], ranks)), None


def _of_blocks(blocks: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Examples in the order of these ranks; equal ones in the order of their blocks, which depends on contents only."""
    _, block = np.unique(blocks, return_inverse=True)
    words = np.zeros(block.max(initial=-1) + 1, np.uint64)
    word_of_rank = np.random.default_rng(0).integers(2**64, size=ranks.size, dtype=np.uint64)
    np.add.at(words, block, word_of_rank[ranks])
    order = np.lexsort((block, words[block], ranks))
    _, first, block = np.unique(block[order], return_index=True, return_inverse=True)
    return order, np.argsort(np.argsort(first))[block]


def ranks_of(keys: list[np.ndarray]) -> np.ndarray:
    """The rank of each entry in the order of the first key, then of the next, and so on; equal ones share a rank."""
    order = np.lexsort(keys[::-1])
    changes = np.zeros(order.size, bool)
    for key in keys:
        ordered = key[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.cumsum(changes)
    return ranks


def are_distinct(ranks: np.ndarray) -> bool:
    """Whether no two entries share a rank."""
    return ranks.max(initial=-1) == ranks.size - 1


def inverse(permutation: np.ndarray) -> np.ndarray:
    """The permutation that undoes this one."""
    undone = np.empty_like(permutation)
    undone[permutation] = np.arange(permutation.size)
    return undone
