"""Time of a Hadamard transform relative to copying the vector, and of CompAdaGrad relative to diagonal AdaGrad.

    python benchmarks/hadamard.py [--quick]

Everything is timed alternately, round by round, in one thread and in processor time. Tables show the median of the
ratios with the quartiles. Prints Markdown tables.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from time import thread_time

import numpy as np

from sparing.optim import adagrad, comp_adagrad
from sparing.sketches import hadamard, hadamard_rows, hadamard_sparse, srht


def seconds(action, repeats) -> float:
    start = thread_time()
    for _ in range(repeats):
        action()
    return (thread_time() - start) / repeats


def in_turn(actions, rounds, repeats) -> np.ndarray:
    """Times of every action, one row per round: whatever slows the machine down slows them all."""
    for action in actions:
        action()
    return np.array([[seconds(action, repeats) for action in actions] for _ in range(rounds)])


def ratio(times, above, below) -> str:
    low, middle, high = np.quantile(times[:, above] / times[:, below], [0.25, 0.5, 0.75])
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def place_to_copy_to(x) -> np.ndarray:
    """Where a copy of x goes fastest: some distances between source and destination slow it down many times."""
    room = np.empty(x.size + 4096, x.dtype)
    places = [room[offset : offset + x.size] for offset in (0, 16, 272, 528, 1040, 2064)]
    repeats = max(3, 2**20 // x.size)
    return min(places, key=lambda y: min(seconds(lambda: np.copyto(y, x), repeats) for _ in range(5)))


def transforms(rounds) -> None:
    """The whole transform in place; then that of 64 nonzeros, and of 64 wanted outputs, over the whole one."""
    print("| n | float32, copies | float64, copies | 64 nonzeros / whole | 64 outputs / whole |")
    print("| --- | --- | --- | --- | --- |")
    for levels in range(10, 23, 2):
        n, cells = 2**levels, []
        repeats = max(2, 2**21 // n)
        for dtype in (np.float32, np.float64):
            x = np.ones(n, dtype)
            y = place_to_copy_to(x)
            few = np.arange(64) * (n // 64)
            values = np.ones(64, dtype)
            actions = [
                lambda x=x, y=y: np.copyto(y, x),
                lambda x=x: hadamard(x, overwrite=True),
                lambda x=x: hadamard(x),
                lambda n=n, few=few, values=values: hadamard_sparse(few, values, n),
                lambda x=x, few=few: hadamard_rows(x, few),
            ]
            times = in_turn(actions, rounds, repeats)
            cells.append(ratio(times, 1, 0))
        print(f"| 2^{levels} | {' | '.join(cells)} | {ratio(times, 3, 2)} | {ratio(times, 4, 2)} |", flush=True)


def make_round(optimiser, n):
    """A function that plays one round, with a few gradients in turn."""
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((8, n))
    init, update = optimiser
    x = np.zeros(n)
    held = [x, init(x), 0]

    def play():
        held[0], held[1] = update(gradients[held[2] % 8] * (1 + 0.01 * held[2]), held[1], held[0])
        held[2] += 1

    return play


def rounds_of_compadagrad(rounds, k=256) -> None:
    """Sixteen rounds at a time, so that each measurement has its share of eigendecompositions."""
    print(f"\nOne round, k = {k}, float64, refresh = 16 (the default):\n")
    print("| n | in diagonal rounds | time / (n log2 n), over that at 2^14 |\n| --- | --- | --- |")
    first = None
    for levels in (14, 16, 17, 18, 20):
        n = 2**levels
        diagonal, compressed = make_round(adagrad(), n), make_round(comp_adagrad(k=k, random_state=0), n)
        for _ in range(2 * 16):
            compressed()
        times = in_turn([diagonal, compressed], rounds if levels < 20 else max(3, rounds // 3), 16)
        growth = np.median(times[:, 1]) / (n * levels)
        first = first or growth
        print(f"| 2^{levels} | {ratio(times, 1, 0)} | {growth / first:.2f} |", flush=True)
    n = 2**17
    actions = [make_round(adagrad(), n), make_round(comp_adagrad(k=k, refresh=1, random_state=0), n)]
    print(
        f"\nWith refresh = 1, as while gradients bring new directions, at 2^17: {ratio(in_turn(actions, 5, 4), 1, 0)}."
    )


def grams(rounds) -> None:
    """Pi diag(b) Pi^T by one transform and look-ups, and by columns as in the paper."""
    print("\n| n | k | by columns / by look-up |\n| --- | --- | --- |")
    for n, k in ((4096, 64), (4096, 256), (2**17, 256)):
        sketch, b = srht(k, n, random_state=0), np.random.default_rng(0).random(n)

        def by_columns(sketch=sketch, b=b, k=k):
            return np.column_stack([sketch.matvec(b * sketch.rmatvec(unit)) for unit in np.eye(k)])

        assert np.allclose(by_columns(), sketch.gram(b))
        times = in_turn([lambda sketch=sketch, b=b: sketch.gram(b), by_columns], rounds, 1)
        print(f"| {n:,} | {k} | {ratio(times, 1, 0)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 15
    transforms(rounds)
    rounds_of_compadagrad(rounds)
    grams(rounds)


if __name__ == "__main__":
    main()
