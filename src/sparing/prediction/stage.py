"""The state of a visit, and the purchases that it can make next."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sparing.prediction.catalogue import Catalogue
from sparing.prediction.knowledge import Knowledge

LEAST_WORTH = 1e-9  # part of the variance: what explains less is not offered


@dataclass(frozen=True, eq=False)
class Stage:
    """What is known, asked for and spent, of cases that bought the same things.

    Parameters
    ----------
    catalogue : Catalogue
    knowledge : Knowledge
    taken : array of bool
        The columns that were known or asked for; unavailable ones included.
    spent : int
        Units of money.
    """

    catalogue: Catalogue
    knowledge: Knowledge
    taken: np.ndarray
    spent: int = 0

    @classmethod
    def first(cls, catalogue: Catalogue) -> Self:
        """Where nothing is known."""
        return cls(catalogue, Knowledge.of_nothing(catalogue.model), np.zeros(catalogue.n_columns, bool))

    def with_known(self, columns: np.ndarray, available: np.ndarray | None = None) -> Self:
        """With some columns known that cost nothing; of those that are not ``available`` nothing is learnt."""
        taken = self.taken.copy()
        taken[columns] = True
        variables = self.catalogue.variables(columns if available is None else available)
        return replace(self, knowledge=self.knowledge.after(variables), taken=taken)

    @cached_property
    def _known_offers(self) -> "dict[float, Offers]":
        return {}

    def offers(self, money: float = np.inf) -> "Offers":
        """What can be bought within so much money in all."""
        if money not in self._known_offers:
            self._known_offers[money] = Offers(self, money)
        return self._known_offers[money]

    def bought(self, columns: np.ndarray, available: np.ndarray | None = None) -> Self:
        """After a purchase."""
        price = int(self.catalogue.prices[columns].sum())
        return replace(self.with_known(columns, available), spent=self.spent + price)


class Offers:
    """The next purchases that a stage can afford with this total of money: single columns and panels.

    If some columns of a panel are known, the others are offered at their own price.
    """

    def __init__(self, stage: Stage, money: float = np.inf):
        self.stage, catalogue = stage, stage.catalogue
        left = np.flatnonzero(~stage.taken)
        prices = np.bincount(catalogue.items[left], weights=catalogue.prices[left], minlength=catalogue.starts.size - 1)
        offered = np.bincount(catalogue.items[left], minlength=prices.size) > 0
        self.items = np.flatnonzero(offered & (stage.spent + prices <= money))
        self.prices = prices[self.items]
        self._after: dict[int, Stage] = {}

    def columns(self, offer: int) -> np.ndarray:
        """That an offer is made of."""
        catalogue, item = self.stage.catalogue, self.items[offer]
        panel = catalogue.members[catalogue.starts[item] : catalogue.starts[item + 1]]
        return panel[~self.stage.taken[panel]]

    def after(self, offer: int) -> Stage:
        """The stage after a purchase of which everything is available; cases share it."""
        if offer not in self._after:
            self._after[offer] = self.stage.bought(self.columns(offer))
        return self._after[offer]

    @cached_property
    def gains(self) -> np.ndarray:
        """What each of them would explain: (n, n_outputs, n_outputs)."""
        knowledge, catalogue = self.stage.knowledge, self.stage.catalogue
        variables, columns = catalogue.by_item
        left = ~self.stage.taken[columns]
        variables, items = variables[left], catalogue.items[columns[left]]
        sizes = np.bincount(items, minlength=catalogue.starts.size - 1)
        outputs = knowledge.model.intercept.size
        gains = np.zeros((sizes.size, outputs, outputs))
        for size in np.unique(sizes[self.items]):
            if size:
                here = (sizes == size)[items]
                gains[sizes == size] = knowledge.gains(variables[here].reshape(-1, size))
        return gains[self.items]

    @cached_property
    def separations(self) -> np.ndarray:
        """What each of them would add to the squared distances between classes: (n, n_classes, n_classes)."""
        known, classes = self.stage.knowledge, self.stage.catalogue.classes
        return classes.separations(known.unexplained - self.gains) - known.separations

    def best(self, chances: np.ndarray | None = None) -> int | None:
        r"""The offer that is worth most per price; None if there is none of any worth.

        Worth is the part of the variance that is explained. With three or more classes, of which ``chances``
        :math:`\pi` are known, it is the squared distance between two classes drawn by :math:`\pi`, on average, in
        standard deviations within classes: :math:`\sum_k \pi_k D_{kk} - \pi^T D \pi`.
        """
        if not self.items.size:
            return None
        if chances is None or not self.stage.catalogue.adapts:
            worth = self.stage.catalogue.explained(self.gains)
        else:
            added = self.separations
            worth = np.diagonal(added, axis1=1, axis2=2) @ chances - (added @ chances) @ chances
        free = np.where(worth > LEAST_WORTH, np.inf, 0.0)
        ratios = np.where(self.prices > 0, worth / np.maximum(self.prices, 1), free)
        best = int(np.argmax(ratios))
        return best if worth[best] > LEAST_WORTH else None
