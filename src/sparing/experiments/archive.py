"""Compact files of runs for the documentation: one row per point, one column per repetition.

Errors have four significant digits; the horizontal position is the mean over repetitions.
"""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from sparing.experiments.figures import Figure
from sparing.experiments.journal import Run
from sparing.files import write_text

POINT = ("panel", "algorithm", "spend", "seen")


def write_archive(folder: Path, figure: Figure, runs: Iterable[Run]) -> Path:
    """Write ``folder/NAME.csv`` for the runs of a figure."""
    points: dict[tuple, dict[int, Run]] = {}
    for run in whole_repetitions(runs):
        points.setdefault(run[:3], {})[run.repetition] = run
    count = 1 + max(repetition for point in points.values() for repetition in point)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((*POINT, *range(count)))
    for (panel, algorithm, spend), point in points.items():
        seen = sum(run.seen for run in point.values()) / len(point)
        errors = (f"{point[repetition].error:.4g}" if repetition in point else "" for repetition in range(count))
        table.writerow((panel, algorithm, f"{spend:.10g}", f"{seen:.10g}", *errors))
    path = folder / f"{figure.name}.csv"
    write_text(path, text.getvalue())
    return path


def whole_repetitions(runs: Iterable[Run]) -> list[Run]:
    """The repetitions in which an algorithm ran at all of its spends; an interrupted command leaves others."""
    runs = list(runs)
    spends: dict[tuple, set[float]] = {}
    done: dict[tuple, set[float]] = {}
    for run in runs:
        spends.setdefault(run[:2], set()).add(run.spend)
        done.setdefault((*run[:2], run.repetition), set()).add(run.spend)
    return [run for run in runs if done[*run[:2], run.repetition] == spends[run[:2]]]


def read_archive(folder: Path, figure: Figure) -> list[Run]:
    """The runs of a figure, without their times; none if there is no such file."""
    path, found = folder / f"{figure.name}.csv", []
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            panel, algorithm, spend, seen = (row.pop(name) for name in POINT)
            found += [
                Run(panel, algorithm, float(spend), int(repetition), float(seen), float(error), 0.0)
                for repetition, error in row.items()
                if error
            ]
    return found
