"""Whether a sketch is likely to cost less than a Cholesky factor of a dense matrix.

Costs are counted in floating-point operations of matrix products. A pass over A is limited by memory bandwidth;
``PASS`` is its equivalent in such operations. ``benchmarks/sketched_choice.py`` measures the quality of the choice.
"""

from sparing.geometry.leverage import FIRST_SIZE, GROWTH

STEPS = 14  # conjugate gradient steps with a sketch at the default tolerance
PASS = 40  # cost of a step per value that it reads
EXTRA_TARGET = 10  # additional cost per target beyond the first
SCORES = 75  # cost per value of A of one round of leverage scores
GAIN = 0.9  # a sketch must cost less than this fraction of a Cholesky factor


def sketch_pays(n: int, d: int, n_rows: float, n_targets: int = 1, n_ridges: int = 1) -> bool:
    """Whether a sketch of ``n_rows`` rows of an n by d matrix is likely to be faster than a Cholesky factor.

    Several ridges share the sketch, or the Gram matrix; each takes its own steps, or its own factor.

    >>> sketch_pays(16_000, 3000, n_rows=1500), sketch_pays(16_000, 3000, n_rows=12_000), sketch_pays(5000, 500, 50)
    (True, False, False)
    """
    values = n * d + (2 * n_rows * d if n_rows < d else d**2)  # read in a step: A, and the sketch or its factor
    steps = n_ridges * STEPS * (PASS + EXTRA_TARGET * (n_targets - 1)) * values
    cost, size = steps + _gram(n_rows, d, n_ridges), FIRST_SIZE
    while True:
        cost += _gram(size, d) + SCORES * n * d
        size *= GROWTH
        if n_rows <= size:
            return cost <= GAIN * _gram(n, d, n_ridges)


def _gram(m: float, d: int, n_factors: int = 1) -> float:
    """Operations to form the Gram matrix of an m by d matrix on its smaller side, and to factor it, once per ridge."""
    smaller = min(m, d)
    return smaller * m * d + n_factors * smaller**3 / 3
