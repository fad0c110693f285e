"""A visit: the values of one new case are asked for one by one."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from sparing import checks
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.policy import Decision, Policy, Step
from sparing.prediction.stage import Stage
from sparing.types import Query


class Offer(NamedTuple):
    """What a query costs, and the error to expect before and after it."""

    name: str
    price: float
    before: float
    after: float


class Visit:
    """Asks for the values of one case that are worth their price, one purchase at a time; made by ``model.visit``.

    While ``ask`` returns a query, its values must be measured and passed to ``tell``; NaN is an unavailable value,
    which is paid for. When it returns None, ``why`` gives the reason.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparing import BudgetClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetClassifier(budget=6, random_state=0).fit(X[:400], y[:400])
    >>> visit = model.visit(price_of_error=100)
    >>> while (query := visit.ask()) is not None:
    ...     visit.tell(query, X[450, query.attributes])
    >>> visit.why, visit.spent < 10, bool(visit.prediction == y[450])
    ('no further purchase is worth its price', True, True)
    """

    def __init__(self, catalogue: Catalogue, known: Mapping, *, price_of_error=None, target_std=None, budget=None):
        self._catalogue = catalogue
        self._options = checked_options(catalogue, price_of_error, target_std, budget)
        self._ledger = catalogue.ledger(budget)
        self._policy = Policy(price_of_error, target_std, np.inf if budget is None else self._ledger.left)
        self._row = np.full(catalogue.n_columns, np.nan)
        known = _by_column(known)
        columns = [checks.column(name, catalogue.n_columns, catalogue.names) for name in known]
        if len(set(columns)) < len(columns):
            raise ValueError("known has a column twice, by its name and by its number; pass it once.")
        values = _encoded(list(known.values()), columns, catalogue)
        had = ~np.isnan(values)
        self._row[columns] = values
        self._given = [[column, _plain(value)] for column, value in zip(columns, known.values(), strict=True)]
        columns = np.array(columns, dtype=np.int64)[had]
        self._move(Stage.first(catalogue).with_known(columns), np.zeros((1, 0)), values[had], columns)
        check_affordable(self._stage, self._ledger)
        self._asked: Step | None = None
        self._round, self._why = 0, ""
        self._ahead = self._policy.ahead(self._stage)
        self._told: list[list[Any]] = []
        self._asked_for: list[int] = []

    def ask(self) -> Query | None:
        """The columns to find out next; the same ones until they are told. None: stop."""
        if self._asked is None:
            (decision,) = self._decide()
            self._asked, self._why = decision
        return None if self._asked is None else Query(self._round, self._asked.columns)

    def _decide(self) -> list[Decision]:
        return self._policy.decide(self._stage, self._ahead, self._log_posteriors, 1)

    def tell(self, query: Query, values) -> None:
        """The values of ``query.attributes``, in that order. A refused call changes nothing."""
        if self._asked is None or query.round != self._round or not np.array_equal(
            query.attributes, self._asked.columns
        ):  # fmt: skip
            raise ValueError(
                "this query was told before, or was never asked; call ask(), and tell the query that it returns, once."
            )
        columns, step = query.attributes, self._asked
        told = [values] if np.ndim(values) == 0 else list(values)
        if len(told) != columns.size:
            raise ValueError(
                f"tell() got {len(told)} values for the {columns.size} columns of this query; pass one value per "
                "column, in the order of query.attributes, and NaN for an unavailable value."
            )
        values = _encoded(told, columns, self._catalogue)
        had = ~np.isnan(values)
        self._ledger.book(columns)
        self._row[columns] = values
        stage = step.stage if had.all() else self._stage.bought(columns, columns[had])
        self._move(stage, self._distances, values[had], columns[had])
        keep_on = had.all() and not self._catalogue.adapts
        self._ahead = self._ahead.after_first() if keep_on else self._policy.ahead(stage)
        self._told.append([_plain(value) for value in told])
        self._asked_for += columns.tolist()
        self._round, self._asked = self._round + 1, None

    def recall(self, columns, values, *, declined=()) -> None:
        """Go on from purchases that were made and stored elsewhere, such as by a study.

        Parameters
        ----------
        columns : sequence of int
            What was bought, in its order.
        values : sequence
            The value of each; NaN if it was unavailable, and paid for.
        declined : sequence of int
            Columns that were not bought, and shall not be asked for.
        """
        columns, declined = (np.asarray(numbers, dtype=np.int64) for numbers in (columns, declined))
        values = list(values)
        numbers = _encoded(values, columns, self._catalogue)
        had = ~np.isnan(numbers)
        self._ledger.book(columns)
        self._row[columns] = numbers
        stage = self._stage.bought(columns, columns[had]).with_known(declined, columns[:0])
        self._move(stage, self._distances, numbers[had], columns[had])
        self._given += [[int(column), _plain(value)] for column, value in zip(columns, values, strict=True)]
        self._ahead, self._asked = self._policy.ahead(stage), None

    def _move(self, stage: Stage, distances: np.ndarray, values: np.ndarray, columns: np.ndarray) -> None:
        catalogue = self._catalogue
        functions = [catalogue.values(c, np.array([v])) for c, v in zip(columns, values, strict=True)]
        self._stage = stage
        self._distances = stage.knowledge.distances(distances, np.concatenate([np.zeros((1, 0)), *functions], axis=1))
        self._means = catalogue.model.with_trees(stage.knowledge.predictions(self._distances), self._row[None])
        self._log_posteriors = catalogue.log_posteriors(self._means, stage.knowledge.unexplained[None])

    # What is known now -----------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Means and standard deviations of the model's outputs, and log-probabilities of classes."""
        deviations = self._catalogue.standard_deviations(self._stage.knowledge.unexplained)
        return self._means[0], deviations, None if self._log_posteriors is None else self._log_posteriors[0]

    @property
    def prediction(self):
        """The target, or the label, that follows from what is known."""
        if self._log_posteriors is not None:
            return self._catalogue.labels[int(self._log_posteriors.argmax())]
        found = self._catalogue.within_range(self._means)[0]
        return float(found[0]) if found.size == 1 else found

    @property
    def edge(self) -> str:
        """Whether the prediction is "the least" or "the largest" of the targets seen, beyond which none lies; or ""."""
        seen = self._catalogue.model.target_range
        if self._log_posteriors is not None or seen is None or self._means.size != 1:
            return ""
        low, high = (end[0] for end in seen)
        return "the least" if self._means[0, 0] <= low else "the largest" if self._means[0, 0] >= high else ""

    @property
    def std(self):
        """The standard deviation of the target given what is known; None for classes."""
        if self._log_posteriors is not None:
            return None
        found = self._catalogue.standard_deviations(self._stage.knowledge.unexplained)
        return float(found[0]) if found.size == 1 else found

    @property
    def proba(self) -> np.ndarray | None:
        """The probabilities of the classes; None for regressors."""
        return None if self._log_posteriors is None else self._catalogue.probabilities(self._log_posteriors)[0]

    @property
    def spent(self) -> float:
        """What was paid so far."""
        return self._ledger.spent

    @property
    def why(self) -> str:
        """Why ``ask`` returned None; "" if it did not."""
        return "" if self._asked is not None else self._why

    @property
    def known(self) -> dict[Any, Any]:
        """The values that are known, by name or number."""
        pairs = [*self._given, *zip(self._asked_for, chain(*self._told), strict=True)]
        return {self._catalogue.column_name(at): value for at, value in pairs if not np.isnan(self._row[at])}

    @property
    def offer(self) -> Offer | None:
        """The price of the query that ``ask`` returned, and what it is worth; None if it returned None."""
        if self._asked is None:
            return None
        now, after = self._stage.knowledge, self._asked.stage.knowledge
        losses = (self._catalogue.losses(now, then, self._log_posteriors)[0] for then in (now, after))
        before, then = (float(loss) if self._catalogue.labels is not None else float(np.sqrt(loss)) for loss in losses)
        price = self._catalogue.amount(self._asked.stage.spent - self._stage.spent)
        return Offer(self._catalogue.name(self._asked.columns), price, before, then)

    # Saving ----------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything but the model, as plain lists and numbers that fit into JSON."""
        groups = self._catalogue.groups
        return {
            "known": self._given,
            "costs": self._catalogue.costs.tolist(),
            "groups": None if groups is None else [None if g is None else str(g) for g in groups],
            "told": self._told,
            **self._options,
        }

    @classmethod
    def from_state(cls, model, state: Mapping) -> "Visit":
        """A visit that goes on where another was saved, with the same fitted model."""
        names = ("costs", "groups", "price_of_error", "target_std", "budget")
        try:
            known, options, told = state["known"], {name: state[name] for name in names}, state["told"]
            visit = model.visit({int(column): value for column, value in known}, **options)
            for values in told:
                visit.tell(visit.ask(), values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "this state is of another model, or damaged; pass the model that the visit was made by."
            ) from error
        return visit


def _by_column(known) -> dict[Any, Any]:
    """Known values by name or number of their column."""
    if not hasattr(known, "items"):
        raise ValueError(
            "known must be a dict of values by name or number of their column, or a Series; got "
            f"{type(known).__name__}."
        )
    if getattr(getattr(known, "index", None), "is_unique", True) is False:
        raise ValueError("known has a column twice; pass it once.")
    return dict(known.items())


def checked_options(catalogue: Catalogue, price_of_error, target_std, budget) -> dict[str, Any]:
    """Options of a visit, refused where they contradict each other or the model."""
    if price_of_error is not None and target_std is not None:
        raise ValueError("pass price_of_error= or target_std=, not both: each of them says when to stop.")
    if target_std is not None and catalogue.labels is not None:
        raise ValueError("target_std= is for regressors; of classes pass price_of_error=, what a wrong label costs.")
    for name, value in {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}.items():
        if value is not None:
            checks.positive(name, value)
    return {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}


def check_affordable(stage: Stage, ledger) -> None:
    """Refuse a budget that buys nothing."""
    left = np.flatnonzero(~stage.taken)
    prices = np.bincount(stage.catalogue.items[left], weights=stage.catalogue.prices[left])
    prices = prices[np.bincount(stage.catalogue.items[left], minlength=prices.size) > 0]
    if prices.size and prices.min() > ledger.left:
        raise ValueError(
            f"budget is {ledger.total:g}, but the cheapest purchase costs {stage.catalogue.amount(prices.min()):g}; "
            "raise it."
        )


def _plain(value) -> Any:
    """A value as JSON has it: text, a number, or None."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _encoded(values, columns, catalogue: Catalogue) -> np.ndarray:
    """Values of columns as the numbers that the model works with; NaN for what is unknown."""
    pairs = zip(columns, values, strict=True)
    found = np.array([np.nan if value is None else catalogue.encode(int(at), value) for at, value in pairs])
    if np.isinf(found).any():
        name = catalogue.column_name(np.asarray(columns)[np.isinf(found)][0])
        raise ValueError(f"the value of {name!r} is infinite; pass a number, or NaN if it is unavailable.")
    return found
