"""One table out of a file of any kind: attributes as numbers, and a target that can be learnt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing.files import InputError
from sparing.tables.frames import numbers_of, read_columns
from sparing.tables.names import refuse_unknown, these
from sparing.tables.npz import read_arrays

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet", ".npz")


@dataclass(frozen=True)
class Table:
    """Attributes and target of a file. ``classes`` are the two values that became -1 and +1, if it has just two.

    Attributes are numbers, or a data frame of columns as they are in the file, for estimators that take them.
    """

    X: Any
    y: np.ndarray
    names: list[str]
    target: str
    classes: tuple[str, str] | None
    n_dropped: int


def read_table(path, target: str | None = None, *, drop=(), encode=False, drop_missing=False, as_is=False) -> Table:
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
    as_is : bool
        Keep columns of text and dates, in a data frame, and missing values, for estimators that take them. Only rows
        without a target are left out.

    Raises
    ------
    ValueError
        If the file cannot be read, whatever is wrong with it.
    """
    path = Path(path)
    _refuse_path(path)
    if target in drop:
        raise InputError(
            f"{target!r} is both the target and a column to leave out", "take it from {drop}", {"drop": None}
        )
    if path.suffix.lower() == ".npz":
        X, values, names, target = read_arrays(path, target)
        refuse_unknown(drop, names, "column", path.name)
        kept = [i for i, name in enumerate(names) if name not in drop]
        X, names = (X[:, kept], [names[i] for i in kept]) if drop else (X, names)
    else:
        X, values, target = read_columns(path, target, drop)
        names = list(X.columns)
        if encode or not as_is:
            X, names, _ = numbers_of(X, encode, path.name)
    _refuse_infinity(X, names)
    X, values, n_dropped = _without_missing(X, values, names, target, drop_missing, as_is)
    y, classes = _numbers_of(values, target)
    return Table(X, y, names, target, classes, n_dropped)


def _refuse_path(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder", f"name a file in it that ends in one of {', '.join(SUFFIXES)}")
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError(f"{path.name} is of an unknown kind", f"its name must end in one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")


def _refuse_infinity(X, names: list[str]) -> None:
    if sparse.issparse(X):
        if not np.isfinite(X.data).all():
            raise InputError("the sparse matrix has missing or infinite values", "fill them first")
        return
    if isinstance(X, np.ndarray):
        infinite = np.isinf(X).any(axis=0)
    else:
        floats = [dtype.kind == "f" for dtype in X.dtypes]
        infinite = np.zeros(len(names), dtype=bool)
        infinite[floats] = np.isinf(X.loc[:, floats].to_numpy(dtype=np.float64, na_value=np.nan)).any(axis=0)
    if where := [names[i] for i in np.flatnonzero(infinite)]:
        raise InputError(
            f"{these(where, 'column')} infinite in some rows",
            "put numbers there, or leave columns out with {drop}",
            {"drop": where},
        )


def _holes(X) -> np.ndarray:
    """Which values are missing; none of a sparse matrix is."""
    if sparse.issparse(X):
        return np.zeros((X.shape[0], 0), dtype=bool)
    return np.isnan(X) if isinstance(X, np.ndarray) else X.isna().to_numpy()


def _without_missing(X, values: list, names: list[str], target: str, drop_missing: bool, as_is: bool):
    """Rows without missing values; others are refused unless they may be dropped, or, but for the target, kept."""
    absent = np.array([value is None or bool(value != value) for value in values])
    holes = _holes(X)
    if as_is and not drop_missing:
        holes, drop_missing = holes[:, :0], True
    if not holes.any() and not absent.any():
        return X, values, 0
    bad = holes.any(axis=1) | absent
    if not drop_missing:
        where = [names[i] for i in np.flatnonzero(holes.any(axis=0))] + [target] * bool(absent.any())
        raise InputError(
            f"{these(where, 'column')} missing {int(holes.sum() + absent.sum())} values",
            f"fill them, or leave out those {bad.sum()} of {len(values)} rows with {{drop_missing}}",
            {"drop_missing": True},
        )
    if absent.all():
        raise InputError(f"the target {target!r} is missing in every row", "choose another")
    if bad.all():
        raise InputError(
            f"all {len(values)} rows have a missing value",
            "fill them, or leave columns out with {drop}",
            {"drop": None},
        )
    return X[~bad], [value for value, gone in zip(values, bad, strict=True) if not gone], int(bad.sum())


def _numbers_of(values: list, target: str) -> tuple[np.ndarray, tuple[str, str] | None]:
    """The target as numbers: two values of any kind become -1 and +1, in their order."""
    if len(values) < 2:
        raise InputError(f"there is {len(values)} row to learn from", "pass many, one per example")
    try:
        distinct = set(values)
        ordered = sorted(distinct, key=lambda value: (str(type(value)), value)) if len(distinct) == 2 else []
    except TypeError:
        raise InputError(
            f"the target {target!r} has values like {str(values[0])[:40]}", "choose one of numbers or text"
        ) from None
    if len(distinct) == 1:
        raise InputError(f"the target {target!r} is {values[0]!r} in every row", "choose a target that varies")
    if ordered:
        low, high = ordered
        return np.where(np.array([value == high for value in values]), 1.0, -1.0), (str(low), str(high))
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"the target {target!r} has {len(distinct)} classes that are not numbers", "pass a number, or two classes"
        ) from None
    if not np.isfinite(numbers).all():
        raise InputError(f"the target {target!r} has infinite values", "every target must be finite")
    return numbers, None
