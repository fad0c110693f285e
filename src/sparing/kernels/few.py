"""What kernels do with many cells, done by NumPy where there are few: the same to the last bit, without compiling.

The first fit of a few thousand rows spends some milliseconds in each of these; to compile one takes 0.1 to 0.3 s.
Sums are taken in the order of the kernels: ``bincount`` and ``accumulate`` add one number after the other.
"""

from math import exp

import numpy as np

CELLS = 1 << 15  # up to here; the kernels are faster by some tenths of a millisecond
PAIRS = 1 << 16  # of cells seen together, up to here
NODES = 1 << 16  # numbers that ``race_inclusion`` keeps, up to here
HALF = np.uint64(32)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = (np.uint64(number) for number in (27, 30, 31))


def runs(begins, sizes):
    """The numbers of the cells of these runs, one run after the other."""
    return np.arange(sizes.sum()) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)


def has_repeats(sizes, attributes, n_attributes):
    """Whether an example has an attribute twice."""
    keys = np.repeat(np.arange(sizes.size) * n_attributes, sizes) + attributes
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _scramble(words):
    """``order.scramble``."""
    words = (words ^ (words >> _30)) * _FIRST
    words = (words ^ (words >> _27)) * _SECOND
    return words ^ (words >> _31)


def hash_examples(starts, attributes, probabilities, seen, chances):
    """Hashes of the attributes seen of each example, and of their probabilities: differences of running sums."""
    places = (np.arange(attributes.size) - np.repeat(starts[:-1], np.diff(starts))).astype(np.uint64)
    for words, hashes in (
        ((attributes.astype(np.uint64) << HALF) ^ places, seen),
        (probabilities.astype(np.uint64) ^ (places << HALF), chances),
    ):
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_scramble(words))])
        hashes += sums[starts[1:]] - sums[starts[:-1]]


def sum_pairs(starts, attributes, values, d, sums, counts):
    """Sums and counts over the pairs of cells of one example, into upper halves of matrices, row after row."""
    before = np.arange(attributes.size) - np.repeat(starts[:-1], np.diff(starts))
    own = np.repeat(np.arange(attributes.size), before + 1)
    other = runs(np.arange(attributes.size) - before, before + 1)
    attributes = attributes.astype(np.int64)
    i, j = np.minimum(attributes[own], attributes[other]), np.maximum(attributes[own], attributes[other])
    places = (i * (2 * d - i - 1) >> 1) + j
    _add_in_turn(sums, places, values[own] * values[other])
    counts += np.bincount(places, minlength=counts.size).astype(counts.dtype)


def sum_with_targets(starts, attributes, values, targets, sums):
    """Sums of products of attributes and targets."""
    targets = np.repeat(targets, np.diff(starts), axis=0)
    for output in range(sums.shape[1]):
        _add_in_turn(sums[:, output], attributes, values * targets[:, output])


def _add_in_turn(sums, places, terms):
    """``sums[places] += terms``, one term after the other."""
    if sums.any():
        np.add.at(sums, places, terms)
    else:  # several times as fast
        sums += np.bincount(places, weights=terms, minlength=sums.size)


def race_inclusion(shares, number, times, steps, inclusion):
    """Probabilities that each clock is among the first ``number`` to ring, for all nodes of the quadrature at once."""
    after, before = np.ones((shares.size, times.size, number)), np.zeros((times.size, number))
    before[:, 0] = 1.0
    silent = np.array([[exp(-t * share) for t in times.tolist()] for share in shares.tolist()])
    rung = 1.0 - silent
    for u in range(shares.size - 1, 0, -1):
        _one_more(after[u], silent[u], rung[u], after[u - 1])
    following = np.empty_like(before)
    for u in range(shares.size):
        fewer = np.add.accumulate(before * after[u, :, ::-1], axis=1)[:, -1]
        terms = steps * shares[u] * silent[u] * fewer
        inclusion[u] = np.add.accumulate(np.concatenate([inclusion[u : u + 1], terms]))[-1]
        _one_more(before, silent[u], rung[u], following)
        before, following = following, before


def _one_more(law, silent, rung, following):
    """The probabilities ``law`` of how many clocks have rung, with one clock more."""
    np.multiply(law, silent[:, None], out=following)
    following[:, 1:] += rung[:, None] * law[:, :-1]
