"""Standard errors for blocks of examples: examples that share a query are not independent."""

import numpy as np

from sparing.cells import Cells

FEWEST_BLOCKS = 4  # with fewer blocks than folds, examples are treated as independent


def block_numbers(*parts: Cells) -> np.ndarray | None:
    """The number of each example's block, 0, 1, ...; None if there are no blocks, or too few of them.

    Several stores of cells are parts of one data set.
    """
    if parts[0].blocks is None:
        return None
    found, numbers = np.unique(np.concatenate([cells.blocks for cells in parts]), return_inverse=True)
    return numbers if found.size >= FEWEST_BLOCKS else None


def standard_error(values: np.ndarray, blocks: np.ndarray | None = None) -> float:
    """The standard error of the mean of values, one per example; with ``blocks``, clustered by block.

    >>> values = np.array([1.0, 1.0, 3.0, 3.0])
    >>> float(standard_error(values)), round(float(standard_error(values, np.array([0, 0, 1, 1]))), 6)
    (0.5, 1.0)
    """
    if blocks is None:
        return values.std() / np.sqrt(values.size)
    sums = np.bincount(blocks, weights=values - values.mean())
    n = np.unique(blocks).size
    return np.sqrt(np.sum(sums**2) * n / max(n - 1, 1)) / values.size
