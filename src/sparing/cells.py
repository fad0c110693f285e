"""What was bought: values of attributes of examples, with targets and the probability of each look."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np

from sparing import checks
from sparing.files import written_whole
from sparing.kernels.order import find_cells, hash_examples

_FILE_FORMAT, _WEIGHTED_FORMAT = 1, 2


class Cells:
    """The store of all purchases, and the only input of batch learners.

    An example is a run of cells: ``attributes[starts[e]:starts[e + 1]]``, ``values`` and ``probabilities`` beside them,
    with ``targets[e]`` and ``weights[e]``. Unavailable values are not kept. A cell takes sixteen bytes (twelve with
    float32 values).

    Parameters
    ----------
    n_attributes : int
    n_outputs : int, default=1
    dtype : float64 or float32
        Of the values.

    Examples
    --------
    >>> cells = Cells(4)
    >>> cells.append([0, 2], [1.5, float("nan")], 1.0)
    >>> cells.append([3, 1], [0.5, 2.5], -1.0)
    >>> len(cells), cells.n_examples, cells.values.tolist()
    (3, 2, [1.5, 0.5, 2.5])
    """

    def __init__(self, n_attributes: int, *, n_outputs: int = 1, dtype=np.float64):
        self.n_attributes = checks.whole("n_attributes", n_attributes)
        self.n_outputs = checks.whole("n_outputs", n_outputs)
        if np.dtype(dtype) not in (np.float64, np.float32):
            raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")
        self._n_cells = self._n_examples = 0
        self._attributes = np.empty(0, np.int32)
        self._values = np.empty(0, dtype)
        self._probabilities = np.empty(0, np.float32)
        self._ends = np.empty(0, np.int64)
        self._targets = np.empty((0, self.n_outputs))
        self._weights: np.ndarray | None = None  # until one is given

    # What is there ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._n_cells

    @property
    def n_examples(self) -> int:
        """Examples of which something was asked."""
        return self._n_examples

    @property
    def starts(self) -> np.ndarray:
        """Where each example begins, and where the last one ends."""
        return np.concatenate([[0], self._ends[: self._n_examples]])

    @property
    def attributes(self) -> np.ndarray:
        """Which attribute each cell is of."""
        return self._attributes[: self._n_cells]

    @property
    def values(self) -> np.ndarray:
        """What was read."""
        return self._values[: self._n_cells]

    @property
    def probabilities(self) -> np.ndarray:
        """The probability with which each cell was looked at when its example was asked for; NaN where unknown."""
        return self._probabilities[: self._n_cells]

    @property
    def targets(self) -> np.ndarray:
        """Targets, one row per example and one column per output."""
        return self._targets[: self._n_examples]

    @property
    def weights(self) -> np.ndarray:
        """How much each example counts: one unless it was told with another weight."""
        return np.ones(self.n_examples) if self._weights is None else self._weights[: self._n_examples]

    @property
    def is_weighted(self) -> bool:
        """Whether some example was told with a weight."""
        return self._weights is not None

    @property
    def nbytes(self) -> int:
        """Memory held, room for growth included."""
        arrays = (self._attributes, self._values, self._probabilities, self._ends, self._targets, self._weights)
        return sum(array.nbytes for array in arrays if array is not None)

    def examples(self) -> np.ndarray:
        """Which example each cell is of."""
        return np.repeat(np.arange(self.n_examples), np.diff(self.starts))

    # Adding ----------------------------------------------------------------------------------------------------------

    def append(self, attributes, values, y, *, probabilities=None, weight=None) -> None:
        """Keep what was bought of one example; NaN is an unavailable value."""
        weights = None if weight is None else [weight]
        y = np.reshape(y, (1, -1))
        self.extend([len(attributes)], attributes, values, y, probabilities=probabilities, weights=weights)

    def extend(self, sizes, attributes, values, targets, *, probabilities=None, weights=None) -> None:
        """Keep the purchases of several examples, ``sizes`` cells of each. A refused call changes nothing."""
        sizes = np.asarray(sizes, np.int64)
        attributes = np.asarray(attributes, np.int64)
        values = np.asarray(values, self._values.dtype)
        targets = checks.targets(targets, sizes.size) if sizes.size else np.empty((0, self.n_outputs))
        if attributes.shape != values.shape or attributes.shape != (sizes.sum(),) or (sizes < 0).any():
            raise ValueError(
                f"there are {values.size} values for {attributes.size} attributes of {sizes.sum()} cells; pass one "
                "value per attribute."
            )
        if attributes.size and not (attributes.min() >= 0 and attributes.max() < self.n_attributes):
            raise ValueError(f"attributes must lie between 0 and {self.n_attributes - 1}.")
        if self._twice(sizes, attributes):
            raise ValueError("an example has the same attribute twice; keep each value once.")
        if targets.shape[1] != self.n_outputs:
            raise ValueError(f"targets have {targets.shape[1]} columns for {self.n_outputs} outputs.")
        if np.isinf(values).any():
            raise ValueError("values hold infinity; pass NaN for an unavailable value.")
        if weights is not None and checks.non_negative("weights", weights).size != sizes.size:
            raise ValueError(f"there are {len(weights)} weights for {sizes.size} examples; pass one per example.")
        chances = np.full(values.shape, np.nan, np.float32) if probabilities is None else probabilities
        chances = np.broadcast_to(np.asarray(chances, np.float32), values.shape)
        had = ~np.isnan(values)
        if not had.all():
            sizes = np.bincount(np.repeat(np.arange(sizes.size), sizes), weights=had, minlength=sizes.size)
            attributes, values, chances = attributes[had], values[had], chances[had]
        self._write(sizes.astype(np.int64), attributes, values, chances, targets, weights)

    def _twice(self, sizes, attributes) -> bool:
        """Whether an example has an attribute twice."""
        marks = np.sort(np.repeat(np.arange(sizes.size), sizes) * self.n_attributes + attributes)
        return bool(np.any(marks[1:] == marks[:-1]))

    def _write(self, sizes, attributes, values, chances, targets, weights=None) -> None:
        cells, examples = self._n_cells + values.size, self._n_examples + sizes.size
        if self.is_weighted or weights is not None:
            self._weights = _room(self.weights, self._n_examples, examples)
            self._weights[self._n_examples : examples] = 1.0 if weights is None else weights
        self._attributes = _room(self._attributes, self._n_cells, cells)
        self._values = _room(self._values, self._n_cells, cells)
        self._probabilities = _room(self._probabilities, self._n_cells, cells)
        self._ends = _room(self._ends, self._n_examples, examples)
        self._targets = _room(self._targets, self._n_examples, examples)
        self._attributes[self._n_cells : cells] = attributes
        self._values[self._n_cells : cells] = values
        self._probabilities[self._n_cells : cells] = chances
        self._ends[self._n_examples : examples] = self._n_cells + np.cumsum(sizes)
        self._targets[self._n_examples : examples] = targets
        self._n_cells, self._n_examples = cells, examples

    # Together and apart ----------------------------------------------------------------------------------------------

    @classmethod
    def merge(cls, shards: Iterable["Cells"]) -> Self:
        """All purchases of several stores in one, in the order given."""
        shards = list(shards)
        if not shards:
            raise ValueError("there is nothing to merge; pass at least one store.")
        first = shards[0]
        merged = cls(first.n_attributes, n_outputs=first.n_outputs, dtype=first.values.dtype)
        for shard in shards:
            if (shard.n_attributes, shard.n_outputs) != (first.n_attributes, first.n_outputs):
                raise ValueError(
                    f"stores of {first.n_attributes} and {shard.n_attributes} attributes, {first.n_outputs} and "
                    f"{shard.n_outputs} outputs, cannot be merged."
                )
            sizes, weights = np.diff(shard.starts), shard.weights if shard.is_weighted else None
            merged._write(sizes, shard.attributes, shard.values, shard.probabilities, shard.targets, weights)
        return merged

    def take(self, examples) -> "Cells":
        """The store of these examples alone, in the order named."""
        examples = np.arange(self.n_examples)[examples]
        starts = self.starts
        sizes = np.diff(starts)[examples]
        at = np.empty(sizes.sum(), np.int64)
        find_cells(starts, examples, at)
        weights = self.weights[examples] if self.is_weighted else None
        chances, targets = self.probabilities[at], self.targets[examples]
        return self._with(sizes, self.attributes[at], self.values[at], chances, targets, weights)

    def only(self, wanted: np.ndarray) -> "Cells":
        """The cells of these attributes alone (one flag for each), of all examples; this very store, if that is all."""
        if wanted.all():
            return self
        kept = wanted[self.attributes]
        sizes = np.diff(np.concatenate([[0], np.cumsum(kept)])[self.starts])
        weights = self.weights if self.is_weighted else None
        chances = self.probabilities[kept]
        return self._with(sizes, self.attributes[kept], self.values[kept], chances, self.targets, weights)

    def _with(self, sizes, attributes, values, probabilities, targets, weights) -> "Cells":
        """A store of the same kind that holds these arrays themselves."""
        part = Cells(self.n_attributes, n_outputs=self.n_outputs, dtype=values.dtype)
        part._attributes, part._values, part._probabilities = attributes, values, probabilities
        part._ends, part._targets, part._weights = np.cumsum(sizes), targets, weights
        part._n_cells, part._n_examples = values.size, sizes.size
        return part

    def to_learn_from(self) -> "Cells":
        """The same in :meth:`in_order`, without examples of weight zero, and weights divided by their mean.

        So a weight of zero is that of an example that was never seen, and the unit of weights does not matter.
        """
        cells = self.in_order()
        if not self.is_weighted:
            return cells
        if cells.weights.any():  # else nothing counts so far, and all is taken as it is
            cells = cells.take(cells.weights > 0)
        equal = cells.weights.min(initial=np.inf) == cells.weights.max(initial=0.0)
        cells._weights = None if equal else cells.weights / cells.weights.mean()
        return cells

    def in_order(self) -> "Cells":
        """The same purchases in an order that only their contents decide: where they came from leaves no trace.

        Sums over cells taken in this order are the same to the last bit, however shards were cut and merged. Examples
        are ordered by which attributes were seen of them, then by targets, then by values: units do not matter.
        """
        starts, sizes = self.starts, np.diff(self.starts)
        seen, chances = np.zeros((2, sizes.size), np.uint64)
        hash_examples(starts, self.attributes, self.probabilities.view(np.uint32), seen, chances)
        ranks = _ranks([seen, *self.targets.T])
        for place in range(int(sizes.max(initial=0))):
            tied = np.flatnonzero((np.bincount(ranks)[ranks] > 1) & (sizes > place))
            if not tied.size:
                break
            values = np.zeros(ranks.size)
            values[tied] = self.values[starts[tied] + place]
            ranks = _ranks([ranks, values])
        return self.take(np.lexsort((self.weights, chances, ranks)))

    # On disk ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """All of it as arrays."""
        weighted = (_WEIGHTED_FORMAT, ("weights",)) if self.is_weighted else (_FILE_FORMAT, ())
        sizes = np.array([self.n_attributes, self.n_outputs, weighted[0]])
        names = ("starts", "attributes", "values", "probabilities", "targets", *weighted[1])
        return {"sizes": sizes} | {name: np.array(getattr(self, name)) for name in names}

    @classmethod
    def from_state(cls, state) -> Self:
        """The store that :meth:`state` described."""
        if "sizes" not in state or int(state["sizes"][2]) not in (_FILE_FORMAT, _WEIGHTED_FORMAT):
            raise ValueError(
                f"this is not a store of cells of format {_FILE_FORMAT} or {_WEIGHTED_FORMAT}; save it again with "
                "Cells.save."
            )
        n_attributes, n_outputs, _ = (int(size) for size in state["sizes"])
        cells = cls(n_attributes, n_outputs=n_outputs, dtype=state["values"].dtype)
        more = {"probabilities": state["probabilities"], "weights": state.get("weights")}
        cells.extend(np.diff(state["starts"]), state["attributes"], state["values"], state["targets"], **more)
        return cells

    def save(self, path) -> Path:
        """Write one file, whole or not at all, and return its path, which ends in .npz."""
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        with written_whole(path) as file:
            np.savez_compressed(file, **self.state())  # type: ignore[arg-type]  # its other keyword is a flag
        return path

    @classmethod
    def load(cls, path) -> Self:
        """Read what :meth:`save` wrote. A file that holds anything else raises ``ValueError``."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                return cls.from_state(dict(stored))
        except FileNotFoundError:
            raise
        except Exception as error:  # zip, zlib and npy readers raise what they like on broken bytes
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ValueError(f"{Path(path).name} is not a readable store of cells: {reason}") from error


def _room(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    """The array with room for ``needed`` entries, a quarter more than that when it must grow."""
    if array.shape[0] >= needed:
        return array
    grown = np.empty((max(needed, used + used // 4, 16), *array.shape[1:]), array.dtype)
    grown[:used] = array[:used]
    return grown


def _ranks(keys: list[np.ndarray]) -> np.ndarray:
    """The rank of each entry in the order of the first key, then of the next, and so on; equal ones share a rank."""
    order = np.lexsort(keys[::-1])
    changes = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.concatenate([np.zeros(min(order.size, 1), np.int64), np.cumsum(changes)])
    return ranks
