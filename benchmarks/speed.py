"""Time per example relative to a loop that only reads the same number of random cells.

    python benchmarks/speed.py            # some minutes, 1 GB
    python benchmarks/speed.py --quick

The loop is compiled, too. It reads the same float32 matrix, which is larger than the cache, and takes its random
positions from the learners' own generator: new ones in every round, as the learners do, so that they are not in the
cache. The learners run compiled, on all rows, alternating with the loop. The best processor time of each counts; the
median of the ratios round by round is printed, too. The last table is of ``BudgetRidge.fit``, checks of the input and
all, which reads no value that it does not buy. Prints Markdown tables.
"""

import argparse
from itertools import count
from time import thread_time

import numpy as np
from numba import njit

from sparing import BudgetRidge
from sparing.geometry import second_moments
from sparing.kernels.random import round_key, uniform
from sparing.learners import AELR, AERR, DDAELR, DDAERR

SHAPES = ((60_000, 1_000), (20_000, 10_000))  # rows enough that the call itself costs nothing
LEARNERS = (DDAERR, AERR, DDAELR, AELR)


@njit(error_model="numpy")
def read_cells(X, looks, seed):
    """The floor: as many random cells of every row, summed up so that they must be read."""
    total = 0.0
    for row in range(X.shape[0]):
        key = round_key(seed, row)
        for slot in range(looks):
            total += X[row, int(uniform(key, slot) * X.shape[1])]
    return total


def make_matrix(n_rows, n_attributes):
    """Attributes of moments that differ, though not much: looks fall everywhere."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, n_attributes), dtype=np.float32)
    X *= np.linspace(1.0, 0.5, n_attributes, dtype=np.float32)
    return X, rng.standard_normal(n_rows)


def make_learner(cls, X, budget, split):
    """The step size of the theorem, for the norm of the examples."""
    moments = second_moments(X)
    norm = float(np.sqrt(moments.sum())) if cls.penalty == "ridge" else 1.0
    known = {"second_moments": moments} if cls in (DDAERR, DDAELR) else {}
    return cls(X.shape[1], budget=budget, radius=1.0, split=split, norm_bound=norm, **known)


def seconds(action) -> float:
    """Processor time of this thread: waiting for a busy machine does not count."""
    start = thread_time()
    action()
    return thread_time() - start


def interleaved(actions, rounds) -> np.ndarray:
    """Times of every action, one row per round: whatever slows the machine down slows them all."""
    for action in actions:
        action()
    return np.array([[seconds(action) for action in actions] for _ in range(rounds)])


def compare(X, y, budget, split, rounds) -> None:
    """One row of the table per learner."""
    made, seeds = [make_learner(cls, X, budget, split) for cls in LEARNERS], count()
    runs = [lambda learner=learner: learner.run(X, y) for learner in made]
    actions = [lambda: read_cells(X, budget, next(seeds)), *runs]
    times = interleaved(actions, rounds)
    best, middle = times.min(axis=0), np.median(times[:, 1:] / times[:, :1], axis=0)
    for number, cls in enumerate(LEARNERS):
        ratio = f"{best[number + 1] / best[0]:.2f} | {middle[number]:.2f}"
        print(f"| {X.shape[1]:,} | {budget} | {split} | {cls.__name__} | {ratio} |", flush=True)


def compare_fit(X, y, budget, rounds) -> None:
    """A whole fit by DDAERR, from the matrix to the coefficients."""
    known = {"second_moments": second_moments(X), "radius": 1.0, "scale": np.ones(X.shape[1])}
    model, seeds = BudgetRidge(budget, learner="online", random_state=0, fit_intercept=False, **known), count()
    times = interleaved([lambda: read_cells(X, budget, next(seeds)), lambda: model.fit(X, y)], rounds)
    best, middle = times.min(axis=0), np.median(times[:, 1] / times[:, 0])
    print(f"| {X.shape[1]:,} | {budget} | {best[1] / best[0]:.2f} | {middle:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="half of the rows, fewer rounds")
    quick = parser.parse_args().quick
    shapes = [(rows // 2, d) for rows, d in SHAPES] if quick else SHAPES
    rounds = 3 if quick else 9
    matrices = [make_matrix(*shape) for shape in shapes]
    print("| d | looks | split | learner | time / reads, best | median |\n| --- | --- | --- | --- | --- | --- |")
    for X, y in matrices:
        for budget in (5, 57):
            for split in ("paper", "even"):
                compare(X, y, budget, split, rounds)
    print("\n| d | looks | BudgetRidge.fit / reads, best | median |\n| --- | --- | --- | --- |")
    for X, y in matrices:
        for budget in (5, 57):
            compare_fit(X, y, budget, rounds)


if __name__ == "__main__":
    main()
