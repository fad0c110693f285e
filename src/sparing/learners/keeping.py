"""Keeping learners: they store the cells they buy, and their model is a function of these cells."""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np

from sparing import checks, designs
from sparing.buying.buyer import Buyer
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.cells.pieces import PIECE
from sparing.learners.ask_tell import Loop
from sparing.learners.evidence import evidence
from sparing.learners.from_sources import learn_batches, learn_blocks, rotation
from sparing.learners.saving import Groups, Saved
from sparing.linalg.threads import one_blas_thread
from sparing.models.gaussian import FittedModel, fitted_model
from sparing.models.imputed import uncorrelated
from sparing.models.missing import with_conditional_means
from sparing.models.scaling import extreme_units
from sparing.models.summary import Summary, target_moments
from sparing.progress import Progress, unnoticed
from sparing.types import Query
from sparing.units_of_money import money_units

LOOKS_FIRST = 10  # uniform looks per attribute before the design adapts
NEVER = np.iinfo(np.int64).max  # the round of a plan that is never made
ONE_THREAD = 2000  # attributes up to which more BLAS threads slow down eigendecompositions


@dataclass(kw_only=True, eq=False)
class KeepingLearner(Saved, Loop):
    """Buys a few attributes of each example, keeps them, and learns from all of them at once.

    The model is a pure function of the cells bought; it does not depend on their order of arrival.

    Parameters
    ----------
    n_attributes : int
    budget : int, float or None
        Attributes to buy of each example; with ``costs``, money for each example, never exceeded. With None nothing is
        bought, and every available value is used.
    levels : array of shape (n_attributes,), optional
        The number of categories of each attribute, 0 for a numeric one. Values of a categorical attribute are codes 0,
        1, ...; the model learns what each category adds to the prediction. An attribute with a single category is
        never bought.
    costs : array of shape (n_attributes,), optional
        Price of each attribute. A free attribute is part of every query and never counts against the budget.
    groups : sequence of length n_attributes, optional
        Attributes with equal labels are a panel: bought together, for the sum of their prices.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, only free attributes are asked for.
    pay_for_missing : bool
        Whether an unavailable value is paid for, and counted, like any other.
    design : {"adaptive", "uniform"}
        Where to look: "adaptive" starts uniformly and then depends on variances, prices, current weights and the looks
        so far; "uniform" never adapts (expensive attributes are seen less often). Neither depends on the values of the
        example at hand.
    second_moments : array of shape (n_attributes,), optional
        E[x_i^2] about the means, if they are known beforehand: an adaptive design uses them from the first example on.
    n_examples : int, optional
        The number of examples to come, if it is known: the uniform start takes at most a fifth of them.
    n_outputs : int
        Number of targets, which are learnt from the same cells.
    random_state : int
        Every query is a pure function of this seed, its round and what was told before.
    """

    n_attributes: int = field(kw_only=False)
    budget: float | None
    levels: np.ndarray | None = None
    costs: np.ndarray | None = None
    groups: Any = None
    total_budget: float | None = None
    pay_for_missing: bool = True
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
        self.random_state = checks.seed(self.random_state)
        self.levels = None if self.levels is None else checks.levels(self.levels, self.n_attributes)
        self._refuse_prices_of_nothing()
        constant = None if self.levels is None else self.levels == 1
        shop = Shop(self.n_attributes, self.budget, costs=self.costs, groups=self.groups, constant=constant)
        paid = checks.boolean("pay_for_missing", self.pay_for_missing) and self.budget is not None
        self.buyer = Buyer(shop, self.random_state, self.total_budget, pay_for_missing=paid)
        self.bought = Cells(self.n_attributes, n_outputs=checks.whole("n_outputs", self.n_outputs))
        self._next_plan = self._first_plan()
        self._fitted: FittedModel | None = None
        if self.second_moments is not None:
            self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)
            if self.design == "adaptive":
                self._follow(shop.total(self.second_moments))

    def _refuse_prices_of_nothing(self) -> None:
        """Refuse options of buying without a budget, since they would have no effect."""
        names = ("costs", "groups", "total_budget", "second_moments")
        given = [f"{name}=" for name in names if getattr(self, name) is not None]
        if self.budget is None and given:
            raise ValueError(
                f"budget=None buys nothing and learns from every available value, so {given[0]} has no effect; "
                "leave it out, or pass a budget."
            )

    # Asking and telling ----------------------------------------------------------------------------------------------

    def begin(self, n_examples: int | None = None) -> None:
        """Reserve memory for the cells that will be bought, if their number is known."""
        if n_examples and self.budget is not None and self.total_budget is None:
            self.bought.reserve(n_examples, self.buyer.expected_cells(n_examples))

    def _asked(self) -> np.ndarray:
        return self.buyer.query(self.n_rounds).attributes  # empty once the total budget is spent

    def tell(self, query: Query, values, y, *, weight: float | None = None) -> None:
        """Keep the values of ``query.attributes``, in that order; NaN is an unavailable value.

        ``weight`` says how much the example counts relative to others; the default is one. A refused call changes
        nothing.
        """
        values, y = self._checked(query, values, y)
        inclusion = self.buyer.plan.inclusion[query.attributes]
        self.bought.append(query.attributes, values, y, probabilities=inclusion, weight=weight)
        self.buyer.ledger.book(query.attributes)
        self.buyer.ledger.give_back(query.attributes[np.isnan(values)])
        self._move_on()

    def _chunk(self) -> int:
        return min(max(1, PIECE // self.buyer.shop.most), self._next_plan - self.n_rounds)

    def _learn_rows(self, X, y: np.ndarray, weights: np.ndarray | None, first: int, last: int) -> None:
        keep = partial(self.bought.extend, weights=None if weights is None else weights[first:last])
        self.buyer.buy(X, y, self.n_rounds, first, last, keep)
        self._move_on()

    def _run_source(self, source, y, sample_weight, ledger, progress) -> Self:
        learn = learn_blocks if hasattr(source, "read_block") else learn_batches
        if learn is learn_batches and not hasattr(source, "read_batch"):
            return super()._run_source(source, y, sample_weight, ledger, progress)
        y, weights = self._checked_with(source, y, sample_weight, ledger)
        with self._undone_by_infinity(source.n_examples):
            learn(self, source, y, weights, ledger, progress)
        return self

    def keep_block(self, number: int, query: Query, values: np.ndarray, y: np.ndarray, weights=None) -> None:
        """Keep the values of ``query.attributes``, in that order, for all examples of a block, one row per example."""
        n, k = values.shape
        for part in (slice(first, first + PIECE // max(k, 1)) for first in range(0, n, PIECE // max(k, 1))):
            rows, more = values[part], None if weights is None else weights[part]
            attributes = np.tile(query.attributes, len(rows))
            self.bought.extend(np.full(len(rows), k), attributes, rows.ravel(), y[part], weights=more, blocks=number)
        self.buyer.ledger.book(query.attributes, n)
        self.buyer.ledger.give_back(query.attributes[np.nonzero(np.isnan(values))[1]])
        self._move_on()

    def _mark(self, n_rows: int) -> tuple:
        buyer, turns = self.buyer, self.buyer.turns.copy()
        return self.bought.n_examples, copy(buyer.ledger), buyer.plan, turns, self._next_plan, self._fitted

    def _return_to(self, before: tuple) -> None:
        n_examples, self.buyer.ledger, self.buyer.plan, self.buyer.turns, self._next_plan, self._fitted = before
        self.bought = self.bought.take(np.arange(n_examples))

    # Where to look ---------------------------------------------------------------------------------------------------

    def _first_plan(self) -> int:
        """The round at which the design first adapts."""
        shop = self.buyer.shop
        if self.design == "uniform" or not shop.for_sale.size:
            return NEVER
        drawn = self.buyer.plan.inclusion[shop.prices[shop.items] > 0]
        enough = ceil(LOOKS_FIRST / max(float(np.median(drawn)), 1e-9))
        return enough if self.n_examples is None else max(2, min(enough, self.n_examples // 5))

    def plan_after_rotation(self, sizes: np.ndarray) -> None:
        """For blocks of these sizes, adapt the design once every item has had its turn."""
        if self.design == "adaptive" and not self.n_rounds:
            blocks = rotation(self.buyer.shop)
            self._next_plan = int(sizes.mean() * blocks) if blocks > 1 else NEVER

    def _move_on(self) -> None:
        """Forget the model, and make a new plan whenever the number of examples has doubled."""
        self._fitted = None
        if self.n_rounds >= self._next_plan:
            self._replan()
        while self.n_rounds >= self._next_plan:
            self._next_plan *= 2

    def _replan(self) -> None:
        """Adapt the design to the cells bought so far."""
        with one_blas_thread(self.n_attributes <= ONE_THREAD):
            self._follow(*evidence(self.bought, self.buyer.shop, self.levels, self.second_moments))

    def _follow(self, variances, weights=None, looks=None) -> None:
        """From now on, draw by a design, which skips attributes that are not worth a look if variances are known."""
        in_all = max(self.n_examples or 0, 2 * self.n_rounds)
        if self.second_moments is None or not in_all:
            self.buyer.follow_design(designs.adaptive, variances, weights, looks=looks)
        else:
            ends = {"budget": self.buyer.shop.budget, "n_examples": in_all}
            self.buyer.follow_design(designs.worthwhile, variances, weights, looks=looks, **ends)

    @property
    def next_plan(self) -> int:
        """The number of examples at which the next plan will be made; the one after it is made at twice as many."""
        return self._next_plan

    def plan_after(self, cells: Cells) -> Plan:
        """The plan that this learner would make from these cells alone: a pure function of them."""
        told = type(self)(**self._settings() | {"groups": self.groups}).fit_cells(cells)
        told._replan()
        return told.buyer.plan

    # The model -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, cells: Cells, progress: Progress) -> FittedModel:
        """The model fitted to these cells; there is at least one."""

    @property
    def fitted(self) -> FittedModel:
        """The model; it is fitted when it is first needed after something was told."""
        return self.solve()

    def solve(self, progress: Progress = unnoticed) -> FittedModel:
        """The model; if it has to be fitted, ``progress`` is called with fractions of the work."""
        if self._fitted is None:
            with one_blas_thread(self.n_attributes <= ONE_THREAD):
                cells = self.bought.to_learn_from()
                self._fitted = self._fit(cells, progress) if len(cells) else self._untold()
                if not self.buyer.shop.by_design and not extreme_units(cells).any:  # squares would overflow in EM
                    self._fitted = with_conditional_means(self._fitted, cells)
        return self._fitted

    def recall(self, fitted: FittedModel) -> None:
        """Take over a model that was fitted to the same cells before, such as that of a model file."""
        self._fitted = fitted

    def _untold(self) -> FittedModel:
        """The model without cells: the mean target, if any was told."""
        nothing, outputs = np.zeros(self.n_attributes), np.zeros(self.n_outputs)
        means = target_moments(self.bought)[0] if self.bought.n_examples else outputs
        summary = Summary(nothing, nothing, nothing, nothing + 1.0, nothing + 1.0, means, outputs)
        facts = {"setting": "the mean target", "families": [], "why": "no value was bought"}
        weights = np.zeros((self.n_attributes, self.n_outputs))
        return fitted_model(summary, weights, uncorrelated("", summary, weights), facts)

    def fit_cells(self, cells: Cells) -> Self:
        """Learn from cells that were bought elsewhere; they replace the learner's own."""
        if (cells.n_attributes, cells.n_outputs) != (self.n_attributes, self.n_outputs):
            raise ValueError(
                f"the cells are of {cells.n_attributes} attributes and {cells.n_outputs} outputs; this learner was "
                f"made for {self.n_attributes} and {self.n_outputs}."
            )
        self.bought = Cells.merge([cells])  # a copy, since later purchases are appended
        self._go_on(cells.n_examples, len(cells), self.buyer.ledger.spent, self._next_plan, self.buyer.plan.shares)
        return self

    def _go_on(self, rounds: int, cells: int, spent: float, next_plan: int, shares) -> None:
        """Continue from these counts and this plan."""
        ledger = self.buyer.ledger
        ledger.examples, ledger.cells = int(rounds), int(cells)
        ledger.spent_units = money_units(spent, ledger.decimals)
        self._next_plan, self._fitted = int(next_plan), None
        while self._next_plan <= self.n_rounds:
            self._next_plan *= 2
        self.buyer.follow(shares)

    # What it holds ---------------------------------------------------------------------------------------------------

    @property
    def coef(self) -> np.ndarray:
        """The weights: (d,), or (n_outputs, d) for several outputs; a model of curves or trees has none."""
        if not self.fitted.is_linear:
            raise AttributeError(
                "this model has categories, curves or trees instead of weights; use fitted.predict and fitted.effect, "
                "or pass features='linear' and numeric columns only."
            )
        weights = self.fitted.weights
        return weights[:, 0].copy() if self.n_outputs == 1 else np.ascontiguousarray(weights.T)

    @property
    def intercept(self) -> float | np.ndarray:
        """The prediction if all attributes are zero; for a model of curves, the mean prediction."""
        intercept = self.fitted.intercept
        return float(intercept[0]) if self.n_outputs == 1 else intercept.copy()

    @property
    def n_rounds(self) -> int:
        """Examples told so far."""
        return self.buyer.ledger.examples

    @property
    def cells(self) -> int:
        """Values bought so far, including unavailable ones that were paid for."""
        return self.buyer.ledger.cells

    @property
    def draws(self) -> int:
        """As ``cells``, since no value is drawn twice."""
        return self.cells

    @property
    def spent(self) -> float:
        """The cost of the values bought so far; without prices each costs one."""
        return self.buyer.ledger.spent

    @property
    def blind_spots(self) -> str:
        """A warning about what this budget can never buy or learn; "" if there is nothing."""
        return self.buyer.shop.blind_spots()

    def merge(self, others: Iterable["KeepingLearner"]) -> Self:
        """A learner with the cells of this one and of others; their order does not matter."""
        everyone: list[KeepingLearner] = [self, *others]
        merged = type(self)(**self._settings() | {"groups": self.groups, "budget": self.budget})
        merged.bought = Cells.merge(learner.bought for learner in everyone)
        rounds, cells = merged.bought.n_examples, sum(learner.cells for learner in everyone)
        spent = sum(learner.spent for learner in everyone)
        merged._go_on(rounds, cells, spent, self._next_plan, self.buyer.plan.shares)
        for learner in everyone:
            merged._recall_in_vain(learner.buyer.ledger.in_vain)
        return merged

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if "groups" in settings:  # labels may have any type; their numbers can be saved
            settings["groups"] = self.buyer.shop.items
        return settings

    @classmethod
    def _restored(cls, state, given: dict[str, Any]) -> Self:
        unlimited = {} if "setting.budget" in state else {"budget": None}
        return super()._restored(state, unlimited | given)

    def _arrays(self) -> Groups:
        counts = np.array([self.n_rounds, self.cells, self._next_plan])
        return {"cells": self.bought.state(),
                "": {"shares": self.buyer.plan.shares, "counts": counts, "spent": self.spent,
                     "in_vain": np.array(self.buyer.ledger.in_vain, np.int64)}}  # fmt: skip

    def _restore(self, groups) -> None:
        self.bought = Cells.from_state(groups["cells"])
        names, counts = ("counts of rounds", "counts of cells", "counts of the next plan"), groups[""]["counts"]
        rounds, cells, next_plan = map(partial(checks.whole, at_least=0), names, counts)
        if rounds != self.bought.n_examples or cells < len(self.bought) or next_plan < 1:
            raise ValueError(
                f"the state counts {rounds} examples and {cells} cells but holds {self.bought.n_examples} and "
                f"{len(self.bought)}, and plans next at {next_plan}; it is damaged. Restore another."
            )
        spent = checks.positive("spent", float(groups[""]["spent"]), zero=True)
        self._go_on(rounds, cells, spent, next_plan, checks.shares(groups[""]["shares"], self.buyer.shop.prices.size))
        self._recall_in_vain(groups[""].get("in_vain", ()))  # missing in states of earlier versions

    def _recall_in_vain(self, counts) -> None:
        """Add counts of unavailable values, by attribute."""
        self.buyer.ledger.note_unavailable(np.repeat(np.arange(len(counts)), counts))
