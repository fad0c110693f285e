"""Parquet files: only the columns that are asked for are read, by the count of the operating system."""

import datetime
import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from sparing.learners import PairwiseMoments
from sparing.sources import ParquetSource


def counted() -> int:
    """Bytes that this process has read, and this look at them."""
    return int(Path("/proc/self/io").read_text().split()[1])


def write(path, n_rows, n_columns, rows_per_group):
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(n_columns)])
    frame.to_parquet(path, row_group_size=rows_per_group)
    return X


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no such count of bytes here")
def test_the_bytes_read_are_those_that_the_operating_system_counts(tmp_path):
    write(tmp_path / "a.parquet", 5_000, 100, 500)
    warm = ParquetSource(tmp_path / "a.parquet")
    warm.read_block(0, np.arange(2))  # what is imported on the way is read, too
    before = counted()
    source = ParquetSource(tmp_path / "a.parquet")
    for block in range(10):
        source.read_block(block, np.array([7 * block, 3]))
    read = counted() - before
    assert source.bytes_read <= read <= source.bytes_read + 200  # the look at the count itself
    few, footer = warm.column_bytes()[:, :2].sum(), (tmp_path / "a.parquet").stat().st_size - warm.column_bytes().sum()
    assert source.bytes_read < 1.05 * few + 2 * footer


def test_nulls_and_kinds_of_numbers(tmp_path):
    columns = {
        "whole": pa.array([1, None, 2**60], pa.int64()),
        "flag": pa.array([True, None, False]),
        "exact": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3")]),
        "single": pa.array([1.5, None, float("nan")], pa.float32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    source = ParquetSource(tmp_path / "a.parquet")
    assert source.numeric.all()
    expected = [[1, 1, 1.25, 1.5], [np.nan] * 4, [2.0**60, 0, -3, np.nan]]
    np.testing.assert_array_equal(source.read_block(0, np.arange(4)), expected)


def test_other_columns_are_named_and_can_be_left_out(tmp_path):
    day = datetime.date(2026, 1, 1)
    table = pa.table({"x": [1.0], "word": ["a"], "day": [day], "list": [[1, 2]]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 'list' holds lists or structures; leave it out with drop=\['list'\]"):
        ParquetSource(tmp_path / "a.parquet")
    source = ParquetSource(tmp_path / "a.parquet", drop=["list"])
    assert (source.names, source.numeric.tolist()) == (["x", "word", "day"], [True, False, False])
    with pytest.raises(ValueError, match="column 'word' is not numeric"):
        source.read_block(0, np.array([0, 1]))
    assert source.bytes_read < (tmp_path / "a.parquet").stat().st_size + 1, "a refused column was read"
    with pytest.raises(ValueError, match="there is no column 'words'; columns are x, word, day, list"):
        ParquetSource(tmp_path / "a.parquet", drop="words")


def test_infinity_is_refused_with_its_row_and_leaves_the_learner_as_it_was(tmp_path):
    frame = pd.DataFrame({"a": np.arange(9.0), "b": np.r_[np.arange(7.0), np.inf, 1.0]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    source, learner = ParquetSource(tmp_path / "a.parquet"), PairwiseMoments(2, budget=2)
    with pytest.raises(ValueError, match="X contains infinity, in row 7, column 1; nothing was learnt or charged"):
        learner.run(source, np.arange(9.0))
    assert learner.cells == learner.n_rounds == len(learner.bought) == 0
    assert not learner.buyer.turns.any()


def test_parts_of_a_source(tmp_path):
    X = write(tmp_path / "a.parquet", 10, 3, 2)
    source = ParquetSource(tmp_path / "a.parquet")
    part = source.take([3, 0])
    np.testing.assert_array_equal(part.read_block(0, np.arange(3)), X[6:8])
    np.testing.assert_array_equal(part.read(2, np.arange(3)), X[0])
    others, values = part.split_target("x1")
    assert others.names == ["x0", "x2"]
    np.testing.assert_array_equal(values, X[[6, 7, 0, 1], 1])
    assert part.bytes_read == source.bytes_read == others.bytes_read
    assert sorted(source.sample(5).blocks()) == [2] * 5
    with pytest.raises(ValueError, match="there are 5 row groups; 6 cannot be drawn"):
        source.sample(6)


def test_a_name_with_brackets_is_a_file_if_there_is_one(tmp_path):
    path = tmp_path / "x[1].parquet"
    pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(path)
    assert ParquetSource(path).n_examples == 2
    path.rename(tmp_path / "x1.parquet")
    assert ParquetSource(path).paths == [tmp_path / "x1.parquet"]


def test_files_that_do_not_belong_together_or_are_none_are_refused(tmp_path):
    write(tmp_path / "a.parquet", 10, 3, 5)
    write(tmp_path / "b.parquet", 10, 4, 5)
    with pytest.raises(ValueError, match=r"b.parquet has other columns than a.parquet: 'x3' \(\w+\) is only in b.par"):
        ParquetSource(str(tmp_path / "*.parquet"))
    with pytest.raises(ValueError, match=r"the file '.*a.parquet' is given twice; pass each file once"):
        ParquetSource([tmp_path / "a.parquet", tmp_path / ".." / tmp_path.name / "a.parquet"])
    with pytest.raises(FileNotFoundError, match="check the pattern"):
        ParquetSource(str(tmp_path / "*.pq"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        ParquetSource(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(ValueError, match="cannot be read as a Parquet file"):
        ParquetSource(tmp_path / "d.parquet")
    pd.DataFrame({"x": []}).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="has columns but no rows"):
        ParquetSource(tmp_path / "e.parquet")


def test_a_column_that_is_not_there_is_answered_with_the_first_names_and_how_many_more(tmp_path):
    """The list broke off without a sign."""
    pd.DataFrame({f"f{i}": [1.0, 2.0] for i in range(30)}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"there is no column 'y'; columns are f0, f1, .*, f19 and 10 more"):
        ParquetSource(tmp_path / "a.parquet").split_target("y")
