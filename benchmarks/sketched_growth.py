"""How the time of SketchedRidge grows with rows, columns and the effective dimension, on a log-log picture.

    python benchmarks/sketched_growth.py [growth.png]    # about a minute, 1 GB; the picture needs matplotlib

Dense rows with eigenvalues 1/i^2. Along each line one of n, d and the ridge changes. Theory predicts passes over the
data, so a slope of 1 in n and d; and a sketch of O(d_lambda^2 d), so between 0 and 2 in the effective dimension. The
median processor time of several rounds counts; set OPENBLAS_NUM_THREADS=1, because waiting threads are counted, too.
Prints Markdown.
"""

import sys
from time import process_time

import numpy as np

from sparing.solvers import solve_ridge

LINES = {
    "n": [(n, 1_000, 1e-4) for n in (5_000, 10_000, 20_000, 40_000)],
    "d": [(10_000, d, 1e-4) for d in (700, 1_400, 2_800, 5_600)],
    "effective dimension": [(10_000, 3_000, ridge) for ridge in (1e-3, 3e-4, 1e-4, 3e-5)],
}
ROUNDS = 3


def make(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) / np.arange(1, d + 1)
    return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)


def measure(n, d, ridge) -> tuple[float, object]:
    X, y = make(n, d)
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        solution = solve_ridge(X, y, ridge * n, method="sketch", random_state=0)
        times.append(process_time() - start)
    return float(np.median(times)), solution


def main() -> None:
    curves = {}
    print("| line | value | time / first | steps | rows |\n| --- | --- | --- | --- | --- |")
    for name, points in LINES.items():
        values, times = [], []
        for n, d, ridge in points:
            took, solution = measure(n, d, ridge)
            values.append({"n": n, "d": d}.get(name, solution.effective_dimension))
            times.append(took)
            row = f"{values[-1]:,.0f} | {took / times[0]:.2f} | {solution.iterations} | {solution.sketch_size}"
            print(f"| {name} | {row} |", flush=True)
        curves[name] = np.array(values), np.array(times) / times[0]
        slope = np.polyfit(np.log(curves[name][0]), np.log(times), 1)[0]
        print(f"| {name} | slope | {slope:.2f} | | |", flush=True)
    if len(sys.argv) > 1:
        draw(curves, sys.argv[1])


def draw(curves, path) -> None:
    from matplotlib.figure import Figure

    axes = (figure := Figure(layout="constrained")).add_subplot(xscale="log", yscale="log")
    for name, (values, ratios) in curves.items():
        axes.plot(values / values[0], ratios, marker="o", label=name)
    ticks = [1, 2, 4, 8]
    axes.plot(ticks, ticks, color="grey", linestyle=":", label="slope 1")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, labels=[f"{tick}×" for tick in ticks])
        axis.set_ticks([], minor=True)
    axes.set(xlabel="growth of the quantity", ylabel="growth of the time")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
