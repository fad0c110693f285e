"""What may be bought of a new case, at what price, and what it is good for."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from sparing import checks
from sparing.buying.shop import Shop
from sparing.models.gaussian import FittedModel
from sparing.prediction.knowledge import Knowledge
from sparing.types import Ledger


def named_costs(costs, n_columns: int, names: list[str]) -> np.ndarray:
    """One price per column, from a dict or Series by name, or from an array; one each where there are no costs."""
    if costs is None:
        return np.ones(n_columns)
    if not isinstance(costs, Mapping) and not hasattr(costs, "items"):
        return checks.costs(costs, n_columns)
    by_name = {checks.column(name, n_columns, names): price for name, price in dict(costs.items()).items()}
    lacking = [column for column in range(n_columns) if column not in by_name]
    if lacking:
        first = names[lacking[0]] if names else lacking[0]
        raise ValueError(f"costs has no price for {first!r} ({len(lacking)} columns lack one); price every column.")
    return checks.costs([by_name[column] for column in range(n_columns)], n_columns)


class Market:
    """Columns and panels of a fitted model, with their prices in whole units of money.

    Parameters
    ----------
    model : FittedModel
    n_columns : int
    names : list of str
        Of the columns; empty if they have none.
    labels : array, optional
        Of classes, whose model was fitted to -1 and +1.
    classes : Classes, optional
        Their probabilities, which follow from what is known.
    costs, groups
        As of the budget estimators; costs also by name.
    """

    def __init__(
        self,
        model: FittedModel,
        n_columns: int,
        names: list[str],
        labels=None,
        classes=None,
        *,
        costs=None,
        groups=None,
    ):
        self.model, self.n_columns, self.names, self.labels, self.classes = model, n_columns, names, labels, classes
        self.costs = named_costs(costs, n_columns, names)
        self.groups = groups
        shop = Shop(n_columns, float(self.costs.sum()), costs=self.costs, groups=groups)
        self.items, self.members, self.starts = shop.items, shop.members, shop.starts
        self._labels_of_groups = list(groups) if groups is not None else [None] * n_columns

    def ledger(self, budget: float | None = None) -> Ledger:
        """Books for one case."""
        return Ledger(total=np.inf if budget is None else checks.positive("budget", budget), costs=self.costs)

    @cached_property
    def prices(self) -> np.ndarray:
        """Of columns, in units."""
        return self.ledger().prices

    def amount(self, units: float) -> float:
        """Units as an amount of money."""
        return units / 10**self._decimals

    @cached_property
    def _decimals(self) -> int:
        return self.ledger().decimals

    def name(self, columns) -> str:
        """What a purchase is called: its columns, or the panel that they are the whole of."""
        columns = np.atleast_1d(columns)
        if len(columns) > 1:
            panel = self._labels_of_groups[columns[0]]
            return f"{panel}: {', '.join(str(self.column_name(column)) for column in columns)}"
        return str(self.column_name(columns[0]))

    def column_name(self, column) -> Any:
        """The name of a column, or its number."""
        return self.names[column] if self.names else int(column)

    @cached_property
    def _variable_starts(self) -> np.ndarray:
        return np.arange(self.n_columns + 1) if self.model.basis is None else self.model.basis.starts

    def variables(self, columns) -> np.ndarray:
        """The variables of the Gaussian that columns give: themselves, or their functions."""
        starts, columns = self._variable_starts, np.asarray(columns, dtype=np.int64)
        if self.model.basis is None:
            return columns
        return np.concatenate([np.arange(starts[c], starts[c + 1]) for c in columns] or [columns])

    @cached_property
    def by_item(self) -> tuple[np.ndarray, np.ndarray]:
        """All variables in the order of the items that they belong to, and the column of each."""
        counts = np.diff(self._variable_starts)[self.members]
        return self.variables(self.members), np.repeat(self.members, counts)

    def values(self, column: int, values: np.ndarray) -> np.ndarray:
        """Those variables for some values of the column: (n, n_variables)."""
        values = np.asarray(values, dtype=np.float64)
        return values[:, None] if self.model.basis is None else self.model.basis.columns[column](values)

    # Predictions -----------------------------------------------------------------------------------------------------

    def log_posteriors(self, means: np.ndarray, knowledge: Knowledge) -> np.ndarray | None:
        """The log-probabilities of classes that follow from outputs; None for a regressor."""
        if self.labels is None:
            return None
        return self.classes.log_posteriors(means, knowledge.unexplained[None])

    def within_range(self, means: np.ndarray) -> np.ndarray:
        """Predictions of a regressor, within the range of the targets seen if that is asked for."""
        return means if self.model.target_range is None else np.clip(means, *self.model.target_range)

    # Errors ----------------------------------------------------------------------------------------------------------

    @property
    def adapts(self) -> bool:
        """Whether the order depends on values: with three or more classes."""
        return self.labels is not None and len(self.labels) > 2

    def explained(self, gains: np.ndarray) -> np.ndarray:
        """The part of the outputs' variances that purchases explain, summed over outputs: (n,)."""
        return np.einsum("nkk,k->n", gains, 1.0 / np.maximum(self.model.calibration.total, np.finfo(float).tiny))

    def standard_deviations(self, unexplained: np.ndarray) -> np.ndarray:
        """Of the targets: (n_outputs,)."""
        model = self.model
        return np.sqrt(model.calibration.variances(model.conditional.total, unexplained))

    def losses(self, now: np.ndarray, after: np.ndarray, log_posteriors: np.ndarray | None) -> np.ndarray:
        """The expected loss of each case when ``now`` is unexplained and purchases will have left ``after``.

        The squared error, summed over outputs, or the probability of a wrong label: (n_cases,), or (1,).
        """
        if self.labels is None or log_posteriors is None:
            return np.array([np.sum(self.standard_deviations(after) ** 2)])
        gained = self.classes.separations(after[None])[0] - self.classes.separations(now[None])[0]
        return self.classes.expected_errors(log_posteriors, gained)
