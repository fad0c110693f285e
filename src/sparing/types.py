"""The architecture on one page: what passes between designs, learners, sources and ledgers.

learner.ask()  ──►  Query: which attributes of the next example to look at
source.read()  ──►  the values, and only those; the ledger books them before they are used
learner.tell() ──►  the learner's state moves on
learner.coef   ──►  the model
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sparing.units_of_money import NO_LIMIT, decimals_of, money_units, price_units


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
        """Which attributes of the next example to look at."""
        ...

    def tell(self, query: Query, values, y) -> None:
        """Learn from the values of ``query.attributes``, in that order; NaN for an unavailable value.

        The learners here also take a ``weight``: how much the example counts.
        """
        ...

    @property
    def coef(self) -> np.ndarray:
        """The weights, for attributes in their own units."""
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


class BlockSource(Source, Protocol):
    """A source whose examples lie in blocks, such as the row groups of a file: all of a block are read with one query.

    It counts the bytes that it has read in ``bytes_read``.
    """

    bytes_read: int

    def blocks(self) -> np.ndarray:
        """The number of examples in each block, in the order of the examples."""
        ...

    def read_block(self, block: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these attributes of all examples of a block: one row per example."""
        ...


class BatchSource(Source, Protocol):
    """A source that answers the queries of many examples at once, such as a table in a database."""

    def read_batch(self, examples: np.ndarray, queries: list[np.ndarray]) -> list[np.ndarray]:
        """The values of each example's attributes, as ``read`` answers them.

        If an error leaves some queries bought and others not, it has an attribute ``not_bought``: the positions in
        ``queries`` of those that were not.
        """
        ...


class OverBudget(RuntimeError):
    """A purchase would exceed a ceiling; nothing was bought."""


class RefusedPurchase(RuntimeError):
    """A source did not sell: nothing was bought, and nothing is owed."""


class UnknownPurchase(RuntimeError):
    """A purchase was sent, and no answer came: it may have been made.

    It counts as made. Asking again with the same ``key`` is safe: the seller recognises it, and charges once.
    """

    def __init__(self, message: str, key: str):
        super().__init__(message)
        self.key = key


@dataclass
class Ledger:
    """Keeps the books: cells, examples and money, which is counted in whole units of ``10**-decimals``.

    A cell is paid for once, however often it was drawn.

    Parameters
    ----------
    per_example, total : float
        Ceilings on the cost of one example and of all examples together.
    costs : array of shape (n_attributes,), optional
        Price of each attribute, zero for a free one; by default every price is one.
    decimals : int, optional
        Decimal places of money: 2 counts in cents. By default, as many as the prices have.
    pay_for_missing : bool
        Whether an unavailable value is paid for, and counted, like any other.

    Examples
    --------
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
    decimals: Any = None
    pay_for_missing: bool = True
    cells: int = 0
    examples: int = 0
    spent_units: int = 0
    in_vain: tuple[int, ...] = ()  # how often a value of each attribute was asked for but unavailable

    def __post_init__(self):
        for name in ("per_example", "total"):
            if not getattr(self, name) >= 0:  # NaN would allow everything
                raise ValueError(f"{name} must be a number, zero or more; got {getattr(self, name)!r}.")
        prices = np.ones(1) if self.costs is None else np.asarray(self.costs, dtype=np.float64)
        if prices.ndim != 1 or not (np.isfinite(prices) & (prices >= 0)).all():
            raise ValueError(f"costs must be one finite price per attribute, none negative; got {prices}.")
        if self.costs is not None:
            self.costs = prices
        if self.decimals is None:
            self.decimals = decimals_of(prices)
        self.prices = price_units(prices, self.decimals)
        ceilings = (self.per_example, self.total)
        self._ceiling, self._total = (c if c == np.inf else money_units(c, self.decimals) for c in ceilings)

    @property
    def spent(self) -> float:
        """What was spent so far."""
        return self.amount(self.spent_units)

    @property
    def left(self) -> int:
        """Units of money that may still be spent in all."""
        return int(min(self._total - self.spent_units, NO_LIMIT))

    def amount(self, units: int) -> float:
        """Units as an amount of money."""
        return units / 10**self.decimals

    def price(self, attributes: np.ndarray) -> int:
        """What these attributes cost together, in units."""
        if self.costs is None:
            return len(attributes) * int(self.prices[0])
        return int(self.prices[attributes].sum())

    def book(self, attributes: np.ndarray, examples: int = 1) -> None:
        """Pay for the same attributes of one or more examples before they are read, or refuse the whole purchase."""
        price, n = self.price(attributes), len(attributes)
        if price > self._ceiling:
            raise OverBudget(
                f"{n} attributes cost {self.amount(price)}, over the {float(self.per_example)} allowed for one "
                "example; nothing was bought."
            )
        if price * examples > self.left:
            raise OverBudget(
                f"{n * examples} attributes cost {self.amount(price * examples)}, but {self.spent} of {self.total} is "
                "spent already; nothing was bought."
            )
        self.record(examples, n * examples, price * examples)

    def cancel(self, attributes: np.ndarray, examples: int = 1) -> None:
        """Take back what was booked for a purchase that was not made."""
        self.record(-examples, -len(attributes) * examples, -self.price(attributes) * examples)

    @contextmanager
    def purchase(self, attributes: np.ndarray, examples: int = 1) -> Iterator[None]:
        """Book what is read within the block; if the source refuses to sell, nothing is owed.

        >>> ledger = Ledger()
        >>> with ledger.purchase(np.array([4, 7])):
        ...     raise RefusedPurchase("closed on Sundays")
        Traceback (most recent call last):
        sparing.types.RefusedPurchase: closed on Sundays
        >>> ledger.cells
        0
        """
        self.book(attributes, examples)
        try:
            yield
        except RefusedPurchase:
            self.cancel(attributes, examples)
            raise

    def give_back(self, unavailable: np.ndarray) -> None:
        """Refund the price of each of these unavailable values, unless such values are paid for."""
        self.note_unavailable(unavailable)
        if not self.pay_for_missing:
            self.record(0, -len(unavailable), -self.price(unavailable))

    def note_unavailable(self, attributes: np.ndarray) -> None:
        """Count one unavailable value for each of these attributes; no money moves."""
        if len(attributes):
            counts = np.bincount(attributes, minlength=len(self.in_vain))
            counts[: len(self.in_vain)] += np.array(self.in_vain, np.int64)
            self.in_vain = tuple(counts.tolist())

    def record(self, examples: int, cells: int, units: int) -> None:
        """Add purchases that were made within the ceilings: by the compiled loop, or by another ledger."""
        self.examples += examples
        self.cells += cells
        self.spent_units += int(units)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, and how: ``converged`` says whether ``residual`` came down to the tolerance asked for.

    ``residual`` is an estimate of how far the objective is above its minimum, as a fraction of the objective. A
    ``sketch_size`` of 0 means that no sketch was needed; ``effective_dimension`` is known if one was made.
    """

    coef: np.ndarray
    iterations: int
    residual: float
    converged: bool
    sketch_size: int = 0
    effective_dimension: float | None = None
