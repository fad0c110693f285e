"""Tables of the user's own: CSV, Parquet and npz files in, numbers out."""

import csv
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet", ".npz")
TOO_MANY = 1000  # indicator columns that one column may turn into


@dataclass(frozen=True)
class Table:
    """Attributes and target of a file. ``classes`` are the two values that became -1 and +1, if it has just two."""

    X: Any
    y: np.ndarray
    names: list[str]
    target: str
    classes: tuple[str, str] | None
    n_dropped: int


def read_table(path, target: str | None = None, *, drop=(), encode=False, drop_missing=False) -> Table:
    """Read a data file and name its target.

    Parameters
    ----------
    path : path of a .csv, .csv.gz, .tsv, .parquet or .npz file
        An npz file has arrays ``X`` and ``y``, or ``data`` and ``target``; or it is a sparse matrix as
        ``scipy.sparse.save_npz`` writes it, with the target in the same file or in one of its own.
    target : str, optional
        A column; for npz the name of an array in the file (by default ``y`` or ``target``), or a .npy file.
    drop : names of columns to leave out
    encode : bool
        Turn each column that is not numeric into indicators, one per value. Otherwise such columns are refused.
    drop_missing : bool
        Leave out rows with a missing value. Otherwise missing values are refused.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; name a file in it that ends in one of {', '.join(SUFFIXES)}.")
    if not path.name.lower().endswith(SUFFIXES):
        raise ValueError(f"cannot read {path.name}: its name must end in one of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")
    if target in drop:
        raise ValueError(f"{target!r} is both the target and a column to leave out; take it from --drop.")
    if path.suffix.lower() == ".npz":
        X, y, names, target = _read_npz(path, target)
        _refuse_names(drop, names, "column", path)
        kept = [i for i, name in enumerate(names) if name not in drop]
        X, names = (X[:, kept], [names[i] for i in kept]) if drop else (X, names)
    else:
        X, y, names, target = _read_frame(path, target, drop, encode)
    X, y, n_dropped = _without_missing(X, y, names, target, drop_missing)
    y, classes = _numbers_of(y, target)
    return Table(X, y, names, target, classes, n_dropped)


# Data frames --------------------------------------------------------------------------------------------------------


def _read_frame(path: Path, target, drop, encode):
    """Columns as float64, the target as it is."""
    frame = _frame(path)
    frame.columns = [str(name) for name in frame.columns]
    if target is None:
        raise ValueError(
            f"no target: say which column of {path.name} to predict with --target; {_some(frame.columns)}."
        )
    _refuse_names([target, *drop], frame.columns, "column", path)
    y = frame[target]
    frame = frame.drop(columns=list({target, *drop}))
    if frame.shape[1] == 0:
        raise ValueError(f"{path.name} has no column beside the target {target!r}; add attributes to learn from.")
    words = [name for name in frame if frame[name].dtype.kind not in "biuf"]
    if words and not encode:
        raise ValueError(
            f"{_count(words, 'column')} not numeric; turn text into indicators with --encode, or leave it out with "
            f"--drop {','.join(words[:3])}."
        )
    frame = _encoded(frame, words)
    return frame.to_numpy(dtype=np.float64), y.to_numpy(), list(frame.columns), target


def _frame(path: Path):
    try:
        import pandas
    except ImportError:
        raise ImportError(f'reading {path.name} needs pandas; run: pip install "sparing[table]"') from None
    try:
        if path.suffix.lower() == ".parquet":
            frame = pandas.read_parquet(path, dtype_backend="numpy_nullable")
        else:
            frame = pandas.read_csv(path, sep=_separator(path), dtype_backend="numpy_nullable")
    except ImportError:
        raise ImportError(f'reading {path.name} needs pyarrow; run: pip install "sparing[table]"') from None
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{path.name} is empty; it needs a header and one line an example.") from None
    except (ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path.name} could not be read as a table: {reason}") from error
    if frame.empty:
        raise ValueError(f"{path.name} has a header but no rows; it needs one line an example.")
    if frame.columns.duplicated().any():
        twice = str(frame.columns[frame.columns.duplicated()][0])
        raise ValueError(f"{path.name} has two columns named {twice!r}; rename one of them.")
    return frame


def _separator(path: Path) -> str:
    """The likeliest of comma, semicolon and tab, going by the first line."""
    if path.suffix.lower() == ".gz":
        return ","
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    return max(",;\t", key=header.count)


def _encoded(frame, words: list[str]):
    """Indicators for the columns that are not numeric; a missing value has none of its own and stays missing."""
    import pandas

    for name in words:
        if (n_values := frame[name].nunique()) > TOO_MANY:
            raise ValueError(
                f"column {name!r} has {n_values} values, too many to encode (over {TOO_MANY}); leave it out with "
                f"--drop {name}."
            )
    parts = [frame.drop(columns=words).astype("Float64")]
    for name in words:
        indicators = pandas.get_dummies(frame[name].astype("string"), prefix=name, prefix_sep="=", dtype="Float64")
        parts.append(indicators.mask(frame[name].isna(), axis=0))
    return pandas.concat(parts, axis=1)


# Arrays -------------------------------------------------------------------------------------------------------------


def _read_npz(path: Path, target):
    """The matrix and the target of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        is_sparse = {"indptr", "indices", "shape"} <= set(arrays)
        X = sparse.load_npz(path).tocsr() if is_sparse else arrays.get("X", arrays.get("data"))
    except (ValueError, OSError, KeyError) as error:
        raise ValueError(f"{path.name} could not be read as an npz file of numbers: {error}") from error
    if X is None:
        raise ValueError(f"{path.name} has no array X or data; {_some(arrays)}.")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"the attributes in {path.name} must be a matrix of numbers; got {X.dtype} {X.shape}.")
    y, target = _npz_target(path, arrays, target)
    if y.shape != (X.shape[0],):
        raise ValueError(f"the target {target!r} has shape {y.shape} for {X.shape[0]} rows; pass one value a row.")
    return X.astype(np.float64), y, [f"x{i}" for i in range(X.shape[1])], target


def _npz_target(path: Path, arrays, target):
    if target is None:
        target = next((name for name in ("y", "target") if name in arrays), None)
        if target is None:
            raise ValueError(f"{path.name} has no array y or target; name one with --target, or a .npy file.")
    if target in arrays:
        return arrays[target], target
    if target.endswith(".npy"):
        if not Path(target).is_file():
            raise FileNotFoundError(f"there is no file {target!r} to take the target from; check the path.")
        return np.load(target, allow_pickle=False), Path(target).stem
    _refuse_names([target], list(arrays), "array", path)
    raise AssertionError("unreachable")


# What is refused ----------------------------------------------------------------------------------------------------


def _without_missing(X, y, names, target, drop_missing):
    """Rows that are whole; refuse the others unless they may be dropped."""
    dense = not sparse.issparse(X)
    if not dense and not np.isfinite(X.data).all():
        raise ValueError("the sparse matrix has missing or infinite values; fill them first.")
    holes = np.isnan(X) if dense else np.zeros((X.shape[0], 0), dtype=bool)
    if dense and (where := [name for name, column in zip(names, X.T, strict=True) if np.isinf(column).any()]):
        raise ValueError(f"{_count(where, 'column')} infinite in some rows; put numbers there, or use --drop.")
    absent = np.array([value is None or value != value or str(value) == "<NA>" for value in y.tolist()])
    if not holes.any() and not absent.any():
        return X, y, 0
    bad = holes.any(axis=1) | absent
    if not drop_missing:
        where = [names[i] for i in np.flatnonzero(holes.any(axis=0))] + [target] * bool(absent.any())
        n_values = int(holes.sum() + absent.sum())
        raise ValueError(
            f"{_count(where, 'column')} missing {n_values} values; fill them, or leave out those {bad.sum()} of "
            f"{len(y)} rows with --drop-missing."
        )
    if bad.all():
        raise ValueError(f"all {len(y)} rows have a missing value; fill them, or leave columns out with --drop.")
    return X[~bad], y[~bad], int(bad.sum())


def _numbers_of(y: np.ndarray, target: str) -> tuple[np.ndarray, tuple[str, str] | None]:
    """The target as numbers: two values of any kind become -1 and +1, in their order."""
    values = y.tolist()
    distinct = sorted(set(values), key=lambda value: (str(type(value)), value))
    if len(values) < 2:
        raise ValueError(f"there is {len(values)} row to learn from; pass many, one an example.")
    if len(distinct) == 1:
        raise ValueError(f"the target {target!r} is {distinct[0]!r} in every row; choose a target that varies.")
    if len(distinct) == 2:
        low, high = distinct
        return np.where(np.array([value == high for value in values]), 1.0, -1.0), (str(low), str(high))
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the target {target!r} has {len(distinct)} classes that are not numbers; pass a number, or two classes."
        ) from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"the target {target!r} has infinite values; every target must be known.")
    return numbers, None


def _refuse_names(wanted, known, kind: str, path: Path) -> None:
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, list(known), n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"{_some(known)}."
            raise ValueError(f"{path.name} has no {kind} {name!r}; {hint}")


def _some(names) -> str:
    names = list(map(str, names))
    return f"it has {', '.join(names[:8])}{f' and {len(names) - 8} more' if len(names) > 8 else ''}"


def _count(names: list[str], kind: str) -> str:
    listed = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{kind}{'s' if len(names) > 1 else ''} {listed} {'are' if len(names) > 1 else 'is'}"


def write_rows(path, rows) -> None:
    """A tidy CSV file: one line a row, the fields of the named tuple as header."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0]._fields)
        writer.writerows(rows)
