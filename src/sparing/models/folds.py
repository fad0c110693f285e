"""Which examples are held out, and which of very many are enough to choose by."""

import numpy as np

from sparing.cells import Cells
from sparing.models.blocks import block_numbers

FOLDS = 4  # of cross-validation
JUDGES = 20_000  # examples at most by which candidates are compared


def folds(cells: Cells, n: int = FOLDS) -> np.ndarray:
    """The fold of each example. Blocks are in one fold; else those that are left of very many examples take turns.

    It is the same for an example among all and among those that are left of very many.
    """
    if cells.blocks is not None and block_numbers(cells) is not None:
        return cells.blocks % n
    return np.arange(cells.n_examples) // _spacing(cells.n_examples, JUDGES) % n


def thinned(cells: Cells, most: int = JUDGES) -> Cells:
    """As many examples at most, evenly spaced."""
    return cells.every(_spacing(cells.n_examples, most))


def _spacing(n_examples: int, most: int) -> int:
    return max(-(-n_examples // most), 1)
