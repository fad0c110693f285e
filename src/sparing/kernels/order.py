"""Copies of the cells of some examples, and words by which examples are put in order."""

import numpy as np
from numpy import uint64

from sparing.kernels import few
from sparing.kernels.compiling import entry, part
from sparing.kernels.prefetch import prefetch

AHEAD = 16  # runs of cells, while as many are copied memory answers
HALF = uint64(32)


def copied_runs(begins, sizes, *arrays):
    """Copies of runs of cells of each of these arrays, one run after the other."""
    number = sizes.sum()
    if number <= few.CELLS:
        runs = few.runs(begins, sizes)
        return tuple(cells[runs] for cells in arrays)
    copies = tuple(np.empty(number, cells.dtype) for cells in arrays)
    for cells, copy in zip(arrays, copies, strict=True):
        bits = np.dtype(f"i{cells.itemsize}")  # whatever they mean: a kernel is compiled for every type
        _copy_cells(begins, sizes, cells.view(bits), copy.view(bits))
    return copies


@entry
def _copy_cells(begins, sizes, cells, copies):
    """Copy runs of cells, one after the other; those that come soon are fetched meanwhile."""
    done = 0
    for run in range(begins.size):
        if run + AHEAD < begins.size:
            ahead = begins[run + AHEAD]
            prefetch(cells, ahead)
            prefetch(cells, ahead + sizes[run + AHEAD] - 1)
        for at in range(begins[run], begins[run] + sizes[run]):
            copies[done] = cells[at]
            done += 1


def has_repeats(sizes, attributes, n_attributes):
    """Whether an example has an attribute twice."""
    if attributes.size <= few.CELLS:
        return few.has_repeats(sizes, attributes, n_attributes)
    return _has_repeats(sizes, attributes, np.full(n_attributes, -1))


@entry
def _has_repeats(sizes, attributes, last):
    """Of many; ``last`` is scratch, -1 for every attribute."""
    at = 0
    for example in range(sizes.size):
        for _ in range(sizes[example]):
            if last[attributes[at]] == example:
                return True
            last[attributes[at]] = example
            at += 1
    return False


@part
def scramble(word):
    """A fixed bijection of 64-bit words that leaves no pattern (the finaliser of SplitMix64)."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


def hash_examples(starts, attributes, probabilities, seen, chances):
    """Hashes of the attributes seen of each example, and of their probabilities (32 bits each).

    They are sums over cells that wrap around.
    """
    hash = few.hash_examples if attributes.size <= few.CELLS else _hash_examples
    hash(starts, attributes, probabilities, seen, chances)


@entry
def _hash_examples(starts, attributes, probabilities, seen, chances):
    """Of many."""
    for example in range(starts.size - 1):
        for at in range(starts[example], starts[example + 1]):
            place = uint64(at - starts[example])
            seen[example] += scramble((uint64(attributes[at]) << HALF) ^ place)
            chances[example] += scramble(uint64(probabilities[at]) ^ (place << HALF))
