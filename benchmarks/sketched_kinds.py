"""Steps and processor time of ridge regression by kind of sketch: by leverage, uniform, or random combinations.

    python benchmarks/sketched_kinds.py    # about a minute

Four dense matrices, three seeds each; set OPENBLAS_NUM_THREADS=1. Prints Markdown.
"""

from time import process_time

import numpy as np

from sparing.solvers import solve_ridge


def matrices(rng):
    """Name, rows and ridge."""
    yield "normal, eigenvalues 1/i², 8,192 × 1,500", rng.standard_normal((8192, 1500)) / np.arange(1, 1501), 0.08
    yield "the same, 20,000 × 2,000", rng.standard_normal((20_000, 2000)) / np.arange(1, 2001), 0.2
    spiked = 0.01 * rng.standard_normal((8192, 1500))
    spiked[rng.choice(8192, 80, replace=False)] += 100 * rng.standard_normal((80, 1500))
    yield "80 large rows among 8,192", spiked, 1.0
    yield "Student's t, 1.5 degrees of freedom", rng.standard_t(1.5, (8192, 1500)) / np.arange(1, 1501), 0.1


def main() -> None:
    rng = np.random.default_rng(0)
    print("| rows | sketch | steps | seconds |\n| --- | --- | --- | --- |")
    for name, A, ridge in matrices(rng):
        y = A @ rng.standard_normal(A.shape[1]) + rng.standard_normal(len(A))
        for sketch in ("leverage", "uniform", "srht", "auto"):
            steps, seconds = [], []
            for seed in range(3):
                start = process_time()
                solution = solve_ridge(A, y, ridge, method="sketch", sketch=sketch, random_state=seed)
                seconds.append(process_time() - start)
                steps.append(solution.iterations)
            row = f"{min(steps)} to {max(steps)} | {min(seconds):.2f} to {max(seconds):.2f}"
            print(f"| {name} | {sketch} | {row} |", flush=True)


if __name__ == "__main__":
    main()
