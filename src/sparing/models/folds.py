"""Folds of cross-validation, and evenly spaced subsets of very many examples."""

import numpy as np

from sparing.cells import Cells
from sparing.models.blocks import block_numbers

FOLDS = 4  # of cross-validation
FEWEST = 10  # examples from which models can be compared
JUDGES = 20_000  # maximum number of held-out examples that candidates are compared on


def folds(cells: Cells, n: int = FOLDS) -> np.ndarray:
    """The fold of each example. A block lies within one fold; without blocks, examples are dealt out in turn.

    An example has the same fold among all examples as in the subset that :func:`thinned` returns.
    """
    if cells.blocks is not None and block_numbers(cells) is not None:
        return cells.blocks % n
    return np.arange(cells.n_examples) // _spacing(cells.n_examples, JUDGES) % n


def thinned(cells: Cells, most: int = JUDGES) -> Cells:
    """At most ``most`` examples, evenly spaced."""
    return cells.every(_spacing(cells.n_examples, most))


def _spacing(n_examples: int, most: int) -> int:
    return max(-(-n_examples // most), 1)
