"""What can be bought of a new case, at which price, and how much it improves the prediction."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sparing import checks
from sparing.buying.shop import Shop
from sparing.models.gaussian import FittedModel
from sparing.prediction.knowledge import Knowledge
from sparing.types import Ledger


class Catalogue:
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
        As of the budget estimators, in the order of the columns or by name.
    encode : callable
        From a column's number and a value of it to the number that the model works with; NaN if it is unknown.
    """

    def __init__(
        self,
        model: FittedModel,
        n_columns: int,
        names: list[str],
        labels=None,
        classes: Any = None,
        *,
        costs=None,
        groups=None,
        encode: Callable[[int, Any], float] = lambda column, value: float(value),
    ):
        self.model, self.n_columns, self.names, self.labels, self.classes = model, n_columns, names, labels, classes
        self.encode = encode
        columns: list[Any] = list(names) or list(range(n_columns))
        prices = np.ones(n_columns) if costs is None else checks.by_name("costs", costs, columns)
        self.costs = checks.costs(prices, n_columns, free=True)
        self.groups = checks.by_name("groups", groups, columns, otherwise=None)
        shop = Shop(n_columns, max(float(self.costs.sum()), 1.0), costs=self.costs, groups=self.groups)
        self.items, self.members, self.starts = shop.items, shop.members, shop.starts
        self._labels_of_groups = [None] * n_columns if self.groups is None else list(self.groups)

    def ledger(self, budget: float | None = None) -> Ledger:
        """Books for one case."""
        return Ledger(total=np.inf if budget is None else checks.positive("budget", budget), costs=self.costs)

    @cached_property
    def prices(self) -> np.ndarray:
        """Of columns, in units."""
        return self.ledger().prices

    def amount(self, units):
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
    def variable_starts(self) -> np.ndarray:
        """Where those of each column start."""
        return np.arange(self.n_columns + 1) if self.model.basis is None else self.model.basis.starts

    def variables(self, columns) -> np.ndarray:
        """The variables of the Gaussian that columns give: themselves, or their functions."""
        starts, columns = self.variable_starts, np.asarray(columns, dtype=np.int64)
        if self.model.basis is None:
            return columns
        return np.concatenate([np.arange(starts[c], starts[c + 1]) for c in columns] or [columns])

    @cached_property
    def by_item(self) -> tuple[np.ndarray, np.ndarray]:
        """All variables in the order of the items that they belong to, and the column of each."""
        counts = np.diff(self.variable_starts)[self.members]
        return self.variables(self.members), np.repeat(self.members, counts)

    def values(self, column: int, values: np.ndarray) -> np.ndarray:
        """Those variables for some values of the column: (n, n_variables)."""
        values = np.asarray(values, dtype=np.float64)
        return values[:, None] if self.model.basis is None else self.model.basis.columns[column](values)

    # Predictions -----------------------------------------------------------------------------------------------------

    def log_posteriors(
        self, means: np.ndarray, unexplained: np.ndarray, of_rows: np.ndarray | None = None
    ) -> np.ndarray | None:
        """The log-probabilities of classes that follow from outputs; None for a regressor.

        ``of_rows`` has the number of the entry of ``unexplained`` for each row; without it, each row has its own.
        """
        return None if self.classes is None else self.classes.log_posteriors(means, unexplained, of_rows)

    def probabilities(self, log_posteriors: np.ndarray) -> np.ndarray:
        """Those of the classes, as they are reported."""
        return self.classes.probabilities(log_posteriors)

    def within_range(self, means: np.ndarray) -> np.ndarray:
        """Predictions of a regressor, within the range of the targets seen if that is asked for."""
        return means if self.model.target_range is None else np.clip(means, *self.model.target_range)

    # Errors ----------------------------------------------------------------------------------------------------------

    @property
    def adapts(self) -> bool:
        """Whether the order depends on values: with three or more classes."""
        return self.labels is not None and len(self.labels) > 2

    @cached_property
    def output_weights(self) -> np.ndarray:
        """By which explained variances are parts of the outputs' variances: (n_outputs,)."""
        return 1.0 / np.maximum(self.model.calibration.total, np.finfo(float).tiny)

    def standard_deviations(self, unexplained: np.ndarray) -> np.ndarray:
        """Of the targets: (n_outputs,)."""
        model = self.model
        return np.sqrt(model.calibration.variances(model.conditional.total, unexplained))

    def losses(
        self, now: Knowledge, after: Knowledge, log_posteriors: np.ndarray | None, least: float = 0.0
    ) -> np.ndarray:
        """The expected loss of each case after purchases that lead from the state ``now`` to the state ``after``.

        The squared error, summed over outputs, or the probability of a wrong label: (n_cases,), or (1,). Of three or
        more classes, those of a probability below ``least`` do not count.
        """
        if self.classes is None or log_posteriors is None:
            return np.array([np.sum(self.standard_deviations(after.unexplained) ** 2)])
        if now is after:
            return 1.0 - np.exp(log_posteriors).max(axis=1)
        return self.classes.expected_errors(log_posteriors, after.separations - now.separations, least)
