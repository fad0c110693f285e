"""What the models share that are fitted to cells by expectation-maximisation (EM)."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice, pairwise

import numpy as np

from sparing.cells import Cells, OnePart
from sparing.kernels.sweep import Block, Looks, new_block
from sparing.models.summary import Summary

WORTH_THREADS = 50_000  # cells from which threads are faster; with 20,000, they take 1.7 times the processor time
PARTS = 4  # parts of a sum over many examples; a constant, so that results do not depend on the number of cores


class Standardization:
    """Attributes and targets with mean zero and unit variance: their counts, and the way back to original units."""

    def __init__(self, summary: Summary, total: float):
        self.summary, self.spreads, self.target_spreads = summary, summary.spreads, summary.target_spreads
        self.n_attributes, self.n_outputs = summary.means.size, summary.target_means.size
        self.total = total  # the sum of the examples' weights
        self.counts = np.concatenate([summary.counts, np.full(self.n_outputs, total)])

    def weights(self, standardized: np.ndarray) -> np.ndarray:
        """Weights in the original units of attributes and targets; zero for attributes whose scale is unknown."""
        return self.summary.known[:, None] * standardized / self.spreads[:, None] * self.target_spreads


class StandardizedCells(Standardization, OnePart):
    """Standardized cells, short examples first; sums over many examples have ``n_parts`` parts, on all cores."""

    def __init__(self, cells: Cells, summary: Summary, n_parts: int = PARTS):
        super().__init__(summary, float(cells.weights.sum()))
        sizes = np.diff(cells.starts)
        self.places = np.arange(cells.n_examples)  # the new position of each example
        if np.any(np.diff(sizes) < 0):  # sort, since kernels process examples of equal length together
            order = np.argsort(sizes, kind="stable")
            self.places[order] = np.arange(order.size)
            cells = cells.take(order)
        values = cells.values - summary.means[cells.attributes]
        values /= self.spreads[cells.attributes]  # in place, since there may be very many cells
        targets = (cells.targets - summary.target_means) / self.target_spreads
        self.looks = Looks(cells.starts, cells.attributes, values, targets, cells.weights)
        self.n_examples, self.n_parts = cells.n_examples, n_parts
        self.rows = np.diff(cells.starts) + cells.n_outputs  # cells and targets of each example
        self._blocks: dict[int, Block] = {}

    def __sizeof__(self) -> int:
        """Size in bytes, by which schedulers such as Dask's decide what to move and what to write to disk."""
        return object.__sizeof__(self) + sum(of.nbytes for of in (*self.looks, self.places, self.rows))

    def in_parts(self, task: Callable, first: int = 0, last: int | None = None) -> list:
        """The results of ``task(first, last)`` for parts of the examples, or of some of them, on all cores."""
        last = self.n_examples if last is None else last
        if self.n_parts == 1 or self.looks.starts[last] - self.looks.starts[first] < WORTH_THREADS:
            return [task(first, last)] if first < last else []
        ends = np.linspace(first, last, self.n_parts + 1).astype(int)
        parts = [(a, b) for a, b in pairwise(ends) if a < b]
        return list(self._pool.map(lambda part: task(*part), parts))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads that live as long as these cells, since starting them for each of many short calls takes longer."""
        return ThreadPoolExecutor(os.cpu_count())

    def up_to(self, rows: float) -> int:
        """The number of examples that have at most this many cells and targets; they come first."""
        return int(np.searchsorted(self.rows, rows, side="right"))

    def block(self, last: int) -> Block:
        """Scratch space for one part of the examples before ``last``."""
        if last not in self._blocks:
            self._blocks[last] = new_block(int(self.rows[last - 1]))
        return self._blocks[last]


def standardize(cells: Cells, summary: Summary) -> StandardizedCells:
    """Cells standardized by this summary: here, or on the machines that hold their parts."""
    return StandardizedCells(cells, summary) if isinstance(cells, Cells) else cells.standardized(summary)


def nth_iterate(iterates: Iterator, n: int):
    """The n-th of a sequence of iterates."""
    return next(islice(iterates, n - 1, None))
