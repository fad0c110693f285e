"""A plan: the probabilities in force when an example's purchases are drawn."""

from functools import cached_property

import numpy as np

from sparing.buying.inclusion import inclusion_probabilities
from sparing.buying.shop import Shop
from sparing.kernels.purchase import Market, ask_purchase
from sparing.kernels.sampling import alias_table
from sparing.types import Query


class Plan:
    """Draws items by ``shares`` without replacement, until the money for an example is spent.

    A plan is a value: it never changes, and a query is a pure function of (seed, example, plan).

    Parameters
    ----------
    shop : Shop
    shares : array of shape (n_items,)
        The probability of each item in a single draw. Free items are part of every purchase, whatever their share.

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
        bought = np.zeros(shop.prices.size, np.int64)
        return Market(*self._drawn, shop.prices, shop.starts, shop.members, shop.free, shop.unit_prices, bought)

    def query(self, seed: int, example: int, *, money: int | None = None) -> Query:
        """What to buy for an example with its whole budget, or with fewer units of ``money``."""
        money = self.shop.budget if money is None else min(money, self.shop.budget)
        attributes = np.empty(self.shop.most, np.int64)
        n, _ = ask_purchase(self.market(), self.shop.cheapest, seed, example, money, attributes)
        return Query(example, attributes[:n])

    def query_in_turn(self, seed: int, example: int, turns: np.ndarray, *, money: int | None = None) -> Query:
        """What to buy for a block of examples, the first of which has the number ``example``.

        Blocks are few, so chance must not decide how often an item is bought. Items with the fewest ``turns`` so far,
        relative to their shares, come first; ties are broken at random. With equal shares, every item has one turn
        before any item has two.
        """
        shop = self.shop
        money = shop.budget if money is None else min(money, shop.budget)
        attributes = list(shop.free)
        sold = shop.for_sale[self.shares[shop.for_sale] > 0]
        waited = (turns[sold] + np.random.default_rng([seed, example]).random(sold.size)) / self.shares[sold]
        for item in sold[np.argsort(waited, kind="stable")]:
            if shop.prices[item] <= money:
                money -= shop.prices[item]
                attributes.extend(shop.members[shop.starts[item] : shop.starts[item + 1]])
        return Query(example, np.array(attributes, np.int64))

    @cached_property
    def inclusion(self) -> np.ndarray:
        """The probability with which each attribute is bought; see :mod:`sparing.buying.inclusion`.

        It is unknown (NaN) if no design decides what is seen.
        """
        if not self.shop.by_design:
            return np.full(self.shop.n_attributes, np.nan)
        return inclusion_probabilities(self.shop, self.shares, self.market())[self.shop.items]
