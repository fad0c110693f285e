"""The sweep operator on the covariances of many examples side by side.

Matrices of a few rows cannot use a processor's vector units; the same entry of several matrices can. So examples come
in blocks, one per lane, and the short ones are padded with rows of the identity.
"""

from math import log, prod
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import part, piece

LANES = 32
AT_ONCE = 8  # pivots per logarithm: that of their product
LINE = 8  # numbers in a line of the cache
ROOM = 1 << 15  # numbers: longer examples take fewer lanes, so that a block stays in the cache


class Looks(NamedTuple):
    """Standardized values of the attributes seen in each example, and its targets."""

    starts: np.ndarray  # (n + 1,)
    attributes: np.ndarray  # (cells,)
    values: np.ndarray  # (cells,)
    targets: np.ndarray  # (n, m)
    weights: np.ndarray  # (n,)


class Block(NamedTuple):
    """Some examples: targets first, then the attributes seen; targets are numbered after the d attributes."""

    index: np.ndarray  # (most, lanes): which target or attribute; -1 where an example has no more
    gram: np.ndarray  # (most + 1, most, lanes): lower halves of covariances; below them the values
    column: np.ndarray  # (most + 1, lanes): of the pivot
    scaled: np.ndarray  # (lanes,)
    variances: np.ndarray  # (lanes,): product of the pivots
    weights: np.ndarray  # (lanes,): of the examples


def own_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that share no cache line with anything else, so that threads do not contend for lines."""
    size = prod(shape)
    room = np.zeros(size + 2 * LINE)
    start = -room.ctypes.data // room.itemsize % LINE
    return room[start : start + size].reshape(shape)


def new_block(most: int) -> Block:
    """Scratch space for examples of up to ``most`` targets and cells."""
    lanes = max(1, min(LANES, ROOM // (most * (most + 1))))
    lanes = lanes // LINE * LINE or lanes
    shapes = (most + 1, most, lanes), (most + 1, lanes), (lanes,), (lanes,), (lanes,)
    return Block(np.empty((most, lanes), np.int64), *map(own_lines, shapes))


@piece(any_order=True, rare=True)
def load(block, looks, d, first, last):
    """Load the examples from first to last, up to one per lane; returns how many rows the longest has.

    What is beyond an example's rows, and lanes beyond the last example, are filled with the identity and zeros.
    """
    index, gram, starts = block.index, block.gram, looks.starts
    m, lanes, longest = looks.targets.shape[1], index.shape[1], 0
    for example in range(first, first + lanes if first + lanes < last else last):
        size = starts[example + 1] - starts[example]
        longest = size if size > longest else longest
    n = m + longest
    for lane in range(lanes):
        example, rows, begin = first + lane, 0, 0
        block.weights[lane] = 0.0
        if example < last:
            block.weights[lane] = looks.weights[example]
            begin = starts[example]
            rows = m + starts[example + 1] - begin
        for a in range(n):
            if a >= rows:
                index[a, lane] = -1
                for b in range(a):
                    gram[a, b, lane] = 0.0
                gram[a, a, lane], gram[n, a, lane] = 1.0, 0.0
            elif a < m:
                index[a, lane] = d + a
                gram[n, a, lane] = looks.targets[example, a]
            else:
                index[a, lane] = looks.attributes[begin + a - m]
                gram[n, a, lane] = looks.values[begin + a - m]
    return n


@piece(any_order=True, rare=True)
def fill_from_table(covariance, block, n):
    """The covariances of the attributes seen in each example of a block, from the lower half of a table."""
    gram, index = block.gram, block.index
    for lane in range(index.shape[1]):
        for a in range(n):
            own = index[a, lane]
            if own >= 0:
                for b in range(a + 1):
                    other = index[b, lane]
                    gram[a, b, lane] = covariance[own, other] if own > other else covariance[other, own]


@piece(any_order=True, rare=True)
def sweep(block, n, pivot):
    r"""Sweep the matrices of a block on one row (Beaton 1964; Little & Rubin 2020, section 7.4).

    Swept on all its rows, :math:`[\Sigma, x; x^T, 0]` becomes :math:`[-\Sigma^{-1}, \Sigma^{-1} x]`; before a row is
    swept, it holds the variance of its value given those that were, and how far it is from its expectation.
    """
    gram, column, scaled = block.gram, block.column, block.scaled
    lanes = scaled.size
    for a in range(n + 1):
        row, other = a, pivot
        if a < pivot:
            row, other = pivot, a
        for lane in range(lanes):
            column[a, lane] = gram[row, other, lane]
    for lane in range(lanes):
        column[pivot, lane] = 1.0 / column[pivot, lane]
    for a in range(n + 1):
        if a != pivot:
            for lane in range(lanes):
                scaled[lane] = column[a, lane] * column[pivot, lane]
            for b in range(a + 1 if a < n else n):
                if b != pivot:
                    for lane in range(lanes):
                        gram[a, b, lane] -= scaled[lane] * column[b, lane]
            row, other = a, pivot
            if a < pivot:
                row, other = pivot, a
            for lane in range(lanes):
                gram[row, other, lane] = scaled[lane]
    for lane in range(lanes):
        gram[pivot, pivot, lane] = -column[pivot, lane]


@part
def to_gradients(block, n):
    r"""From covariances :math:`\Sigma` to :math:`a a^T - \Sigma^{-1}`, where :math:`a = \Sigma^{-1} x`.

    Half of that is the gradient of the log-likelihood in the covariance. Returns that log-likelihood, up to a constant,
    summed by the weights of the examples.
    """
    gram, variances, weights, likelihood = block.gram, block.variances, block.weights, 0.0
    for lane in range(variances.size):
        variances[lane] = 1.0
    for pivot in range(n):
        for lane in range(variances.size):
            variance, off = gram[pivot, pivot, lane], gram[n, pivot, lane]
            likelihood -= weights[lane] * (0.5 * off * off / variance)
            variances[lane] *= variance
        if pivot % AT_ONCE == AT_ONCE - 1 or pivot == n - 1:  # few logarithms, and no underflow
            for lane in range(variances.size):
                likelihood -= weights[lane] * (0.5 * log(variances[lane]))
                variances[lane] = 1.0
        sweep(block, n, pivot)
    for a in range(n):
        for b in range(a + 1):
            for lane in range(block.scaled.size):
                gram[a, b, lane] += gram[n, a, lane] * gram[n, b, lane]
    return likelihood
