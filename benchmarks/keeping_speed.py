"""How fast keeping learners are: buying compared with reading, an EM iteration compared with a matrix product.

    python benchmarks/keeping_speed.py [--quick] [--fits] [--memory]

Buying: rows of 1,000 attributes, 5 looks each, stored as cells; compared with a compiled loop that only reads the same
number of random cells of the same matrix. EM: one iteration at rank 20, compared with a matrix product with as many
floating-point operations as a textbook iteration takes (ours takes fewer), both on all cores. Prints ratios of the best
times; both sides are timed alternately. With --fits only: the processor time of BudgetRidge(5).fit, compared with that
of scikit-learn's boosted trees on the same number of values, in rows with holes. With --memory only: what that fit
holds at most beside 2,000,000 rows of 50 float32 columns, relative to those.
"""

import argparse
import tracemalloc
from time import perf_counter, process_time, sleep

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from speed import make_matrix, read_cells
from threadpoolctl import threadpool_limits

from sparing import BudgetRidge
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


def correlated(n, d):
    """Attributes of five factors, and a target that is linear but for one bend."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + rng.standard_normal((n, d))
    return X, X[:, :10].sum(axis=1) + 2.0 * np.abs(X[:, 0]) + rng.standard_normal(n)


def measure_fits(quick):
    """Print how long BudgetRidge takes, relative to boosted trees."""
    BudgetRidge(LOOKS, random_state=0).fit(*correlated(300, 12))  # compiles
    for n, d in ((500, 10), (2_000, 20), (20_000, 20), *(() if quick else ((100_000, 20), (3_000, 500)))):
        X, y = correlated(n, d)
        seen = np.argsort(np.random.default_rng(0).random(X.shape), axis=1) < LOOKS
        rows = np.where(seen, X, np.nan)
        seconds = []
        for model, values in ((BudgetRidge(LOOKS, random_state=0), X), (HistGradientBoostingRegressor(), rows)):
            start = process_time()
            with threadpool_limits(1, user_api="openmp"):  # waiting threads count as processor time
                model.fit(values, y)
            seconds.append(process_time() - start)
        ours, trees = seconds
        print(
            f"BudgetRidge, {LOOKS} of {d} columns of {n:,} rows: {ours / trees:.1f} times boosted trees ({ours:.1f} s)"
        )


def measure_memory(quick):
    """Print the largest size of arrays during a fit, relative to the data."""
    X, y = correlated(200_000 if quick else 2_000_000, 50)
    X = X.astype(np.float32)
    tracemalloc.start()
    BudgetRidge(LOOKS, random_state=0).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"BudgetRidge, {LOOKS} of 50 float32 columns of {len(X):,} rows: {peak / X.nbytes:.1f} times the data")


def main():
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--fits", action="store_true", help="compare whole fits with boosted trees")
    parser.add_argument("--memory", action="store_true", help="compare the memory of a fit with that of the data")
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.quick)
        return
    if options.fits:
        measure_fits(options.quick)
        return
    rows = 20_000 if options.quick else 200_000
    X, y = make_matrix(rows, 1_000)
    reads, buying = best_in_turn([lambda: read_cells(X, LOOKS, 0), lambda: bought(X, y)], 5)
    print(f"{rows:,} tells of {LOOKS} cells: {buying / reads:.1f} times the bare reads")
    for d in (50, 200, 1_000):
        measure_rounds(np.ascontiguousarray(X[:, :d]), y)


if __name__ == "__main__":
    main()
