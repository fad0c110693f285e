"""The loop that all learners share: asking, checking what is told, and running over rows or a source."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from sparing import checks
from sparing.sources import ArraySource
from sparing.types import Ledger, Query, Source


class Loop(ABC):
    """Asking and telling. A subclass decides what it asks for, how it learns, and how many rows it takes at once."""

    n_attributes: int
    n_outputs: int
    n_rounds: Any

    @abstractmethod
    def _asked(self) -> np.ndarray:
        """The attributes of this round's query, a pure function of the state: the same until the round is told."""

    @abstractmethod
    def tell(self, query: Query, values, y, *, weight: float | None = None) -> None:
        """Learn from the values of ``query.attributes``, in that order, and the example's target.

        ``weight`` is how much the example counts; the default is one.
        """

    @abstractmethod
    def _chunk(self) -> int:
        """The number of rows that can be processed before the design changes or progress is reported."""

    @abstractmethod
    def _learn_rows(self, X, y: np.ndarray, weights: np.ndarray | None, first: int, last: int) -> None:
        """Compiled rounds over rows first..last of a checked matrix, with the same result as asking and telling."""

    @abstractmethod
    def _return_to(self, before: Any) -> None:
        """Restore the state that ``_mark`` saved."""

    @abstractmethod
    def _mark(self, n_rows: int) -> Any:
        """What ``_return_to`` needs to undo a run over ``n_rows`` rows."""

    def begin(self, n_examples: int | None = None) -> None:  # noqa: B027  # most learners have nothing to prepare
        """Prepare the first round, given the number of examples to come if it is known."""

    def ask(self) -> Query:
        """Which attributes of the next example to look at; the same query until it is told."""
        return Query(self.n_rounds, self._asked().copy())  # the caller may write to it

    def _checked(self, query: Query, values, y) -> tuple[np.ndarray, np.ndarray]:
        """Values and targets as arrays, or an error before anything has changed."""
        if query.round != self.n_rounds:
            raise ValueError(
                f"tell() got the query of round {query.round}, but the learner is at round {self.n_rounds}; each query "
                "is told once, in the order asked."
            )
        if not np.array_equal(query.attributes, own := self._asked()):
            raise ValueError(
                f"tell() got a query with attributes that were not asked in round {query.round}; tell a learner its "
                "own queries."
            )
        values = np.array(values, dtype=np.float64).reshape(-1)
        if values.size != own.size:
            raise ValueError(
                f"tell() got {values.size} values for the {own.size} attributes of round {query.round}; pass one value "
                "per attribute, in the order of query.attributes."
            )
        if np.isinf(values).any():
            raise ValueError("tell() got an infinite value; pass NaN for an unavailable value.")
        y = np.array(y, dtype=np.float64).reshape(-1)
        if y.size != self.n_outputs or not np.isfinite(y).all():
            raise ValueError(f"tell() needs {self.n_outputs} finite target(s) per example; got {y}.")
        return values, y

    def run(
        self,
        X,
        y,
        *,
        sample_weight=None,
        ledger: Ledger | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Ask and tell over all rows of ``X``: an array, a sparse matrix, a data frame or a :class:`Source`.

        Arrays run compiled and a source step by step, with the same result bit for bit. If a source has blocks,
        learners that keep what they buy ask for all examples of a block with one query. ``sample_weight`` says how much
        each example counts; the default is one. ``progress`` is called with the number of rows just done. With a
        ``ledger`` every purchase is booked before it is read, and cancelled if the source refuses it.

        Only values that are bought are read. NaN is an unavailable value. If a bought value of an array is infinite,
        the whole run is refused: nothing is learnt or charged.
        """
        if hasattr(X, "read"):
            return self._run_source(X, y, sample_weight, ledger, progress)
        X = checks.matrix(X, self.n_attributes)
        y, weights = self._targets(y, X.shape[0]), checks.weights(sample_weight, X.shape[0])
        if ledger is None:
            return self.run_checked(X, y, weights, progress=progress)
        books = ledger.examples, ledger.cells, ledger.spent_units
        try:
            with self._undone_by_infinity(X.shape[0]):
                return self._run_source(ArraySource(X), y, weights, ledger, progress)
        except checks.InfiniteValue:
            ledger.examples, ledger.cells, ledger.spent_units = books
            raise

    def run_checked(
        self,
        X,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        first: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> Self:
        """As ``run``, from row ``first`` on, for a matrix, targets and weights that have been checked already."""
        with self._undone_by_infinity(X.shape[0] - first):
            self.begin(X.shape[0] - first)
            while first < X.shape[0]:
                last = min(first + self._chunk(), X.shape[0])
                self._learn_rows(X, y, weights, first, last)
                if progress is not None:
                    progress(last - first)
                first = last
        return self

    @contextmanager
    def _undone_by_infinity(self, n_rows: int) -> Iterator[None]:
        """Leave the learner unchanged if a run over ``n_rows`` rows meets an infinite value."""
        before = self._mark(n_rows)
        try:
            yield
        except checks.InfiniteValue:
            self._return_to(before)
            raise

    def _checked_with(self, source: Source, y, sample_weight, ledger) -> tuple[np.ndarray, np.ndarray | None]:
        """The checked targets and weights for a source, or an error before anything is bought."""
        if source.n_attributes != self.n_attributes:
            raise ValueError(
                f"the source has {source.n_attributes} attributes; this learner was made for {self.n_attributes}."
            )
        if ledger is not None and ledger.costs is not None:
            checks.costs(ledger.costs, self.n_attributes, free=True)
        return self._targets(y, source.n_examples), checks.weights(sample_weight, source.n_examples)

    def _run_source(self, source: Source, y, sample_weight, ledger, progress) -> Self:
        y, weights = self._checked_with(source, y, sample_weight, ledger)
        ledger = Ledger() if ledger is None else ledger
        self.begin(source.n_examples)
        for example in range(source.n_examples):
            query = self.ask()
            empty = query.attributes.size == 0  # the total budget is spent, so nothing is read
            with ledger.purchase(query.attributes):
                values = np.empty(0) if empty else source.read(example, query.attributes)
            ledger.give_back(query.attributes[np.isnan(values)])
            self.tell(query, values, y[example], weight=None if weights is None else weights[example])
            if progress is not None:
                progress(1)
        return self

    def _targets(self, y, n_examples: int) -> np.ndarray:
        y = checks.targets(y, n_examples)
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"y has {y.shape[1]} columns for n_outputs={self.n_outputs}; pass one column per output.")
        return y
