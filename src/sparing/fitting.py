"""Fit a model to a table from a few values of each row, and report its weights and its cost."""

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing.estimators import BudgetClassifier, BudgetLasso, BudgetRidge, save_model
from sparing.estimators.from_source import is_source
from sparing.files import InputError, write_csv, write_text
from sparing.judging import Verdict, judge
from sparing.progress import unnoticed
from sparing.tables import PriceList, Table
from sparing.tables.columnar import file_bytes
from sparing.tables.names import LISTED
from sparing.tables.numbers import number_shown

FAR = 10  # interquartile ranges from the median beyond which targets are reported
LEAST_ROWS = 10  # with fewer rows, no error can be estimated from held-out rows
FILES = {  # ends of file names
    "weights": "-weights.csv",
    "description": "-model.json",
    "model": "-model.sparing",
    "cells": "-cells.npz",
}


@dataclass(frozen=True)
class Bought:
    """One attribute of a report: its weight, its effect on the prediction, and the spend on it."""

    attribute: str
    weight: float | None  # None if the attribute has a curve, categories, or a weight for each of many classes
    effect: float  # standard deviation of what it adds to the prediction, with the sign of its weight if it has one
    looks: int
    spent: float  # on looks, and on values that were unavailable but paid for


@dataclass(frozen=True)
class FitReport:
    """A fitted model and its spend by attribute."""

    model: Any
    table: Table
    attributes: list[Bought]
    verdict: Verdict | None = None  # measures of a classifier, unless it was fitted to a source

    @property
    def has_curves(self) -> bool:
        """Whether the model has curves or trees instead of weights."""
        return not hasattr(self.model, "coef_")

    def lines(self) -> list[str]:
        """The result in sentences."""
        model, facts = self.model, self.model.report_
        said = [self._purchases()]
        if is_source(source := getattr(self.table, "X", None)):
            said.append(_bytes_read(source))
        if hasattr(model, "classes_"):
            said += [_named_classes(model.classes_, self.table), *([] if self.verdict is None else [str(self.verdict)])]
        elif "r2" in facts:
            said.append(_quality(facts["r2"], facts["r2_interval"], bought=model.budget is not None))
            said += _far_targets(self.table.y) if hasattr(self.table, "y") else []
        said += self._never_bought()
        why = facts.get("why", "")
        return [*said, f"Learner: {facts.get('setting', '')}. {why[:1].upper()}{why[1:]}".rstrip(". ") + "."]

    def weight_in_words(self, bought: Bought) -> str:
        """The weight of an attribute, or what it has instead of a weight."""
        if bought.weight is not None or not bought.looks or not bought.effect:  # then there is no curve to speak of
            return number_shown(bought.weight or 0.0, 4)
        if not self.has_curves:
            return "by class"
        values, _ = self.model.effect(self.table.names.index(bought.attribute))
        return "categories" if values.dtype.kind == "U" else "curve"

    def range_of(self, column: int) -> tuple[float, float]:
        """The least and the largest value bought of a column."""
        bought = self.model.learner_.bought
        values = bought.values[bought.attributes == column]
        return float(values.min()), float(values.max())

    def first_day(self, column: int) -> str:
        """The date since which the days of a column are counted; "" if it holds no dates."""
        columns = getattr(self.model, "_columns", None)
        if columns is None or np.isnat(first := columns.first_days[column]):
            return ""
        return str(np.datetime_as_string(first, unit="D"))

    def _never_bought(self) -> list[str]:
        """The columns without a look, by the reason."""
        never = {bought.attribute: bought for bought in self.attributes if not bought.looks}
        if not never:
            return []
        columns, buyer = getattr(self.model, "_columns", None), getattr(self.model.learner_, "buyer", None)
        useless = np.zeros(len(self.table.names), bool) if columns is None else columns.levels == 1
        dear = useless & False if buyer is None else (buyer.shop.prices > buyer.shop.budget)[buyer.shop.items]
        reasons: dict[str, list[str]] = {}
        for at, name in enumerate(self.table.names):
            if name in never:
                why = (
                    "nothing to learn from" if useless[at]
                    else "missing wherever it was looked at" if never[name].spent
                    else "more expensive than the budget for one example" if dear[at]
                    else "never drawn; more rows or a larger budget may reach it"
                )  # fmt: skip
                reasons.setdefault(why, []).append(name)
        return [f"No value bought of {_listed(names)}: {why}." for why, names in reasons.items()]

    def _purchases(self) -> str:
        """How many values were bought, and how many of them were missing."""
        model = self.model
        values = model.n_iter_ * model.n_features_in_
        part = f"{model.cells_:,} of {values:,} values ({model.cells_ / max(values, 1):.1%})"
        if model.budget is None:
            return f"{part} are there and were learnt from, of {model.n_iter_:,} examples; nothing was bought."
        said = f"{part.replace('values', 'values bought')} for {model.spent_:,.2f}, of {model.n_iter_:,} examples."
        missing = model.cells_ - len(getattr(model.learner_, "bought", range(model.cells_)))
        said += f" {missing:,} of them were missing{', and paid for' * (model.spent_ > 0)}." if missing else ""
        if model.total_budget is None or model.total_budget - model.spent_ >= model.learner_.budget:
            return said
        return f"{said} The total budget of {model.total_budget:,.2f} was used up before all examples had their share."

    @property
    def writers(self) -> dict[str, Callable[[Path], object]]:
        """Functions that write the weights, the model and, for a keeping learner, the cells bought."""
        writers: dict[str, Callable[[Path], object]] = {
            "weights": self._write_weights,
            "description": self._write_description,
            "model": partial(save_model, self.model),
        }
        store = getattr(self.model.learner_, "bought", None)
        if store is not None:  # online learners keep no cells
            columns = self.model._columns
            categories = {} if columns is None else columns.categories_by_name
            writers["cells"] = partial(store.save, names=self.table.names, categories=categories)
        return writers

    def _write_weights(self, path: Path) -> None:
        write_csv(path, [field.name for field in fields(Bought)], (astuple(bought) for bought in self.attributes))

    def _write_description(self, path: Path) -> None:
        described = {
            "target": self.table.target,
            "classes": None if self.table.labels is None else self.model.classes_.tolist(),
            "intercept": _plain(self.model.intercept_),
            "spent": self.model.spent_,
        }
        if self.has_curves:
            curves = {name: self.model.effect(at) for at, name in enumerate(self.table.names)}
            described["curves"] = {name: {"at": x.tolist(), "adds": _plain(y)} for name, (x, y) in curves.items()}
            report, trees = self.model.report_, "share of boosted trees, which are not in this file"
            described[trees] = report.get("trees_share", 0.0)
            described[f"{trees}, for rows known in part"] = report.get("trees_share_in_part", 0.0)
        else:
            weights = np.atleast_2d(self.model.coef_).T
            described["weights"] = {name: _plain(row) for name, row in zip(self.table.names, weights, strict=True)}
        write_text(path, json.dumps(described, indent=1) + "\n")


def _listed(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(map(repr, names[:LISTED])) + more


def _bytes_read(source) -> str:
    """How many bytes of the files were read, in words."""
    all_bytes = file_bytes(source)
    part = f"{source.bytes_read / 1e6:,.1f} of {all_bytes / 1e6:,.1f} MB ({source.bytes_read / all_bytes:.1%})"
    return f"{part} were read, of {source.blocks().size:,} row groups: errors go by row group."


def _plain(numbers):
    """Numbers for JSON: a single one as a number, several as a list."""
    return np.squeeze(numbers).tolist()


def _named_classes(classes, table: Table) -> str:
    """The classes of the target, in words."""
    names = [repr(label) for label in classes.tolist()]
    said = f"Target {table.target!r} is a class ({table.why}): {', '.join(names)}."
    return f"{said} Positive weights speak for {names[1]}." if len(names) == 2 else said


def _far_targets(y: np.ndarray) -> list[str]:
    """A warning about targets so far from the others that they dominate squared errors."""
    low, middle, high = np.percentile(y, [25, 50, 75])
    far = int(np.sum(np.abs(y - middle) > FAR * (high - low))) if high > low else 0
    if not far:
        return []
    return [
        f"Targets farther than {FAR} interquartile ranges from the median: {far:,}. Squared errors are mostly theirs: "
        "a model of the target's logarithm, or of the other rows, may serve you better."
    ]


def _quality(r2: float, interval: tuple[float, float], *, bought: bool) -> str:
    """The estimate in words."""
    low, high = interval
    said = f"Estimated R² on whole rows {r2:z.2f} (90 % interval {low:z.2f} to {high:z.2f})"
    said = f"{said}, from {'bought ' if bought else ''}values that were held out"
    if low > 0:
        return f"{said}."
    return f"{said}: {'no' if r2 <= 0 else 'not clearly'} better than predicting the mean."


def fit_table(
    table: Table,
    *,
    budget: float | None,
    prices: PriceList | None = None,
    total_budget: float | None = None,
    pay_for_missing: bool = True,
    penalty: str = "ridge",
    learner: str = "auto",
    features: str = "auto",
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> FitReport:
    """Learn from ``budget`` attributes of each row, from as many as ``budget`` buys, or, if it is None, from all.

    ``progress`` is called with the fraction of the work that was just done.
    """
    if len(table.y) < LEAST_ROWS:
        raise ValueError(
            f"{len(table.y)} rows are too few to learn from and to estimate an error; pass {LEAST_ROWS} or more."
        )
    classes = table.labels is not None
    if classes and penalty != "ridge":
        raise InputError(
            f"the target {table.target!r} is a class ({table.why}), and classifiers have no {penalty}",
            "leave out {penalty}, or pass {task}",
            {"penalty": penalty, "task": "regression"},
        )
    cls = BudgetClassifier if classes else {"ridge": BudgetRidge, "lasso": BudgetLasso}[penalty]
    options: dict[str, Any] = {"learner": learner, "features": features}
    options |= {"random_state": random_state, "total_budget": total_budget, "pay_for_missing": pay_for_missing}
    if prices is not None:
        options |= {"costs": prices.costs, "groups": prices.groups if any(prices.groups) else None}
    judged = classes and not is_source(table.X)  # judging fits a second model and reads whole rows
    report, judging = progress or unnoticed, 0.5 if judged else 0.0
    model = cls(budget=budget, verbose=lambda part: report((1.0 - judging) * part), **options)
    model.fit(_named(table), table.y).set_params(verbose=False)
    model.target_name_ = table.target
    verdict = judge(model, _named(table), table.y, random_state) if judged else None
    report(judging)
    if not model.cells_ and total_budget is not None:
        raise ValueError(f"a total budget of {total_budget:g} buys no value at all; raise it, or leave it out.")
    return FitReport(model, table, _attributes(model, table, prices), verdict)


def _named(table: Table):
    """The attributes with their names, which `predict` needs; columns of npz files have numbers only."""
    if hasattr(table.X, "columns") or is_source(table.X) or sparse.issparse(table.X) or table.names[0] == "x0":
        return table.X
    from pandas import DataFrame

    return DataFrame(table.X, columns=table.names, copy=False)


def _attributes(model, table: Table, prices: PriceList | None) -> list[Bought]:
    from sparing.models.summary import summarize

    d, learner = len(table.names), model.learner_
    if hasattr(learner, "bought"):
        summary = summarize(learner.bought)
        looks, spread = np.bincount(learner.bought.attributes, minlength=d), summary.spreads
        in_vain = learner.buyer.ledger.in_vain if model.pay_for_missing else ()
        paid = looks + np.pad(np.array(in_vain, np.int64), (0, d - len(in_vain)))
    else:
        looks, spread = learner.looks, np.sqrt(learner.variances)
        paid = looks
    costs = np.full(d, float(model.budget is not None)) if prices is None else prices.costs
    weights: list[float | None] = [None] * d
    if hasattr(model, "coef_"):
        coef = np.atleast_2d(model.coef_)
        weights = coef[0].tolist() if len(coef) == 1 else weights
        effects = (coef[0] if len(coef) == 1 else np.abs(coef).max(axis=0)) * spread
    else:
        fitted, effects = learner.fitted, learner.fitted.importance.max(axis=1)
        if fitted.basis is not None and fitted.trees is None and learner.n_outputs == 1:  # weights besides categories
            starts = zip(fitted.basis.columns, fitted.basis.starts[:-1], strict=True)
            weights = [float(fitted.weights[at, 0]) if column.is_line else None for column, at in starts]
    rows = [
        Bought(name, weight, float(effect) + 0.0, int(n), float(times * c))
        for name, weight, effect, n, times, c in zip(table.names, weights, effects, looks, paid, costs, strict=True)
    ]
    return sorted(rows, key=lambda row: -abs(row.effect))
