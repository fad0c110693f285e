"""Tables from files of any supported kind: attributes and a target."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.files import InputError, refuse_data_path
from sparing.tables.frames import numbers_of, read_columns, read_frame
from sparing.tables.names import refuse_unknown, these
from sparing.tables.npz import read_arrays, read_matrix
from sparing.tables.tasks import TASKS, labels_of, refuse_words_among_numbers

LARGEST_TARGET = 1e150  # errors are squared, and 1e308 is the largest number


@dataclass(frozen=True)
class Table:
    """Attributes and target of a file. ``classes`` are the values that became -1 and +1, if the target has just two.

    Attributes are numbers, or a data frame with the columns of the file, for estimators that accept it. If a ``task``
    was given and is classification, the target is ``labels`` instead of numbers, and ``why`` says why.
    """

    X: Any
    y: np.ndarray
    names: list[str]
    target: str
    classes: tuple[str, str] | None
    n_dropped: int
    labels: np.ndarray | None = None
    why: str = ""
    dropped: tuple[str, ...] = ()  # columns left out on request
    n_without_target: int = 0  # of the rows that were left out
    columns: tuple[str, ...] = ()  # of a file of columns: the one that each attribute comes from
    identifiers: tuple[str, ...] = ()  # columns of text left out because it differs in every row

    @property
    def n_missing(self) -> int:
        """The number of missing values, each counted once, however many indicators its column has."""
        return int(_one_per_column(_holes(self.X), self.columns).sum())

    @property
    def n_encoded(self) -> tuple[int, int]:
        """Columns of text, and indicators made of them."""
        made = [of for name, of in zip(self.names, self.columns, strict=False) if name != of]
        return len(set(made)), len(made)

    def lines(self) -> list[str]:
        """What was read, and what was left out and why, in sentences."""
        said = [f"{len(self.y):,} rows, {len(self.names):,} attributes, target {self.target!r}"]
        if self.dropped:
            said.append(f"left out as asked: {', '.join(self.dropped)}")
        if self.identifiers:
            said.append(f"left out, because its text differs in every row: {', '.join(self.identifiers)}")
        without = {"without a target": self.n_without_target}
        without["with a missing value"] = self.n_dropped - self.n_without_target
        if self.n_dropped:
            parts = [f"{n:,} row{'s' if n > 1 else ''} {why}" for why, n in without.items() if n]
            said.append(f"left out: {', '.join(parts)}")
        return said


def read_table(
    path, target: str | None = None, *, drop=(), encode=False, drop_missing=False, as_is=False, task=None
) -> Table:
    """Read a data file and name its target.

    Parameters
    ----------
    path : path of a .csv, .csv.gz, .tsv, .parquet or .npz file
        An npz file has arrays ``X`` and ``y``, or ``data`` and ``target``; or it is a sparse matrix as
        ``scipy.sparse.save_npz`` writes it, with the target in the same file or in one of its own.
    target : str, optional
        A column; for npz the name of an array in the file (by default ``y`` or ``target``), or a .npy file.
    drop : names of columns to leave out
    encode : bool or "repeated"
        Turn each column that is not numeric into indicators, one per value. Otherwise such columns are refused. With
        "repeated", columns of text that differs in every row are left out.
    drop_missing : bool
        Leave out rows with a missing value. Otherwise missing values are refused.
    as_is : bool
        Keep text, dates and missing values, in a data frame, for estimators that accept them. Only rows without a
        target are left out.
    task : {"auto", "regression", "classification"}, optional
        Whether the target is a number or a class; "auto" decides by :func:`sparing.tables.tasks.labels_of`. Without a
        task, targets are numbers, and a target with two values of any type becomes -1 and +1.

    Raises
    ------
    ValueError
        If the file cannot be read, for any reason.
    """
    path = Path(path)
    refuse_data_path(path)
    if target in drop:
        raise InputError(
            f"{target!r} is both the target and a column to leave out", "take it from {drop}", {"drop": None}
        )
    columns: list[str] = []
    identifiers: list[str] = []
    if path.suffix.lower() == ".npz":
        X, values, names, target = read_arrays(path, target)
        refuse_unknown(drop, names, "column", path.name)
        kept = [i for i, name in enumerate(names) if name not in drop]
        X, names = (X[:, kept], [names[i] for i in kept]) if drop else (X, names)
    else:
        X, values, target = read_columns(path, target, drop)
        names = list(X.columns)
        if encode or not as_is:
            there = [name for name, empty in zip(names, X.isna().all(), strict=True) if not empty]
            X, names, columns = numbers_of(X, encode, path.name)
            identifiers = [name for name in there if name not in set(columns)]
    _refuse_infinity(X, names)
    refuse_words_among_numbers(values, target, task)
    n_without_target = sum(map(_is_missing, values))
    X, values, n_dropped = _without_missing(X, values, columns or names, target, drop_missing, as_is)
    task = None if task is None else checks.one_of("task", task, TASKS)
    table = labelled(X, values, names, target, task, n_dropped=n_dropped, drop=drop)
    return replace(table, n_without_target=n_without_target, columns=tuple(columns), identifiers=tuple(identifiers))


def labelled(X, values: list, names: list[str], target: str, task: str | None, *, n_dropped: int = 0, drop=()) -> Table:
    """The table of these attributes and values of the target, as numbers or as labels."""
    if task is not None:
        _refuse_one_value(values, target)
        labels, why = labels_of(values, target, task)
        if labels is not None:
            return Table(X, labels, names, target, None, n_dropped, labels, why, tuple(drop))
        return Table(X, _finite(values, target), names, target, None, n_dropped, why=why, dropped=tuple(drop))
    y, classes = _numbers_of(values, target)
    return Table(X, y, names, target, classes, n_dropped, dropped=tuple(drop))


def read_rows(path, *, text: Collection[str] = ()) -> Any:
    """The rows of a data file to predict, without a target: a data frame, or the matrix of an npz file.

    Columns named in ``text`` are read as text even where all of it looks like numbers, as codes of categories may.
    """
    path = Path(path)
    refuse_data_path(path)
    return read_matrix(path)[0] if path.suffix.lower() == ".npz" else read_frame(path, text)


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


def _is_missing(value) -> bool:
    """Whether a value of the target is missing: None, NaN, NaT."""
    return value is None or bool(value != value)


def _holes(X) -> np.ndarray:
    """Which values are missing; a sparse matrix has none."""
    if sparse.issparse(X):
        return np.zeros((X.shape[0], 0), dtype=bool)
    return np.isnan(X) if isinstance(X, np.ndarray) else X.isna().to_numpy()


def _one_per_column(holes: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """Holes in the columns of a file: all indicators of a column are missing where its value is."""
    return holes[:, list({name: i for i, name in reversed(list(enumerate(columns)))}.values())] if columns else holes


def _without_missing(X, values: list, names: list[str], target: str, drop_missing: bool, as_is: bool):
    """The rows without missing values. Others are refused, or dropped, or (if they have a target) kept ``as_is``."""
    absent = np.array([_is_missing(value) for value in values])
    holes = _holes(X)
    if as_is and not drop_missing:
        holes, drop_missing = holes[:, :0], True
    if not holes.any() and not absent.any():
        return X, values, 0
    bad = holes.any(axis=1) | absent
    if not drop_missing:
        where = list(dict.fromkeys(names[i] for i in np.flatnonzero(holes.any(axis=0)))) + [target] * bool(absent.any())
        said = f"{these(where, 'column')} missing {int(_one_per_column(holes, names).sum() + absent.sum())} values"
        if bad.all():  # no row would be left
            mostly = list(dict.fromkeys(names[i] for i in np.flatnonzero(2 * holes.sum(axis=0) > len(values))))
            raise InputError(
                f"{said}, at least one in every row",
                "fill them, or leave columns out with {drop}",
                {"drop": mostly or None},
            )
        raise InputError(
            said,
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


def _refuse_one_value(values: list, target: str) -> set:
    """The distinct values of a target, of which there must be two."""
    if len(values) < 2:
        raise InputError(f"there is {len(values)} row to learn from", "pass many, one per example")
    try:
        distinct = set(values)
    except TypeError:
        raise InputError(
            f"the target {target!r} has values like {str(values[0])[:40]}", "choose one of numbers or text"
        ) from None
    if len(distinct) == 1:
        raise InputError(f"the target {target!r} is {values[0]!r} in every row", "choose a target that varies")
    return distinct


def _numbers_of(values: list, target: str) -> tuple[np.ndarray, tuple[str, str] | None]:
    """The target as numbers: two values of any kind become -1 and +1, in their order."""
    distinct = _refuse_one_value(values, target)
    if len(distinct) == 2:
        low, high = sorted(distinct, key=lambda value: (str(type(value)), value))
        return np.where(np.array([value == high for value in values]), 1.0, -1.0), (str(low), str(high))
    return _finite(values, target), None


def _finite(values: list, target: str) -> np.ndarray:
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"the target {target!r} has {len(set(values))} classes that are not numbers",
            "pass a number, or two classes",
        ) from None
    if not np.isfinite(numbers).all():
        raise InputError(f"the target {target!r} has infinite values", "every target must be finite")
    if np.abs(numbers).max(initial=0.0) > LARGEST_TARGET:
        raise InputError(
            f"the target {target!r} has the value {numbers[np.abs(numbers).argmax()]:g}, whose square is infinite",
            "correct it, or leave out its row",
        )
    return numbers
