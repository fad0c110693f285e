"""CSV and Parquet files as data frames, or as columns of numbers, read with pandas."""

import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from sparing.files import InputError
from sparing.tables.names import first_line, refuse_repeated, refuse_unknown, some, these
from sparing.tables.numbers import numbers_written
from sparing.tables.text import opened, read_header

MOST_INDICATORS = 1000  # maximum number of indicators of one column of text
MISSING = ["?"]  # missing values besides those of pandas: empty, NA, NaN, N/A, null, None and the like
ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
TOO_LONG = re.compile(r"Expected \d+ fields in line (\d+), saw (\d+)")


def read_columns(path: Path, target: str | None, drop) -> tuple[Any, list, str]:
    """A frame of the attributes under their names, values of the target (None if missing), and its name."""
    frame, names = _frame(path)
    if target is None:
        raise InputError(
            f"no target given: {path.name} does not say which column to predict ({some(names)})",
            "name one with {target}",
            {"target": None},
        )
    refuse_unknown([target, *drop], names, "column", path.name)
    left_out = {target, *drop}
    kept = [i for i, name in enumerate(names) if name not in left_out]
    if not kept:
        raise InputError(f"{path.name} has no column besides the target {target!r}", "add attributes to learn from")
    y = frame.iloc[:, names.index(target)]
    if y.hasnans:
        y = y.convert_dtypes()  # restores whole numbers and booleans that have missing values
    values = [None if gone else value for value, gone in zip(y.tolist(), y.isna(), strict=True)]
    attributes = frame.iloc[:, kept]
    attributes.columns = [names[i] for i in kept]
    return attributes, values, target


def numbers_of(frame, encode: bool | str, file: str) -> tuple[np.ndarray, list[str], list[str]]:
    """The columns of a frame as float64, their names, and the column of the frame that each one comes from.

    Dates are days since the first; text is indicators, one per value, or refused. With ``encode="repeated"``, text that
    differs in every row is left out.
    """
    dates = [at for at, dtype in enumerate(frame.dtypes) if dtype.kind == "M"]
    frame = frame.copy() if dates else frame
    for at in dates:
        column = frame.iloc[:, at]
        frame.isetitem(at, (column - column.min()) / np.timedelta64(1, "D"))
    names, kept = list(frame.columns), range(frame.shape[1])
    kinds = [dtype.kind for dtype in frame.dtypes]
    flags = {i: column for i in kept if kinds[i] not in "biuf" and (column := _flags(frame.iloc[:, i])) is not None}
    numeric = [i for i in kept if kinds[i] in "biuf" or i in flags]
    other = [i for i in kept if kinds[i] not in "biuf" and i not in flags]
    if other and not encode:
        words = [names[i] for i in other]
        raise InputError(
            f"{these(words, 'column')} not numeric",
            "turn text into indicators with {encode}, or leave it out with {drop}",
            {"encode": True, "drop": words},
        )
    numbers, used = _numbers(frame, numeric, flags), [names[i] for i in numeric]
    parts, origins = [numbers], list(used)
    for i in other:
        if encode == "repeated" and frame.iloc[:, i].dropna().astype(str).is_unique:
            continue
        indicators, levels = _indicators(frame.iloc[:, i], names[i])
        parts.append(indicators)
        used += [f"{names[i]}={value}" for value in levels]
        origins += [names[i]] * len(levels)
    refuse_repeated(used, f"{file} with its indicators")
    return np.concatenate(parts, axis=1) if other else numbers, used, origins


def read_frame(path: Path, text: Collection[str] = ()) -> Any:
    """All columns of a file under their names, as pandas reads them, but those in ``text`` as text."""
    frame, names = _frame(path, text)
    frame = frame.iloc[:, : len(names)]
    frame.columns = names
    return frame


def _frame(path: Path, text: Collection[str] = ()) -> tuple[Any, list[str]]:
    """The file as a data frame, and the names of its columns."""
    notes: list[str] = []
    try:
        import pandas
    except ImportError:
        raise ImportError(f'reading {path.name} needs pandas; run: pip install "sparing[table]"') from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd tables are refused below with a message of our own
            is_parquet = path.suffix.lower() == ".parquet"
            frame, names = _parquet(pandas, path) if is_parquet else _csv(pandas, path, text, notes)
    except ImportError:
        raise ImportError(f'reading {path.name} needs pyarrow; run: pip install "sparing[table]"') from None
    except InputError:
        raise
    except Exception as error:  # parsers raise many kinds of errors on broken bytes
        raise InputError(f"{path.name} cannot be read as a table: {first_line(error)}", "check the file") from error
    if not len(frame):
        raise InputError(f"{path.name} has a header but no rows", "it needs one line per example")
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=4)
    return frame, names


def _parquet(pandas, path: Path) -> tuple[Any, list[str]]:
    from pyarrow.parquet import read_schema

    refuse_repeated([str(name) for name in read_schema(path).names], path.name)
    frame = pandas.read_parquet(path, engine="pyarrow")
    names = [str(name) for name in frame.columns]
    refuse_repeated(names, path.name)
    return frame, names


def _csv(pandas, path: Path, text: Collection[str], notes: list[str]) -> tuple[Any, list[str]]:
    """The file as a data frame, and the names of its columns; notes are added about what may be meant otherwise.

    The header is read without pandas, which would rename repeated columns, and shift columns if rows are too long. One
    more column than the header has catches such rows.
    """
    with opened(path) as file:
        names, separator, n_lines = read_header(file)
        if not names:
            raise InputError(f"{path.name} is empty", "it needs a header and one line per example")
        refuse_repeated([name for name in names if name], path.name)
        try:
            frame = pandas.read_csv(
                file,
                sep=separator,
                header=None,
                names=range(len(names) + 1),
                index_col=False,
                na_values=MISSING,
                dtype={at: str for at, name in enumerate(names) if name in text} or None,
                skipinitialspace=True,
                low_memory=False,  # joining chunks column by column is slow for wide tables
            )
        except pandas.errors.EmptyDataError:
            raise InputError(f"{path.name} has a header but no rows", "it needs one line per example") from None
        except pandas.errors.ParserError as error:
            if found := TOO_LONG.search(str(error)):
                line, n_values = (int(number) for number in found.groups())
                raise _too_long(path, f"line {line + n_lines} has {n_values} values", names) from None
            raise
    beyond = frame.iloc[:, len(names)]
    if beyond.notna().any():
        row = int(np.flatnonzero(beyond.notna().to_numpy())[0]) + 1
        raise _too_long(path, f"row {row} has {len(names) + 1} values", names)
    words = [at for at, dtype in enumerate(frame.dtypes[: len(names)]) if dtype.kind not in "biuf"]
    for at in words:
        column = frame.iloc[:, at]
        is_text = names[at] in text
        frame.isetitem(at, column.str.strip() if is_text else _typed(column, separator, names[at], notes))
    return _named(frame, names, path.name)


def _named(frame, names: list[str], file: str) -> tuple[Any, list[str]]:
    """The columns with names: nameless ones, such as an index, are named by their place, or left out if empty."""
    kept = [at for at, name in enumerate(names) if name or frame.iloc[:, at].notna().any()]
    names = [names[at] or f"column {at + 1}" for at in kept]
    refuse_repeated(names, file)
    return frame if len(kept) == frame.shape[1] - 1 else frame.iloc[:, kept], names


def _typed(column, separator: str, name: str, notes: list[str]):
    """A column of text as numbers, or as dates, if all of its values are such.

    Dates must be in ISO 8601, where day and month cannot be confused.
    """
    texts = column.dropna()
    if not len(texts) or not all(isinstance(text, str) for text in texts):
        return column
    if (found := numbers_written(texts.unique(), commas_separate=separator == ",")) is not None:
        numbers, doubtful = found
        if doubtful:
            number = f"{numbers[doubtful]:g}"
            notes.append(
                f"column {name!r}: {doubtful!r} is read as {number}; write it without a comma if that is wrong."
            )
        return column.map(numbers).astype("float64")
    column, texts = column.str.strip(), texts.str.strip()
    if texts.str.fullmatch(ISO_DATE).all():
        from pandas import to_datetime

        dates = to_datetime(column, format="ISO8601", errors="coerce", utc=True)
        return column if dates.isna().sum() > column.isna().sum() else dates.dt.tz_localize(None)
    return column


def _too_long(path: Path, what: str, names) -> InputError:
    if len(names) == 1:
        return InputError(f"{what}, but the first line of {path.name} is just {names[0]!r}", "begin with the header")
    return InputError(f"{what} for the {len(names)} columns of {path.name}", "quote values that hold the separator")


def _flags(column) -> np.ndarray | None:
    """Booleans with missing values, which pandas stores as objects, as numbers; None for any other column."""
    values = column.tolist()
    if not all(value is None or isinstance(value, bool | float) for value in values):
        return None
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _numbers(frame, places: list[int], flags: dict[int, np.ndarray]) -> np.ndarray:
    numbers = np.empty((len(frame), len(places)))
    plain = [at for at, i in enumerate(places) if i not in flags]
    taken = frame.iloc[:, [places[at] for at in plain]]
    nullable = any(not isinstance(dtype, np.dtype) for dtype in taken.dtypes)  # as Parquet files may hold
    numbers[:, plain] = taken.to_numpy(dtype=np.float64, **({"na_value": np.nan} if nullable else {}))
    for at, i in enumerate(places):
        if i in flags:
            numbers[:, at] = flags[i]
    return numbers


def _indicators(column, name: str) -> tuple[np.ndarray, list[str]]:
    """One indicator per value, in sorted order; missing where the value is missing."""
    missing = column.isna().to_numpy()
    texts = [None if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)]
    values = sorted({text for text in texts if text is not None})
    if len(values) > MOST_INDICATORS:
        raise InputError(
            f"column {name!r} has {len(values)} values, too many to encode (over {MOST_INDICATORS})",
            "leave it out with {drop}",
            {"drop": [name]},
        )
    at = {text: i for i, text in enumerate(values)}
    made = np.zeros((len(texts), len(values)))
    for row, text in enumerate(texts):
        if text is None:
            made[row] = np.nan
        else:
            made[row, at[text]] = 1.0
    return made, values
