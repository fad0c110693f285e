"""Whether a sketch is likely to cost less than a Cholesky factor of a dense matrix.

Costs are counted in floating-point operations of large matrix products. What is limited by memory bandwidth, or is too
small to run at full speed, counts as the equivalent number of such operations; the constants were measured on random
shapes and spectra. ``benchmarks/sketched_choice.py`` measures the quality of the choice on others.
"""

from sparing.geometry.leverage import FIRST_SIZE, GROWTH, PRECONDITIONER, sketch_size

STEPS, FLAT_STEPS = 13, 9  # conjugate gradient steps with a sketch at the default tolerance; more for flat spectra
NEXT_RIDGE = 0.35  # steps of each further ridge of a path, which begins near its solution, over those of the first
PASS = 42  # cost of a step per value that it reads
EXTRA_TARGET = 10  # additional cost per target beyond the first
SCORES = 100  # cost per value of A of one round of leverage scores
INFLATED = 1.2  # scores from a smaller sketch are too high, and call for more rows
NARROW = 100  # cost of a Gram matrix per value, beyond its operations
FACTOR = 2.5  # cost of an operation of a factorisation
EIGENVALUE = 10  # cost of the eigenvalues of m rows, over m^3
GAIN = 0.95  # a sketch must cost less than this fraction of a Cholesky factor
SHARE = 0.015  # cost of an estimate of the dimension as a fraction of that of the cheapest solver
FEWEST, MOST = 32, 512  # rows that such an estimate is made from
VISIBLE = 0.8  # the largest dimension that m rows show, over m


def sketch_pays(n: int, d: int, dimension: float, n_targets: int = 1, n_ridges: int = 1) -> bool:
    """Whether a sketch is likely to be faster than a Cholesky factor of an n by d matrix of this effective dimension.

    Several ridges share the sketch, or the Gram matrix; each takes its own steps, or its own factor.

    >>> sketch_pays(16_000, 3000, dimension=400), sketch_pays(16_000, 3000, 2500), sketch_pays(5000, 200, 20)
    (True, False, False)
    """
    return sketch_cost(n, d, dimension, n_targets, n_ridges) <= GAIN * gram_cost(n, d, n_ridges)


def largest_dimension(n: int, d: int, n_targets: int = 1, n_ridges: int = 1) -> int:
    """The largest effective dimension for which a sketch pays; 0 if the shape alone speaks against it.

    >>> largest_dimension(5000, 200), 400 < largest_dimension(16_000, 3000) < 2500
    (0, True)
    """
    low, high = 0, min(n, d) + 1
    while high - low > 1:
        middle = (low + high) // 2
        pays = sketch_pays(n, d, middle, n_targets, n_ridges)
        low, high = (middle, high) if pays else (low, middle)
    return low


def sample_rows(dimension: float, n: int, d: int, n_targets: int = 1, n_ridges: int = 1) -> int:
    """The number of rows that show whether the effective dimension is above this one, within a share of the cost.

    >>> sample_rows(100, 50_000, 8000), sample_rows(100, 1000, 1000)
    (125, 58)
    """
    most = SHARE * min(gram_cost(n, d, n_ridges), sketch_cost(n, d, 1, n_targets, n_ridges))
    affordable = FEWEST
    while affordable < MOST and gram_cost(affordable + 1, d) + EIGENVALUE * affordable**3 <= most:
        affordable += 1
    return min(n, max(FEWEST, min(affordable, int(dimension / VISIBLE))))


def gram_cost(m: float, d: int, n_factors: int = 1) -> float:
    """To form the Gram matrix of an m by d matrix on its smaller side, and to factor it, once per ridge."""
    smaller = min(m, d)
    return (smaller + NARROW) * m * d + n_factors * FACTOR * smaller**3 / 3


def sketch_cost(n: int, d: int, dimension: float, n_targets: int = 1, n_ridges: int = 1) -> float:
    """To find leverage scores through sketches that grow, to factor the last one, and to make steps."""
    n_rows = min(n, sketch_size(dimension, PRECONDITIONER))
    values = n * d + (2 * n_rows * d if n_rows < d else d**2)  # read in a step: A, and the sketch or its factor
    n_steps = (1 + NEXT_RIDGE * (n_ridges - 1)) * (STEPS + FLAT_STEPS * (dimension / min(n, d)) ** 2)
    cost = n_steps * (PASS + EXTRA_TARGET * (n_targets - 1)) * values + gram_cost(n_rows, d, n_ridges)
    size = FIRST_SIZE
    while True:
        cost += gram_cost(min(n, size), d) + SCORES * n * d
        size *= GROWTH
        if size >= min(n, INFLATED * n_rows):
            return cost
