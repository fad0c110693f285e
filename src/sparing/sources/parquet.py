"""Parquet files, of which only the columns that are asked for are read in each row group."""

import io
from collections.abc import Iterable
from copy import copy
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from sparing import checks
from sparing.files import InputError, refuse_missing_file
from sparing.sources.named_columns import NamedColumns

SAMPLED = 3  # blocks that are read to find categories


class RowGroup(NamedTuple):
    """The file of a block, and the number of its row group there."""

    file: int
    group: int
    n_examples: int


class Meter:
    """Counts bytes; a source and its parts share one."""

    n_bytes = 0


class MeteredFile(io.FileIO):
    """A file without buffering or read-ahead that counts the bytes read."""

    def __init__(self, path: Path, meter: Meter):
        super().__init__(path)
        self._meter = meter

    def read(self, size: int | None = -1) -> bytes:
        """Read at most ``size`` bytes."""
        found = super().read(-1 if size is None else size)
        self._meter.n_bytes += len(found)
        return found


class ParquetSource(NamedColumns):
    """Rows of one or more Parquet files with the same columns, which may be larger than memory.

    A block is a row group, of which a column is read as a whole or not at all. Nulls are NaN, unavailable values.

    Each row group is read in a few columns only, so groups should be similar. In case files are sorted, for example by
    date, groups are read in random order and standard errors are clustered by group; but a model of few groups may
    still be far off. There should be at least as many row groups as columns divided by the budget. If a million rows
    are one group, write the file again (``pyarrow.parquet.write_table(table, path, row_group_size=10_000)``).

    Parameters
    ----------
    paths : path, or list of paths
        A file, or a pattern such as ``"big/*.parquet"``. Rows are numbered consecutively through all files, in the
        order of their names or of the list.
    drop : names of columns to leave out

    Examples
    --------
    >>> import pandas, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pandas.DataFrame({"age": [61.0, 54.0, None, 38.0], "dose": [1, 2, 3, 4], "stay": [5, 3, 9, 2]})
    >>> table.to_parquet(f"{folder.name}/ward.parquet", row_group_size=2)
    >>> source, stay = ParquetSource(f"{folder.name}/*.parquet").split_target("stay")
    >>> source.names, source.blocks().tolist(), stay.tolist()
    (['age', 'dose'], [2, 2], [5, 3, 9, 2])
    >>> source.read_block(1, np.array([1, 0])).tolist()
    [[3.0, nan], [4.0, 38.0]]
    >>> folder.cleanup()
    """

    def __init__(self, paths: str | PathLike | Iterable, *, drop: Iterable[str] = ()):
        self.paths, self._meter = _paths(paths), Meter()
        self._files = [self._metadata(path) for path in self.paths]
        schema = self._files[0].schema.to_arrow_schema()
        for path, file in zip(self.paths, self._files, strict=True):
            _refuse_other_columns(path, file.schema.to_arrow_schema(), schema, self.paths[0])
        super().__init__({field.name: _is_numeric(field.type) for field in schema}, drop)
        if nested := [name for name in self.names if _is_nested(schema.field(name).type)]:
            raise InputError(
                f"column {nested[0]!r} holds lists or structures", "leave it out with {drop}", {"drop": nested}
            )
        self._groups = [
            RowGroup(at, group, file.row_group(group).num_rows)
            for at, file in enumerate(self._files)
            for group in range(file.num_row_groups)
            if file.row_group(group).num_rows
        ]
        if not self._groups:
            raise InputError(f"{self.paths[0].name} has columns but no rows", "it needs one row per example")

    @property
    def n_examples(self) -> int:
        """The number of rows of all files."""
        return int(self.blocks().sum())

    @property
    def bytes_read(self) -> int:
        """Bytes of the files, including their footers, that were read so far."""
        return self._meter.n_bytes

    def blocks(self) -> np.ndarray:
        """The number of rows in each row group."""
        return np.array([group.n_examples for group in self._groups])

    def column_bytes(self) -> np.ndarray:
        """The number of bytes of each column in each row group: (n_blocks, n_attributes)."""
        sizes = np.empty((len(self._groups), self.n_attributes))
        for block, (file, group, _) in enumerate(self._groups):
            metadata = self._files[file].row_group(group)
            chunks = (metadata.column(at) for at in range(metadata.num_columns))
            by_name = {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}
            sizes[block] = [by_name[name] for name in self.names]
        return sizes

    # Parts -----------------------------------------------------------------------------------------------------------

    def take(self, blocks) -> Self:
        """A source of these row groups only, in this order."""
        some = copy(self)
        some._groups = [self._groups[block] for block in blocks]
        return some

    def sample(self, n_blocks: int, *, random_state: int = 0) -> Self:
        """A source of ``n_blocks`` row groups drawn at random."""
        n_blocks = checks.whole("n_blocks", n_blocks)
        if n_blocks > len(self._groups):
            raise ValueError(f"there are {len(self._groups)} row groups; {n_blocks} cannot be drawn.")
        return self.take(np.random.default_rng(checks.seed(random_state)).permutation(len(self._groups))[:n_blocks])

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of one row; this reads the columns of its row group."""
        ends = np.cumsum(self.blocks())
        block = int(np.searchsorted(ends, example, side="right"))
        return self.read_block(block, attributes)[example - int(ends[block])]

    def read_block(self, block: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these columns of a row group: one row per example."""
        names = self._named(attributes)
        table = self._table(block, names)
        if self.encoder is not None:
            values = self.encoder.only(attributes).encode(table.select(names).to_pandas()).to_numpy(np.float64)
        else:
            values = np.empty((table.num_rows, len(names)))
            for at, name in enumerate(names):
                values[:, at] = table.column(name).cast("float64", safe=False).to_numpy()
        return checks.no_infinity(values, int(self.blocks()[:block].sum()), attributes)

    def sample_frame(self, attributes: np.ndarray) -> Any:
        """These columns of the first, the last and a middle row group, enough to find common categories."""
        from pandas import concat

        names = [self.names[at] for at in attributes]
        blocks = np.unique(np.linspace(0, len(self._groups) - 1, SAMPLED).astype(int))
        return concat([self._table(int(at), names).select(names).to_pandas() for at in blocks], ignore_index=True)

    def _column(self, name: str) -> np.ndarray:
        tables = (self._table(block, [name]) for block in range(len(self._groups)))
        return np.concatenate([table.column(name).to_pandas().to_numpy() for table in tables])

    def _table(self, block: int, names: list[str]):
        file, group, _ = self._groups[block]
        with MeteredFile(self.paths[file], self._meter) as opened:  # pre_buffer would also read what lies between
            reader = _parquet().ParquetFile(opened, metadata=self._files[file], pre_buffer=False)
            return reader.read_row_group(group, columns=names, use_threads=False)

    def _metadata(self, path: Path):
        refuse_missing_file(path)
        with MeteredFile(path, self._meter) as opened:
            try:
                return _parquet().read_metadata(opened)
            except ImportError:
                raise
            except Exception as error:  # the reader raises many kinds of errors on broken bytes
                raise InputError(
                    f"{path.name} cannot be read as a Parquet file: {str(error).rstrip('.')}", "check the file"
                ) from error


def _parquet():
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError('reading Parquet files needs pyarrow; run: pip install "sparing[table]"') from None
    return parquet


def _paths(paths) -> list[Path]:
    """The files that a path, a pattern or a list refers to."""
    if isinstance(paths, str | PathLike):
        is_pattern = any(sign in fspath(paths) for sign in "*?[") and not Path(paths).exists()
        found = sorted(glob(fspath(paths), recursive=True)) if is_pattern else [fspath(paths)]
    else:
        found = [fspath(path) for path in paths]
    if not found:
        raise FileNotFoundError(f"there is no file {str(paths)!r}; check the pattern.")
    files = [Path(path) for path in found]
    resolved = [path.resolve() for path in files]
    if len(set(resolved)) < len(files):  # held-out rows would also be learnt from
        twice = next(path for path, real in zip(files, resolved, strict=True) if resolved.count(real) > 1)
        raise InputError(f"the file {str(twice)!r} is given twice", "pass each file once")
    return files


def _refuse_other_columns(path: Path, found, expected, first: Path) -> None:
    if found.names != expected.names or found.types != expected.types:
        odd = [f"{field.name!r} ({field.type}) is only in {path.name}" for field in found if field not in expected]
        odd += [f"{field.name!r} ({field.type}) is only in {first.name}" for field in expected if field not in found]
        raise InputError(
            f"{path.name} has other columns than {first.name}: {odd[0] if odd else 'the same in another order'}",
            "pass files with the same columns",
        )


def _is_nested(of) -> bool:
    from pyarrow import types

    return types.is_nested(of)


def _is_numeric(of) -> bool:
    from pyarrow import types

    return types.is_integer(of) or types.is_floating(of) or types.is_boolean(of) or types.is_decimal(of)
