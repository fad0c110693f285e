"""Buy a few attributes of each row, without replacement and within a ceiling.

What is bought at once is an item: an attribute, or a panel of attributes for one price. Money is a whole number. Free
attributes come first, in every purchase; they have no share of the draws.
"""

from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part, piece
from sparing.kernels.gather import gather
from sparing.kernels.random import round_key, uniform
from sparing.kernels.sampling import draw_alias

PATIENCE = 16  # rejected draws in a row, before the remaining items are searched


class Market(NamedTuple):
    """What is for sale, and how it is drawn."""

    table: np.ndarray  # alias cells of the items
    shares: np.ndarray  # probability of each item in one draw
    prices: np.ndarray  # of each item
    starts: np.ndarray  # where the members of each item start
    members: np.ndarray  # attributes, item by item
    free: np.ndarray  # attributes that cost nothing
    unit_prices: np.ndarray  # of each attribute
    bought: np.ndarray  # scratch: the last round in which each item was bought, plus one


@part
def _fits(shares, prices, bought, item, round, money):
    """Whether an item may still be bought in this round."""
    return bought[item] != round + 1 and prices[item] <= money and shares[item] > 0.0


@piece(rare=True)
def _search(shares, prices, bought, round, money, u):
    """An item drawn from all that may still be bought, in one pass over them; -1 if there is none."""
    total = 0.0
    for item in range(prices.size):
        if _fits(shares, prices, bought, item, round, money):
            total += shares[item]
    target, last = u * total, -1
    for item in range(prices.size):
        if _fits(shares, prices, bought, item, round, money):
            last = item
            target -= shares[item]
            if target < 0.0:
                break
    return last


@part
def choose(market, cheapest, seed, round, money, attributes):
    """Draw items until nothing more can be paid for. Returns how many attributes, and what they cost.

    A draw of an item that was bought already, or is too expensive for the remaining money, is rejected, so that each
    draw follows the shares of the items that can still be bought.
    """
    shares, prices, bought = market.shares, market.prices, market.bought
    free, starts, members = market.free, market.starts, market.members
    key, slot, misses = round_key(seed, round), 0, 0
    n, item, spent = free.size, 0, 0
    for at in range(n):
        attributes[at] = free[at]
    while money >= cheapest:
        u = uniform(key, slot)
        if misses < PATIENCE:
            item, _ = draw_alias(market.table, u)
        else:
            item = _search(shares, prices, bought, round, money, u)
            if item < 0:
                break
        slot += 1
        if not _fits(shares, prices, bought, item, round, money):
            misses += 1
            continue
        misses = 0
        bought[item] = round + 1
        money -= prices[item]
        spent += prices[item]
        for at in range(starts[item], starts[item + 1]):
            attributes[n] = members[at]
            n += 1
    return n, spent


@entry(short_loops=True)
def ask_purchase(market, cheapest, seed, round, money, attributes):
    """What to buy of one example: how many attributes, and what they cost."""
    return choose(market, cheapest, seed, round, money, attributes)


@entry(short_loops=True)
def count_purchases(market, cheapest, seed, rounds, money, attributes, counts):
    """How often each attribute is bought in this many rounds, added to ``counts``."""
    for round in range(rounds):
        n, _ = choose(market, cheapest, seed, round, money, attributes)
        for a in range(n):
            counts[attributes[a]] += 1


@part
def _price_of_missing(unit_prices, attributes, values, n):
    """What the unavailable ones among the first n values cost."""
    price = 0
    for a in range(n):
        if np.isnan(values[a]):
            price += unit_prices[attributes[a]]
    return price


@entry(short_loops=True)
def buy_rows(
    market, cheapest, seed, first_round, money, left, paid, rows, first, last, most, sizes, attributes, values
):
    """Buy of the rows from first to last, with ``money`` for each and ``left`` for all of them; cell after cell.

    ``paid`` says whether unavailable values are paid for. Returns the number of cells, what they cost, and the row and
    attribute at which an infinite value ended it; the attribute is -1 if none did.
    """
    n, spent = 0, 0
    for row in range(first, last):
        round = first_round + row - first
        here = attributes[n : n + most]
        allowed = money if money < left - spent else left - spent
        bought, price = choose(market, cheapest, seed, round, allowed, here)
        infinite = gather(rows, row, here, bought, values[n : n + most])
        if infinite >= 0:
            return n, spent, row, infinite
        sizes[row - first] = bought
        if not paid:
            price -= _price_of_missing(market.unit_prices, here, values[n : n + most], bought)
        spent += price
        n += bought
    return n, spent, last, -1
