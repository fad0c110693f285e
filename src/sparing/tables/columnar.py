"""Tables of Parquet files that are not read whole: only the target is in memory."""

from collections.abc import Iterable

import numpy as np

from sparing import checks
from sparing.files import InputError, refuse_data_path
from sparing.sources import ParquetSource
from sparing.tables.table import Table, labelled
from sparing.tables.tasks import TASKS, refuse_words_among_numbers


def read_columnar(paths: Iterable, target: str | None, *, drop=(), task: str | None = None) -> Table:
    """The table of one or more Parquet files: its X is a :class:`~sparing.sources.ParquetSource`.

    ``drop`` and ``task`` are those of :func:`~sparing.tables.read_table`.
    """
    paths = list(paths)
    for path in paths:
        refuse_data_path(path)
        if not str(path).lower().endswith(".parquet"):
            raise InputError(f"{path} is not a Parquet file", "pass one file, or several that end in .parquet")
    if target is None:
        raise InputError("no target given", "name a column to predict with {target}", {"target": None})
    source, values = ParquetSource(paths, drop=drop).split_target(target)
    missing = [value is None or bool(value != value) for value in values]
    if any(missing):
        raise InputError(
            f"the target {target!r} is missing in {sum(missing):,} rows", "leave such rows out of the file"
        )
    refuse_words_among_numbers(values.tolist(), target, task)
    task = None if task is None else checks.one_of("task", task, TASKS)
    return labelled(source, values.tolist(), source.names, target, task, drop=drop)


def file_bytes(source: ParquetSource) -> int:
    """The size of the files on disk, in bytes."""
    return int(np.sum([path.stat().st_size for path in source.paths]))
