"""Loaders of real data: known counts, published ratios, prices, and life without the files."""

import csv
import os
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch

from dataset_checks import check_fields, ratios
from sparing.datasets import (
    load_covertype,
    load_medical,
    load_mnist_pair,
    load_rcv1,
    scale_max_abs,
)

MEDICAL_SIZES = {"heart": (303, 13), "pima": (768, 8), "hepatitis": (155, 19), "thyroid": (7200, 21)}


def counts(labels):
    return np.unique(labels, return_counts=True)[1].tolist()


# Real data, from files


@pytest.mark.data
def test_mnist_pair_counts_and_parts():
    train, test, whole = (load_mnist_pair(subset=subset) for subset in ("train", "test", "all"))
    check_fields(train)
    assert counts(train.target) == [6131, 5421]
    assert counts(test.target) == [1010, 892]
    np.testing.assert_array_equal(whole.data[whole.in_train], train.data)
    np.testing.assert_array_equal(whole.data[~whole.in_train], test.data)
    np.testing.assert_array_equal(whole.target, np.where(whole.labels == 5, 1, -1))
    assert (train.data.min(), train.data.max(), train.data.shape[1]) == (0, 255, 784)
    X, y = load_mnist_pair(5, 3, subset="test", dtype=np.float32, return_X_y=True)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(y, -test.target)


@pytest.mark.data
def test_mnist_pair_has_the_published_improvement_ratios():
    scaled, _ = scale_max_abs(load_mnist_pair(subset="all").data)
    assert ratios((scaled**2).mean(0)) == pytest.approx((0.4540, 0.1972), abs=5e-5)


@pytest.mark.data
def test_covertype_counts_and_published_improvement_ratios():
    forest = load_covertype()
    check_fields(forest)
    assert counts(forest.labels) == [211840, 283301, 35754, 2747, 9493, 17367, 20510]
    np.testing.assert_array_equal(forest.target, np.where(forest.labels == 2, 1, -1))
    assert forest.data[0, :10].tolist() == [2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279]
    assert (forest.data[:, 10:14].sum(1) == 1).all()
    assert (forest.data[:, 14:].sum(1) == 1).all()
    scaled, _ = scale_max_abs(forest.data)
    assert ratios((scaled**2).mean(0)) == pytest.approx((0.48965, 0.07971), abs=5e-6)  # published: 0.49, 0.08


@pytest.mark.data
def test_covertype_keeps_the_classes_and_floats_on_request():
    X, y = load_covertype(None, dtype=np.float32, return_X_y=True)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert set(y) == set(range(1, 8))


@pytest.mark.data
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rcv1_counts_and_unit_rows(dtype):
    news = load_rcv1(dtype=dtype)
    check_fields(news)
    assert news.data.shape == (11_829 + 11_919, 47_236)
    assert counts(news.target) == [11_919, 11_829]
    assert news.data.format == "csr"
    assert news.data.dtype == dtype
    np.testing.assert_allclose(sparse.linalg.norm(news.data, axis=1), 1, atol=1e-5)
    assert 0 < news.in_train.sum() < len(news.target)


@pytest.mark.data
@pytest.mark.parametrize("name", MEDICAL_SIZES)
def test_medical_prices_are_those_of_the_file(name):
    with (Path(os.environ["SPARING_DATA"]) / "costs.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == name]
    patients = load_medical(name)
    check_fields(patients)
    assert patients.data.shape == MEDICAL_SIZES[name]
    assert patients.feature_names == [row["attribute"] for row in rows]
    for row, cost in zip(rows, patients.costs, strict=True):
        assert cost == (float(row["cost_cad"]) if row["attribute"] != "FTI" else pytest.approx(14.51 + 11.41))


@pytest.mark.data
def test_medical_targets_mean_disease():
    heart, pima, hepatitis, thyroid = map(load_medical, MEDICAL_SIZES)
    assert counts(heart.labels) == [164, 55, 36, 35, 13]
    assert counts(heart.target) == [164, 139]
    assert counts(pima.target) == [500, 268]
    assert counts(hepatitis.target) == [123, 32]
    assert (hepatitis.target[hepatitis.labels == 1] == 1).all()
    assert counts(thyroid.labels[thyroid.in_train]) == [93, 191, 3488]
    assert counts(thyroid.labels[~thyroid.in_train]) == [73, 177, 3178]
    np.testing.assert_array_equal(thyroid.target, np.where(thyroid.labels == 3, -1, 1))
    assert heart.in_train is pima.in_train is hepatitis.in_train is None


@pytest.mark.data
def test_medical_missing_values_are_nan():
    heart, pima, hepatitis, thyroid = (np.isnan(load_medical(name).data).sum(0) for name in MEDICAL_SIZES)
    assert heart.sum() == 6
    assert pima.tolist() == [0, 5, 35, 227, 374, 11, 0, 0]
    assert hepatitis.tolist() == [0, 0, 1, 0, 1, 1, 1, 10, 11, 5, 5, 5, 5, 6, 29, 4, 16, 67, 0]
    assert thyroid.sum() == 0
    assert load_medical("pima").data[:, 0].min() == 0  # no pregnancies is a value


@pytest.mark.data
def test_medical_groups_and_discounts():
    heart, pima, hepatitis, thyroid = map(load_medical, MEDICAL_SIZES)
    assert heart.groups.tolist() == ["", "", "", "", "A", "A", "", "B", "C", "C", "C", "", "B"]
    assert pima.groups.tolist() == ["", "A", "", "", "A", "", "", ""]
    assert pima.discount_costs.tolist() == [1, 15.51, 1, 1, 20.68, 1, 1, 1]
    assert heart.discount_costs is hepatitis.groups is thyroid.groups is None
    assert thyroid.computed_from == {"FTI": ("TT4", "T4U")}
    X, y = load_medical("heart", dtype=np.float32, return_X_y=True)
    assert X.dtype == np.float32
    assert len(y) == 303


# Files made here, files that are missing, and no folder at all


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("SPARING_DATA", raising=False)
    return monkeypatch


def test_rcv1_from_a_file_drops_stories_on_both_sides(monkeypatch, tmp_path):
    X = sparse.csr_matrix(np.eye(4, 6, dtype=np.float32))
    sparse.save_npz(tmp_path / "matrix.npz", X)
    with np.load(tmp_path / "matrix.npz") as matrix:
        np.savez(tmp_path / "rcv1.npz", **matrix, y=np.array([1, 0, -1, 1]), part=np.array([0, 0, 1, 1]))
    monkeypatch.setenv("SPARING_DATA", str(tmp_path))
    news = load_rcv1()
    np.testing.assert_array_equal(news.data.toarray(), np.eye(4, 6)[[0, 2, 3]])
    assert news.target.tolist() == [1, -1, 1]
    assert news.in_train.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("load", "name"),
    [(load_mnist_pair, "mnist.npz"), (load_covertype, "covertype.npz"), (load_rcv1, "rcv1.npz")],
)
def test_a_missing_file_or_folder_says_what_to_do(monkeypatch, tmp_path, load, name):
    monkeypatch.setenv("SPARING_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"named by SPARING_DATA has no file {name}; put {name} there.*unset"):
        load()
    monkeypatch.setenv("SPARING_DATA", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=f"gone' named by SPARING_DATA does not exist, and {name} is needed"):
        load()


def test_medical_data_need_their_file(no_folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"pima.csv is needed .* set the environment variable SPARING_DATA"):
        load_medical("pima")
    no_folder.setenv("SPARING_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"has no file pima.csv; put pima.csv there") as error:
        load_medical("pima")
    assert "download" not in str(error.value)


def test_mnist_is_fetched_without_a_folder(no_folder):
    pixels = np.zeros((70_000, 784), dtype=np.uint8)
    pixels[:, 0] = np.arange(70_000) % 251
    digits = np.resize(np.array(list("0123456789"), dtype=object), 70_000)

    def fetch(name, *, version, as_frame, parser):
        assert (name, version, as_frame, parser) == ("mnist_784", 1, False, "liac-arff")
        return Bunch(data=pixels, target=digits)

    no_folder.setattr(sklearn.datasets, "fetch_openml", fetch)
    test = load_mnist_pair(subset="test", dtype=np.float32)
    check_fields(test)
    assert test.target[:4].tolist() == [-1, 1, -1, 1]
    assert test.data[:2, 0].tolist() == [60_003 % 251, 60_005 % 251]
    assert not test.in_train.any()
    assert len(load_mnist_pair(subset="train").target) == 12_000


def test_covertype_is_fetched_without_a_folder(no_folder):
    found = Bunch(data=np.arange(3.0 * 54).reshape(3, 54), target=np.array([5, 2, 7], dtype=np.int32))
    no_folder.setattr(sklearn.datasets, "fetch_covtype", lambda: found)
    forest = load_covertype(7)
    check_fields(forest)
    np.testing.assert_array_equal(forest.data, found.data)
    assert forest.target.tolist() == [-1, -1, 1]
    assert load_covertype(None).target.tolist() == [5, 2, 7]


def test_rcv1_is_fetched_without_a_folder(no_folder):
    topics = np.array(["C11", "CCAT", "ECAT", "GCAT", "M11", "MCAT"], dtype=object)
    stories = ["C11 CCAT", "ECAT CCAT", "GCAT", "M11 MCAT", "CCAT GCAT", "C11"]  # both sides; neither side
    target = sparse.csr_matrix([[topic in story.split() for topic in topics] for story in stories], dtype=np.uint8)
    data = sparse.eye(6, 9, format="csr")
    no_folder.setattr(sklearn.datasets, "fetch_rcv1", lambda: Bunch(data=data, target=target, target_names=topics))
    news = load_rcv1(dtype=np.float32)
    check_fields(news)
    assert news.target.tolist() == [1, 1, -1, -1]
    np.testing.assert_array_equal(news.data.toarray(), np.eye(6, 9)[:4])
    assert news.data.dtype == np.float32
    assert news.in_train.all()


@pytest.mark.parametrize(
    ("load", "fetch", "name", "file"),
    [
        (load_mnist_pair, "fetch_openml", "MNIST", "mnist.npz"),
        (load_covertype, "fetch_covtype", "Covertype", "covertype.npz"),
        (load_rcv1, "fetch_rcv1", "RCV1", "rcv1.npz"),
    ],
)
def test_without_folder_and_network_the_data_set_and_the_variable_are_named(no_folder, load, fetch, name, file):
    def fail(*_, **__):
        raise URLError("no network")

    no_folder.setattr(sklearn.datasets, fetch, fail)
    with pytest.raises(OSError, match=f"{name} could not be downloaded: .*no network.* SPARING_DATA to .* has {file}"):
        load()


def test_covertype_columns_bear_scikit_learns_names():
    from sparing.datasets.real import COVERTYPE_NAMES

    assert COVERTYPE_NAMES == sys.modules[sklearn.datasets.fetch_covtype.__module__].FEATURE_NAMES
