"""Examples of a store in another order, without a copy of their cells."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from sparing.cells.pieces import Piece
from sparing.cells.store import Cells
from sparing.kernels.order import copied_runs


class Rearranged(Cells):
    """Examples of another store in another order. Cells are copied piece by piece, or when all are asked for.

    Cells that are appended to the other store later do not appear here.
    """

    def __init__(self, store: Cells, order: np.ndarray):
        self.n_attributes, self.n_outputs = store.n_attributes, store.n_outputs
        self._store, self._order = store, order
        self._ends = np.cumsum(store._begins_and_sizes(order)[1])
        self._targets = store.targets[order]
        self._weights = store.weights[order] if store.is_weighted else None
        self._blocks = None if store.blocks is None else store.blocks[order]
        self._n_cells, self._n_examples = int(self._ends[-1]) if order.size else 0, order.size

    @cached_property
    def _whole(self) -> Cells:
        return self._store._copied(self._order)

    @cached_property
    def _attributes(self) -> np.ndarray:  # type: ignore[override]
        return self._whole._attributes

    @cached_property
    def _values(self) -> np.ndarray:  # type: ignore[override]
        return self._whole._values

    @cached_property
    def _probabilities(self) -> np.ndarray:  # type: ignore[override]
        return self._whole._probabilities

    def __sizeof__(self) -> int:
        """The size without a copy of the cells, unless one was made."""
        own = sum(of.nbytes for of in vars(self).values() if isinstance(of, np.ndarray))
        return object.__sizeof__(self) + own + self._store.__sizeof__()

    def _copied(self, examples: np.ndarray) -> Cells:
        return self._named_here(self._store._copied(self._order[examples]), examples)

    def _arranged(self, order: np.ndarray) -> Cells:
        return self._named_here(self._store._arranged(self._order[order]), order)

    def pieces(self, *, in_order: bool = True) -> Iterator[Piece]:
        """The pieces of the other store, if the order does not matter."""
        everyone = self._n_examples == self._store.n_examples
        return super().pieces() if in_order or not everyone else self._store.pieces()

    def _cells_of(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        begins, sizes = self._store._begins_and_sizes(self._order[first:last])
        return copied_runs(begins, sizes, self._store.attributes, self._store.values)

    def _write(self, *purchases) -> None:
        """Append to a copy, because the cells belong to the other store."""
        whole = self._copied(np.arange(self._n_examples))
        whole._write(*purchases)
        self.__dict__.clear()
        self.__init__(whole, np.arange(whole.n_examples))  # type: ignore[misc]

    def _named_here(self, part: Cells, examples: np.ndarray) -> Cells:
        """A part with the weights and the block numbers that examples have here."""
        part._weights = None if self._weights is None else self._weights[examples]
        part._blocks = None if self._blocks is None else self._blocks[examples]
        return part

    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of the other store, in this order."""
        seen, chances = self._store.hashes()
        return seen[self._order], chances[self._order]
