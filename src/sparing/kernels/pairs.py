"""Sums over the pairs of cells that were seen together."""

import numpy as np

from sparing.kernels import few
from sparing.kernels.compiling import entry


def sum_pairs(starts, attributes, values, d, sums, counts):
    """``sums[i, j] += x_i x_j`` and ``counts[i, j] += 1`` for i <= j seen in one example: O(b²) an example.

    Both are upper halves of d x d matrices, row after row.
    """
    sizes = np.diff(starts)
    add = few.sum_pairs if sizes @ (sizes + 1) <= 2 * few.PAIRS else _sum_pairs
    add(starts, attributes, values, d, sums, counts)


@entry
def _sum_pairs(starts, attributes, values, d, sums, counts):
    """Of many."""
    for example in range(starts.size - 1):
        for a in range(starts[example], starts[example + 1]):
            for b in range(starts[example], a + 1):
                i, j = attributes[a], attributes[b]
                if i > j:
                    i, j = j, i
                place = (i * (2 * d - i - 1) >> 1) + j
                sums[place] += values[a] * values[b]
                counts[place] += 1


def sum_with_targets(starts, attributes, values, targets, sums):
    """``sums[i, t] += x_i y_t`` for every attribute seen in an example and each of its targets."""
    add = few.sum_with_targets if attributes.size * targets.shape[1] <= few.CELLS else _sum_with_targets
    add(starts, attributes, values, targets, sums)


@entry
def _sum_with_targets(starts, attributes, values, targets, sums):
    """Of many."""
    for example in range(starts.size - 1):
        for at in range(starts[example], starts[example + 1]):
            for output in range(targets.shape[1]):
                sums[attributes[at], output] += values[at] * targets[example, output]
