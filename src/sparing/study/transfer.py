"""Cells that leave a study and come together elsewhere, and copies of a whole study that are safe."""

import csv
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from sparing.cells import Cells
from sparing.files import UNFINISHED, InputError, refuse_to_replace, write_csv, written_whole
from sparing.study.asks import known_values
from sparing.study.errors import Conflict, StoreError
from sparing.study.settings import Settings
from sparing.tables.names import first_line, refuse_unknown
from sparing.tables.text import opened, read_header

HEADER = ("study", "example", "plan", "settled", "target", "attribute", "value", "chance")
SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Exported:
    """One settled example: what its cells are, and with which chances they were looked at."""

    plan: int
    settled: int | None
    target: Any
    cells: tuple[tuple[str, float, float], ...]  # attribute, value, chance


Exports = dict[tuple[str, str], Exported]  # by the uid of the study and the name of the example


# Out ------------------------------------------------------------------------------------------------------------------


def exported(study) -> Exports:
    """All settled examples of a study that were not withdrawn."""
    from sparing.study.settled import settled_rows

    def look(connection):
        found = {}
        for row in settled_rows(connection, study._id):
            chances = study._plans.chances(connection, row.plan)
            cells = tuple(
                (study.settings.attributes[attribute], value, float(chances[attribute]))
                for attribute, value in known_values(row).items()
                if isinstance(value, float)
            )
            found[study.uid, row.name] = Exported(row.plan, row.settled, study.settings.label(row.y), cells)
        return found

    return study._store.read(look)


def write_exports(exports: Exports, path) -> None:
    """One line for each cell; an example without any has one line without an attribute. CSV or Parquet."""
    rows = [
        (uid, name, each.plan, each.settled, each.target, *cell)
        for (uid, name), each in exports.items()
        for cell in (each.cells or [("", None, None)])
    ]
    if _suffix(path) == ".csv":
        write_csv(path, HEADER, ([_text(value) for value in row] for row in rows))
        return
    pd = _pandas()
    with written_whole(path) as file:
        pd.DataFrame(rows, columns=list(HEADER)).to_parquet(file, index=False)


def _text(value) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


# In -------------------------------------------------------------------------------------------------------------------


def read_exports(path) -> Exports:
    """What :func:`write_exports` wrote. Targets that look like numbers are numbers."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")
    try:
        rows = _csv_rows(path) if _suffix(path) == ".csv" else _parquet_rows(path)
        found: dict[tuple[str, str], Exported] = {}
        for uid, name, plan, settled, target, attribute, value, chance in rows:
            cell = ((str(attribute), float(value), float(chance)),) if attribute else ()
            before = found.get((uid, name))
            cells = cell if before is None else before.cells + cell
            found[uid, name] = Exported(int(plan), int(settled), _target(target), cells)
        return found
    except (InputError, ImportError):
        raise
    except Exception as error:  # readers raise what they like on broken bytes
        raise InputError(
            f"{path.name} cannot be read as exported cells: {first_line(error)}", "export it again"
        ) from error


def _csv_rows(path: Path) -> list[list[str]]:
    with opened(path) as file:
        header = read_header(file)
        refuse_unknown(HEADER, header.names, "column", path.name)
        at = [header.names.index(name) for name in HEADER]
        return [[row[place] for place in at] for row in csv.reader(file, delimiter=header.separator) if row]


def _parquet_rows(path: Path) -> list[tuple]:
    frame = _pandas().read_parquet(path)
    refuse_unknown(HEADER, list(frame.columns), "column", path.name)
    return list(frame[list(HEADER)].itertuples(index=False, name=None))


def _target(value):
    try:
        return float(value)
    except ValueError:
        return value


def merged(parts: Iterable[tuple[str, Exports]]) -> Exports:
    """All examples of several exports, each with a name for messages: equal ones collapse, others are refused."""
    together: Exports = {}
    origin: dict[tuple[str, str], str] = {}
    for source, exports in parts:
        for key, each in exports.items():
            if key in together and together[key] != each:
                raise Conflict(
                    f"{key[1]!r} of study {key[0]} differs between {origin[key]} and {source}; export both again, or "
                    "leave out the older file."
                )
            together[key], origin[key] = each, source
    return together


def cells_of(exports: Exports, settings: Settings) -> Cells:
    """The cells of these examples, as the learner of a study sees them."""
    cells = Cells(len(settings.attributes), n_outputs=settings.n_outputs)
    for (_, name), each in exports.items():
        unknown = [attribute for attribute, _, _ in each.cells if attribute not in settings.numbers]
        if unknown:
            raise ValueError(f"{name!r} has a value of {unknown[0]!r}, which is no attribute of this study.")
        numbers = [settings.numbers[attribute] for attribute, _, _ in each.cells]
        values, chances = [cell[1] for cell in each.cells], [cell[2] for cell in each.cells]
        target = settings.learnt(np.array([settings.target(each.target)]))
        cells.append(numbers, values, target, probabilities=chances)
    return cells


# Whole ----------------------------------------------------------------------------------------------------------------


def backup(study, path, *, force: bool = False) -> None:
    """Copy a study's file while others write to it, by SQLite's own interface; whole or not at all."""
    store = study._store
    if not store.is_sqlite:
        raise StoreError("this study is on PostgreSQL; back it up with pg_dump.")
    refuse_to_replace(path, inputs=[store.path], force=force)
    beside = Path(path).with_name(f".sparing-{token_hex(8)}{UNFINISHED}")
    try:
        with closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(beside)) as copy:
            source.backup(copy)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except sqlite3.Error as error:
        raise StoreError(
            f"the copy failed: {error}; check the room on the disk and the rights to the folder."
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _suffix(path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{Path(path).name} is neither .csv nor .parquet", "choose another name with {output}",
                         {"output": None})  # fmt: skip
    return suffix


def _pandas():
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError('Parquet files need pandas and pyarrow; run: pip install "sparing[table]"') from error
    return pd
