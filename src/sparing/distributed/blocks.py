"""Rows and targets in blocks that are loaded on the workers: of Dask arrays, data frames, or Parquet files."""

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask import array, delayed, optimize
from dask.core import flatten
from dask.delayed import Delayed
from dask.local import get_sync
from dask.optimization import cull
from dask.utils import ensure_dict
from distributed import Client, futures_of

from sparing.sources.parquet import _is_numeric


class Blocks(NamedTuple):
    """Blocks of rows: how to load them, and what is known about them before a value is read."""

    X: list  # one Delayed per block
    y: list
    sizes: list[int]  # rows of each block
    n_attributes: int
    names: list[str] | None
    several: bool  # whether targets are a matrix
    n_outputs: int
    graphs: list[dict] | None  # how a task loads its block itself; None if blocks share tasks, or are in memory

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return sum(self.sizes)

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each block."""
        return [0, *np.cumsum(self.sizes).tolist()[:-1]]

    def task(self, function: Callable, at: int, *arguments) -> Delayed:
        """The result of a function of rows, targets and some arguments, for one block."""
        return self._task(function, at, [self.X[at], self.y[at]], arguments)

    def task_of_targets(self, function: Callable, at: int) -> Delayed:
        """The result of a function of targets, for one block."""
        return self._task(function, at, [self.y[at]], ())

    def _task(self, function: Callable, at: int, blocks: list, arguments: tuple) -> Delayed:
        name = f"{function.__name__.strip('_')}-{uuid4().hex}"
        if self.graphs is None:
            return delayed(function, pure=False)(*blocks, *arguments, dask_key_name=name)
        keys = [block.key for block in blocks]
        unloaded = Unloaded(cull(self.graphs[at], keys)[0], keys)
        return delayed(_of_loaded, pure=False)(unloaded, function, *arguments, dask_key_name=name)


class Unloaded:
    """A block that is loaded by the task that needs it, and forgotten when that task ends.

    If a separate task loaded it, it would stay in memory until the scheduler knows that it is no longer needed. In the
    meantime the worker would load the next one, and two chunks would be in memory instead of one.
    """

    def __init__(self, graph: dict, keys: list):
        self.graph, self.keys = graph, keys


def _of_loaded(unloaded: Unloaded, function: Callable, *arguments) -> Any:
    return function(*get_sync(unloaded.graph, unloaded.keys), *arguments)


def _have_common_tasks(X: array.Array, y: array.Array) -> bool:
    """Whether rows and targets of the first block come from the same tasks, such as columns of one chunk."""
    of_X, of_y = (cull(ensure_dict(of.dask), [next(iter(flatten(of.__dask_keys__())))])[0] for of in (X, y))
    return not of_X.keys().isdisjoint(of_y)


def _graphs_apart(of_all: dict, keys: list[list]) -> list[dict] | None:
    """The tasks of each block, from the graph of all; None if several blocks need the same task."""
    graphs = [cull(of_all, of_block)[0] for of_block in keys]
    return graphs if sum(map(len, graphs)) == len(set().union(*graphs)) else None


def load(X, y, client: Client) -> Blocks:
    """The blocks of the given rows and targets; the rows of chunks of unknown length are counted on the workers."""
    if (paths := paths_in(X)) is not None:
        return _of_files(paths, y, client)
    names = list(X.columns) if hasattr(X, "columns") else None
    X, y = as_array(X), _targets(y)
    X = X.rechunk({1: -1})
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"y has {y.shape[0]} targets for {X.shape[0]} rows; pass one target per row.")
    y = y.rechunk({0: X.chunks[0]} | ({1: -1} if y.ndim == 2 else {}))
    sizes = [int(size) for size in X.chunks[0]]
    kept = [at for at, size in enumerate(sizes) if size]
    loaded = bool(futures_of([X, y]))
    if not _have_common_tasks(X, y):  # otherwise each block would repeat them
        X, y = optimize(X, y)
    of_X, of_y = ([of[at] for at in kept] for of in (each.to_delayed(False).ravel() for each in (X, y)))
    both = ensure_dict(X.dask) | ensure_dict(y.dask)
    graphs = None if loaded else _graphs_apart(both, [[a.key, b.key] for a, b in zip(of_X, of_y, strict=True)])
    n_outputs = y.shape[1] if y.ndim == 2 else 1
    return Blocks(of_X, of_y, [sizes[at] for at in kept], X.shape[1], names, y.ndim == 2, n_outputs, graphs)


def publish_columns(estimator, blocks: Blocks) -> None:
    """Set the columns that the estimator is fitted to, in place of those of an earlier fit."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = blocks.n_attributes
    if blocks.names is not None:
        estimator.feature_names_in_ = np.asarray(blocks.names, dtype=object)


def paths_in(X) -> list[str] | None:
    """The paths, if this is a list of files."""
    if not isinstance(X, list | tuple) or not all(isinstance(path, str | PathLike) for path in X):
        return None
    if not X:
        raise ValueError("the list of Parquet files is empty; pass at least one.")
    return [fspath(path) for path in X]


def as_array(X) -> Any:
    """A Dask array or data frame as an array of rows whose chunks have known lengths."""
    if hasattr(X, "to_dask_array"):
        _refuse_other_than_numbers({name: kind for name, kind in X.dtypes.items() if kind.kind not in "fiub"})
        X = X.astype(np.float64).to_dask_array(lengths=True)
    if not isinstance(X, array.Array) or X.ndim != 2:
        raise ValueError(
            f"X must be a Dask array of rows, a Dask data frame or a list of Parquet files; got {type(X).__name__}. "
            "For an array in memory call the estimator's own fit, or dask.array.from_array first."
        )
    return _counted(X)


def _targets(y):
    y = y.to_dask_array(lengths=True) if hasattr(y, "to_dask_array") else y
    if not isinstance(y, array.Array):
        y = array.from_array(np.asarray(y))
    if y.ndim not in (1, 2):
        raise ValueError(f"y must be a vector, or a matrix with one column per output; got {y.ndim} dimensions.")
    return _counted(y)


def _refuse_other_than_numbers(others: Mapping[str, Any]) -> None:
    """Refuse columns of other types, given by name."""
    if others:
        name = next(iter(others))
        raise ValueError(
            f"column {name!r} holds {others[name]}; on many machines columns are numbers. Turn it into "
            "indicators, or fit on one machine."
        )


def _counted(of_rows: array.Array) -> array.Array:
    return of_rows.compute_chunk_sizes() if np.isnan(of_rows.chunks[0]).any() else of_rows


# Parquet -------------------------------------------------------------------------------------------------------------


class Footer(NamedTuple):
    """The metadata of a file."""

    n_rows: int
    columns: list[str]
    others: dict[str, str]  # the types of columns that are not numeric


def _of_files(paths: list[str], target, client: Client) -> Blocks:
    """Each file that has rows is a block."""
    several = isinstance(target, list | tuple)
    targets = list(target) if several else [target]
    if not all(isinstance(name, str) for name in targets):
        raise ValueError("with a list of Parquet files, y is the name of the target's column, or a list of names.")
    footers = client.gather(client.map(_footer, paths, pure=False))
    columns = footers[0].columns
    names = [name for name in columns if name not in targets]
    numbers = columns if several else names  # a single target may be labels
    for path, footer in zip(paths, footers, strict=True):
        if footer.columns != columns or not set(targets) <= set(columns):
            raise ValueError(f"{path} has columns {footer.columns}; expected {columns}, among them {targets}.")
        _refuse_other_than_numbers({name: kind for name, kind in footer.others.items() if name in numbers})
    kept = [(path, footer.n_rows) for path, footer in zip(paths, footers, strict=True) if footer.n_rows]
    if not kept:
        raise ValueError("the Parquet files have columns but no rows; there is nothing to learn from.")
    X = [delayed(read_columns, pure=False)(path, names) for path, _ in kept]
    y = [delayed(read_columns, pure=False)(path, targets if several else target) for path, _ in kept]
    graphs = [ensure_dict(rows.dask) | ensure_dict(of_rows.dask) for rows, of_rows in zip(X, y, strict=True)]
    return Blocks(X, y, [n_rows for _, n_rows in kept], len(names), names, several, len(targets), graphs)


def _footer(path: str) -> Footer:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return Footer(file.metadata.num_rows, file.schema_arrow.names, _others(file.schema_arrow))


def _others(schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema if not _is_numeric(field.type)}


def read_columns(path: str, columns) -> np.ndarray:
    """Columns of a Parquet file as a matrix of numbers, or one as a vector; nulls are NaN."""
    from pyarrow.parquet import read_table

    if isinstance(columns, str):
        return read_table(path, columns=[columns]).column(0).to_numpy()
    table = read_table(path, columns=columns)
    _refuse_other_than_numbers(_others(table.schema))
    rows = np.empty((table.num_rows, len(columns)))
    for at, name in enumerate(columns):
        rows[:, at] = table.column(name).to_numpy()
    return rows
