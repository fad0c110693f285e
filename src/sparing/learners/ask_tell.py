"""What every learner does alike: check what it is told, and go over a source step by step."""

from typing import Any, Self

import numpy as np

from sparing import checks
from sparing.types import Query, Source


class Loop:
    """Asking and telling, for a learner with ``ask``, ``tell`` and a count of rounds."""

    n_attributes: int
    n_outputs: int
    n_rounds: Any

    def begin(self, n_examples: int | None = None) -> None:
        """Get ready for the first round, if there is anything to do."""

    def _checked(self, query: Query, values, y) -> tuple[Query, np.ndarray, np.ndarray]:
        """The learner's own query, values and targets as arrays; or an error, before anything has changed."""
        values = np.array(values, dtype=np.float64).reshape(-1)
        if query.round != self.n_rounds:
            raise ValueError(
                f"tell() got the query of round {query.round}, but the learner is at round {self.n_rounds}; each query "
                "is told once, in the order asked."
            )
        query = self._own(query)
        if values.size != query.attributes.size:
            raise ValueError(
                f"tell() got {values.size} values for the {query.attributes.size} attributes of round {query.round}; "
                "pass one value per attribute, in the order of query.attributes."
            )
        if np.isinf(values).any():
            raise ValueError("tell() got an infinite value; pass NaN for a value that could not be had.")
        y = np.array(y, dtype=np.float64).reshape(-1)
        if y.size != self.n_outputs or not np.isfinite(y).all():
            raise ValueError(f"tell() needs {self.n_outputs} finite target(s) an example; got {y}.")
        return query, values, y

    def _own(self, query: Query) -> Query:
        """The query as this learner asks it, which is as good as new: no array of a stranger reaches the kernels."""
        own = self.ask()  # type: ignore[attr-defined]
        for name in vars(own):
            if not np.array_equal(getattr(own, name), getattr(query, name, np.nan)):
                raise ValueError(
                    f"tell() got a query with other {name} than were asked; tell a learner its own queries."
                )
        return own

    def _run_source(self, source: Source, y, ledger, progress) -> Self:
        if source.n_attributes != self.n_attributes:
            raise ValueError(
                f"the source has {source.n_attributes} attributes; this learner was made for {self.n_attributes}."
            )
        if ledger is not None and ledger.costs is not None:
            checks.costs(ledger.costs, self.n_attributes)
        y = self._targets(y, source.n_examples)
        self.begin(source.n_examples)
        for example in range(source.n_examples):
            query = self.ask()  # type: ignore[attr-defined]
            if ledger is not None:
                ledger.book(query.attributes)
            nothing = query.attributes.size == 0  # the total budget is spent: the source is left in peace
            values = np.empty(0) if nothing else source.read(example, query.attributes)
            self.tell(query, values, y[example])  # type: ignore[attr-defined]
            if progress is not None:
                progress(1)
        return self

    def _targets(self, y, n_examples: int) -> np.ndarray:
        y = checks.targets(y, n_examples)
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"y has {y.shape[1]} columns for n_outputs={self.n_outputs}; pass one column per output.")
        return y
