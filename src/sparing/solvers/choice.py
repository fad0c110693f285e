"""Whether a sketch is likely to cost less than a Cholesky factor, by the shape of a dense matrix.

Costs are counted in operations of products of matrices. What memory limits takes longer than its operations:
``PASS`` says how many of those take as long. ``benchmarks/sketched_choice.py`` measures how well the choice does.
"""

import numpy as np

from sparing.geometry.leverage import FIRST_SIZE, GROWTH

STEPS = 14  # of conjugate gradients with a sketch, at the usual tolerance
PASS = 40  # operations that take as long as a step does per value of A
EXTRA_TARGET = 10  # the same for each target beyond the first
DIRECTIONS = 70  # operations per value of A by which a sample sharpens leverage scores
ESTIMATE = 0.1  # of the cost of a Cholesky factor, the most that one such sample may take
GAIN = 0.7  # of that cost, the most that a sketch may take as estimated here


def affordable_sketch(n: int, d: int, n_targets: int = 1) -> tuple[int, int]:
    """How many rows a sketch may have to be worth its cost, and the samples before it; 0 and 0 if none is.

    >>> affordable_sketch(1000, 100)
    (0, 0)
    >>> most, largest = affordable_sketch(16_000, 3000)
    >>> most > 3000, largest
    (True, 1024)
    """
    factor = _products(min(n, d), max(n, d))
    sizes = FIRST_SIZE * GROWTH ** np.arange(16)
    samples = _products(sizes, d) + DIRECTIONS * n * d
    tried = int(np.sum(samples <= ESTIMATE * factor))
    rows = np.unique(np.geomspace(FIRST_SIZE, max(n, FIRST_SIZE), 64).astype(int))
    descent = STEPS * (PASS + EXTRA_TARGET * (n_targets - 1)) * n * d
    worth = rows[_products(rows, d) + descent + samples[:tried].sum() <= GAIN * factor]
    return (int(worth[-1]), int(sizes[tried - 1])) if tried and worth.size else (0, 0)


def _products(m, d: int):
    """Operations to factor the products of m rows, or of d columns where those are fewer."""
    smaller = np.minimum(m, d).astype(float) if np.ndim(m) else float(min(m, d))
    return smaller * m * d + smaller**3 / 3
