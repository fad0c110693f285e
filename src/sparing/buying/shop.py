"""What is for sale: single attributes, panels of attributes that are sold together, and their prices."""

from collections.abc import Sequence

import numpy as np

from sparing import checks
from sparing.units_of_money import NO_LIMIT, decimals_of, money_units, price_units

MOST_NAMED = 5  # purchases in a message


class Shop:
    """Prices of single attributes and of panels, in whole units of money.

    An *item* is a unit of purchase: a single attribute, or a panel.

    Parameters
    ----------
    n_attributes : int
    budget : float or None
        Money for one example; without ``costs``, a number of attributes. With None nothing is sold, and all attributes
        are free.
    costs : array of shape (n_attributes,), optional
        Price of each attribute; a panel costs as much as its members together. An attribute of price zero is *free*:
        it is part of every purchase.
    groups : sequence of length n_attributes, optional
        Attributes with equal labels form a panel; None, NaN or "" marks a single attribute.
    constant : array of bool of shape (n_attributes,), optional
        Attributes that are known to be constant: an item of such attributes is never bought.

    Attributes
    ----------
    items : array of shape (n_attributes,)
        The number of the item that each attribute belongs to.
    starts, members : arrays
        Item i is made of the attributes ``members[starts[i]:starts[i + 1]]``.
    per_example : float
        The budget as it was given; 0 for None.
    prices, budget : array of int, int
        The prices of the items, and the budget, in units of ``10**-decimals``.
    unit_prices : array of int
        The prices of the attributes in these units.
    for_sale, free : arrays
        The items that have a price, and the attributes that are free, both without constant ones.
    by_design : bool
        Whether a plan decides which values are seen; without a budget, all available ones are.
    most : int
        An upper bound on the number of cells of an example.
    """

    def __init__(self, n_attributes: int, budget, *, costs=None, groups=None, constant=None):
        self.n_attributes = n_attributes
        self.by_design = budget is not None
        self.costs = None if costs is None else checks.costs(costs, n_attributes, free=True)
        if budget is None:
            self.costs, self.per_example = np.zeros(n_attributes), 0.0
        elif self.costs is None:
            self.per_example = float(checks.attribute_budget(budget, n_attributes))
        else:
            self.per_example = checks.positive("budget", budget, zero=bool((self.costs == 0).any()))
        self.decimals = 0 if self.costs is None else decimals_of(self.costs)
        self.budget = min(money_units(self.per_example, self.decimals), NO_LIMIT)
        self.items, self._labels = _items(groups, n_attributes)
        self.members = np.argsort(self.items, kind="stable").astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.items))]).astype(np.int64)
        costs = np.ones(n_attributes) if self.costs is None else self.costs
        self.unit_prices = price_units(costs, self.decimals)
        self.prices = np.add.reduceat(self.unit_prices[self.members], self.starts[:-1])
        worth = self.prices >= 0 if constant is None else self.total(~constant) > 0
        self.for_sale = np.flatnonzero((self.prices > 0) & worth)
        self.free = np.flatnonzero(((self.prices == 0) & worth)[self.items])
        self.cheapest = int(self.prices[self.for_sale].min(initial=NO_LIMIT + 1))
        if not self.for_sale.size and not self.free.size:
            raise ValueError("every attribute is constant or empty; there is nothing to learn from. Add other columns.")
        if self.cheapest > self.budget and not self.free.size:
            raise ValueError(
                f"budget is {self.per_example:g} per example, but the cheapest purchase costs "
                f"{self.amount(self.cheapest):g}; nothing could ever be bought. Raise the budget."
            )
        self.most = self._most()

    def _most(self) -> int:
        """An upper bound on cells per example: the cheapest items per attribute, including one that fits in part."""
        affordable = self.for_sale[self.prices[self.for_sale] <= self.budget]
        sizes, prices = np.diff(self.starts)[affordable], self.prices[affordable]
        order = np.argsort(prices / sizes)
        fits = np.searchsorted(np.cumsum(prices[order]), self.budget, side="right") + 1
        return int(sizes[order][:fits].sum()) + self.free.size

    def amount(self, units) -> float:
        """Units as an amount of money."""
        return int(units) / 10**self.decimals

    def total(self, values) -> np.ndarray:
        """The sum of ``values``, one per attribute, over the members of each item."""
        return np.bincount(self.items, weights=values)

    def item_name(self, item: int, names: Sequence = ()) -> str:
        """An item in words, with its price: a panel by its label, an attribute by its name or number."""
        attribute = int(self.members[self.starts[item]])
        what = repr(names[attribute]) if len(names) else f"attribute {attribute}"
        if self._labels[item] is not None:
            what = f"panel {self._labels[item]!r}"
        return f"{what} ({self.amount(self.prices[item]):g})"

    def blind_spots(self, names: Sequence = ()) -> str:
        """A warning about what this budget can never buy or learn; "" if there is nothing."""
        dear = self.for_sale[self.prices[self.for_sale] > self.budget]
        if dear.size:
            named = ", ".join(self.item_name(item, names) for item in dear[:MOST_NAMED])
            more = f" and {dear.size - MOST_NAMED} more" if dear.size > MOST_NAMED else ""
            return (
                f"{dear.size} purchase{'s cost' if dear.size > 1 else ' costs'} more than the {self.per_example:g} per "
                f"example and will never be made: {named}{more}."
            )
        two = self.for_sale[np.argsort(self.prices[self.for_sale], kind="stable")[-2:]]
        if two.size > 1 and self.prices[two].sum() > self.budget:
            return (
                f"the two most expensive purchases, {self.item_name(two[1], names)} and "
                f"{self.item_name(two[0], names)}, cost {self.amount(self.prices[two].sum()):g} together, more than "
                f"the {self.per_example:g} per example: their correlation cannot be learnt, and weights may be far off."
            )
        return ""


def _items(groups, n_attributes: int) -> tuple[np.ndarray, list]:
    """The number of each attribute's item, in order of first appearance, and the label of each item (None: single)."""
    if groups is None:
        return np.arange(n_attributes), [None] * n_attributes
    if np.ndim(groups) != 1:
        raise ValueError(f"groups must be a dict of labels by name, or one label per attribute; got {groups!r}.")
    groups = list(groups)
    if len(groups) != n_attributes:
        raise ValueError(f"groups has {len(groups)} labels for {n_attributes} attributes; pass one per attribute.")
    numbers: dict = {}
    alone = [label is None or label == "" or label != label for label in groups]
    labels = [("alone", i) if alone[i] else ("panel", label) for i, label in enumerate(groups)]
    items = np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    sizes = np.bincount(items)
    return items, [label if sizes[item] > 1 else None for (_, label), item in numbers.items()]
