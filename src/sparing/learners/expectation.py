"""Expectation-maximisation on bought cells: what its models share."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np

from sparing.cells import Cells
from sparing.geometry.cells import Described
from sparing.kernels.sweep import Looks
from sparing.learners.choice import Candidate
from sparing.learners.pairwise import FRACTIONS, lasso_weights

STOPS = (10, 20, 40)  # rounds after which a model is a candidate
PRIOR = 4.0  # imagined examples without any common factor, that hold loadings down
WORTH_THREADS = 10_000  # cells, from which threads pay
PARTS = 4  # examples are summed in as many parts, whatever the number of cores: so the result does not depend on it


class Standard:
    """Cells with attributes and targets centred and of unit variance, and the way back."""

    def __init__(self, cells: Cells, seen: Described):
        self.units = np.sqrt(np.maximum(seen.variances, np.finfo(float).tiny))
        self.target_units = np.sqrt(np.where(seen.target_variances > 0, seen.target_variances, 1.0))
        values = (cells.values - seen.means[cells.attributes]) / self.units[cells.attributes]
        targets = (cells.targets - seen.target_means) / self.target_units
        self.looks = Looks(cells.starts, cells.attributes, values, targets)
        self.counts = np.concatenate([seen.counts, np.full(cells.n_outputs, cells.n_examples)])
        self.n_examples, self.n_attributes, self.n_outputs = cells.n_examples, cells.n_attributes, cells.n_outputs
        self.most = int(np.diff(cells.starts).max(initial=0)) + cells.n_outputs  # cells and targets of an example

    def weights(self, standard: np.ndarray) -> np.ndarray:
        """Weights for attributes and targets as they are."""
        return standard / self.units[:, None] * self.target_units

    def in_parts(self, task: Callable) -> list:
        """``task(first, last)`` over parts of the examples, on all cores."""
        ends = np.linspace(0, self.n_examples, PARTS + 1).astype(int)
        if len(self.looks.values) < WORTH_THREADS:
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
