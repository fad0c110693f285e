"""Buy a few attributes of each row, without replacement and within a ceiling: what batch learners do with rows.

What is bought is a unit: an attribute, or a panel of attributes that come together for one price.
"""

from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part
from sparing.kernels.gather import gather
from sparing.kernels.random import round_key, uniform
from sparing.kernels.sampling import draw_alias

PATIENCE = 16  # draws in a row that may hit what was bought already, before all units are looked through


class Market(NamedTuple):
    """What is for sale, and how it is drawn."""

    table: np.ndarray  # alias cells of the units
    shares: np.ndarray  # probability of each unit in one draw
    prices: np.ndarray  # of each unit
    starts: np.ndarray  # where the members of each unit start
    members: np.ndarray  # attributes, unit by unit
    bought: np.ndarray  # the last round in which each unit was bought, plus one


@part
def _fits(market, unit, round, money):
    """Whether a unit may still be bought in this round."""
    return market.bought[unit] != round + 1 and market.prices[unit] <= money and market.shares[unit] > 0.0


@part
def _search(market, round, money, u):
    """A unit drawn from all that may still be bought, in one pass over them; -1 if there is none."""
    total = 0.0
    for unit in range(market.prices.size):
        if _fits(market, unit, round, money):
            total += market.shares[unit]
    target, last = u * total, -1
    for unit in range(market.prices.size):
        if _fits(market, unit, round, money):
            last = unit
            target -= market.shares[unit]
            if target < 0.0:
                break
    return last


@part
def choose(market, cheapest, seed, round, money, attributes):
    """Draw units until nothing more can be paid for. Returns how many attributes, and what they cost.

    A draw that hits what was bought already, or what is too dear for the rest, is drawn again: so each draw follows
    the shares of what may still be bought.
    """
    key, slot, misses, n, unit, spent = round_key(seed, round), 0, 0, 0, 0, 0.0
    while money >= cheapest:
        if misses < PATIENCE:
            unit, _ = draw_alias(market.table, uniform(key, slot))
        else:
            unit = _search(market, round, money, uniform(key, slot))
            if unit < 0:
                break
        slot += 1
        if not _fits(market, unit, round, money):
            misses += 1
            continue
        misses = 0
        market.bought[unit] = round + 1
        money -= market.prices[unit]
        spent += market.prices[unit]
        for at in range(market.starts[unit], market.starts[unit + 1]):
            attributes[n] = market.members[at]
            n += 1
    return n, spent


@entry
def ask_purchase(market, cheapest, seed, round, money, attributes):
    """What to buy of one example: how many attributes, and what they cost."""
    return choose(market, cheapest, seed, round, money, attributes)


@entry
def count_purchases(market, cheapest, seed, rounds, money, attributes, counts):
    """How often each attribute is bought in this many rounds, added to ``counts``."""
    for round in range(rounds):
        n, _ = choose(market, cheapest, seed, round, money, attributes)
        for a in range(n):
            counts[attributes[a]] += 1


@entry
def buy_rows(
    market, cheapest, seed, first_round, money, total, spent, rows, first, last, most, sizes, attributes, values
):
    """Buy of the rows from first to last, ``money`` for each and ``total`` for all, and write cells one by one.

    Returns the number of cells, and what was spent in all: ``spent`` before, and each row's price in its turn.
    """
    n = 0
    for row in range(first, last):
        round = first_round + row - first
        purse = min(money, total - spent)
        here = attributes[n : n + most]
        bought, price = choose(market, cheapest, seed, round, purse, here)
        gather(rows, row, here, 0, bought, values[n : n + most])
        sizes[row - first] = bought
        spent += price
        n += bought
    return n, spent
