"""What the first minute costs: importing, the first fit on a new machine, and the same fit again.

    python benchmarks/cold_start.py [--before REVISION] [--rounds 3]

Every time is that of a process of its own, the least of several rounds: processor time, and beside it the time on the
clock. "Cold" starts with an empty cache of compiled kernels, "warm" with the cache that the cold one left; warm fits
are the best of several in one process. Imports are told beyond ``from sklearn.linear_model import Ridge``. With
``--before`` the sources of another git revision are measured in turn with these.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TIMED = """
import json, time
def now():
    return time.process_time(), time.perf_counter()
def since(start):
    return [after - before for after, before in zip(now(), start)]
import numpy as np
from sklearn.linear_model import Ridge
start = now()
{imports}
imported = since(start)
rng = np.random.default_rng(0)
X = rng.standard_normal(({rows}, 20))
X /= np.linalg.norm(X, axis=1).max()
y = X @ rng.standard_normal(20) + 0.1 * rng.standard_normal({rows})
def fit():
    start = now()
    {fit}
    return since(start)
first, *again = [fit() for _ in range(4)]
print(json.dumps([imported, first, min(again)]))
"""

FITS = {
    "BudgetRidge": {
        "imports": "from sparing import BudgetRidge",
        "rows": 2_000,
        "fit": "BudgetRidge(5, random_state=0).fit(X, y)",
    },
    "DDAERR": {
        "imports": "from sparing.learners import DDAERR",
        "rows": 200_000,
        "fit": "DDAERR(20, budget=5, radius=1.0, second_moments=np.mean(X**2, axis=0)).run(X, y)",
    },
}


def measured(source: Path, cache: Path, task: str) -> list[list[float]]:
    """Import, first fit and best later fit: processor time and time on the clock."""
    environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", TIMED.format(**FITS[task])]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def exported(revision: str, folder: Path) -> Path:
    """The sources of another revision."""
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    return folder / "src"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="a git revision to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        sources = {"now": ROOT / "src"}
        if options.before:
            sources = {options.before: exported(options.before, Path(made))} | sources
        found = {(name, task, state): [] for name in sources for task in FITS for state in ("cold", "warm")}
        for at in range(options.rounds):
            for (name, task, _), times in found.items():  # a cold one, then a warm one with its cache
                times.append(measured(sources[name], Path(made) / f"cache-{name}-{task}-{at}", task))
    report(sources, {case: [min(column) for column in zip(*times, strict=True)] for case, times in found.items()})


def report(sources, best):
    """Seconds of processor time (on the clock), and ratios to the revision before."""
    print("| | " + " | ".join(sources) + (" | ratio |" if len(sources) > 1 else " |"))
    print("| --- " * (1 + len(sources) + (len(sources) > 1)) + "|")
    for task in FITS:
        for label, state, column in (
            (f"import {task}, beyond scikit-learn", "warm", 0),
            (f"first {task}, nothing compiled yet", "cold", 1),
            (f"first {task} of a process, compiled before", "warm", 1),
            (f"{task} again", "warm", 2),
        ):
            times = [best[name, task, state][column] for name in sources]
            cells = [f"{processor:.3g} s ({clock:.3g} s)" for processor, clock in times]
            ratio = [f"{times[-1][0] / times[0][0]:.2f}"] if len(times) > 1 else []
            print(f"| {label} | " + " | ".join(cells + ratio) + " |")


if __name__ == "__main__":
    main()
