"""Is the ridge of best_ridge the fastest one, and does proximal_point lose time by choosing it?

    python benchmarks/larger_ridge.py [--rounds 3] [--most 30] [name ...]

For each problem, proximal_point runs at every ratio 1, 2, 4, ... of the larger ridge to the ridge, and with its
default, which chooses one. Runs alternate, round by round, and the least processor time of each counts; set
OPENBLAS_NUM_THREADS=1, because waiting threads are counted, too. Ratios are tried until one takes 3 times as long as
the best so far, or the ridge itself has taken more than --most seconds. "Time at chosen" is relative to the fastest
ratio (aim: at most 2), "default" is the whole time of the default, including the choice (aim: at most 1.5). "Tested" is
the ratio that method="tested", the algorithm of Theorem 8, returns. Prints Markdown.
"""

import argparse
from time import process_time

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from sparing.geometry import best_ridge
from sparing.solvers import proximal_point

RATIOS = [2.0**j for j in range(13)]


def dense(n, d, power, *, coherent=False):
    """Normal rows whose covariance has eigenvalues i^-power, or rows a few of which carry everything."""

    def make():
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d)) * np.sqrt(np.arange(1.0, d + 1) ** -power / n)
        if coherent:
            X *= 0.1
            X[rng.choice(n, d, replace=False), np.arange(d)] += np.arange(1.0, d + 1) ** (-power / 2)
        return X, X @ rng.standard_normal(d) + rng.standard_normal(n) / np.sqrt(n)

    return make, False


def counted(n, d, per_row):
    """Sparse rows whose columns are about as frequent as the words of a language."""

    def make():
        rng = np.random.default_rng(0)
        columns = np.minimum(d ** rng.random((n, per_row)), d - 1).astype(int)
        entries = rng.standard_normal(n * per_row), (np.repeat(np.arange(n), per_row), columns.ravel())
        X = sparse.csr_array(entries, shape=(n, d))
        return X, X @ rng.standard_normal(d) + rng.standard_normal(n)

    return make, False


def kernel(function, n, gamma):
    def make():
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 6))
        return function(X, gamma=gamma), np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(n)

    return make, True


PROBLEMS = {
    "dense 1,000 × 200, 1/i": (dense(1_000, 200, 1), 1e-3),
    "dense 4,000 × 400, 1/i": (dense(4_000, 400, 1), 1e-4),
    "dense 4,000 × 800, i^-1.2": (dense(4_000, 800, 1.2), 1e-3),
    "dense 20,000 × 1,000, 1/i": (dense(20_000, 1_000, 1), 1e-3),
    "dense 2,000 × 2,000, 1/i": (dense(2_000, 2_000, 1), 1e-3),
    "dense 2,000 × 2,000, i^-2": (dense(2_000, 2_000, 2), 1e-5),
    "dense 1,000 × 2,000, flat": (dense(1_000, 2_000, 0), 1.0),
    "dense 3,000 × 1,000, few rows": (dense(3_000, 1_000, 1, coherent=True), 1e-3),
    "sparse 10,000 × 3,000, 20 a row": (counted(10_000, 3_000, 20), 30.0),
    "sparse 3,000 × 3,000, 20 a row": (counted(3_000, 3_000, 20), 10.0),
    "the same, smaller ridge": (counted(3_000, 3_000, 20), 1.0),
    "sparse 20,000 × 3,000, 5 a row": (counted(20_000, 3_000, 5), 10.0),
    "sparse 3,000 × 20,000, 30 a row": (counted(3_000, 20_000, 30), 1.0),
    "sparse 50,000 × 500, 50 a row": (counted(50_000, 500, 50), 1.0),
    "kernel RBF, 3,000": (kernel(rbf_kernel, 3_000, 0.1), 0.1),
    "kernel Laplacian, 3,000": (kernel(laplacian_kernel, 3_000, 0.1), 0.1),
    "kernel Laplacian, 2,000, small ridge": (kernel(laplacian_kernel, 2_000, 0.05), 0.01),
}


def seconds(A, y, ridge, gram, larger=None):
    start = process_time()
    solution = proximal_point(A, y, ridge, larger=larger, gram=gram, tol=1e-8, max_iter=100_000, random_state=0)
    return process_time() - start if solution.converged else np.inf


def measure(A, y, ridge, gram, rounds, most):
    """Least seconds by ratio and of the default, and the ratio that it chooses."""
    times: dict[float, float] = {}
    chosen = best_ridge(A, ridge, random_state=0, gram=gram) / ridge
    seconds(A, y, ridge, gram)  # the first call of anything takes longer
    for ratio in RATIOS:
        times[ratio] = seconds(A, y, ridge, gram, ratio * ridge)
        if times[ratio] > 3 * min(times.values()) or times[1.0] > most:
            break
    whole = seconds(A, y, ridge, gram)
    if chosen not in times:
        times[chosen] = seconds(A, y, ridge, gram, chosen * ridge)
    close = [ratio for ratio, taken in times.items() if ratio == chosen or taken <= 2 * min(times.values())]
    for _ in range(rounds - 1):
        times |= {ratio: min(times[ratio], seconds(A, y, ridge, gram, ratio * ridge)) for ratio in close}
        whole = min(whole, seconds(A, y, ridge, gram))
    return times, whole, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of names of problems; all if there are none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=30.0, help="seconds")
    options = parser.parse_args()
    print("| problem | λ′ = λ | fastest ratio | chosen | tested | time at chosen / fastest | default / fastest |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    worst = np.zeros(2)
    for name, ((make, gram), ridge) in PROBLEMS.items():
        if options.names and not name.startswith(tuple(options.names)):
            continue
        A, y = make()
        times, whole, chosen = measure(A, y, ridge, gram, options.rounds, options.most)
        fastest = min(times, key=times.__getitem__)
        tested = best_ridge(A, ridge, random_state=0, method="tested", gram=gram) / ridge
        figures = np.array([times[chosen], whole]) / times[fastest]
        worst = np.maximum(worst, figures)
        print(
            f"| {name} | {times[1.0]:.2f} s | {fastest:g}: {times[fastest]:.2f} s | {chosen:g} | {tested:g} | "
            f"{figures[0]:.2f} | {figures[1]:.2f} |",
            flush=True,
        )
    print(f"\nLargest: chosen {worst[0]:.2f}, default {worst[1]:.2f}")


if __name__ == "__main__":
    main()
