"""How fast keeping learners are: buying compared with reading, an EM iteration compared with a matrix product.

    python benchmarks/keeping_speed.py [--quick]

Buying: rows of 1,000 attributes, 5 looks each, stored as cells; compared with a compiled loop that only reads the same
number of random cells of the same matrix. EM: one iteration at rank 20, compared with a matrix product with as many
floating-point operations as a textbook iteration takes (ours takes fewer), both on all cores. Prints ratios of the best
times; both sides are timed alternately.
"""

import argparse
from time import perf_counter, sleep

import numpy as np
from speed import make_matrix, read_cells

from sparing.learners import PairwiseMoments
from sparing.linalg.threads import one_blas_thread
from sparing.models.em import StandardizedCells
from sparing.models.factor import em_step, initial_factors
from sparing.models.factor_gradients import factor_gradients
from sparing.models.summary import summarize

LOOKS, RANK = 5, 20
PAUSE = 0.2  # seconds: threads of a matrix product go on waiting for work, on a core of ours, for some time


def best_in_turn(actions, rounds):
    """The shortest time of each."""
    times = np.full((rounds, len(actions)), np.inf)
    for at in range(rounds):
        for which, action in enumerate(actions):
            sleep(PAUSE)
            start = perf_counter()
            action()
            times[at, which] = perf_counter() - start
    return times[1:].min(axis=0)  # the first round compiles


def bought(X, y):
    """A learner that has bought of all rows, and has not solved yet."""
    return PairwiseMoments(X.shape[1], budget=LOOKS, design="uniform").run(X, y)


def operations(data) -> float:
    """Of a textbook round of EM: per example of n cells and targets, its Gram matrix, whitening, E[z z^T], its sums."""
    n = np.diff(data.looks.starts) + data.n_outputs
    gram = whiten = n * (n + 1.0) * RANK
    moments = 2.0 * (n + 1) * RANK**2
    sums = n * RANK * (RANK + 1) / 2.0
    return float(np.sum(gram + whiten + moments + sums))


def measure_rounds(X, y):
    """Print the ratio for one matrix."""
    cells = bought(X, y).bought
    data = StandardizedCells(cells, summarize(cells))
    factors = initial_factors(cells, data, RANK)
    size = round((operations(data) / 2.0) ** (1 / 3))  # a product of two such squares takes 2 size³ operations
    square = np.random.default_rng(0).random((size, size))

    def em_round():
        with one_blas_thread(True):  # as learners do
            em_step(data, factors, factor_gradients(data, factors))

    product, em = best_in_turn([lambda: square @ square, em_round], 30)
    what = f"one round of EM, {len(cells):,} cells of {X.shape[1]} attributes, rank {RANK}"
    print(f"{what}: {em / product:.1f} times a matrix product as long as a textbook round")


def main():
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    rows = 20_000 if parser.parse_args().quick else 200_000
    X, y = make_matrix(rows, 1_000)
    reads, buying = best_in_turn([lambda: read_cells(X, LOOKS, 0), lambda: bought(X, y)], 5)
    print(f"{rows:,} tells of {LOOKS} cells: {buying / reads:.1f} times the bare reads")
    for d in (50, 200, 1_000):
        measure_rounds(np.ascontiguousarray(X[:, :d]), y)


if __name__ == "__main__":
    main()
