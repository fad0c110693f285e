"""The settings of a study: attributes, prices, budgets, seed and estimator. They never change."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import Any
from warnings import catch_warnings, filterwarnings, warn

import numpy as np

from sparing import checks
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.estimators import BudgetClassifier, BudgetLasso, BudgetRidge
from sparing.estimators.labels import signs
from sparing.learners.keeping import KeepingLearner
from sparing.study import money

NO_CATEGORIES = ("", "-", "unavailable", "not bought", "not done", "na", "n/a", "nan")  # words for a missing value
LEARNERS = ("auto", "pairwise", "factor")  # keeping learners


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a study, stored as JSON: money as text, prices and panels in the order of the attributes."""

    attributes: list[str]
    prices: list[str] | None
    groups: list[Any] | None
    budget: str
    decimals: int
    classes: list[Any] | None
    options: dict[str, Any]  # of the estimator
    n_examples: int | None
    seed: int
    lease: float | None  # seconds
    categories: dict[str, list[str]] | None = None  # of categorical attributes, in the order of their codes

    @classmethod
    def checked(
        cls, attributes, prices, groups, budget, total, classes, options: dict[str, Any], n_examples, seed, lease,
        categories,
    ) -> tuple["Settings", int | None]:  # fmt: skip
        """The settings and the total in units of money, or an error that says what to do."""
        names = _names(attributes, prices)
        costs = None if prices is None else [money.amount(f"the price of {n!r}", p) for n, p in _by(names, prices)]
        ceiling = money.amount("budget", budget)
        in_all = None if total is None else money.amount("total", total)
        if in_all is not None and in_all < ceiling:
            raise ValueError(
                f"the total of {in_all} is less than the budget of one example, {ceiling}; raise the total, or lower "
                "the budget."
            )
        decimals = money.decimals_needed([*(costs or []), ceiling, *([] if in_all is None else [in_all])])
        if classes is not None and len(set(classes)) != len(classes):
            raise ValueError(f"classes holds a label twice: {list(classes)!r}; name each once.")
        checks.one_of("learner", options["learner"], LEARNERS)
        settings = cls(
            attributes=names,
            prices=None if costs is None else [str(cost) for cost in costs],
            groups=None if groups is None else [group for _, group in _by(names, groups, missing="")],
            budget=str(ceiling),
            decimals=decimals,
            classes=None if classes is None else np.unique(list(classes)).tolist(),
            options=options,
            n_examples=n_examples,
            seed=checks.seed(seed),
            lease=None if lease is None else checks.positive("lease", lease),
            categories=_categories(categories, names),
        )
        if blind_spots := settings.learner.buyer.shop.blind_spots(
            names
        ):  # making the learner also checks its parameters
            warn(blind_spots, UserWarning, stacklevel=4)
        return settings, None if in_all is None else money.units("total", in_all, decimals)

    def to_json(self) -> str:
        """The settings as JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """The settings that :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    # Derived values --------------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each attribute."""
        return {name: number for number, name in enumerate(self.attributes)}

    @cached_property
    def numeric(self) -> dict[str, int]:
        """The number of each attribute that has no categories."""
        return {name: number for name, number in self.numbers.items() if name not in self.codes}

    @cached_property
    def codes(self) -> dict[str, dict[str, float]]:
        """The code of each category, by attribute."""
        given = self.categories or {}
        return {name: {each: float(code) for code, each in enumerate(of)} for name, of in given.items()}

    def shown(self, attribute: int, value: float | str) -> float | str:
        """A value as it was told; for a category, its name."""
        of = None if self.categories is None else self.categories.get(self.attributes[attribute])
        return value if of is None or isinstance(value, str) else of[int(value)]

    @cached_property
    def shop(self) -> Shop:
        """The shop: attributes, prices and panels."""
        return self.learner.buyer.shop

    @cached_property
    def units(self) -> list[int]:
        """The price of each attribute in units of money."""
        if self.prices is None:
            return [10**self.decimals] * len(self.attributes)
        return [money.units("a price", money.amount("price", price), self.decimals) for price in self.prices]

    @property
    def n_outputs(self) -> int:
        """The number of targets that are learnt at once: one per class for more than two classes, else one."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def estimator(self):
        """An estimator with these settings, not fitted yet."""
        options = dict(self.options)
        penalty = options.pop("penalty")
        cls = BudgetClassifier if self.classes is not None else {"ridge": BudgetRidge, "lasso": BudgetLasso}[penalty]
        amount = money.amount("budget", self.budget)
        return cls(
            budget=int(amount) if self.prices is None and amount == int(amount) else float(amount),
            costs=None if self.prices is None else [float(price) for price in self.prices],
            groups=self.groups,
            n_examples=self.n_examples,
            random_state=self.seed,
            **options,
        )

    @cached_property
    def learner(self) -> KeepingLearner:
        """The learner that makes plans: the first one, and later ones from cells."""
        return self.fitted(Cells(len(self.attributes), n_outputs=self.n_outputs)).learner_

    def fitted(self, cells: Cells):
        """The estimator, fitted to these cells."""
        classes = {} if self.classes is None else {"classes": self.classes}
        with catch_warnings():
            filterwarnings("ignore", category=UserWarning)  # blind spots were named when the study was created
            return self.estimator().fit_cells(cells, names=self.attributes, categories=self.categories, **classes)

    def target(self, y) -> float:
        """A target as a number: itself, or the position of a label in the classes."""
        if self.classes is not None:
            if isinstance(y, bool) or y not in self.classes:
                raise ValueError(f"y must be one of the classes {self.classes}; got {y!r}.")
            return float(self.classes.index(y))
        if isinstance(y, checks.NUMBER) and not isinstance(y, bool) and isfinite(y):
            return float(y)
        raise ValueError(f"y must be a finite number; got {y!r}.")

    def label(self, target: float | None):
        """The target as it was told."""
        return target if self.classes is None or target is None else self.classes[int(target)]

    def learnt(self, targets: np.ndarray) -> np.ndarray:
        """Targets as learners see them: -1 and +1 for classes."""
        if self.classes is None:
            return targets[:, None]
        return signs(targets, np.arange(len(self.classes)))


def _names(attributes, prices) -> list[str]:
    names = list(prices if attributes is None and isinstance(prices, Mapping) else attributes or ())
    if not all(isinstance(name, str) and name.strip() == name != "" for name in names) or not names:
        raise ValueError(f"attributes must be a list of names, or prices a dictionary of them; got {names!r}.")
    if len(set(names)) < len(names):
        raise ValueError("attributes holds a name twice; give each attribute one of its own.")
    return names


def _categories(given: Mapping[str, Any] | None, names: list[str]) -> dict[str, list[str]] | None:
    """Categories as sorted text, like those of a data frame."""
    if not given:
        return None
    found = {}
    for name, of in given.items():
        checks.column(name, len(names), names)
        found[name] = sorted({str(each) for each in of})
        bad = [each for each in found[name] if each.strip() != each or each.lower() in NO_CATEGORIES]
        if bad or len(found[name]) < 2 or isinstance(of, str):
            raise ValueError(
                f"the categories of {name!r} must be two names or more, none of them {', '.join(NO_CATEGORIES[1:])} or "
                f"empty; got {of!r}."
            )
    return found


def _by(names: list[str], given: Mapping | Sequence, missing=None) -> list[tuple[str, Any]]:
    """Pairs of a name and its value, which are given as a dictionary or as a list in the order of the names."""
    if not isinstance(given, Mapping):
        if len(given) != len(names):
            raise ValueError(f"there are {len(given)} prices or panels for {len(names)} attributes; pass one for each.")
        return list(zip(names, given, strict=True))
    unknown = [name for name in given if name not in names]
    without = [name for name in names if name not in given] if missing is None else []
    if unknown or without:
        raise ValueError(
            f"{(unknown or without)[0]!r} has {'no attribute' if unknown else 'no price'}; name the same attributes "
            "in attributes= and in prices= or groups=."
        )
    return [(name, given.get(name, missing)) for name in names]
