"""Time per example as the number of attributes grows from a thousand to a million, at the same number of looks.

    python benchmarks/growth.py            # about two minutes, 2.4 GB
    python benchmarks/growth.py --quick    # 0.5 GB

An example costs O(b log d) operations, but wide tables do not fit into the cache. So the learners are compared with a
loop that learns nothing. Per look, it draws a position from a table; at the attribute found there it reads a cell and
changes a weight, a mass and a sum of eight masses, in tables of the same sizes as the learners'. Its growth is the cost
of memory access alone. Rows of wide matrices overlap (each starts 10,000 cells after the one before), so that there are
60,000 of every width; hardly any cell is read twice. Learners and loop are timed alternately, in processor time, and
the best of several rounds counts. Prints Markdown.
"""

import argparse
from itertools import chain, count
from time import thread_time

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import as_strided

from sparing.kernels.random import round_key, uniform
from sparing.learners import AELR, AERR, DDAELR, DDAERR

WIDTHS = (1_000, 10_000, 100_000, 1_000_000)
LEARNERS = (DDAERR, AERR, DDAELR, AELR)
MOST_ROWS, SLIDE = 60_000, 10_000


@njit(error_model="numpy")
def touch_memory(X, table, weights, masses, sums, looks, seed):
    """Per look the memory that a learner needs, and hardly any arithmetic."""
    d = X.shape[1]
    for row in range(X.shape[0]):
        key = round_key(seed, row)
        for slot in range(looks):
            i = int(table[int(uniform(key, slot) * d), 1])
            value = X[row, i]
            weights[i, 0] += value
            masses[i] += value
            sums[i >> 3] += value


def make_rows(cells: np.ndarray, d) -> np.ndarray:
    """A matrix of d columns on the same memory."""
    step = min(d, SLIDE)
    n = min(MOST_ROWS, (cells.size - d) // step)
    return as_strided(cells, (n, d), (step * cells.itemsize, cells.itemsize), writeable=False)


def memory_loop(X, looks):
    """The loop, with tables of the learners' sizes."""
    d = X.shape[1]
    table = np.zeros((d, 4))
    table[:, 1] = np.random.default_rng(1).permutation(d)
    weights, masses, sums = np.zeros((d, 2)), np.zeros(d), np.zeros(d // 8 + 1)
    seeds = count()
    return lambda: touch_memory(X, table, weights, masses, sums, looks, next(seeds))


def learner_run(cls, X, y, looks):
    """A run over all rows of a learner that has its step from theory."""
    d = X.shape[1]
    moments = np.linspace(1.0, 0.25, d) / 3
    norm = float(np.sqrt(moments.sum())) if cls.penalty == "ridge" else 1.0
    known = {"second_moments": moments} if cls in (DDAERR, DDAELR) else {}
    learner = cls(d, budget=looks, radius=1.0, norm_bound=norm, **known)
    return lambda: learner.run(X, y)


def seconds(action) -> float:
    """Processor time of this thread: waiting for a busy machine does not count."""
    start = thread_time()
    action()
    return thread_time() - start


def measure(cells, looks, rounds) -> np.ndarray:
    """Best time per example: widths by (learners and the loop)."""
    actions, n_rows = [], []
    for d in WIDTHS:
        X = make_rows(cells, d)
        y = np.random.default_rng(2).standard_normal(len(X))
        actions.append([*(learner_run(cls, X, y, looks) for cls in LEARNERS), memory_loop(X, looks)])
        n_rows.append(len(X))
    for action in chain(*actions):
        action()
    times = [[[seconds(action) for action in row] for row in actions] for _ in range(rounds)]
    return np.min(times, axis=0) / np.array(n_rows)[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less memory, fewer rounds")
    quick = parser.parse_args().quick
    cells = np.resize(
        np.random.default_rng(0).random(1_000_003, dtype=np.float32), 120_000_000 if quick else 600_000_000
    )
    names = [*(cls.__name__ for cls in LEARNERS), "memory alone"]
    print("Time per example relative to that at d = 1,000.\n\n| looks | d |", " | ".join(names), "|")
    print("|", " | ".join(["---"] * (2 + len(names))), "|")
    for looks in (5, 57):
        times = measure(cells, looks, 3 if quick else 9)
        for d, growth in zip(WIDTHS, times / times[0], strict=True):
            print(f"| {looks} | {d:,} |", " | ".join(f"{ratio:.2f}" for ratio in growth), "|", flush=True)
        share = " | ".join(f"{ratio:.2f}" for ratio in times[0] / times[0, -1])
        print(f"| {looks} | 1,000, over memory alone | {share} |", flush=True)


if __name__ == "__main__":
    main()
