"""Functions that the tests run on workers, which import this module by its own name, whatever else is called tests."""

import numpy as np

from sparing.cells import Cells


def in_brackets(one, other):
    return f"({one}{other})"


def noted_chunk(path, k, n_columns):
    """Random rows, and a line in a file for every time that they are made."""
    with open(path, "a") as file:
        file.write(f"{k}\n")
    return np.random.default_rng(k).standard_normal((400, n_columns))


def cells_of(X, y):
    """The cells of the first column."""
    cells = Cells(1)
    cells.extend(np.ones(len(X), int), np.zeros(len(X), int), X[:, 0], y)
    return cells
