"""Matrices and targets of npz files."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing.files import InputError
from sparing.tables.names import first_line, refuse_unknown, some

MOST_COLUMNS = 10_000_000  # limit for sparse matrices, whose files may claim any number of columns
SPARSE = {"format", "shape", "data"}  # the arrays of every kind of sparse matrix


def array_names(path: Path) -> set[str]:
    """Names of the arrays of an npz file; empty if the file is not an npz file."""
    try:
        with zipfile.ZipFile(path) as file:
            return {name.removesuffix(".npy") for name in file.namelist()}
    except Exception:  # reading the arrays will raise an error with a message
        return set()


def read_arrays(path: Path, target: str | None):
    """The matrix, values of the target as they are in the file, names of the columns and of the target."""
    X, arrays = read_matrix(path)
    y, target = _target(path, arrays, target)
    if y.shape != (X.shape[0],):
        raise InputError(f"the target {target!r} has shape {y.shape} for {X.shape[0]} rows", "store one value per row")
    return X, _values(y, target), [f"x{i}" for i in range(X.shape[1])], target


def read_matrix(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The attributes, dense or CSR, and all arrays of the file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        arrays = {name: array for name, array in stored.items() if isinstance(array, np.ndarray)}
        X: Any = sparse.load_npz(path) if set(arrays) >= SPARSE else arrays.get("X", arrays.get("data"))
        if X is not None and hasattr(X, "check_format"):
            X.check_format(full_check=True)  # an index out of range would read arbitrary memory
    except Exception as error:  # zip, zlib and npy readers raise many kinds of errors on broken bytes
        raise InputError(
            f"{path.name} cannot be read as an npz file of numbers: {first_line(error)}", "check the file"
        ) from error
    if X is None:
        raise InputError(f"{path.name} has no array X or data ({some(arrays)})", "store the attributes as X")
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        raise InputError(f"the attributes in {path.name} are {X.dtype} of shape {X.shape}", "store a matrix of numbers")
    if X.shape[1] > MOST_COLUMNS:
        raise InputError(f"{path.name} has {X.shape[1]:,} columns, over {MOST_COLUMNS:,}", "store fewer columns")
    X = X.tocsr() if sparse.issparse(X) else X
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are refused with their columns
        return X.astype(np.float64), arrays


def _target(path: Path, arrays, target: str | None) -> tuple[np.ndarray, str]:
    if target is None:
        target = next((name for name in ("y", "target") if name in arrays), None)
        if target is None:
            raise InputError(
                f"{path.name} has no array y or target", "name another array, or a .npy file, with {target}",
                {"target": None},
            )  # fmt: skip
    if target in arrays:
        return arrays[target], target
    if target.endswith(".npy"):
        return _read_npy(Path(target)), Path(target).stem
    refuse_unknown([target], list(arrays), "array", path.name)
    raise AssertionError("unreachable")


def _values(y: np.ndarray, target: str) -> list:
    try:
        return y.tolist()
    except Exception as error:  # text that cannot be decoded
        raise InputError(f"the target {target!r} has broken values: {first_line(error)}", "check the file") from error


def _read_npy(path: Path) -> np.ndarray:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r} to take the target from; check the path.")
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            raise ValueError("it holds several arrays")
    except Exception as error:
        raise InputError(f"{path.name} cannot be read as one array: {first_line(error)}", "check the file") from error
    return found
