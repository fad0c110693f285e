"""Does solver="auto" of SketchedRidge choose well between a sketch and a Cholesky factor?

    python benchmarks/sketched_choice.py [--rounds 3] [--values 5e7] [--operations 2e11] [--rows 4000,8000]

Dense rows of many shapes, with eigenvalues i^-power from flat to steep and a ridge of 1e-5 n. All three solvers are
fitted alternately, round by round, and the least processor time of each counts; set OPENBLAS_NUM_THREADS=1, because
waiting threads are counted, too. Each round begins with another solver: the one that always followed a long fit by a
sketch, which leaves no memory at hand, took up to 1.4 times as long. The last column is the time of "auto" relative to
the better of the other two. Problems that take less than 0.1 s are left out of the summary. Prints Markdown.
"""

import argparse
from itertools import product
from time import process_time

import numpy as np

from sparing import SketchedRidge

ROWS = 1_000, 2_000, 4_000, 8_000, 16_000, 50_000
COLUMNS = 200, 1_200, 2_000, 3_000, 4_000, 8_000
POWERS = 0.0, 1.0, 2.0, 4.0  # eigenvalues fall as i^-power
SOLVERS = "cholesky", "sketch", "auto"
MATTERS = 0.1  # seconds


def make(n, d, power):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** (-power / 2)
    return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)


def measure(X, y, rounds):
    """Least seconds by solver, and the sketch that each made."""
    models = {name: SketchedRidge(1e-5 * len(X), solver=name, random_state=0) for name in SOLVERS}
    seconds = dict.fromkeys(models, np.inf)
    for turn in range(rounds):
        for at in range(len(SOLVERS)):
            name = SOLVERS[(at + turn) % len(SOLVERS)]
            start = process_time()
            models[name].fit(X, y)
            seconds[name] = min(seconds[name], process_time() - start)
    return seconds, models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--values", type=float, default=5e7, help="of the largest matrix")
    parser.add_argument("--operations", type=float, default=2e11, help="of the largest Cholesky factor")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="the numbers of rows to measure")
    options = parser.parse_args()
    print("| rows | columns | power | dimension | sketch, steps | sketch / Cholesky | auto takes | auto / better |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    worst = 0.0
    for n, d, power in product(map(int, options.rows.split(",")), COLUMNS, POWERS):
        if n * d > options.values or n * d * min(n, d) > options.operations:
            continue
        seconds, models = measure(*make(n, d, power), options.rounds)
        better = min(seconds["cholesky"], seconds["sketch"])
        ratio = seconds["auto"] / better
        worst = max(worst, ratio if better >= MATTERS else 0.0)
        sketched, auto = models["sketch"], models["auto"]
        print(
            f"| {n:,} | {d:,} | {power:g} | {sketched.effective_dimension_:.0f} | "
            f"{sketched.sketch_size_:,}, {sketched.n_iter_} | {seconds['sketch'] / seconds['cholesky']:.2f} | "
            f"{'sketch' if auto.sketch_size_ else 'Cholesky'} | {ratio:.2f}{'' if better >= MATTERS else ' (short)'} |",
            flush=True,
        )
    print(f"\nLargest ratio where the better one takes {MATTERS} s or more: {worst:.2f}")


if __name__ == "__main__":
    main()
