"""Cells and factor models at random, and what the tests of models share."""

import numpy as np

from sparing.cells import Cells
from sparing.kernels.factor import Factors
from sparing.learners import PairwiseMoments
from sparing.models.factor import em_step
from sparing.models.factor_gradients import factor_gradients

D, OUTPUTS = 9, 2
SIZE = D + OUTPUTS


def random_factors(rank, seed=0):
    rng = np.random.default_rng(seed)
    return Factors(rng.standard_normal((SIZE, rank)), rng.uniform(0.2, 1.5, SIZE))


def random_cells(n, sizes, seed=0, n_outputs=OUTPUTS):
    rng = np.random.default_rng(seed)
    cells = Cells(D, n_outputs=n_outputs)
    for _ in range(n):
        size = rng.integers(sizes[0], sizes[1] + 1)
        cells.append(rng.permutation(D)[:size], rng.standard_normal(size), rng.standard_normal(n_outputs))
    return cells


def uniform_cells(X, y, looks, seed=0):
    """Cells of so many attributes of each row, drawn uniformly: short of whole rows, nothing is missing by value."""
    return PairwiseMoments(X.shape[1], budget=looks, design="uniform", ridge=1.0, random_state=seed).run(X, y).bought


def seen_of(cells, example):
    """Indices and values of what is known of an example, attributes and then targets."""
    here = slice(cells.starts[example], cells.starts[example + 1])
    index = np.append(cells.attributes[here], np.arange(D, D + cells.n_outputs)).astype(int)
    return index, np.append(cells.values[here], cells.targets[example])


def planted(n, d=20, rank=2, seed=0, noise=0.3):
    """Attributes and a target that two factors make, and targets without their own noise to judge by."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d + 1, rank))
    together = rng.standard_normal((n, rank)) @ loadings.T
    X = together[:, :d] + noise * rng.standard_normal((n, d))
    return X * rng.uniform(0.5, 5.0, d) + rng.normal(size=d), together[:, d] + 0.1 * rng.standard_normal(n)


def one_step(data, factors):
    return em_step(data, factors, factor_gradients(data, factors))
