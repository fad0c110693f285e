"""The architecture on one page: what passes between designs, learners, sources and ledgers.

learner.ask()  ──►  Query: which attributes of the next example to look at
source.read()  ──►  the values, and only those; the ledger books them before they are used
learner.tell() ──►  the learner's state moves on
learner.coef   ──►  the model
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Query:
    """The attributes of one example that a learner wants to see: distinct, each to be read once.

    A query depends on the seed, the round and what was told before, never on the example that it asks about.
    """

    round: int
    attributes: np.ndarray


class Learner(Protocol):
    """Learns from (query, values, target) alone; it never sees a row."""

    n_attributes: int

    def ask(self) -> Query:
        """What to look at of the next example."""
        ...

    def tell(self, query: Query, values, y) -> None:
        """Learn from the values of ``query.attributes``, in that order; NaN for an unavailable value."""
        ...

    @property
    def coef(self) -> np.ndarray:
        """The weights, for attributes as they are."""
        ...

    def run(self, X, y):
        """Ask and tell over all rows."""
        ...

    def state(self) -> dict:
        """Everything the learner knows, as arrays."""
        ...


class Source(Protocol):
    """Answers reads: the named attributes of one example, in the order asked for, and nothing else."""

    n_examples: int
    n_attributes: int

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these attributes of one example."""
        ...


class OverBudget(RuntimeError):
    """A purchase would pass a ceiling; nothing was bought."""


@dataclass
class Ledger:
    """Counts cells and money. A cell is paid for once, however often it was drawn.

    >>> ledger = Ledger(per_example=2)
    >>> ledger.book(np.array([4, 7]))
    >>> ledger.cells, ledger.spent
    (2, 2.0)
    >>> ledger.book(np.array([0, 1, 2]))
    Traceback (most recent call last):
    sparing.types.OverBudget: 3 attributes cost 3.0, over the 2.0 allowed for one example; nothing was bought.
    """

    per_example: float = np.inf
    total: float = np.inf
    costs: np.ndarray | None = None
    cells: int = 0
    examples: int = 0
    spent: float = field(default=0.0)

    def __post_init__(self):
        for name in ("per_example", "total"):
            if not getattr(self, name) >= 0:  # NaN would allow everything
                raise ValueError(f"{name} must be a number, zero or more; got {getattr(self, name)!r}.")
        if self.costs is not None:
            self.costs = np.asarray(self.costs, dtype=np.float64)
            if self.costs.ndim != 1 or not (np.isfinite(self.costs) & (self.costs > 0)).all():
                raise ValueError(f"costs must be one positive finite price per attribute; got {self.costs}.")

    def book(self, attributes: np.ndarray) -> None:
        """Pay for one example's attributes before they are read, or refuse the whole purchase."""
        price = float(len(attributes) if self.costs is None else np.sum(self.costs[attributes]))
        if price > self.per_example * (1 + 1e-12):
            raise OverBudget(
                f"{len(attributes)} attributes cost {price}, over the {float(self.per_example)} allowed for one "
                "example; nothing was bought."
            )
        if self.spent + price > self.total * (1 + 1e-12):  # prices are decimals, and floats cannot add those exactly
            raise OverBudget(
                f"{len(attributes)} attributes cost {price}, but {self.spent} of {self.total} is spent already; "
                "nothing was bought."
            )
        self.cells += len(attributes)
        self.examples += 1
        self.spent += price


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, and how: ``converged`` says whether ``residual`` came down to the tolerance asked for.

    ``residual`` is an estimate of how far the objective is above its minimum, as a part of the objective. A
    ``sketch_size`` of 0 says that no sketch was needed; the ``effective_dimension`` is known where one was made.
    """

    coef: np.ndarray
    iterations: int
    residual: float
    converged: bool
    sketch_size: int = 0
    effective_dimension: float | None = None
