"""A model of the user's own table, bought a few values at a time: what it says, and what it cost."""

import csv
import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparing.estimators import BudgetLasso, BudgetRidge
from sparing.tables import Table

LEAST_ROWS = 10  # from which on learners judge themselves by rows held out
Files = dict[str, tuple[str, Callable[[Path], object]]]  # by what is in them: the end of the name, what writes it


@dataclass(frozen=True)
class PriceList:
    """Price of each attribute in the order of a table, and the panel that it comes with ("" is none)."""

    costs: np.ndarray
    groups: list[str]


@dataclass(frozen=True)
class Bought:
    """One attribute of a report: its weight, its share of the prediction, and what was spent on it."""

    attribute: str
    weight: float
    effect: float  # weight times the attribute's standard deviation
    looks: int
    spent: float


@dataclass(frozen=True)
class Report:
    """A fitted model and where the money went."""

    model: Any
    table: Table
    attributes: list[Bought]

    def lines(self) -> list[str]:
        """The result in sentences."""
        model, facts = self.model, self.model.report_
        values = model.n_iter_ * model.n_features_in_
        said = [
            f"{model.cells_:,} of {values:,} values bought ({model.cells_ / max(values, 1):.1%}) for "
            f"{model.spent_:,.2f}, of {model.n_iter_:,} examples."
        ]
        if "risk" in facts:
            said.append(_quality(1.0 - facts["risk"], facts["risk_error"]))
        never = sum(bought.looks == 0 for bought in self.attributes)
        if never:
            said.append(f"{never:,} attributes were never bought (too dear for the budget, or too many); weight 0.")
        return [*said, f"Learner: {facts.get('setting', '')}. {facts.get('why', '').capitalize()}".rstrip(". ") + "."]

    @property
    def files(self) -> Files:
        """What can be written of it, each with the end of its file's name: weights, model and the cells bought."""
        files: Files = {"weights": ("-weights.csv", self._write_weights), "model": ("-model.json", self._write_model)}
        store = getattr(self.model.learner_, "bought", None)
        if store is not None:  # online learners keep nothing
            files["cells"] = "-cells.npz", store.save
        return files

    def _write_weights(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["attribute", "weight", "effect", "looks", "spent"])
            writer.writerows(astuple(bought) for bought in self.attributes)

    def _write_model(self, path: Path) -> None:
        described = {
            "target": self.table.target,
            "classes": self.table.classes,
            "intercept": float(self.model.intercept_),
            "weights": {bought.attribute: bought.weight for bought in self.attributes},
            "spent": self.model.spent_,
        }
        path.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def _quality(r2: float, error: float) -> str:
    """The estimate in words. It is unbiased, not bounded: from few values it can be above 1, and a risk below 0."""
    said = f"Estimated R² on whole rows {r2:z.2f} ± {error:.2f}, from bought values that were held out"
    if r2 > 1:
        return f"{said}: too few to tell, since no R² is above 1 and no risk below 0."
    if r2 < 2 * error:
        return f"{said}: {'no' if r2 <= 0 else 'not clearly'} better than predicting the mean."
    return f"{said}."


def read_prices(path, names: list[str]) -> PriceList:
    """Read a CSV file with columns attribute, cost and, if there are panels, group; every attribute needs a price."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"attribute", "cost"} <= set(rows[0]):
        raise ValueError(f"{path.name} needs a header with attribute and cost (and group, if there are panels).")
    found = {row["attribute"]: row for row in rows}
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"{path.name} has no price for {missing[0]!r} ({len(missing)} without one); add a line each.")
    try:
        costs = np.array([float(found[name]["cost"]) for name in names])
    except ValueError as error:
        raise ValueError(f"{path.name} has a cost that is not a number: {error}.") from None
    return PriceList(costs, [found[name].get("group") or "" for name in names])


def fit_table(
    table: Table,
    *,
    budget: float,
    prices: PriceList | None = None,
    total_budget: float | None = None,
    penalty: str = "ridge",
    learner: str = "auto",
    random_state: int = 0,
) -> Report:
    """Learn from ``budget`` attributes of each row, or from what ``budget`` buys of it."""
    if table.X.shape[0] < LEAST_ROWS:
        raise ValueError(
            f"{table.X.shape[0]} rows are too few to learn from and to tell how good the result is; pass {LEAST_ROWS} "
            "or more."
        )
    cls = {"ridge": BudgetRidge, "lasso": BudgetLasso}[penalty]
    options: dict[str, Any] = {"learner": learner, "random_state": random_state, "total_budget": total_budget}
    if prices is not None:
        options |= {"costs": prices.costs, "groups": prices.groups if any(prices.groups) else None}
    model = cls(budget=budget, **options).fit(table.X, table.y)
    if not model.cells_:
        raise ValueError(f"a total budget of {total_budget:g} buys not a single value; raise it, or leave it out.")
    return Report(model, table, _attributes(model, table, prices))


def _attributes(model, table: Table, prices: PriceList | None) -> list[Bought]:
    from sparing.models.summary import summarize

    d, learner = len(table.names), model.learner_
    if hasattr(learner, "bought"):
        summary = summarize(learner.bought)
        looks, spread = summary.counts, summary.spreads
    else:
        looks, spread = learner.looks, np.sqrt(learner.variances)
    costs = np.ones(d) if prices is None else prices.costs
    weights = np.ravel(model.coef_)
    rows = [
        Bought(name, float(w), float(w * s), int(n), float(n * c))
        for name, w, s, n, c in zip(table.names, weights, spread, looks, costs, strict=True)
    ]
    return sorted(rows, key=lambda row: -abs(row.effect))
