"""What the models that are fitted by expectation-maximisation (EM) on bought cells have in common."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice, pairwise

import numpy as np

from sparing.cells import Cells
from sparing.kernels.sweep import Block, Looks, new_block
from sparing.models.summary import Summary

WORTH_THREADS = 10_000  # cells, from which threads pay
PARTS = 4  # many examples are summed in as many parts, whatever the number of cores, on which no result depends


class StandardizedCells:
    """Cells with attributes and targets centred and of unit variance, short examples first, and the way back."""

    def __init__(self, cells: Cells, summary: Summary):
        sizes = np.diff(cells.starts)
        self.places = np.arange(cells.n_examples)  # where each example went
        if np.any(np.diff(sizes) < 0):  # examples of equal length are processed side by side
            order = np.argsort(sizes, kind="stable")
            self.places[order] = np.arange(order.size)
            cells = cells.take(order)
        self.summary, self.spreads, self.target_spreads = summary, summary.spreads, summary.target_spreads
        values = (cells.values - summary.means[cells.attributes]) / self.spreads[cells.attributes]
        targets = (cells.targets - summary.target_means) / self.target_spreads
        weights = cells.weights
        self.looks = Looks(cells.starts, cells.attributes, values, targets, weights)
        self.total = float(weights.sum())  # the number of examples, where none has another weight than one
        self.counts = np.concatenate([summary.counts, np.full(cells.n_outputs, self.total)])
        self.n_examples, self.n_attributes, self.n_outputs = cells.n_examples, cells.n_attributes, cells.n_outputs
        self.rows = np.diff(cells.starts) + cells.n_outputs  # cells and targets of each example
        self._blocks: dict[int, Block] = {}

    def weights(self, standardized: np.ndarray) -> np.ndarray:
        """Weights in the attributes' and targets' own units, of attributes whose scale is known."""
        return self.summary.known[:, None] * standardized / self.spreads[:, None] * self.target_spreads

    def in_parts(self, task: Callable, first: int = 0, last: int | None = None) -> list:
        """``task(first, last)`` over parts of the examples, or of some of them, on all cores."""
        last = self.n_examples if last is None else last
        if self.looks.starts[last] - self.looks.starts[first] < WORTH_THREADS:
            return [task(first, last)] if first < last else []
        ends = np.linspace(first, last, PARTS + 1).astype(int)
        parts = [(a, b) for a, b in pairwise(ends) if a < b]
        return list(self._pool.map(lambda part: task(*part), parts))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads that live as long as these cells: starting them anew for each of many short calls takes longer."""
        return ThreadPoolExecutor(os.cpu_count())

    def up_to(self, rows: float) -> int:
        """How many examples, the first ones, have no more cells and targets than this."""
        return int(np.searchsorted(self.rows, rows, side="right"))

    def block(self, last: int) -> Block:
        """Scratch space for the examples before this one, which no two parts of them share."""
        if last not in self._blocks:
            self._blocks[last] = new_block(int(self.rows[last - 1]))
        return self._blocks[last]


def nth_iterate(iterates: Iterator, n: int):
    """The n-th of a sequence of iterates."""
    return next(islice(iterates, n - 1, None))
