"""Learners that keep what they buy: the loop of asking and telling, and the model as a function of the cells."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np

from sparing import checks, designs
from sparing.buying.shop import Buyer, Shop
from sparing.cells import Cells
from sparing.learners.ask_tell import Loop
from sparing.learners.saving import Groups, Saved
from sparing.linalg.threads import one_blas_thread
from sparing.models.gaussian import Fitted
from sparing.models.summary import describe
from sparing.types import Query

LOOKS_FIRST = 10  # at an attribute, before looks follow what was seen
CHUNK = 1 << 22  # cells between two chances to report progress or to be interrupted
ONE_THREAD = 2000  # attributes, up to which threads of BLAS make spectra of covariances slower, not faster


@dataclass(kw_only=True, eq=False)
class BatchLearner(Saved, Loop):
    """Buys a few attributes of each example, keeps them, and learns from all of them at once.

    The model is a pure function of the cells bought: the order in which they came, lateness and crashes leave no trace.

    Parameters
    ----------
    n_attributes : int
    budget : int or float
        Attributes to buy of each example; with ``costs``, money for each example, never exceeded.
    costs : array of shape (n_attributes,), optional
        Price of each attribute.
    groups : sequence of length n_attributes, optional
        Attributes with equal labels are a panel: bought together, for what they cost together.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, nothing more is asked.
    design : {"adaptive", "uniform"}
        What to ask: first anything alike, and then by spread, price, present weights and how often it was seen; or
        anything alike throughout (dear attributes less often). It never depends on values of the example at hand.
    second_moments : array of shape (n_attributes,), optional
        E[x_i^2] about the means, where that is known before anything is bought: an adaptive design follows it from the
        first example on.
    n_examples : int, optional
        How many will come, where that is known: the uniform beginning takes no more than a fifth of them.
    n_outputs : int
        Targets learnt at once from the same cells.
    random_state : int
        Every query is a pure function of this seed, its round and what was told before.
    """

    n_attributes: int = field(kw_only=False)
    budget: float
    costs: np.ndarray | None = None
    groups: Any = None
    total_budget: float | None = None
    design: str = "adaptive"
    second_moments: np.ndarray | None = None
    n_examples: int | None = None
    n_outputs: int = 1
    random_state: int = 0

    DESIGNS: ClassVar[tuple[str, ...]] = ("adaptive", "uniform")

    def __post_init__(self):
        checks.whole("n_attributes", self.n_attributes)
        checks.one_of("design", self.design, self.DESIGNS)
        if self.n_examples is not None:
            checks.whole("n_examples", self.n_examples)
        total = np.inf if self.total_budget is None else checks.positive("total_budget", self.total_budget)
        self.random_state = checks.seed(self.random_state)
        shop = Shop(self.n_attributes, self.budget, costs=self.costs, groups=self.groups)
        self._buyer = Buyer(shop, self.random_state, total)
        self.bought = Cells(self.n_attributes, n_outputs=checks.whole("n_outputs", self.n_outputs))
        self.n_rounds = self.cells = 0
        self._next_plan = self._first_plan()
        self._fitted: Fitted | None = None
        if self.second_moments is not None:
            self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)
            if self.design == "adaptive":
                self._plan(shop.total(self.second_moments))

    def _first_plan(self) -> int:
        """The round at which looks begin to follow what was seen."""
        if self.design == "uniform":
            return np.iinfo(np.int64).max
        enough = ceil(LOOKS_FIRST / max(float(np.median(self._buyer.inclusion)), 1e-9))
        return enough if self.n_examples is None else max(2, min(enough, self.n_examples // 5))

    # The loop --------------------------------------------------------------------------------------------------------

    def _asked(self) -> np.ndarray:
        return self._buyer.ask(self.n_rounds)  # empty, once the total budget is spent

    def tell(self, query: Query, values, y) -> None:
        """Keep the values of ``query.attributes``, in that order; NaN is unavailable, but is paid for.

        A refused call changes nothing.
        """
        values, y = self._checked(query, values, y)
        chances = self._buyer.inclusion[query.attributes]
        self.bought.append(query.attributes, values, y, probabilities=chances)
        self._buyer.spent += self._buyer.price(query.attributes)
        self._count(1, query.attributes.size)

    def _chunk(self) -> int:
        return min(max(1, CHUNK // self._buyer.shop.most), self._next_plan - self.n_rounds)

    def _learn_rows(self, X, y: np.ndarray, first: int, last: int) -> None:
        n = self._buyer.buy(X, y, self.n_rounds, first, last, self.bought.extend)
        self._count(last - first, n)

    def _count(self, rounds: int, cells: int) -> None:
        """Move on, and plan anew where it is time: whenever as many examples again have come."""
        self.n_rounds += rounds
        self.cells += cells
        self._fitted = None
        if self.n_rounds == self._next_plan:
            self._replan()
            self._next_plan *= 2

    def _replan(self) -> None:
        """Let the next looks follow what was seen."""
        seen, shop = describe(self.bought), self._buyer.shop
        weights = self._planning_weights(seen)
        used = np.zeros(self.n_attributes) if weights is None else np.square(weights).sum(axis=1) * seen.variances
        used[~seen.known] = 0.0
        spread = seen.variances / seen.ranges**2 if self.second_moments is None else self.second_moments
        variances = shop.total(spread)
        share = np.sqrt(shop.total(used) / np.maximum(variances, np.finfo(float).tiny))
        looks = shop.total(seen.counts) / np.diff(shop.starts)
        self._plan(variances, share, looks)

    def _plan(self, variances, weights=None, looks=None) -> None:
        """Draw by a design from now on: known spreads also say what is not worth a look."""
        shop = self._buyer.shop
        in_all = max(self.n_examples or 0, 2 * self.n_rounds)
        if self.second_moments is None or not in_all:
            shares = designs.adaptive(variances, weights, prices=shop.prices, looks=looks)
        else:
            ends = {"budget": shop.budget, "n_examples": in_all}
            shares = designs.worthwhile(variances, weights, prices=shop.prices, looks=looks, **ends)
        self._buyer.plan(shares)

    def _planning_weights(self, seen) -> np.ndarray | None:
        """Weights by which the next looks go; by default those of the model itself."""
        return self.fitted.weights

    # The model -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, cells: Cells) -> Fitted:
        """The model of these cells, which hold one at least."""

    def fit_cells(self, cells: Cells) -> Self:
        """Learn from cells that were bought elsewhere, in place of one's own."""
        if (cells.n_attributes, cells.n_outputs) != (self.n_attributes, self.n_outputs):
            raise ValueError(
                f"the cells are of {cells.n_attributes} attributes and {cells.n_outputs} outputs; this learner was "
                f"made for {self.n_attributes} and {self.n_outputs}."
            )
        self.bought, self._fitted = Cells.merge([cells]), None  # a copy: what is bought later is not the caller's
        self.n_rounds, self.cells = cells.n_examples, len(cells)
        self._go_on_from(self._next_plan, self._buyer.shares)
        return self

    def _go_on_from(self, next_plan: int, shares) -> None:
        """Draw by these shares, as if nothing of the rounds to come had been asked for, and plan when it is time."""
        self._next_plan = next_plan
        while self._next_plan <= self.n_rounds:
            self._next_plan *= 2
        self._buyer.plan(shares)

    @property
    def fitted(self) -> Fitted:
        """The model, found when it is first asked for after something was told."""
        if self._fitted is None:
            facts = {"setting": "the mean target", "families": [], "why": "no value was bought"}
            nothing = Fitted(np.zeros((self.n_attributes, self.n_outputs)), np.zeros(self.n_outputs), facts)
            if self.bought.n_examples and not len(self.bought):
                nothing = nothing._replace(intercept=self.bought.targets.mean(axis=0))
            with one_blas_thread(self.n_attributes <= ONE_THREAD):
                self._fitted = self._fit(self.bought.in_order()) if len(self.bought) else nothing
        return self._fitted

    @property
    def coef(self) -> np.ndarray:
        """The weights: (d,), or (n_outputs, d) for several outputs."""
        weights = self.fitted.weights
        return weights[:, 0].copy() if self.n_outputs == 1 else np.ascontiguousarray(weights.T)

    @property
    def intercept(self) -> float | np.ndarray:
        """What is predicted where all attributes are zero."""
        intercept = self.fitted.intercept
        return float(intercept[0]) if self.n_outputs == 1 else intercept.copy()

    @property
    def blind_spots(self) -> str:
        """What the budget can never learn, in words; "" if there is nothing."""
        return self._buyer.shop.blind_spots()

    @property
    def spent(self) -> float:
        """What the purchases cost, at one a value where there are no prices."""
        return self._buyer.spent

    @property
    def draws(self) -> int:
        """Purchases asked for; none is drawn twice."""
        return self.cells

    # Together, and saved ---------------------------------------------------------------------------------------------

    def merge(self, others: Iterable["BatchLearner"]) -> Self:
        """A learner with the cells of this one and of others; the same, whatever the order."""
        everyone: list[BatchLearner] = [self, *others]
        merged = type(self)(**self._settings() | {"groups": self.groups})
        merged.fit_cells(Cells.merge(learner.bought for learner in everyone))
        merged.cells = sum(learner.cells for learner in everyone)
        merged._buyer.spent = sum(learner.spent for learner in everyone)
        merged._go_on_from(self._next_plan, self._buyer.shares)
        return merged

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if "groups" in settings:  # labels may be of any kind, and mixed; numbers can be saved
            settings["groups"] = self._buyer.shop.units
        return settings

    def _arrays(self) -> Groups:
        counts = np.array([self.n_rounds, self.cells, self._next_plan])
        return {"cells": self.bought.state(), "": {"shares": self._buyer.shares, "counts": counts, "spent": self.spent}}

    def _restore(self, groups) -> None:
        self.bought = Cells.from_state(groups["cells"])
        self.n_rounds, self.cells, self._next_plan = (int(count) for count in groups[""]["counts"])
        self._buyer.plan(groups[""]["shares"])
        self._buyer.spent = float(groups[""]["spent"])
