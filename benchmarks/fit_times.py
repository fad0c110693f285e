"""Processor time of a whole fit of BudgetRidge, relative to that of another version of the library.

    SPARING_DATA=folder python benchmarks/fit_times.py OTHER [--rounds 3] [--cases housing/5,20000x20/5]

OTHER is the folder ``src`` of the other version, checked out elsewhere. Versions run in processes of their own, which
fit in turn. The first round compiles; of the others the least time counts. A case is a table of
``benchmarks/tables.py`` (at most 2,000 rows of a split), or a number of rows and columns on five factors, and the looks
per row.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

CASES = ("airfoil/3,autos/5,bike/3,concrete/3,concrete/5,elevators/5,energy/3,forest/5,gas/5,housing/5,parkinsons/5,"
         "skillcraft/5,stock/3,wine/5,diabetes/3,breast_cancer/5,digits/5,20000x20/5,100000x20/5")  # fmt: skip
SPLIT = 10  # of the tables; the page of results shows others
HERE = Path(__file__).resolve()
OWN = HERE.parents[1] / "src"


def data(name):
    """Rows and targets."""
    from keeping_speed import correlated
    from tables import load, split

    return correlated(*map(int, name.split("x"))) if name[0].isdigit() else split(*load(name), SPLIT, 2000)[:2]


def fit_what_is_named():
    """For every file and budget on standard input, write the processor time of a fit, and the wall time."""
    from sparing import BudgetRidge

    warnings.filterwarnings("ignore")
    for line in sys.stdin:
        file, budget = line.split()
        with np.load(file) as arrays:
            X, y = arrays["X"], arrays["y"]
        started, start = process_time(), perf_counter()
        BudgetRidge(int(budget), random_state=0).fit(X, y).predict(X[:10])  # fits may be put off until then
        print(process_time() - started, perf_counter() - start, flush=True)


def worker(source):
    """A process that has imported the version in this folder."""
    return subprocess.Popen(
        [sys.executable, HERE, "--fit"], env=os.environ | {"PYTHONPATH": str(source)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def seconds(process, file, budget):
    """Processor and wall time of one fit there."""
    print(file, budget, file=process.stdin, flush=True)
    return [float(word) for word in process.stdout.readline().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "other", nargs="?", help="the folder src of the other version; without one, this version is measured twice"
    )
    parser.add_argument("--rounds", type=int, default=3, help="beside the first")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit_what_is_named()
        return
    versions, ratios = [worker(options.other or OWN), worker(OWN)], []
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases.split(","):
            name, budget = case.split("/")
            X, y = data(name)
            np.savez(file := Path(folder) / "case.npz", X=X, y=y)
            times = np.array([[seconds(version, file, budget) for version in versions]
                              for _ in range(options.rounds + 1)])[1:].min(axis=0)  # fmt: skip
            ratios.append(times[1, 0] / times[0, 0])
            print(
                f"{name}, {budget} of {X.shape[1]} columns of {len(y):,} rows: {ratios[-1]:.2f} times the processor "
                f"time ({times[1, 0]:.2f} s for {times[0, 0]:.2f} s; {times[1, 1]:.2f} s by the clock)",
                flush=True,
            )
    print(f"median {np.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")
    for version in versions:
        version.stdin.close()
        version.wait()


if __name__ == "__main__":
    main()
