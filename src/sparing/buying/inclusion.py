"""Inclusion probabilities: of buying an item, if items are drawn without replacement until the money is spent."""

from math import ceil

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaincinv, roots_legendre

from sparing.buying.shop import Shop
from sparing.kernels.inclusion import enumerate_inclusion, race_inclusion, simulate_inclusion
from sparing.kernels.purchase import Market, count_purchases

INTEGRATED = 300_000  # items times purchases up to which probabilities at one price are integrated exactly
ENUMERATED = 18  # items up to which probabilities at several prices are enumerated exactly
SIMULATED = 30_000_000  # items times draws of the simulation for more items
MOST_ROUNDS, LEAST_ROUNDS = 100_000, 100  # simulated examples; below the minimum, purchases are only counted
COUNTED = 400_000  # purchases that are counted in that case
PRICE_BINS = 64  # items of similar price share one estimate in that case
TAIL = 1e-12  # probability neglected in integrals


def inclusion_probabilities(shop: Shop, shares: np.ndarray, market: Market) -> np.ndarray:
    """The probability with which each item is bought for an example.

    It is exact for items of one price, and for few items. For more items at several prices it is simulated. For very
    many it is approximated by the probability that an exponential clock rings before a fixed time (Rosén 1972), which
    is the same for all items of similar price. Free items are always bought.
    """
    probability = np.zeros(shares.size)
    probability[shop.items[shop.free]] = 1.0
    sold = np.flatnonzero((shop.prices <= shop.budget) & (shares > 0) & (shop.prices > 0))
    if not sold.size:
        return probability
    q, prices = shares[sold] / shares[sold].sum(), shop.prices[sold]
    if np.ptp(prices) == 0:
        probability[sold] = _at_one_price(q, int(min(shop.budget // prices[0], sold.size)))
    elif sold.size <= ENUMERATED:
        probability[sold] = _of_few(q, prices, shop.budget)
    else:
        rounds = int(SIMULATED / (sold.size * shop.budget / (q @ prices)))
        if rounds >= LEAST_ROUNDS:
            probability[sold] = _simulated(q, prices, shop.budget, min(rounds, MOST_ROUNDS))
        else:
            for items, number in _numbers_bought(shop, sold, market):
                probability[items] = _race(shares[items], number)
    return probability


def _at_one_price(q: np.ndarray, number: int) -> np.ndarray:
    """The probability that each of the clocks with rates q is among the first ``number`` to ring."""
    n = q.size
    if number == n or np.ptp(q) == 0:
        return np.full(n, number / n)
    if n * number > INTEGRATED:
        return _race(q, number)
    # The number of clocks that have rung has lighter tails than a Poisson number of the same mean. So up to a
    # probability of TAIL it is below ``number`` at the first of these times, and not below it at the last.
    first = _time(q, float(gammaincinv(number, TAIL)))
    last = min(_time(q, float(gammainccinv(number, TAIL)) + 1.0), -np.log(TAIL) / q.min())
    width = np.log(last / first)
    nodes, steps = roots_legendre(40 + 3 * ceil(width))
    times = first * np.exp((nodes + 1.0) / 2.0 * width)
    probability = -np.expm1(-first * q)
    race_inclusion(q, number, times, steps * times * width / 2.0, probability)
    return probability * (number / probability.sum())


def _of_few(q: np.ndarray, prices: np.ndarray, money: int) -> np.ndarray:
    """Inclusion probabilities from an enumeration of all sets of items that can be bought."""
    sets, probability = np.zeros(1 << q.size), np.zeros(q.size)
    sets[0] = 1.0
    enumerate_inclusion(q, prices, money, sets, np.zeros(sets.size, np.int64), probability)
    return np.minimum(probability, 1.0)


def _simulated(q: np.ndarray, prices: np.ndarray, money: int, rounds: int) -> np.ndarray:
    """The sum of an item's probabilities over the draws of an example, averaged over simulated examples."""
    probability = np.zeros(q.size)
    simulate_inclusion(q, prices, money, 0, rounds, np.zeros(q.size, np.int64), probability)
    return np.minimum(probability, 1.0)


def _numbers_bought(shop: Shop, sold: np.ndarray, market: Market) -> list[tuple[np.ndarray, float]]:
    """Groups of items of similar price, and how many of each group an example buys on average in a simulation."""
    prices, rounds = shop.prices[sold], int(np.clip(COUNTED // shop.most, 500, 20_000))
    counts, room = np.zeros(shop.n_attributes, np.int64), np.empty(shop.most, np.int64)
    count_purchases(market, shop.cheapest, 0, rounds, shop.budget, room, counts)
    bought = counts[shop.members[shop.starts[:-1]]]
    bins = np.unique(prices)
    if bins.size > PRICE_BINS:
        bins = np.unique(np.quantile(prices, np.linspace(0.0, 1.0, PRICE_BINS + 1)[:-1], method="lower"))
    which = np.searchsorted(bins, prices, side="right")
    alike = [sold[which == number] for number in np.unique(which)]
    return [(items, max(bought[items].sum(), 0.5) / rounds) for items in alike]


def _race(q: np.ndarray, number: float) -> np.ndarray:
    """The probability that each clock has rung by the time at which ``number`` have rung in expectation."""
    return -np.expm1(-_time(q, number) * q)


def _time(q: np.ndarray, number: float) -> float:
    """The time at which ``number`` clocks with rates q have rung in expectation; infinity if there are fewer."""

    def excess(log_time):
        return float(np.sum(-np.expm1(-np.exp(log_time) * q))) - number

    high = np.log(40.0 / q.min())
    return float(np.exp(brentq(excess, -80.0, high, xtol=1e-13))) if excess(high) > 0 else np.inf
