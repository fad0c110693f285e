"""Tables on disk that grow row by row, so that an interrupted command loses and repeats no finished run."""

import csv
import io
from pathlib import Path
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from sparing.files import write_text


class Run(NamedTuple):
    """One run. The axes of the figure say what ``spend``, ``seen`` and ``error`` are.

    In most figures they are the number of attributes that an algorithm may buy, the number that it bought, and its test
    loss over that of the zero predictor. ``seconds`` is the time it took.
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


Entry = TypeVar("Entry", Run, Choice)
KEYS = {Run: 4, Choice: 3}  # the number of columns that identify a row


class Journal(Generic[Entry]):
    """Rows by their key, in memory and in a CSV file; safe to add to from several threads.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Journal(Path(folder, "runs.csv"), Run).add(Run("a", "AERR", 50.0, 0, 48.0, 0.9, 0.1))
    ...     list(Journal(Path(folder, "runs.csv"), Run).rows)
    [('a', 'AERR', 50.0, 0)]
    """

    def __init__(self, path: Path, kind: type[Entry]):
        self.path, self.lock = path, Lock()
        self.kind: type[Entry] = kind
        self.rows: dict[tuple, Entry] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a killed process may have left an incomplete line
        if whole != text or not whole:
            write_text(path, whole or _line(kind._fields))
        for values in list(csv.reader(io.StringIO(whole)))[1:]:
            self._keep(kind(*(read(value) for read, value in zip(kind.__annotations__.values(), values, strict=True))))

    def add(self, row: Entry) -> None:
        """Append the row to the file, then count it as done."""
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(_line(row))
            self._keep(row)

    def _keep(self, row: Entry) -> None:
        self.rows[tuple(row[: KEYS[self.kind]])] = row


def _line(values) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
