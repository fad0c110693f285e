"""Ask for as much of each example as its money buys, without replacement: the buying side of batch learners."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from sparing import checks, designs
from sparing.kernels.gather import rows_of
from sparing.kernels.purchase import Market, ask_purchase, buy_rows, count_purchases
from sparing.kernels.sampling import alias_table

PENNY = 1e-9  # prices are decimals, and floats cannot add those exactly
SIMULATED = 400_000  # purchases to find chances by, where prices differ
LEVELS = 64  # of price, that are told apart there


class Shop:
    """What can be bought at what price: attributes one by one, or panels of attributes that come together.

    Parameters
    ----------
    n_attributes : int
    budget : float
        Money for one example; without ``costs``, a number of attributes.
    costs : array of shape (n_attributes,), optional
        Price of each attribute; a panel costs what its members cost together.
    groups : sequence of length n_attributes, optional
        Equal labels are one panel; None, NaN or "" is an attribute on its own.
    """

    def __init__(self, n_attributes: int, budget, *, costs=None, groups=None):
        self.n_attributes = n_attributes
        self.costs = None if costs is None else checks.costs(costs, n_attributes)
        self.budget = self._check_budget(budget)
        units = _units(groups, n_attributes)
        order = np.argsort(units, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(units))]).astype(np.int64)
        self.members = order.astype(np.int64)
        self.units = units
        self.prices = self.total(np.ones(n_attributes) if self.costs is None else self.costs)
        self.cheapest = float(self.prices.min())
        if self.cheapest > self.budget:
            raise ValueError(
                f"budget is {self.budget:g} an example, but the cheapest purchase costs {self.cheapest:g}; nothing "
                "could ever be bought. Raise the budget."
            )
        self.most = self._most()

    def _check_budget(self, budget) -> float:
        if self.costs is None:
            return float(checks.attribute_budget(budget, self.n_attributes))
        return checks.positive("budget", budget) * (1.0 + PENNY)

    def _most(self) -> int:
        """No example has more cells than this: the best value for money first, and all that fits in part."""
        sizes = np.diff(self.starts)
        affordable = self.prices <= self.budget
        sizes, prices = sizes[affordable], self.prices[affordable]
        order = np.argsort(prices / sizes)
        fits = np.searchsorted(np.cumsum(prices[order]), self.budget, side="right") + 1
        return int(sizes[order][:fits].sum())

    def blind_spots(self) -> str:
        """What this budget can never learn, in words; "" if there is nothing."""
        dear = int((self.prices > self.budget).sum())
        affordable = np.sort(self.prices[self.prices <= self.budget])
        if dear:
            return f"{dear} purchases cost more than the {self.budget:g} for an example and will never be made."
        if affordable.size > 1 and affordable[-2:].sum() > self.budget:
            return (
                f"the two dearest purchases cost {affordable[-2:].sum():g} together, more than the {self.budget:g} for "
                "an example: how they go together cannot be learnt, and weights may be far off."
            )
        return ""

    def total(self, values) -> np.ndarray:
        """Sum over the members of each unit."""
        return np.bincount(self.units, weights=values)

    def market(self, shares) -> Market:
        """The shop with these probabilities of a draw, one per unit."""
        table = alias_table(shares)
        bought = np.zeros(self.prices.size, np.int64)
        return Market(table.cells, table.probability, self.prices, self.starts, self.members, bought)

    def inclusion(self, shares) -> np.ndarray:
        r"""The chance of each attribute to be bought of an example, if draws follow ``shares`` without replacement.

        Draws without replacement are a race of exponential clocks, so it is :math:`1 - e^{-t q_u}` at the time t when
        the money no longer pays for u (Rosén 1972): one time for all units of like price, at which as many of them are
        bought in expectation as there should be. Exact for equal shares and prices, else within some per cent, checked
        by simulation.
        """
        q = np.where(self.prices <= self.budget, shares, 0.0)
        chance = np.zeros(q.size)
        for units, number in self._numbers_bought(shares, np.flatnonzero(q > 0)):
            chance[units] = _race(q[units], number)
        return chance[self.units]

    def _numbers_bought(self, shares, sold):
        """Units of like price, and how many of them are bought of an example: known at one price, else simulated."""
        prices = self.prices[sold]
        if np.ptp(prices) == 0.0:
            return [(sold, min(float(self.budget // prices[0]), sold.size))]
        rounds = int(np.clip(SIMULATED // self.most, 500, 20_000))
        counts, room = np.zeros(self.n_attributes, np.int64), np.empty(self.most, np.int64)
        count_purchases(self.market(shares), self.cheapest, 0, rounds, self.budget, room, counts)
        bought = counts[self.members[self.starts[:-1]]]
        levels = np.unique(prices)
        if levels.size > LEVELS:
            levels = np.unique(np.quantile(prices, np.linspace(0.0, 1.0, LEVELS + 1)[:-1], method="lower"))
        level = np.searchsorted(levels, prices, side="right")
        alike = [sold[level == number] for number in np.unique(level)]
        return [(units, max(bought[units].sum(), 0.5) / rounds) for units in alike]


def _race(q, number: float) -> np.ndarray:
    """The chance of each clock to ring before the time at which so many of them have rung in expectation."""

    def too_many(log_time):
        return float(np.sum(-np.expm1(-np.exp(log_time) * q))) - number

    high = np.log(40.0 / q.min())
    return -np.expm1(-np.exp(brentq(too_many, -80.0, high)) * q) if too_many(high) > 0 else np.ones(q.size)


class Buyer:
    """Draws purchases round by round, by shares that a design sets."""

    def __init__(self, shop: Shop, seed: int, total_budget: float = np.inf):
        self.shop, self.seed = shop, seed
        self.ceiling = total_budget * (1.0 + PENNY)
        self.spent = 0.0
        self.plan(designs.adaptive(np.zeros(shop.prices.size), prices=shop.prices))

    def plan(self, shares) -> None:
        """Draw by these shares of the units from now on."""
        self.shares = np.asarray(shares, np.float64)
        self.market = self.shop.market(self.shares)
        self.inclusion = self.shop.inclusion(self.shares)

    @property
    def money(self) -> float:
        """What may be spent on the next example."""
        return min(self.shop.budget, self.left)

    @property
    def left(self) -> float:
        """What may still be spent in all."""
        return self.ceiling - self.spent

    def ask(self, round: int) -> np.ndarray:
        """Attributes to buy of one example; a pure function of seed, round and shares."""
        attributes = np.empty(self.shop.most, np.int64)
        n, _ = ask_purchase(self.market, self.shop.cheapest, self.seed, round, self.money, attributes)
        self.market.bought[self.shop.units[attributes[:n]]] = 0  # only asked for
        return attributes[:n]

    def price(self, attributes) -> float:
        """What these attributes, as they were asked for, cost; added up as the kernel does, to the last bit."""
        units = self.shop.units[attributes]
        once = np.flatnonzero(np.diff(units, prepend=-1))  # a panel comes in one piece
        return float(np.cumsum(self.shop.prices[units[once]])[-1]) if units.size else 0.0

    def buy(self, X, y, first_round: int, first: int, last: int, keep: Callable) -> int:
        """Buy of the rows from first to last and hand the cells to ``keep``; returns how many were bought."""
        most = self.shop.most
        sizes = np.empty(last - first, np.int64)
        attributes, values = np.empty((last - first) * most, np.int64), np.empty((last - first) * most)
        n, self.spent = buy_rows(
            self.market, self.shop.cheapest, self.seed, first_round, self.shop.budget, self.ceiling, self.spent,
            rows_of(X), first, last, most, sizes, attributes, values,
        )  # fmt: skip
        attributes = attributes[:n]
        keep(sizes, attributes, values[:n], y[first:last], probabilities=self.inclusion[attributes])
        return n


def _units(groups, n_attributes: int) -> np.ndarray:
    """The number of the unit that each attribute belongs to."""
    if groups is None:
        return np.arange(n_attributes)
    groups = list(groups)
    if len(groups) != n_attributes:
        raise ValueError(f"groups has {len(groups)} labels for {n_attributes} attributes; pass one per attribute.")
    numbers: dict = {}
    alone = [label is None or label == "" or label != label for label in groups]
    labels = [("alone", i) if alone[i] else ("panel", label) for i, label in enumerate(groups)]
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels])
