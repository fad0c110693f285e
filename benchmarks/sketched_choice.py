"""Does solver="auto" of SketchedRidge choose well between a sketch and a Cholesky factor?

    python benchmarks/sketched_choice.py [--rounds 3] [--seconds 0.5] [--rows 4000,8000] [--columns 200,1200]
        [--powers 0,1,2,4] [--values 5e7] [--operations 2e11] [--float32] [--ridges 1] [--seed 0]
        [--csv timings.csv] [--minutes 3]

Dense rows of many shapes, with eigenvalues i^-power from flat to steep and a ridge of 1e-5 n; with --ridges, a path of
as many ridges from 1e-5 n to 1e-2 n. All three solvers are fitted alternately, each round beginning with another one,
until each has taken --rounds rounds and --seconds in total (one that takes 3 times as long as the fastest: --seconds
only). Set OPENBLAS_NUM_THREADS=1, because processor time counts waiting threads, too. With --csv every timing is
appended to a file, and a later call adds what is still missing: a large grid can be measured in pieces of --minutes.
The last two columns are the time of "auto" relative to the better of the other two: by the best round of each, and by
the mean of the faster half of its rounds, which a single lucky round on a busy machine affects less. Problems that take
less than 0.1 s ("short") are left out of the summary. Prints Markdown.
"""

import argparse
import csv
from itertools import product
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

import numpy as np

from sparing import SketchedRidge
from sparing.solvers import solve_ridge_path

ROWS = 1_000, 2_000, 4_000, 8_000, 16_000, 50_000
COLUMNS = 200, 1_200, 2_000, 3_000, 4_000, 8_000
POWERS = 0.0, 1.0, 2.0, 4.0  # eigenvalues fall as i^-power
SOLVERS = "cholesky", "sketch", "auto"
MATTERS = 0.1  # seconds
MOST_ROUNDS = 50
HOPELESS = 3  # rounds end for a solver that takes so many times as long as the fastest


class Problem(NamedTuple):
    rows: int
    columns: int
    power: float
    dtype: str
    ridges: int
    seed: int


class Fit(NamedTuple):
    solver: str
    seconds: float
    sketch: int
    steps: int
    dimension: float


def make(problem: Problem):
    rng = np.random.default_rng(problem.seed)
    X = rng.standard_normal((problem.rows, problem.columns), dtype=problem.dtype)
    X *= (np.arange(1, problem.columns + 1) ** (-problem.power / 2)).astype(problem.dtype)
    noise = rng.standard_normal(problem.rows, dtype=problem.dtype)
    return X, X @ rng.standard_normal(problem.columns, dtype=problem.dtype) + 0.1 * noise


def fit(X, y, solver: str, n_ridges: int) -> Fit:
    ridge = 1e-5 * len(X)
    start = process_time()
    if n_ridges == 1:
        model = SketchedRidge(ridge, solver=solver, random_state=0).fit(X, y)
        seconds = process_time() - start
        return Fit(solver, seconds, model.sketch_size_, model.n_iter_, model.effective_dimension_)
    path = solve_ridge_path(X, y, np.geomspace(ridge, 1e3 * ridge, n_ridges), method=solver, random_state=0)
    seconds = process_time() - start
    steps = sum(solution.iterations for solution in path)
    return Fit(solver, seconds, path[0].sketch_size, steps, path[0].effective_dimension or np.nan)


def measured(path: Path | None) -> dict[Problem, list[Fit]]:
    """Earlier timings."""
    found: dict[Problem, list[Fit]] = {}
    if path is not None and path.exists():
        with path.open() as file:
            for cells in csv.reader(file):
                n, d, power, dtype, ridges, seed, solver, seconds, sketch, steps, dimension = cells
                problem = Problem(int(n), int(d), float(power), dtype, int(ridges), int(seed))
                fitted = Fit(solver, float(seconds), int(sketch), int(steps), float(dimension))
                found.setdefault(problem, []).append(fitted)
    return found


def missing(fits: list[Fit], rounds: int, seconds: float) -> list[str]:
    """Solvers whose turn it is, in an order that changes by round; none if there are enough timings."""
    taken = {name: [fitted.seconds for fitted in fits if fitted.solver == name] for name in SOLVERS}
    least = min((min(times) for times in taken.values() if times), default=np.inf)
    for name in ("cholesky", "sketch"):
        if sum(taken[name]) >= seconds and min(taken[name]) > HOPELESS * least:
            del taken[name]
    turn = min(map(len, taken.values()))
    order = [SOLVERS[(at + turn) % len(SOLVERS)] for at in range(len(SOLVERS))]
    if turn < rounds or (turn < MOST_ROUNDS and min(map(sum, taken.values())) < seconds):
        return [name for name in order if name in taken and len(taken[name]) == turn]
    return []


def least(seconds: list[float]) -> float:
    return min(seconds)


def faster_half(seconds: list[float]) -> float:
    return float(np.mean(sorted(seconds)[: (len(seconds) + 1) // 2]))


def times(fits: list[Fit], statistic) -> dict[str, float]:
    """Seconds by solver."""
    return {name: statistic([fitted.seconds for fitted in fits if fitted.solver == name]) for name in SOLVERS}


def ratio(seconds: dict[str, float]) -> float:
    """The time of "auto" relative to the better of the others."""
    return seconds["auto"] / min(seconds["cholesky"], seconds["sketch"])


def row(problem: Problem, fits: list[Fit]) -> str:
    one = {fitted.solver: fitted for fitted in fits}
    best, half = times(fits, least), times(fits, faster_half)
    better = min(best["cholesky"], best["sketch"])
    rounds = min(sum(fitted.solver == name for fitted in fits) for name in SOLVERS)
    return (
        f"| {problem.rows:,} | {problem.columns:,} | {problem.power:g} | {one['sketch'].dimension:.0f} | "
        f"{one['sketch'].sketch:,}, {one['sketch'].steps} | {better:.2f} s | "
        f"{best['sketch'] / best['cholesky']:.2f} | {'sketch' if one['auto'].sketch else 'Cholesky'} | {rounds} | "
        f"{ratio(best):.2f} | {ratio(half):.2f} |{'' if better >= MATTERS else ' short'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="the fewest fits by each solver")
    parser.add_argument("--seconds", type=float, default=0.5, help="the least total time of each solver")
    parser.add_argument("--values", type=float, default=5e7, help="of the largest matrix")
    parser.add_argument("--operations", type=float, default=2e11, help="of the largest Cholesky factor")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="the numbers of rows to measure")
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)), help="the numbers of columns")
    parser.add_argument("--powers", default=",".join(map(str, POWERS)), help="how fast eigenvalues fall")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--ridges", type=int, default=1, help="of a path")
    parser.add_argument("--seed", type=int, default=0, help="of the data")
    parser.add_argument("--csv", type=Path, help="file of timings, read first and appended to")
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which no fit begins")
    options = parser.parse_args()
    known, end = measured(options.csv), monotonic() + 60 * options.minutes
    print(
        "| rows | columns | power | dimension | sketch, steps | better | sketch / Cholesky | auto takes | rounds ",
        end="",
    )
    print("| best rounds | faster halves |")
    print("|" + " --- |" * 11)
    lists = [options.rows.split(","), options.columns.split(","), options.powers.split(",")]
    kind = "float32" if options.float32 else "float64", options.ridges, options.seed
    ratios, unfinished = [], 0
    for sketch in ("leverage", "srht"):  # the first call of anything takes longer
        SketchedRidge(solver="sketch", sketch=sketch).fit(*make(Problem(500, 100, 1.0, *kind)))
    for n, d, power in product(map(int, lists[0]), map(int, lists[1]), map(float, lists[2])):
        if n * d > options.values or n * d * min(n, d) > options.operations:
            continue
        problem = Problem(n, d, power, *kind)
        fits, data = known.get(problem, []), None
        while (solvers := missing(fits, options.rounds, options.seconds)) and monotonic() < end:
            data = data or make(problem)
            fits.append(fit(*data, solvers[0], options.ridges))
            if options.csv is not None:
                with options.csv.open("a", newline="") as file:
                    csv.writer(file).writerow([*problem, *fits[-1]])
        unfinished += bool(solvers)
        if len({fitted.solver for fitted in fits}) == len(SOLVERS):
            print(row(problem, fits), flush=True)
            best, half = times(fits, least), times(fits, faster_half)
            if min(best["cholesky"], best["sketch"]) >= MATTERS:
                ratios.append((ratio(best), ratio(half)))
    worst = np.max(ratios, axis=0) if ratios else [np.nan, np.nan]
    print(f"\nLargest ratio over {len(ratios)} problems where the better one takes {MATTERS} s or more: ", end="")
    print(f"{worst[0]:.2f} by best rounds, {worst[1]:.2f} by faster halves")
    if unfinished:
        print(f"{unfinished} problems need more rounds: call it again with the same --csv.")


if __name__ == "__main__":
    main()
