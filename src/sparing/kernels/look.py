"""Plain uniform looks, without replacement and without learning: what a pilot buys."""

from sparing.kernels.compiling import entry, part
from sparing.kernels.gather import gather
from sparing.kernels.random import round_key, uniform


@part
def draw_distinct(key, d, attributes):
    """Fill ``attributes`` with distinct numbers below d, every set alike (Floyd's algorithm)."""
    looks = attributes.size
    for a in range(looks):
        last = d - looks + a
        wanted = int(uniform(key, a) * (last + 1))
        for earlier in range(a):
            if attributes[earlier] == wanted:
                wanted = last
                break
        attributes[a] = wanted


@entry
def look(rows, d, first_round, seed, attributes, values):
    """Look at as many rows as ``attributes`` has; row r is round ``first_round + r``."""
    for row in range(attributes.shape[0]):
        draw_distinct(round_key(seed, first_round + row), d, attributes[row])
        gather(rows, row, attributes[row], 0, attributes.shape[1], values[row])
