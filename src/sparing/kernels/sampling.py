"""Draw an attribute: from a fixed distribution in O(1), from one that changes every round in O(log d)."""

from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part

FAN_BITS = 3
FAN = 1 << FAN_BITS  # children of a tree node: eight doubles are one cache line


class AliasTable(NamedTuple):
    """A fixed distribution: cell i keeps a part of its share and gives the rest to another attribute, its alias.

    All that a draw needs of its cell lies in one row, so a draw costs one look into memory. ``probability`` is what the
    draws from this very table have; it differs from what was wished for by rounding only.
    """

    cells: np.ndarray  # (d, 4): part kept, alias, and 1 / probability of the cell's own attribute and of its alias
    probability: np.ndarray  # (d,)


@entry
def _fill_alias(share, small, large, richest, kept, alias):
    """Vose's construction: pair every cell that is short with one that has too much. ``share`` is used up."""
    n_small = n_large = 0
    for i in range(share.size):
        if share[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small and n_large:
        n_small -= 1
        poor, rich = small[n_small], large[n_large - 1]
        kept[poor], alias[poor] = share[poor], rich
        share[rich] -= 1.0 - share[poor]
        if share[rich] < 1.0:
            n_large -= 1
            small[n_small] = rich
            n_small += 1
    for i in range(n_large):
        kept[large[i]], alias[large[i]] = 1.0, large[i]
    for i in range(n_small):  # short of 1 by rounding only; but a cell of probability 0 must pass on all its draws
        poor = small[i]
        kept[poor], alias[poor] = (1.0, poor) if share[poor] > 0.0 else (0.0, richest)


def alias_table(wished) -> AliasTable:
    """Table for ``draw_alias``; the wished probabilities need not be normalised."""
    wished = np.ascontiguousarray(wished, dtype=np.float64)
    wished = wished / wished.sum()
    kept, alias = np.empty(wished.size), np.empty(wished.size, np.int64)
    small, large = np.empty(wished.size, np.int64), np.empty(wished.size, np.int64)
    _fill_alias(wished * wished.size, small, large, int(wished.argmax()), kept, alias)
    passed_on = np.bincount(alias, weights=1.0 - kept, minlength=wished.size)
    probability = (kept + passed_on) / wished.size
    inverse = np.divide(1.0, probability, out=np.zeros_like(probability), where=probability > 0)
    return AliasTable(np.column_stack([kept, alias, inverse, inverse[alias]]), probability)


@part
def draw_alias(cells, u):
    """Attribute i with its probability q_i, from one uniform number; and 1 / q_i.

    Both outcomes are read before one is chosen, so that draws need not wait for each other's memory.
    """
    at = u * cells.shape[0]
    cell = int(at)
    alias, own_weight, alias_weight = int(cells[cell, 1]), cells[cell, 2], cells[cell, 3]
    own = at - cell < cells[cell, 0]
    return (cell if own else alias), (own_weight if own else alias_weight)


# The sum tree. Level 0 holds one mass per attribute, each higher level the sums of FAN neighbours, the top level at
# most FAN nodes; all levels lie in one array, padded with zeros. Sums are always taken anew from the children, never
# moved by differences, so they cannot drift.


def tree_levels(d: int) -> np.ndarray:
    """Where each level starts in the tree's array; the last entry is the array's length."""
    starts, size = [0], d
    while True:
        blocks = -(-size // FAN)
        starts.append(starts[-1] + blocks * FAN)
        if blocks == 1:
            return np.array(starts, dtype=np.int64)
        size = blocks


@part
def _block_sum(tree, first):
    """Sum of one block, in an order that the compiler may not change."""
    left = (tree[first] + tree[first + 1]) + (tree[first + 2] + tree[first + 3])
    right = (tree[first + 4] + tree[first + 5]) + (tree[first + 6] + tree[first + 7])
    return left + right


@entry
def tree_build(tree, starts):
    """Sum up all levels above the masses: O(d)."""
    for level in range(starts.size - 2):
        for block in range((starts[level + 1] - starts[level]) // FAN):
            tree[starts[level + 1] + block] = _block_sum(tree, starts[level] + block * FAN)


@part
def tree_refresh(tree, starts, attributes, n):
    """Renew the sums above the first n of ``attributes``, whose masses were changed.

    Level by level, so that the reads of one level do not wait for each other; a level with fewer nodes than
    attributes is renewed whole.
    """
    shift = 0
    for level in range(starts.size - 2):
        shift += FAN_BITS
        below, here = starts[level], starts[level + 1]
        nodes = (here - below) >> FAN_BITS
        if nodes <= n:
            for node in range(nodes):
                tree[here + node] = _block_sum(tree, below + (node << FAN_BITS))
        else:
            for a in range(n):
                node = attributes[a] >> shift
                tree[here + node] = _block_sum(tree, below + (node << FAN_BITS))


@part
def tree_total(tree, starts):
    """The sum of all masses."""
    return _block_sum(tree, starts[starts.size - 2])


@part
def tree_draw(tree, starts, target):
    """The attribute at ``target`` on the line where each occupies its mass; never one of mass zero."""
    node = 0
    for level in range(starts.size - 2, -1, -1):
        first = starts[level] + node * FAN
        at, last = first, first + FAN - 1
        while at < last and target >= tree[at]:
            target -= tree[at]
            at += 1
        while at > first and tree[at] == 0.0:  # rounding carried the target past the last child that has any mass
            at -= 1
        node = at - starts[level]
    return node
