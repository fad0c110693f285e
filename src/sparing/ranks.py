"""Ranks of entries that several keys put in order."""

import numpy as np


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
