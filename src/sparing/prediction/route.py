"""In which order to buy, what that costs, and the error to expect after each purchase."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from sparing.prediction.catalogue import Catalogue
from sparing.prediction.policy import greedy
from sparing.prediction.stage import Stage

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Purchase:
    """One row of a route: a column or a panel, its price, the price of all so far, and the error expected then."""

    name: str
    columns: tuple
    price: float
    total: float
    error: float


@dataclass(frozen=True)
class Route:
    """Purchases in the order of what they explain per price, given those before.

    Parameters
    ----------
    purchases : sequence of Purchase
    start : float
        The error to expect before anything is bought.
    measure : {"standard deviation", "error rate"}
        Of the target given what is known then; with several outputs, of the root of their mean variance. With classes,
        the part of labels that will be wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparing import BudgetRidge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> route = BudgetRidge(budget=5, random_state=0).fit(X, y).route(costs={name: 1 for name in X} | {"bmi": 9})
    >>> len(route), route[0].name, route[-1].total
    (10, 's5', 18.0)
    >>> all(before.error >= after.error for before, after in zip(route, route[1:]))
    True
    """

    purchases: Sequence[Purchase]
    start: float
    measure: str

    def __len__(self) -> int:
        return len(self.purchases)

    def __getitem__(self, place):
        return self.purchases[place]

    def __iter__(self) -> Iterator[Purchase]:
        return iter(self.purchases)

    def to_frame(self) -> "pd.DataFrame":
        """A pandas DataFrame with one row per purchase."""
        import pandas as pd

        return pd.DataFrame([astuple(purchase) for purchase in self], columns=[f.name for f in fields(Purchase)])

    def __repr__(self) -> str:
        width = max([len(purchase.name) for purchase in self] + [8])
        lines = [f"{'':>3} {'buy':<{width}} {'price':>9} {'in all':>9} {self.measure:>19}"]
        lines += [f"{0:>3} {'nothing':<{width}} {'':>9} {0:>9,.2f} {self.start:>19.4g}"]
        for place, p in enumerate(self, 1):
            lines.append(f"{place:>3} {p.name:<{width}} {p.price:>9,.2f} {p.total:>9,.2f} {p.error:>19.4g}")
        return "\n".join(lines)


def find_route(catalogue: Catalogue, known: np.ndarray) -> Route:
    """The route from where these columns are known."""
    start = Stage.first(catalogue).with_known(known)
    chances = catalogue.classes.priors if catalogue.adapts else None
    purchases = []
    error, spent = _error(catalogue, start), 0
    first = error
    for step in greedy(start, chances=chances):
        error = min(error, _error(catalogue, step.stage))  # simulated errors of three or more classes may go up
        columns = tuple(catalogue.column_name(column) for column in step.columns)
        price, total = catalogue.amount(step.stage.spent - spent), catalogue.amount(step.stage.spent)
        purchases.append(Purchase(catalogue.name(step.columns), columns, price, total, error))
        spent = step.stage.spent
    return Route(tuple(purchases), first, "standard deviation" if catalogue.labels is None else "error rate")


def _error(catalogue: Catalogue, stage: Stage) -> float:
    if catalogue.labels is None:
        return float(np.sqrt(np.mean(catalogue.standard_deviations(stage.knowledge.unexplained) ** 2)))
    nothing = Stage.first(catalogue).knowledge
    prior = catalogue.log_posteriors(catalogue.model.center[None], nothing.unexplained[None])
    return float(catalogue.losses(nothing, stage.knowledge, prior)[0])
