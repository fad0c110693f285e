"""Expectation-maximisation on bought cells: what its models share."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise

import numpy as np

from sparing.cells import Cells
from sparing.kernels.sweep import Block, Looks, new_block
from sparing.models.pairwise import FRACTIONS, lasso_weights
from sparing.models.selection import Candidate
from sparing.models.summary import Described

STOPS = (10, 20, 40)  # rounds after which a model is a candidate
PRIOR = 4.0  # imagined examples without any common factor, that hold loadings down
WORTH_THREADS = 10_000  # cells, from which threads pay
PARTS = 4  # examples are summed in as many parts, whatever the number of cores, on which no result depends


class Standard:
    """Cells with attributes and targets centred and of unit variance, short examples first, and the way back."""

    def __init__(self, cells: Cells, seen: Described):
        sizes = np.diff(cells.starts)
        if np.any(np.diff(sizes) < 0):  # those side by side in a block should be of a length
            cells = cells.take(np.argsort(sizes, kind="stable"))
        self.units = np.sqrt(np.maximum(seen.variances, np.finfo(float).tiny))
        self.target_units = np.sqrt(np.where(seen.target_variances > 0, seen.target_variances, 1.0))
        values = (cells.values - seen.means[cells.attributes]) / self.units[cells.attributes]
        targets = (cells.targets - seen.target_means) / self.target_units
        self.ranges = seen.ranges / self.units
        self.looks = Looks(cells.starts, cells.attributes, values, targets)
        self.counts = np.concatenate([seen.counts, np.full(cells.n_outputs, cells.n_examples)])
        self.n_examples, self.n_attributes, self.n_outputs = cells.n_examples, cells.n_attributes, cells.n_outputs
        self.rows = np.diff(cells.starts) + cells.n_outputs  # cells and targets of each example

    def weights(self, standard: np.ndarray) -> np.ndarray:
        """Weights for attributes and targets as they are."""
        return standard / self.units[:, None] * self.target_units

    def in_parts(self, task: Callable, first: int = 0, last: int | None = None) -> list:
        """``task(first, last)`` over parts of the examples, or of some of them, on all cores."""
        last = self.n_examples if last is None else last
        ends = np.linspace(first, last, PARTS + 1).astype(int)
        parts = [(a, b) for a, b in pairwise(ends) if a < b]
        if self.looks.starts[last] - self.looks.starts[first] < WORTH_THREADS:
            return [task(*part) for part in parts]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda part: task(*part), parts))

    def up_to(self, rows: float) -> int:
        """How many examples have no more cells and targets: the first ones."""
        return int(np.searchsorted(self.rows, rows, side="right"))

    def block(self, last: int) -> Block:
        """Room for the examples before this one."""
        return new_block(int(self.rows[last - 1]))


def lasso_candidates(name: str, data: Standard, covariance: np.ndarray) -> list[Candidate]:
    """Candidates along the lasso path on a covariance of attributes and targets."""
    d = data.n_attributes
    paths = lasso_weights(covariance[:d, :d], covariance[:d, d:])
    return [
        Candidate(name, f"lasso {fraction:g} of the largest penalty", data.weights(path))
        for fraction, path in zip(FRACTIONS, paths, strict=True)
    ]


def after(rounds: Iterator, n: int):
    """What the n-th round gives."""
    return next(islice(rounds, n - 1, None))
