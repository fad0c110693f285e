"""Reading the user's own files."""

import builtins
import cProfile
import gzip
import io
import pstats
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from typer.testing import CliRunner

from sparing.cli import app
from sparing.tables import prices_of_indicators, read_prices, read_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(6, 3)), columns=["age", "dose", "score"])
    frame["sex"] = ["f", "m", "f", "m", "m", "f"]
    frame["ill"] = [True, False, True, True, False, False]
    return frame


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", "; .csv"])
def test_formats_hold_the_same_numbers(tmp_path, frame, suffix):
    path = tmp_path / f"data{suffix.split()[-1]}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep={".tsv": "\t", "; .csv": ";"}.get(suffix, ","))
    table = read_table(path, "score", drop=["sex"])
    assert table.names == ["age", "dose", "ill"]
    np.testing.assert_allclose(table.X, frame[["age", "dose", "ill"]].to_numpy(float), rtol=1e-12)
    np.testing.assert_allclose(table.y, frame["score"], rtol=1e-12)
    assert table.classes is None


def test_two_classes_of_any_kind_become_signs(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    sex = read_table(tmp_path / "data.csv", "sex")
    assert sex.classes == ("f", "m")
    assert sex.y.tolist() == [-1, 1, -1, 1, 1, -1]
    assert read_table(tmp_path / "data.csv", "ill", drop=["sex"]).y.tolist() == [1, -1, 1, 1, -1, -1]


def test_text_is_refused_by_name_or_encoded(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(ValueError, match=r"column 'sex' is not numeric.*encode=True.*drop=\['sex'\]"):
        read_table(tmp_path / "data.csv", "score")
    table = read_table(tmp_path / "data.csv", "score", encode=True)
    assert table.names == ["age", "dose", "ill", "sex=f", "sex=m"]
    assert table.X[:, 3].tolist() == [1, 0, 1, 0, 0, 1]


def test_missing_values_are_refused_by_name_or_dropped(tmp_path, frame):
    frame.loc[[1, 2], "dose"] = np.nan
    frame.loc[2, "sex"] = None
    frame.loc[5, "score"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(ValueError, match=r"'dose', 'sex', 'score' .*missing 4 values.*3 of 6 rows"):
        read_table(tmp_path / "data.csv", "score", encode=True)
    table = read_table(tmp_path / "data.csv", "score", encode=True, drop_missing=True)
    assert (table.n_dropped, table.X.shape) == (3, (3, 5))
    assert np.isfinite(table.X).all()


def test_infinite_values_are_not_missing_ones(tmp_path, frame):
    frame.loc[1, "dose"] = -np.inf
    frame.drop(columns="sex").to_csv(tmp_path / "data.csv", index=False)
    for drop_missing in (False, True):
        with pytest.raises(ValueError, match="column 'dose' is infinite in some rows; put numbers there"):
            read_table(tmp_path / "data.csv", "score", drop_missing=drop_missing)


@pytest.mark.parametrize(("matrix", "target"), [("X", "y"), ("data", "target")])
def test_npz(tmp_path, matrix, target):
    X, y = np.arange(12.0).reshape(4, 3), np.array([3, 1, 2, 5])
    np.savez(tmp_path / "a.npz", **{matrix: X, target: y, "weight": y[::-1]})
    table = read_table(tmp_path / "a.npz")
    assert table.target == target
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    assert read_table(tmp_path / "a.npz", "weight").y.tolist() == [5, 2, 1, 3]
    assert read_table(tmp_path / "a.npz", drop=["x1"]).X.shape == (4, 2)
    with pytest.raises(ValueError, match="no array 'wieght'; did you mean 'weight'"):
        read_table(tmp_path / "a.npz", "wieght")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia", "bsr"])
def test_sparse_npz_with_the_target_beside_or_inside(tmp_path, layout):
    X, y = sparse.random_array((5, 4), density=0.5, format=layout, rng=0), np.array([1.0, 2, 3, 4, 5])
    sparse.save_npz(tmp_path / "words.npz", X)
    np.save(tmp_path / "sides.npy", y)
    with pytest.raises(ValueError, match="has no array y or target"):
        read_table(tmp_path / "words.npz")
    table = read_table(tmp_path / "words.npz", str(tmp_path / "sides.npy"))
    assert sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    with np.load(tmp_path / "words.npz") as parts:
        np.savez(tmp_path / "both.npz", y=y, **parts)
    assert read_table(tmp_path / "both.npz").y.tolist() == y.tolist()


def test_what_cannot_be_read_says_why(tmp_path, frame):
    frame.assign(kind=list("abcabc")).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.npz").write_bytes(b"PK not a zip")
    np.savez(tmp_path / "short.npz", X=np.eye(3), y=np.zeros(2))
    for name, target, message in [
        ("data.csv", "scores", "no column 'scores'; did you mean 'score'"),
        ("data.csv", "zzz", "no column 'zzz'; it has age, dose"),
        ("data.csv", None, "no target given: data.csv does not say which column to predict"),
        ("data.csv", "kind", "has 3 classes that are not numbers"),
        ("bad.parquet", "y", "bad.parquet cannot be read"),
        ("empty.csv", "y", "empty.csv is empty"),
        ("bad.npz", None, "bad.npz cannot be read"),
        ("short.npz", None, r"shape \(2,\) for 3 rows"),
        ("data.xlsx", "y", r"must end in one of \.csv"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_table(tmp_path / name, target, drop=["sex"] if target == "kind" else ())
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "absent.csv", "y")


def test_a_column_of_identifiers_is_not_encoded(tmp_path):
    names = [f"person {i}" for i in range(1001)]
    pd.DataFrame({"name": names, "y": range(1001)}).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(ValueError, match="'name' has 1001 values, too many"):
        read_table(tmp_path / "data.csv", "y", encode=True)


def test_without_pandas_the_extra_is_named(tmp_path, frame, monkeypatch):
    frame.to_csv(tmp_path / "data.csv", index=False)
    plain = builtins.__import__

    def without_pandas(name, *rest, **options):
        if name == "pandas":
            raise ImportError(name)
        return plain(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r'pip install "sparing\[table\]"'):
        read_table(tmp_path / "data.csv", "score")


# Refused files ------------------------------------------------------------------------------------------------------


def test_a_repeated_column_does_not_leak_the_target(tmp_path, frame):
    (tmp_path / "data.csv").write_text("y,a,y\n1,2,1\n2,3,2\n3,4,3\n")
    with pytest.raises(ValueError, match=r"data.csv has two columns named 'y'; rename one of them"):
        read_table(tmp_path / "data.csv", "y")
    twice = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["y", "y"])
    pq.write_table(twice, tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet has two columns named 'y'"):
        read_table(tmp_path / "data.parquet", "y")
    (tmp_path / "data.csv").write_text("sex,sex=f,y\nf,1,1\nm,0,2\nm,1,3\n")
    with pytest.raises(ValueError, match=r"indicators has two columns named 'sex=f'"):
        read_table(tmp_path / "data.csv", "y", encode=True)
    (tmp_path / "data.csv").write_text("y,y.1,b\n1,5,1\n2,6,1\n3,8,2\n")
    assert read_table(tmp_path / "data.csv", "y").names == ["y.1", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,y\n1,2,3,4\n5,6,7,8\n", "row 1 has 4 values for the 3 columns of data.csv"),
        ("a,b,y\n1,2,3\n1,2,3,4,5\n", "line 3 has 5 values for the 3 columns of data.csv"),
        (
            "Sales of 2024\n\na,b,y\n1,2,3\n",
            "first line of data.csv is just 'Sales of 2024'; begin with the header",
        ),
        ("\n\na,b,y\n", "data.csv has a header but no rows"),
        ("\n\n", "data.csv is empty"),
        ("a,b,y\n1,2,\xff", "cannot be read as UTF-8 text, because of the byte 0xff; save it as UTF-8"),
    ],
)
def test_rows_that_do_not_fit_the_header_are_refused(tmp_path, text, message):
    """Longer rows used to shift all columns by one, silently."""
    (tmp_path / "data.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "data.csv", "y")


def test_blank_lines_marks_quotes_and_trailing_separators_are_accepted(tmp_path):
    text = '\n"a;\n1";b;y\n1;2;3;\n4;5;6;\n7;8;10;\n'
    (tmp_path / "data.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    table = read_table(tmp_path / "data.csv", "y")
    assert (table.names, table.y.tolist()) == (["a;\n1", "b"], [3.0, 6.0, 10.0])


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("a,b,y\n1,é,3\n2,ü,4\n3,é,5\n", "utf-16"),
        ("sep=;\na;b;y\n1;é;3\n2;ü;4\n3;é;5\n", "utf-8"),
        ("a|b|y\n1|é|3\n2|ü|4\n3|é|5\n", "utf-8"),
        ("a, b , y\n1, é, 3\n2, ü , 4\n3, é, 5\n", "utf-8"),
        ("a,b,y,,\n1,é,3,,\n2,ü,4,,\n3,é,5,,\n", "utf-8"),
        ("a,b,y\r\n1,é,3\r\n2,ü,4\r\n3,é,5\r\n", "utf-8-sig"),
    ],
    ids=["UTF-16", "declared separator", "bars", "blanks", "empty columns", "Windows"],
)
def test_what_spreadsheets_and_databases_write(tmp_path, text, encoding):
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    table = read_table(tmp_path / "data.csv", "y", as_is=True)
    assert table.names == ["a", "b"]
    assert table.X["b"].tolist() == ["é", "ü", "é"]
    assert (table.X["a"].tolist(), table.y.tolist()) == ([1, 2, 3], [3.0, 4.0, 5.0])


def test_a_column_without_a_name_can_be_left_out(tmp_path, frame):
    """It was called '', which no option can name."""
    frame.drop(columns="sex").to_csv(tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv", "score").names == ["column 1", "age", "dose", "ill"]
    assert read_table(tmp_path / "data.csv", "score", drop=["column 1"]).names == ["age", "dose", "ill"]


def test_booleans_and_whole_numbers_with_gaps_stay_what_they_are(tmp_path):
    (tmp_path / "data.csv").write_text("flag,n,y\nTrue,1,1\nFalse,2,2\n,3,1\nTrue,,2\nFalse,5,\n")
    table = read_table(tmp_path / "data.csv", "y", drop_missing=True)
    assert (table.X.tolist(), table.classes) == ([[1.0, 1.0], [0.0, 2.0]], ("1", "2"))


def test_nullable_columns_of_parquet_files_are_numbers(tmp_path):
    columns = {"n": pd.array([1, None, 3, 4], "Int64"), "flag": pd.array([True, False, None, True], "boolean")}
    pd.DataFrame({**columns, "y": pd.array([1, 2, 3, None], "Int64")}).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="'n', 'flag', 'y' are missing 3 values"):
        read_table(tmp_path / "data.parquet", "y")
    pd.DataFrame({**columns, "y": [1.0, 2.0, 3.0, 5.0]}).to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet", "y", drop_missing=True)
    assert (table.X.tolist(), table.classes) == ([[1.0, 1.0], [4.0, 1.0]], ("1.0", "5.0"))


def test_a_column_costs_few_calls(tmp_path):
    """Wide tables took a minute: some 400 calls per column, most of them to join and convert masked columns.

    Calls are counted, not seconds; there are about 85 per column now.
    """
    header, row = ",".join(f"a{i}" for i in range(3000)), ",".join(["1.5"] * 2999)
    (tmp_path / "data.csv").write_text("\n".join([header, *(f"{row},{y}" for y in range(4))]))
    read_table(tmp_path / "data.csv", "a2999")  # imports
    profile = cProfile.Profile()
    profile.runcall(read_table, tmp_path / "data.csv", "a2999")
    assert pstats.Stats(profile).total_calls < 200 * 3000


def spoilt_files(folder):
    """Files that a reader must refuse, by name."""
    rng = np.random.default_rng(0)
    np.savez_compressed(folder / "good.npz", X=rng.normal(size=(50, 4)), y=rng.normal(size=50))
    good = (folder / "good.npz").read_bytes()
    packed = gzip.compress(b"a,b,y\n" + b"1,2,3\n4,5,6\n7,8,9\n" * 50)
    wide = sparse.coo_array(([1.0], ([0], [10**9])), shape=(3, 10**12))
    files = {
        "truncated.npz": good[: len(good) // 2],
        "corrupted.npz": good[:200] + bytes(255 - byte for byte in good[200:260]) + good[260:],
        "empty.npz": b"",
        "truncated.csv.gz": packed[: len(packed) // 2],
        "corrupted.csv.gz": packed[:20] + b"\0\0\0\0" + packed[24:],
        "empty.csv.gz": b"",
        "nothing.csv.gz": gzip.compress(b""),
        "empty.parquet": b"",
        "huge.npz": npz_claiming("(10000000, 10000000)"),
        "negative.npz": npz_claiming("(-1, 3)"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with (folder / "wide.npz").open("wb") as file:
        sparse.save_npz(file, wide)
    with np.load(folder / "wide.npz") as parts:
        np.savez(folder / "wide.npz", **dict(parts), y=np.arange(3.0))
    csr = sparse.csr_array(np.eye(3))
    indices = np.array([0, 1, 2**30], csr.indices.dtype)
    np.savez(folder / "outside.npz", format=b"csr", shape=csr.shape, data=csr.data, indptr=csr.indptr, indices=indices,
             y=np.arange(3.0))  # fmt: skip
    np.savez(folder / "targets.npz", X=np.ones((3, 2)), y=np.array([1j, 2j, 3j]))
    lists = pa.table({"a": [[1, 2], [3], [4]], "y": [1.0, 2.0, 4.0], "y2": [{"b": 1}, {"b": 2}, {"b": 3}]})
    pq.write_table(lists, folder / "nested.parquet")
    (folder / "good.npz").unlink()
    return sorted(path.name for path in folder.iterdir())


def npz_claiming(shape: str) -> bytes:
    """An archive whose array has the header of a matrix of that shape, and a few bytes."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header = text.ljust(117) + "\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", array)
        archive.writestr("y.npy", array)
    return file.getvalue()


def test_every_bad_file_is_one_line_and_exit_code_2(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = spoilt_files(tmp_path)
    assert len(names) == 14
    for name in names:
        with pytest.raises(ValueError, match=r"\w"):
            read_table(name, None if name.endswith("npz") else "y")
        target = [] if name.endswith("npz") else ["--target", "y"]
        result = CliRunner().invoke(app, ["compare", name, *target])
        assert (result.exit_code, result.output) == (2, result.stderr), name
        assert re.fullmatch(r"sparing: .+\n", result.stderr), name


def test_nested_columns_can_be_left_out_and_nested_targets_are_refused(tmp_path):
    spoilt_files(tmp_path)
    path = tmp_path / "nested.parquet"
    with pytest.raises(ValueError, match="columns 'a', 'y2' are not numeric"):
        read_table(path, "y")
    with pytest.raises(ValueError, match=r"the target 'y2' has values like {'b': 1}; choose one of numbers or text"):
        read_table(path, "y2", drop=["a"])


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_price_lists_in_every_dialect(tmp_path, start, separator):
    lines = ["attribute,cost,group", "a,1.5,", "b,2,blood"]
    (tmp_path / "prices.csv").write_text(start + "\n".join(lines).replace(",", separator), encoding="utf-8")
    prices = read_prices(tmp_path / "prices.csv", ["b", "a"])
    assert (prices.costs.tolist(), prices.groups) == ([2.0, 1.5], ["blood", ""])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attribute,cost\na,1\na,2\n", "line 3 of prices.csv prices 'a' a second time"),
        ("attribute,cost\na\n", "line 2 of prices.csv has 1 values for 2 columns"),
        ("attribute,cost\na,1,2\n", "line 2 of prices.csv has 3 values for 2 columns"),
        ("attribute,cost,cost\na,1,2\n", "two columns named 'cost'"),
        (
            'attribute,cost\na,"1,5"\n',
            "line 2 of prices.csv has the cost '1,5'; give a number such as 6.50, and 0 for what is free",
        ),
        ("attribute,cost\na,-1\n", "has the cost '-1'"),
        ("attribute,cost\na,nan\n", "has the cost 'nan'"),
        ("", "has no columns attribute and cost"),
        ("attribute,cost\na,\xff\n", "prices.csv cannot be read as UTF-8 text"),
    ],
)
def test_bad_price_lists_are_refused(tmp_path, text, message):
    (tmp_path / "prices.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        read_prices(tmp_path / "prices.csv", ["a"])


def test_indicators_cost_together_what_their_column_costs(tmp_path):
    (tmp_path / "prices.csv").write_text("attribute,cost,group\na,1.5,\nb,0.7,\nc,2,lab\nd,4,lab\n")
    prices = prices_of_indicators(tmp_path / "prices.csv", ["a", "b", "b", "b", "c", "c", "d"])
    assert prices.costs.tolist() == [1.5, 0.7, 0, 0, 2, 0, 4]
    assert prices.groups == ["", "column b", "column b", "column b", "lab", "lab", "lab"]
