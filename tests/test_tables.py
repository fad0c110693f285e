"""Reading the user's own files."""

import builtins

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sparing.tables import read_table


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
    with pytest.raises(ValueError, match=r"'dose', 'sex=f', 'sex=m', 'score' .*missing 5 values.*3 of 6 rows"):
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


def test_sparse_npz_with_the_target_beside_or_inside(tmp_path):
    X, y = sparse.random_array((5, 4), density=0.5, format="csr", rng=0), np.array([1.0, 2, 3, 4, 5])
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
