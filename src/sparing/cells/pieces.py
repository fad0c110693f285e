"""Passes over data: piece by piece in one place, or part by part on many machines."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

PIECE = 1 << 16  # cells that are bought or copied at once: a few megabytes
# Cells that are summed at once. Dask's workers return larger arrays to the system as soon as they are freed, and
# allocating them again takes longer than the sums: 90 ns per cell with eight times as many, 51 ns with these.
SUMMED = 1 << 13


class Piece(NamedTuple):
    """Some consecutive examples of a store, in the form that sums need."""

    starts: np.ndarray
    attributes: np.ndarray
    values: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None  # None if all weights are one

    def weighted(self, of_cells: np.ndarray) -> np.ndarray:
        """A value per cell, times the weight of its example."""
        return of_cells if self.weights is None else np.repeat(self.weights, np.diff(self.starts)) * of_cells


class OnePart:
    """Data in one place. Data of :mod:`sparing.distributed` are in many parts, and have the same methods."""

    in_one_place = True

    def summed(self, function: Callable, *arguments, combine: Callable | None = None) -> Any:
        """The sum of a function over all parts; ``combine`` adds the results of two parts."""
        return function(self, *arguments)
