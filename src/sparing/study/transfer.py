"""Exporting, merging and importing cells of studies, and backups of a whole study."""

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
from sparing.study.errors import Conflict, StoreError
from sparing.study.settings import Settings
from sparing.study.store import Store
from sparing.study.values import checked_values, shown_values
from sparing.tables.names import first_line, refuse_unknown
from sparing.tables.text import opened, read_header

HEADER = ("study", "example", "plan", "settled", "target", "attribute", "value", "chance")
CATEGORY = "category"  # the last column, used instead of a value; files of earlier versions lack it
SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Exported:
    """One settled example: its cells, and the probabilities with which they were looked at."""

    plan: int
    settled: int | None
    target: Any
    cells: tuple[tuple[str, float | str, float], ...]  # attribute, value or category, chance


Exports = dict[tuple[str, str], Exported]  # by the uid of the study and the name of the example


# Out ------------------------------------------------------------------------------------------------------------------


def export(study, path) -> None:
    """Write the cells of settled examples in the format of the file's suffix."""
    if Path(path).suffix.lower() == ".npz":
        study.cells().save(path, names=study.settings.attributes, categories=study.settings.categories)
    else:
        write_exports(exported(study), path)


def exported(study) -> Exports:
    """All settled examples of a study that were not withdrawn."""
    from sparing.study.settled import settled_rows

    settings = study.settings

    def look(connection):
        found = {}
        for row in settled_rows(connection, study.id):
            chances = study.plans.chances(connection, row.plan)
            values = shown_values(settings, row).items()
            cells = tuple((name, value, float(chances[settings.numbers[name]])) for name, value in values)
            found[study.uid, row.name] = Exported(row.plan, row.settled, settings.label(row.y), cells)
        return found

    return study.store.read(look)


def write_exports(exports: Exports, path) -> None:
    """Write one line per cell to a CSV or Parquet file; an example without cells has one line without an attribute."""
    rows = [
        (uid, name, each.plan, each.settled, each.target, attribute,
         *((None, chance, value) if isinstance(value, str) else (value, chance, None)))
        for (uid, name), each in exports.items()
        for attribute, value, chance in (each.cells or [("", None, None)])
    ]  # fmt: skip
    if _suffix(path) == ".csv":
        write_csv(path, (*HEADER, CATEGORY), ([_text(value) for value in row] for row in rows))
        return
    pd = _pandas()
    with written_whole(path) as file:
        pd.DataFrame(rows, columns=[*HEADER, CATEGORY]).to_parquet(file, index=False)


def _text(value) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


# In -------------------------------------------------------------------------------------------------------------------


def read_exports(path) -> Exports:
    """The examples that :func:`write_exports` wrote. Targets that look like numbers become numbers."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")
    try:
        rows = _csv_rows(path) if _suffix(path) == ".csv" else _parquet_rows(path)
        found: dict[tuple[str, str], Exported] = {}
        for uid, name, plan, settled, target, attribute, value, chance, category in rows:
            cell = ((str(attribute), category or float(value), float(chance)),) if attribute else ()
            before = found.get((uid, name))
            cells = cell if before is None else before.cells + cell
            found[uid, name] = Exported(int(plan), int(settled), _target(target), cells)
        return found
    except (InputError, ImportError):
        raise
    except Exception as error:  # readers raise many kinds of errors on broken bytes
        raise InputError(
            f"{path.name} cannot be read as exported cells: {first_line(error)}", "export it again"
        ) from error


def _csv_rows(path: Path) -> list[list[str]]:
    with opened(path) as file:
        header = read_header(file)
        refuse_unknown(HEADER, header.names, "column", path.name)
        at = {name: place for place, name in enumerate(header.names)}
        rows = csv.reader(file, delimiter=header.separator)
        return [[row[at[name]] if name in at else "" for name in (*HEADER, CATEGORY)] for row in rows if row]


def _parquet_rows(path: Path) -> list[tuple]:
    frame = _pandas().read_parquet(path)
    refuse_unknown(HEADER, list(frame.columns), "column", path.name)
    categories = frame[CATEGORY].fillna("") if CATEGORY in frame else ""
    return list(frame[list(HEADER)].assign(**{CATEGORY: categories}).itertuples(index=False, name=None))


def _target(value):
    try:
        return float(value)
    except ValueError:
        return value


def merged(parts: Iterable[tuple[str, Exports]]) -> Exports:
    """All examples of several named exports; equal ones are kept once, and differing ones are refused."""
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
        values = checked_values(settings, {attribute: value for attribute, value, _ in each.cells})
        chances = [chance for _, _, chance in each.cells]
        target = settings.learnt(np.array([settings.target(each.target)]))
        cells.append(list(values), list(values.values()), target, probabilities=chances)
    return cells


# Whole ----------------------------------------------------------------------------------------------------------------


def backup(store: Store, path, *, force: bool = False) -> None:
    """Copy the file of a study of any format while others write to it, by SQLite's own interface; whole or not."""
    if not store.is_sqlite:
        raise StoreError("this study is on PostgreSQL; back it up with pg_dump.")
    if not store.has_tables():
        raise StoreError(f"there is no study in {store.shown!r}; check the address.")
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
            f"the copy failed: {error}; check the space on the disk and the permissions of the folder."
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
