"""What is for sale: attributes one by one, or panels of attributes that come together, and what they cost."""

import numpy as np

from sparing import checks
from sparing.types import NO_LIMIT, decimals_of, money_units, price_units


class Shop:
    """Prices of single attributes and of panels, in whole units of money.

    What is bought at once is an *item*: an attribute of its own, or a panel.

    Parameters
    ----------
    n_attributes : int
    budget : float
        Money for one example; without ``costs``, a number of attributes.
    costs : array of shape (n_attributes,), optional
        Price of each attribute; a panel costs what its members cost together.
    groups : sequence of length n_attributes, optional
        Equal labels are one panel; None, NaN or "" is an attribute on its own.

    Attributes
    ----------
    items : array of shape (n_attributes,)
        The number of the item that each attribute belongs to.
    starts, members : arrays
        Item i is made of the attributes ``members[starts[i]:starts[i + 1]]``.
    per_example : float
        The budget as it was given.
    prices, budget : array of int, int
        In units of ``10**-decimals``, as many as the prices have.
    most : int
        No example has more cells than this.
    """

    def __init__(self, n_attributes: int, budget, *, costs=None, groups=None):
        self.n_attributes = n_attributes
        self.costs = None if costs is None else checks.costs(costs, n_attributes)
        if self.costs is None:
            self.per_example = float(checks.attribute_budget(budget, n_attributes))
        else:
            self.per_example = checks.positive("budget", budget)
        self.decimals = 0 if self.costs is None else decimals_of(self.costs)
        self.budget = min(money_units(self.per_example, self.decimals), NO_LIMIT)
        self.items = _items(groups, n_attributes)
        self.members = np.argsort(self.items, kind="stable").astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.items))]).astype(np.int64)
        costs = np.ones(n_attributes) if self.costs is None else self.costs
        self.prices = np.add.reduceat(price_units(costs, self.decimals)[self.members], self.starts[:-1])
        self.cheapest = int(self.prices.min())
        if self.cheapest > self.budget:
            raise ValueError(
                f"budget is {self.per_example:g} per example, but the cheapest purchase costs "
                f"{self.amount(self.cheapest):g}; nothing could ever be bought. Raise the budget."
            )
        self.most = self._most()

    def _most(self) -> int:
        """An upper bound: items in the order of their price per attribute, and the one that fits only in part."""
        affordable = self.prices <= self.budget
        sizes, prices = np.diff(self.starts)[affordable], self.prices[affordable]
        order = np.argsort(prices / sizes)
        fits = np.searchsorted(np.cumsum(prices[order]), self.budget, side="right") + 1
        return int(sizes[order][:fits].sum())

    def amount(self, units) -> float:
        """Units as an amount of money."""
        return int(units) / 10**self.decimals

    def total(self, values) -> np.ndarray:
        """The sum of ``values``, one per attribute, over the members of each item."""
        return np.bincount(self.items, weights=values)

    def blind_spots(self) -> str:
        """What this budget can never learn, in words; "" if there is nothing."""
        dear = int((self.prices > self.budget).sum())
        if dear:
            return f"{dear} purchases cost more than the {self.per_example:g} per example and will never be made."
        two_dearest = np.sort(self.prices)[-2:]
        if two_dearest.size > 1 and two_dearest.sum() > self.budget:
            return (
                f"the two dearest purchases cost {self.amount(two_dearest.sum()):g} together, more than the "
                f"{self.per_example:g} per example: their correlation cannot be learnt, and weights may be "
                "far off."
            )
        return ""


def _items(groups, n_attributes: int) -> np.ndarray:
    """The number of the item that each attribute belongs to, in the order of first appearance."""
    if groups is None:
        return np.arange(n_attributes)
    groups = list(groups)
    if len(groups) != n_attributes:
        raise ValueError(f"groups has {len(groups)} labels for {n_attributes} attributes; pass one per attribute.")
    numbers: dict = {}
    alone = [label is None or label == "" or label != label for label in groups]
    labels = [("alone", i) if alone[i] else ("panel", label) for i, label in enumerate(groups)]
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels])
