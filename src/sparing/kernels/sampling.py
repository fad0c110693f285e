"""Draw an attribute: from a fixed distribution in O(1), from one that changes every round in O(log d)."""

from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from sparing.kernels.compiling import entry, part
from sparing.kernels.lines import in_lines

FAN_BITS = 3
FAN = 1 << FAN_BITS  # children of a tree node: eight doubles are one cache line
_0, _1, _2, _FAN_BITS = (uint64(number) for number in (0, 1, 2, FAN_BITS))
FEW = 64  # cells of a table that is filled in a tenth of a millisecond without compiling anything


class AliasTable(NamedTuple):
    """A fixed distribution: cell i keeps a part of its share and gives the rest to another attribute, its alias.

    All that a draw needs of its cell lies in one row, so a draw costs one look into memory. ``probability`` is what the
    draws from this very table have; it differs from what was wished for by rounding only.
    """

    cells: np.ndarray  # (d, 4): part kept, alias, and 1 / probability of the alias and of the cell's own attribute
    probability: np.ndarray  # (d,)


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


_fill_many = entry(_fill_alias)


def alias_table(wished) -> AliasTable:
    """Table for ``draw_alias``; the wished probabilities need not be normalised."""
    wished = np.ascontiguousarray(wished, dtype=np.float64)
    wished = wished / wished.sum()
    kept, alias = np.empty(wished.size), np.empty(wished.size, np.int64)
    small, large = np.empty(wished.size, np.int64), np.empty(wished.size, np.int64)
    fill = _fill_alias if wished.size <= FEW else _fill_many
    fill(wished * wished.size, small, large, int(wished.argmax()), kept, alias)
    passed_on = np.bincount(alias, weights=1.0 - kept, minlength=wished.size)
    probability = (kept + passed_on) / wished.size
    inverse = np.divide(1.0, probability, out=np.zeros_like(probability), where=probability > 0)
    return AliasTable(in_lines(np.column_stack([kept, alias, inverse[alias], inverse])), probability)


@part
def draw_alias(cells, u):
    """Attribute i with its probability q_i, from one uniform number; and 1 / q_i.

    Chosen by arithmetic: whether it will be the alias cannot be foretold, and the processor's wrong guesses cost more.
    """
    at = u * cells.shape[0]
    cell = uint64(at)
    own, alias = uint64(at - float(cell) < cells[cell, 0]), uint64(cells[cell, 1])
    return int64(alias + own * (cell - alias)), cells[cell, _2 + own]


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
    """Sum of one block. Its index is unsigned: one that might count from the end would have to be provided for."""
    left = right = 0.0
    for child in range(FAN // 2):
        left += tree[first + uint64(child)]
        right += tree[first + uint64(child + FAN // 2)]
    return left + right


@part
def _sum_up(tree, starts, level, node):
    """Renew the sum that ``node`` of the level above stands for."""
    above, below = uint64(starts[level + 1]), uint64(starts[level])
    tree[above + node] = _block_sum(tree, below + (node << _FAN_BITS))


@part
def tree_refresh(tree, starts, attributes, n):
    """Renew the sums above the first n of ``attributes``, whose masses were changed.

    Level by level, so that the reads of one level do not wait for each other; a level with fewer nodes than
    attributes is renewed whole.
    """
    for level in range(starts.size - 2):
        nodes, bits = (starts[level + 1] - starts[level]) >> FAN_BITS, (level + 1) * FAN_BITS
        for a in range(n if n < nodes else nodes):
            _sum_up(tree, starts, level, uint64(a if nodes <= n else attributes[a] >> bits))


@part
def tree_total(tree, starts):
    """The sum of all masses."""
    return _block_sum(tree, uint64(starts[starts.size - 2]))


@part
def tree_draw(tree, starts, target, ends):
    """The attribute at ``target`` on the line where each occupies its mass; never one of mass zero.

    In every block all running sums are compared with the target and kept in ``ends``: where a search would stop cannot
    be foretold, and the processor loses more by guessing wrong than by comparing all.
    """
    node, level = _0, uint64(starts.size - 1)
    ends[0] = 0.0
    while level > _0:
        level -= _1
        first = uint64(starts[level]) + (node << _FAN_BITS)
        at, end = _0, 0.0
        for child in range(FAN - 1):
            end += tree[first + uint64(child)]
            ends[child + 1] = end
            at += uint64(target >= end)
        target -= ends[at]
        while tree[first + at] == 0.0 and at > _0:  # rounding led past the last child that has any mass
            at -= _1
        node = (node << _FAN_BITS) + at
    return int64(node)
