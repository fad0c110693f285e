"""Inclusion probabilities of items: exact if that is fast, else simulated."""

from math import exp

import numpy as np

from sparing.kernels import few
from sparing.kernels.compiling import entry
from sparing.kernels.random import round_key, uniform


def race_inclusion(shares, number, times, steps, inclusion):
    r"""Add :math:`\int q_u e^{-q_u t} P(N_{-u}(t) < b)\,dt` to ``inclusion``, by a quadrature rule.

    Draws without replacement are the first b = ``number`` of independent exponential clocks with rates q to ring.
    :math:`N_{-u}(t)`, the number of clocks other than u that have rung by t, is a sum of independent indicators. Its
    law is that of the clocks ``before`` u, of which b probabilities are kept, and of those ``after`` u, of which row u
    keeps the distribution function: O(n b) per node, and without a subtraction.
    """
    if shares.size * number * times.size <= few.NODES:
        few.race_inclusion(shares, number, times, steps, inclusion)
    else:
        after, before = np.empty((shares.size, number)), np.empty(number)
        _race_of_many(shares, number, times, steps, after, before, inclusion)


@entry
def _race_of_many(shares, number, times, steps, after, before, inclusion):
    """One node after the other."""
    n = shares.size
    for node in range(times.size):
        t = times[node]
        for m in range(number):
            after[n - 1, m] = 1.0
            before[m] = 0.0
        before[0] = 1.0
        for u in range(n - 1, 0, -1):
            silent, one_fewer = exp(-t * shares[u]), 0.0
            for m in range(number):
                after[u - 1, m] = silent * after[u, m] + (1.0 - silent) * one_fewer
                one_fewer = after[u, m]
        for u in range(n):
            silent, one_fewer, fewer = exp(-t * shares[u]), 0.0, 0.0
            for m in range(number):
                so_many = before[m]
                fewer += so_many * after[u, number - 1 - m]
                before[m] = silent * so_many + (1.0 - silent) * one_fewer
                one_fewer = so_many
            inclusion[u] += steps[node] * shares[u] * silent * fewer


@entry
def enumerate_inclusion(shares, prices, money, probabilities, spent, inclusion):
    """Add up the probabilities of all purchases, set by set: 2^n sets of n items.

    A set is a number whose bits are items. ``probabilities`` holds 1 for the empty set and 0 for all others.
    """
    n = shares.size
    for bought in range(probabilities.size):
        if probabilities[bought] == 0.0:
            continue
        total, left = 0.0, money - spent[bought]
        for item in range(n):
            if not (bought >> item) & 1 and prices[item] <= left:
                total += shares[item]
        for item in range(n):
            if not (bought >> item) & 1 and prices[item] <= left:
                chance = probabilities[bought] * shares[item] / total
                inclusion[item] += chance
                more = bought | (1 << item)
                probabilities[more] += chance
                spent[more] = spent[bought] + prices[item]


@entry
def simulate_inclusion(shares, prices, money, seed, rounds, bought, inclusion):
    """Simulate purchases, and add the probability that each item had in each draw: it varies less than counts do.

    ``bought`` is zero: it holds the last round in which each item was bought, plus one.
    """
    for round in range(rounds):
        key, slot, left = round_key(seed, round), 0, money
        while True:
            total, last = 0.0, -1
            for item in range(shares.size):
                if bought[item] != round + 1 and prices[item] <= left:
                    total += shares[item]
                    last = item
            if last < 0:
                break
            target = uniform(key, slot) * total
            slot += 1
            drawn = -1
            for item in range(shares.size):
                if bought[item] != round + 1 and prices[item] <= left:
                    inclusion[item] += shares[item] / (total * rounds)
                    target -= shares[item]
                    if drawn < 0 and (target < 0.0 or item == last):
                        drawn = item
            bought[drawn] = round + 1
            left -= prices[drawn]
