"""A plan: the probabilities in force when an example's purchases are drawn."""

from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from sparing.buying.shop import Shop
from sparing.kernels.purchase import Market, ask_purchase, count_purchases
from sparing.kernels.sampling import alias_table
from sparing.types import Query

SIMULATED = 400_000  # purchases simulated to estimate inclusion probabilities where prices differ
PRICE_BINS = 64  # items of similar price share one estimate there


class Plan:
    """Draws items by ``shares`` without replacement, until the money for an example is spent.

    A plan is a value: it never changes, and a query is a pure function of (seed, example, plan).

    Parameters
    ----------
    shop : Shop
    shares : array of shape (n_items,)
        The probability of each item in a single draw.

    Examples
    --------
    >>> plan = Plan(Shop(4, budget=2), [0.4, 0.3, 0.2, 0.1])
    >>> first = plan.query(seed=0, example=7)
    >>> first.attributes.size, bool((first.attributes == plan.query(seed=0, example=7).attributes).all())
    (2, True)
    >>> float(plan.inclusion.sum().round(6))
    2.0
    """

    def __init__(self, shop: Shop, shares):
        self.shop = shop
        self.shares = np.array(shares, np.float64)
        table = alias_table(self.shares)
        self._drawn = table.cells, table.probability

    def market(self) -> Market:
        """What the kernels draw from, with scratch space of its own."""
        shop = self.shop
        return Market(*self._drawn, shop.prices, shop.starts, shop.members, np.zeros(shop.prices.size, np.int64))

    def query(self, seed: int, example: int, *, money: int | None = None) -> Query:
        """What to buy of an example, with its whole budget or with fewer units of ``money``."""
        money = self.shop.budget if money is None else min(money, self.shop.budget)
        attributes = np.empty(self.shop.most, np.int64)
        n, _ = ask_purchase(self.market(), self.shop.cheapest, seed, example, money, attributes)
        return Query(example, attributes[:n])

    @cached_property
    def inclusion(self) -> np.ndarray:
        r"""The probability of each attribute to be bought of an example.

        Draws without replacement are a race of exponential clocks, so it is :math:`1 - e^{-t q_u}` at the time t when
        the money no longer pays for item u (Rosén 1972). Items of similar price share one such time, at which as many
        of them have been bought in expectation as there should be. Exact for equal shares and prices, otherwise within
        some per cent, as simulations show.
        """
        q = np.where(self.shop.prices <= self.shop.budget, self.shares, 0.0)
        probability = np.zeros(q.size)
        for items, number in self._numbers_bought(np.flatnonzero(q > 0)):
            probability[items] = _race(q[items], number)
        return probability[self.shop.items]

    def _numbers_bought(self, sold: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """Items of similar price, and how many of them are bought of an example: known at one price, else simulated."""
        shop, prices = self.shop, self.shop.prices[sold]
        if np.ptp(prices) == 0:
            return [(sold, float(min(shop.budget // prices[0], sold.size)))]
        rounds = int(np.clip(SIMULATED // shop.most, 500, 20_000))
        counts, room = np.zeros(shop.n_attributes, np.int64), np.empty(shop.most, np.int64)
        count_purchases(self.market(), shop.cheapest, 0, rounds, shop.budget, room, counts)
        bought = counts[shop.members[shop.starts[:-1]]]
        bins = np.unique(prices)
        if bins.size > PRICE_BINS:
            bins = np.unique(np.quantile(prices, np.linspace(0.0, 1.0, PRICE_BINS + 1)[:-1], method="lower"))
        which = np.searchsorted(bins, prices, side="right")
        alike = [sold[which == number] for number in np.unique(which)]
        return [(items, max(bought[items].sum(), 0.5) / rounds) for items in alike]


def _race(q: np.ndarray, number: float) -> np.ndarray:
    """The probability of each clock to ring before the time at which so many have rung in expectation."""

    def excess(log_time):
        return float(np.sum(-np.expm1(-np.exp(log_time) * q))) - number

    high = np.log(40.0 / q.min())
    return -np.expm1(-np.exp(brentq(excess, -80.0, high)) * q) if excess(high) > 0 else np.ones(q.size)
