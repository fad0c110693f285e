"""A model of the user's own table, bought a few values at a time: what it says, and what it cost."""

import csv
import json
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparing.estimators import BudgetLasso, BudgetRidge
from sparing.tables import Table


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
            risk, error = 1.0 - facts["risk"], facts["risk_error"]
            said.append(f"Estimated R² on whole rows {risk:.2f} ± {error:.2f}, from bought values that were held out.")
        never = sum(bought.looks == 0 for bought in self.attributes)
        if never:
            said.append(f"{never:,} attributes were never bought (too dear for the budget, or too many); weight 0.")
        return [*said, f"Learner: {facts.get('setting', '')}. {facts.get('why', '').capitalize()}".rstrip(". ") + "."]

    def write(self, start: Path) -> list[Path]:
        """Write the weights as CSV, the model as JSON and the cells bought; returns the names of the files."""
        files = [start.with_name(start.name + end) for end in ("-weights.csv", "-model.json", "-cells.npz")]
        with files[0].open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["attribute", "weight", "effect", "looks", "spent"])
            writer.writerows(astuple(bought) for bought in self.attributes)
        described = {
            "target": self.table.target,
            "classes": self.table.classes,
            "intercept": float(self.model.intercept_),
            "weights": {bought.attribute: bought.weight for bought in self.attributes},
            "spent": self.model.spent_,
        }
        files[1].write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
        store = getattr(self.model.learner_, "bought", None)
        if store is None:  # online learners keep nothing
            return files[:2]
        store.save(files[2])
        return files


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
    cls = {"ridge": BudgetRidge, "lasso": BudgetLasso}[penalty]
    options: dict[str, Any] = {"learner": learner, "random_state": random_state, "total_budget": total_budget}
    if prices is not None:
        options |= {"costs": prices.costs, "groups": prices.groups if any(prices.groups) else None}
    model = cls(budget=budget if prices is not None else _whole(budget), **options).fit(table.X, table.y)
    return Report(model, table, _attributes(model, table, prices))


def _whole(budget: float):
    """Without prices a budget is a number of attributes."""
    return int(budget) if float(budget).is_integer() else budget


def _attributes(model, table: Table, prices: PriceList | None) -> list[Bought]:
    from sparing.geometry.cells import describe

    d, store = len(table.names), getattr(model.learner_, "bought", None)
    if store is None:
        looks, spread = getattr(model.learner_, "looks", np.zeros(d)), np.ones(d)
    else:
        seen = describe(store)
        looks, spread = seen.counts, np.sqrt(seen.variances)
    costs = np.ones(d) if prices is None else prices.costs
    weights = np.ravel(model.coef_)
    rows = [
        Bought(name, float(w), float(w * s), int(n), float(n * c))
        for name, w, s, n, c in zip(table.names, weights, spread, looks, costs, strict=True)
    ]
    return sorted(rows, key=lambda row: -abs(row.effect))
