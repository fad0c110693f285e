"""The state of a visit, and the purchases that it can make next."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sparing.models.classes import sum_in_turn
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
        knowledge = Knowledge.of_nothing(catalogue.model, catalogue.classes if catalogue.adapts else None)
        return cls(catalogue, knowledge, np.zeros(catalogue.n_columns, bool))

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
    def _outputs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For items of each number of variables: where they are among the offers, and the outputs of their looks."""
        catalogue = self.stage.catalogue
        variables, columns = catalogue.by_item
        left = ~self.stage.taken[columns]
        variables, items = variables[left], catalogue.items[columns[left]]
        sizes = np.bincount(items, minlength=catalogue.starts.size - 1)
        found = []
        for size in np.unique(sizes[self.items]):
            if size:
                alike = np.zeros(sizes.size, bool)
                alike[self.items] = sizes[self.items] == size
                here = variables[alike[items]].reshape(-1, size)
                found.append((np.flatnonzero(alike[self.items]), self.stage.knowledge.outputs_of(here)))
        return found

    def worth(self, chances: np.ndarray | None) -> np.ndarray:
        """The part of the variance that each offer explains; with three or more classes, how far it separates them."""
        catalogue, knowledge, worth = self.stage.catalogue, self.stage.knowledge, np.zeros(self.items.size)
        for places, outputs in self._outputs:
            if catalogue.adapts and chances is not None:
                worth[places] = catalogue.classes.worth(knowledge.inverse, outputs, chances)
            else:
                worth[places] = sum_in_turn(sum_in_turn(outputs * outputs * catalogue.output_weights))
        return worth

    def best(self, chances: np.ndarray | None = None) -> int | None:
        """The offer that is worth most per price; None if there is none of any worth.

        With three or more classes ``chances`` are their probabilities.
        """
        worth = self.worth(chances)
        ratios = np.divide(worth, self.prices, out=np.full(worth.size, np.inf), where=self.prices > 0)
        ratios = np.where(worth > LEAST_WORTH, ratios, -np.inf)
        return int(np.argmax(ratios)) if (worth > LEAST_WORTH).any() else None
