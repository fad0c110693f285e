"""Examples that share a query are not independent: standard errors go by blocks of them."""

import numpy as np

from sparing.cells import Cells

FEWEST = 4  # blocks that can be held out in turn; with fewer, examples are taken for independent


def block_numbers(*parts: Cells) -> np.ndarray | None:
    """The number of each example's block, 0, 1, ...; None where examples go one by one, or blocks are too few.

    The cells are parts of one store.
    """
    if parts[0].blocks is None:
        return None
    found, numbers = np.unique(np.concatenate([cells.blocks for cells in parts]), return_inverse=True)
    return numbers if found.size >= FEWEST else None


def standard_error(values: np.ndarray, blocks: np.ndarray | None = None) -> float:
    """Of the mean of values, one per example: by the sums over blocks, where examples of a block share a query.

    >>> values = np.array([1.0, 1.0, 3.0, 3.0])
    >>> float(standard_error(values)), round(float(standard_error(values, np.array([0, 0, 1, 1]))), 6)
    (0.5, 1.0)
    """
    if blocks is None:
        return values.std() / np.sqrt(values.size)
    sums = np.bincount(blocks, weights=values - values.mean())
    n = np.unique(blocks).size
    return np.sqrt(np.sum(sums**2) * n / max(n - 1, 1)) / values.size
