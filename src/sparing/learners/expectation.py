"""Expectation-maximisation on bought cells: what its models share."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np

from sparing.cells import Cells
from sparing.geometry.cells import Described
from sparing.learners.choice import Candidate
from sparing.learners.pairwise import FRACTIONS, lasso_weights

STOPS = (5, 10, 20, 40)  # rounds after which a model is a candidate
PRIOR = 4.0  # imagined examples without any common factor, that hold loadings down
WORTH_THREADS = 10_000  # cells, from which threads pay
PARTS = 4  # examples are summed in as many parts, whatever the number of cores: so the result does not depend on it


class Standard:
    """Cells with attributes and targets centred and of unit variance, and the way back."""

    def __init__(self, cells: Cells, seen: Described):
        self.units = np.sqrt(np.maximum(seen.variances, np.finfo(float).tiny))
        self.target_units = np.sqrt(np.where(seen.target_variances > 0, seen.target_variances, 1.0))
        self.starts, self.attributes = cells.starts, cells.attributes
        self.values = (cells.values - seen.means[self.attributes]) / self.units[self.attributes]
        self.targets = (cells.targets - seen.target_means) / self.target_units
        self.counts = np.concatenate([seen.counts, np.full(cells.n_outputs, cells.n_examples)])
        squares = np.bincount(self.attributes, weights=self.values**2, minlength=cells.n_attributes)
        self.squares = np.concatenate([squares, np.sum(self.targets**2, axis=0)])
        self.most = int(np.diff(self.starts).max(initial=0))
        self.n_attributes, self.n_outputs = cells.n_attributes, cells.n_outputs

    def weights(self, standard: np.ndarray) -> np.ndarray:
        """Weights for attributes and targets as they are."""
        return standard / self.units[:, None] * self.target_units

    def in_parts(self, task: Callable) -> list:
        """``task(first, last)`` over parts of the examples, on all cores."""
        ends = np.linspace(0, self.starts.size - 1, PARTS + 1).astype(int)
        if len(self.values) < WORTH_THREADS:
            return list(map(task, ends[:-1], ends[1:]))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(task, ends[:-1], ends[1:]))


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
