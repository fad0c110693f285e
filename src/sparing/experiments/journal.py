"""Tables on disk that grow by a row at a time: what an interrupted run has finished is neither lost nor done again."""

import csv
import io
import os
from pathlib import Path
from threading import Lock
from typing import Generic, NamedTuple, TypeVar


class Cell(NamedTuple):
    """One run. What ``spend``, ``seen`` and ``error`` stand for is on the axes of the figure.

    In most figures they are the attributes that an algorithm may buy, those it bought, and its test loss over that of
    the zero predictor. ``seconds`` is how long it took.
    """

    panel: str
    algorithm: str
    spend: float
    repetition: int
    seen: float
    error: float
    seconds: float


class Choice(NamedTuple):
    """The radius and the strength of the steps that cross-validation chose."""

    panel: str
    algorithm: str
    spend: float
    radius: float
    strength: float
    seconds: float


Row = TypeVar("Row", Cell, Choice)
UNFINISHED = ".part"
KEYS = {Cell: 4, Choice: 3}  # so many columns say which run it is


class Journal(Generic[Row]):
    """Rows by their key, in memory and in a CSV file; safe to add to from several threads.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Journal(Path(folder, "cells.csv"), Cell).add(Cell("a", "AERR", 50.0, 0, 48.0, 0.9, 0.1))
    ...     list(Journal(Path(folder, "cells.csv"), Cell).rows)
    [('a', 'AERR', 50.0, 0)]
    """

    def __init__(self, path: Path, kind: type[Row]):
        self.path, self.lock = path, Lock()
        self.kind: type[Row] = kind
        self.rows: dict[tuple, Row] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a killed run may have left half a line
        if whole != text or not whole:
            write_whole(path, whole or _line(kind._fields))
        for values in list(csv.reader(io.StringIO(whole)))[1:]:
            self._keep(kind(*(read(value) for read, value in zip(kind.__annotations__.values(), values, strict=True))))

    def add(self, row: Row) -> None:
        """Write the row down before it counts as done."""
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(_line(row))
            self._keep(row)

    def _keep(self, row: Row) -> None:
        self.rows[tuple(row[: KEYS[self.kind]])] = row


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once: whoever is killed on the way leaves the old one, not half of the new one."""
    beside = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def _line(values) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
