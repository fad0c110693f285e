"""The store of bought cells: append, merge, select, save."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np

from sparing import checks
from sparing.cells.order import by_contents
from sparing.cells.pieces import PIECE, SUMMED, OnePart, Piece
from sparing.files import written_whole
from sparing.kernels.order import copied_runs, has_repeats, hash_examples

_FILE_FORMAT, _WEIGHTED_FORMAT, _BLOCK_FORMAT = 1, 2, 3


class Cells(OnePart):
    """The store of all purchases, and the only input of batch learners.

    An example is a run of cells: ``attributes[starts[e]:starts[e + 1]]``, ``values`` and ``probabilities`` beside them,
    with ``targets[e]`` and ``weights[e]``. Unavailable values are not kept. A cell takes sixteen bytes (twelve with
    float32 values). Examples that were asked for together, with one query for all of them, are a block.

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
        self._blocks: np.ndarray | None = None  # likewise

    def __setstate__(self, state: dict) -> None:
        """Restore the data types, since ``ufunc.at`` takes ten times as long with those of unpickled arrays."""
        plain = {name: of.view(of.dtype.str) for name, of in state.items() if isinstance(of, np.ndarray)}
        self.__dict__.update(state | plain)

    # Contents --------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._n_cells

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return self._n_examples

    @property
    def starts(self) -> np.ndarray:
        """Where each example begins, and where the last one ends."""
        return np.concatenate([[0], self._ends[: self._n_examples]])

    @property
    def attributes(self) -> np.ndarray:
        """The attribute of each cell."""
        return self._attributes[: self._n_cells]

    @property
    def values(self) -> np.ndarray:
        """The value of each cell."""
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
        """How much each example counts: one, unless another weight was given."""
        return np.ones(self.n_examples) if self._weights is None else self._weights[: self._n_examples]

    @property
    def is_weighted(self) -> bool:
        """Whether any example was given a weight."""
        return self._weights is not None

    @property
    def blocks(self) -> np.ndarray | None:
        """The number of each example's block, negative without a block; None if there are no blocks."""
        return None if self._blocks is None else self._blocks[: self._n_examples]

    @property
    def nbytes(self) -> int:
        """Memory held, including room for growth."""
        arrays = (self._attributes, self._values, self._probabilities, self._ends, self._targets)
        return sum(array.nbytes for array in (*arrays, self._weights, self._blocks) if array is not None)

    def __sizeof__(self) -> int:
        """Size in bytes, by which schedulers such as Dask's decide what to move and what to write to disk."""
        return object.__sizeof__(self) + self.nbytes

    def examples(self) -> np.ndarray:
        """The example of each cell."""
        return np.repeat(np.arange(self.n_examples), np.diff(self.starts))

    # Adding ----------------------------------------------------------------------------------------------------------

    def append(self, attributes, values, y, *, probabilities=None, weight=None) -> None:
        """Keep what was bought of one example; NaN is an unavailable value."""
        weights = None if weight is None else [weight]
        y = np.reshape(y, (1, -1))
        self.extend([len(attributes)], attributes, values, y, probabilities=probabilities, weights=weights)

    def extend(self, sizes, attributes, values, targets, *, probabilities=None, weights=None, blocks=None) -> None:
        """Keep the purchases of several examples, ``sizes`` cells of each. A refused call changes nothing.

        ``blocks`` are the numbers of their blocks, or one number for all of them. Without it, each has its own query.
        """
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
        if has_repeats(sizes, attributes, self.n_attributes):
            raise ValueError("an example has the same attribute twice; keep each value once.")
        if targets.shape[1] != self.n_outputs:
            raise ValueError(f"targets have {targets.shape[1]} columns for {self.n_outputs} outputs.")
        if np.isinf(values).any():
            raise ValueError("values hold infinity; pass NaN for an unavailable value.")
        if weights is not None and checks.non_negative("weights", weights).size != sizes.size:
            raise ValueError(f"there are {len(weights)} weights for {sizes.size} examples; pass one per example.")
        blocks = None if blocks is None else np.broadcast_to(np.asarray(blocks, np.int64), sizes.shape)
        chances = np.full(values.shape, np.nan, np.float32) if probabilities is None else probabilities
        chances = np.broadcast_to(np.asarray(chances, np.float32), values.shape)
        had = ~np.isnan(values)
        if not had.all():
            sizes = np.bincount(np.repeat(np.arange(sizes.size), sizes), weights=had, minlength=sizes.size)
            attributes, values, chances = attributes[had], values[had], chances[had]
        self._write(sizes.astype(np.int64), attributes, values, chances, targets, weights, blocks)

    def _write(self, sizes, attributes, values, chances, targets, weights=None, blocks=None) -> None:
        cells, examples = self._n_cells + values.size, self._n_examples + sizes.size
        if self.is_weighted or weights is not None:
            self._weights = _room(self.weights, self._n_examples, examples)
            self._weights[self._n_examples : examples] = 1.0 if weights is None else weights
        if self._blocks is not None or blocks is not None:
            known = _alone(0, self._n_examples) if self.blocks is None else self.blocks
            self._blocks = _room(known, self._n_examples, examples)
            alone = _alone(self._n_examples, examples)
            self._blocks[self._n_examples : examples] = alone if blocks is None else np.where(blocks < 0, alone, blocks)
        self._make_room(examples, cells)
        self._attributes[self._n_cells : cells] = attributes
        self._values[self._n_cells : cells] = values
        self._probabilities[self._n_cells : cells] = chances
        self._ends[self._n_examples : examples] = self._n_cells + np.cumsum(sizes)
        self._targets[self._n_examples : examples] = targets
        self._n_cells, self._n_examples = cells, examples

    def reserve(self, examples: int, cells: int) -> None:
        """Reserve memory for so many more, so that arrays need not be copied when they are added."""
        self._make_room(self._n_examples + examples, self._n_cells + cells)

    def _make_room(self, examples: int, cells: int) -> None:
        """Make room for so many in all."""
        self._attributes = _room(self._attributes, self._n_cells, cells)
        self._values = _room(self._values, self._n_cells, cells)
        self._probabilities = _room(self._probabilities, self._n_cells, cells)
        self._ends = _room(self._ends, self._n_examples, examples)
        self._targets = _room(self._targets, self._n_examples, examples)

    # Together and apart ----------------------------------------------------------------------------------------------

    @classmethod
    def merge(cls, shards: Iterable["Cells"]) -> Self:
        """All purchases of several stores in one, in the order given; blocks of different stores are different."""
        shards = list(shards)
        if not shards:
            raise ValueError("there is nothing to merge; pass at least one store.")
        first = shards[0]
        merged = cls(first.n_attributes, n_outputs=first.n_outputs, dtype=first.values.dtype)
        merged.reserve(sum(shard.n_examples for shard in shards), sum(len(shard) for shard in shards))
        for shard in shards:
            if (shard.n_attributes, shard.n_outputs) != (first.n_attributes, first.n_outputs):
                raise ValueError(
                    f"stores of {first.n_attributes} and {shard.n_attributes} attributes, {first.n_outputs} and "
                    f"{shard.n_outputs} outputs, cannot be merged."
                )
            sizes, weights, blocks = np.diff(shard.starts), shard.weights if shard.is_weighted else None, shard.blocks
            if blocks is not None and merged.blocks is not None:
                blocks = np.where(blocks < 0, blocks, blocks + merged.blocks.max(initial=-1) + 1)
            merged._write(sizes, shard.attributes, shard.values, shard.probabilities, shard.targets, weights, blocks)
        return merged

    def take(self, examples) -> "Cells":
        """A store of these examples only, in this order."""
        return self._copied(_numbers(examples, self.n_examples))

    def _copied(self, examples: np.ndarray) -> "Cells":
        """The same for an array of numbers of examples."""
        begins, sizes = self._begins_and_sizes(examples)
        copies = copied_runs(begins, sizes, self.attributes, self.values, self.probabilities)
        return self._with(examples, sizes, *copies)

    def _begins_and_sizes(self, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the cells of each of these examples begin, and how many there are."""
        begins = np.where(examples > 0, self._ends[examples - 1], 0)
        return begins, self._ends[examples] - begins

    def pieces(self, *, in_order: bool = True) -> Iterator[Piece]:
        """All examples, some at a time, so that sums over very many cells need no arrays of that size.

        If the order does not matter, a store may return them in one that is quicker to read.
        """
        first, starts = 0, self.starts
        while first < self.n_examples:
            last = max(int(np.searchsorted(starts, starts[first] + SUMMED, side="right")) - 1, first + 1)
            weights = self._weights[first:last] if self._weights is not None else None
            cells = self._cells_of(first, last)
            yield Piece(starts[first : last + 1] - starts[first], *cells, self._targets[first:last], weights)
            first = last

    def _cells_of(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Attributes and values of the examples from first to last."""
        cells = slice(int(self._ends[first - 1]) if first else 0, int(self._ends[last - 1]))
        return self._attributes[cells], self._values[cells]

    def only(self, wanted: np.ndarray) -> "Cells":
        """A store with the cells of the flagged attributes only; this store itself if all are flagged."""
        return self if wanted.all() else self.where(wanted[self.attributes])

    def where(self, kept: np.ndarray) -> "Cells":
        """A store with the flagged cells only, of all examples."""
        sizes = np.diff(np.concatenate([[0], np.cumsum(kept)])[self.starts])
        everyone = slice(None)
        return self._with(everyone, sizes, self.attributes[kept], self.values[kept], self.probabilities[kept])

    def partly_hidden(self) -> "Cells":
        """The same examples with a random fraction of the cells of each hidden, between none and all."""
        generator = np.random.default_rng(0)
        hidden = np.repeat(generator.random(self.n_examples), np.diff(self.starts))
        return self.where(generator.random(hidden.size) >= hidden)

    def mapped(self, function: Callable[..., "Cells"], *arguments) -> "Cells":
        """The cells that a function returns for every part."""
        return function(self, *arguments)

    def every(self, step: int) -> "Cells":
        """Every ``step``-th example; this store itself for a step of one."""
        return self if step <= 1 else self.take(slice(None, None, step))

    def _arranged(self, order: np.ndarray) -> "Cells":
        """These examples in this order; very many cells are copied only when they are needed."""
        from sparing.cells.rearranged import Rearranged  # a store itself

        return self._copied(order) if len(self) <= PIECE else Rearranged(self, order)

    def _with(self, examples, sizes, attributes, values, probabilities) -> "Cells":
        """A store of these examples that holds the given arrays without a copy."""
        part = Cells(self.n_attributes, n_outputs=self.n_outputs, dtype=values.dtype)
        part._attributes, part._values, part._probabilities = attributes, values, probabilities
        part._ends, part._targets = np.cumsum(sizes), self.targets[examples]
        part._weights = self.weights[examples] if self.is_weighted else None
        part._blocks = None if self.blocks is None else self.blocks[examples]
        part._n_cells, part._n_examples = values.size, sizes.size
        return part

    def to_learn_from(self) -> "Cells":
        """The same cells :meth:`in_order`, without examples of weight zero, and with weights divided by their mean.

        So an example of weight zero counts as never seen, and the unit of weights does not matter.
        """
        cells = self.in_order()
        if not self.is_weighted:
            return cells
        if cells.weights.any():  # if all weights are zero, nothing is changed
            cells = cells._arranged(np.flatnonzero(cells.weights > 0))
        equal = cells.weights.min(initial=np.inf) == cells.weights.max(initial=0.0)
        cells._weights = None if equal else cells.weights / cells.weights.mean()
        return cells

    def in_order(self) -> "Cells":
        """The same cells in an order that depends on their contents only, not on where they came from.

        Sums over cells in this order are the same to the last bit, however the data were divided and merged. Examples
        are ordered by which attributes were seen of them, then by targets, then by values: units do not matter. Blocks
        are numbered from 0 on, in the order in which they appear.
        """
        order, blocks = by_contents(self)
        ordered = self._arranged(order)
        ordered._blocks = blocks
        return ordered

    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of the attributes seen of each example, the first key of the order, and of their probabilities."""
        seen, chances = np.zeros((2, self.n_examples), np.uint64)
        hash_examples(self.starts, self.attributes, self.probabilities.view(np.uint32), seen, chances)
        return seen, chances

    # On disk ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """The whole store as arrays."""
        more = [name for name in ("weights", "blocks") if getattr(self, f"_{name}") is not None]
        file_format = _BLOCK_FORMAT if "blocks" in more else _WEIGHTED_FORMAT if more else _FILE_FORMAT
        sizes = np.array([self.n_attributes, self.n_outputs, file_format])
        names = ("starts", "attributes", "values", "probabilities", "targets", *more)
        return {"sizes": sizes} | {name: np.array(getattr(self, name)) for name in names}

    @classmethod
    def from_state(cls, state) -> Self:
        """The store that :meth:`state` described."""
        if "sizes" not in state or not _FILE_FORMAT <= int(state["sizes"][2]) <= _BLOCK_FORMAT:
            raise ValueError(
                f"this is not a store of cells of format {_FILE_FORMAT} to {_BLOCK_FORMAT}; save it again with "
                "Cells.save."
            )
        n_attributes, n_outputs, _ = (int(size) for size in state["sizes"])
        cells = cls(n_attributes, n_outputs=n_outputs, dtype=state["values"].dtype)
        more = {"probabilities": state["probabilities"]} | {name: state.get(name) for name in ("weights", "blocks")}
        cells.extend(np.diff(state["starts"]), state["attributes"], state["values"], state["targets"], **more)
        return cells

    def save(self, path, *, names=None, categories: Mapping[str, Iterable] | None = None) -> Path:
        """Write one file, whole or not at all, and return its path, which ends in .npz.

        ``names`` are the names of the attributes, and ``categories`` maps the name of each categorical one to the list
        of its categories. For readers that use numpy alone, the file holds them as arrays ``names`` and
        ``categories.NAME``.
        """
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        with written_whole(path) as file:
            about = {} if names is None else {"names": np.array(names, dtype=str)}
            about |= {f"categories.{name}": np.array(list(of), dtype=str) for name, of in (categories or {}).items()}
            np.savez_compressed(file, **self.state(), **about)  # type: ignore[arg-type]  # its other keyword is a flag
        return path

    @classmethod
    def load(cls, path) -> Self:
        """Read what :meth:`save` wrote. A file that holds anything else raises ``ValueError``."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                return cls.from_state(dict(stored))
        except FileNotFoundError:
            raise
        except Exception as error:  # zip, zlib and npy readers raise many kinds of errors
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ValueError(f"{Path(path).name} is not a readable store of cells: {reason}") from error


def _alone(first: int, last: int) -> np.ndarray:
    """Numbers for examples without a block: negative, and different for each."""
    return -1 - np.arange(first, last)


def _room(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    """The array with room for ``needed`` entries, a quarter more than that when it must grow."""
    if array.shape[0] >= needed:
        return array
    grown = np.empty((max(needed, used + used // 4, 16), *array.shape[1:]), array.dtype)
    grown[:used] = array[:used]
    return grown


def _numbers(examples, n: int) -> np.ndarray:
    """The numbers of the examples that a slice, flags or numbers select."""
    return np.arange(*examples.indices(n)) if isinstance(examples, slice) else np.arange(n)[examples]
