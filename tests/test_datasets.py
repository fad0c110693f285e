"""Loaders and generators: known counts, published ratios, exact moments, and life without the files."""

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse

from dataset_checks import check_fields, ratios
from sparing.datasets import (
    load_covertype,
    load_digits_pair,
    load_medical,
    load_mnist_pair,
    load_rcv1,
    make_power_law,
    scale_max_abs,
)

# Simulated


@pytest.mark.parametrize(
    ("exponent", "ridge", "lasso"),
    [(0, 1, 1), (-0.5, 0.909, 0.0866), (-1, 0.552, 0.0136), (-2, 0.056, 0.0033)],
)
def test_power_law_has_the_published_improvement_ratios(exponent, ridge, lasso):
    for_ridge = make_power_law(1, exponent=exponent, penalty="ridge").second_moments
    for_lasso = make_power_law(1, exponent=exponent, penalty="lasso").second_moments
    assert ratios(for_ridge)[0] == pytest.approx(ridge, abs=5e-4)
    assert ratios(for_lasso)[1] == pytest.approx(lasso, abs=5e-5)
    assert np.linalg.norm(for_ridge) == pytest.approx(1)
    assert for_lasso.max() == 1


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_power_law_attributes_have_their_moments_and_are_independent(penalty):
    n = 40_000
    made = make_power_law(n, 12, penalty=penalty, random_state=3)
    u = made.second_moments
    check_fields(made)
    assert np.isin(made.data, (0, 1)).all()
    # 5 standard errors; 12 means and 66 pairs fail together about once in 20,000 seeds
    assert (np.abs((made.data**2).mean(0) - u) <= 5 * np.sqrt(u * (1 - u) / n)).all()
    products = made.data.T @ made.data / n
    pairs = np.triu_indices(12, 1)
    expected = np.outer(u, u)
    assert (np.abs(products - expected) <= 5 * np.sqrt(expected * (1 - expected) / n))[pairs].all()


def test_power_law_weights_have_the_papers_chances():
    ridge = make_power_law(1, 20_000, penalty="ridge", random_state=0).coef
    lasso = make_power_law(1, 20_000, penalty="lasso", random_state=0).coef
    assert set(ridge) == {-1, 1}
    # 5 standard errors of 20,000 draws
    assert np.mean(ridge == 1) == pytest.approx(0.5, abs=0.018)
    assert [np.mean(lasso == w) for w in (-1, 0, 1)] == pytest.approx([0.15, 0.7, 0.15], abs=0.016)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_power_law_targets_are_exact_in_either_float_type(dtype, penalty):
    made = make_power_law(300, penalty=penalty, random_state=1, dtype=dtype)
    assert made.data.dtype == made.target.dtype == dtype
    assert (made.target == made.data.astype(int) @ made.coef.astype(int)).all()


def test_power_law_seed_reproduces_and_fewer_examples_are_the_first_of_more():
    many, few = make_power_law(50, 20, random_state=7), make_power_law(20, 20, random_state=7)
    other = make_power_law(50, 20, random_state=8)
    np.testing.assert_array_equal(many.coef, few.coef)
    np.testing.assert_array_equal(many.data[:20], few.data)
    assert (many.data != other.data).any()
    X, y = make_power_law(50, 20, random_state=7, return_X_y=True)
    np.testing.assert_array_equal(X, many.data)
    np.testing.assert_array_equal(y, many.target)


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_power_law_of_an_extreme_exponent_neither_overflows_nor_loses_its_norm(exponent):
    assert np.linalg.norm(make_power_law(1, exponent=exponent, penalty="ridge").second_moments) == pytest.approx(1)
    assert make_power_law(1, exponent=exponent, penalty="lasso").second_moments.max() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number"),
        ({"n_samples": 2.5}, "n_samples must be a whole number"),
        ({"n_attributes": -1}, "n_attributes must be a whole number"),
        ({"exponent": np.nan}, "exponent must be a finite number"),
        ({"exponent": "steep"}, "exponent must be a finite number"),
        ({"penalty": "l1"}, "penalty must be one of 'ridge', 'lasso'"),
        ({"random_state": -1}, "random_state must lie between"),
        ({"dtype": int}, "dtype must be float32 or float64"),
    ],
)
def test_power_law_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_power_law(**({"n_samples": 5} | arguments))


# Scaling


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("center", [True, False])
def test_scaling_to_max_abs_one_keeps_the_float_type_and_goes_back(dtype, center):
    X = np.random.default_rng(0).normal(3, 2, size=(60, 5)).astype(dtype)
    before = X.copy()
    scaled, scaler = scale_max_abs(X, center=center)
    offset = X.mean(0, dtype=np.float64) if center else 0
    expected = (X - offset) / np.abs(X - offset).max(0)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scaled, expected, atol=10 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(scaler.transform(X[:7]), scaled[:7])
    np.testing.assert_allclose(scaler.inverse_transform(scaled), X, rtol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.0, 0.1, 12345.678, -1e9 / 3])
def test_a_constant_attribute_becomes_zero_whatever_its_mean_rounds_to(dtype, constant):
    scaled, _ = scale_max_abs(np.full((1001, 1), constant, dtype=dtype))
    assert (scaled == 0).all()


def test_scaling_keeps_missing_values_and_turns_integers_into_floats():
    scaled, _ = scale_max_abs([[1.0, np.nan], [3.0, 5.0], [np.nan, 5.0]])
    np.testing.assert_array_equal(scaled, [[-1, np.nan], [1, 0], [np.nan, 0]])
    assert scale_max_abs(np.array([[1], [2]], dtype=np.int16))[0].dtype == np.float64


def test_scaling_a_sparse_matrix_only_without_centring():
    X = sparse.csr_matrix([[0.0, 2.0], [4.0, -1.0]])
    scaled, _ = scale_max_abs(X, center=False)
    np.testing.assert_array_equal(scaled.toarray(), [[0, 1], [1, -0.5]])
    with pytest.raises(ValueError, match="pass center=False"):
        scale_max_abs(X)


# Digits that come with scikit-learn


def test_digits_pair_is_the_two_digits_and_nothing_else():
    digits, found = load_digits_pair(8, 1, dtype=np.float32), sklearn.datasets.load_digits()
    check_fields(digits)
    rows = (found.target == 1) | (found.target == 8)
    np.testing.assert_array_equal(digits.data, found.data[rows])
    np.testing.assert_array_equal(digits.target, np.where(found.target[rows] == 1, 1, -1))
    assert digits.data.dtype == np.float32
    assert digits.in_train is digits.costs is digits.groups is None


@pytest.mark.parametrize("load", [load_digits_pair, load_mnist_pair])
@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((3, 3), "two different digits"),
        ((3, 10), "positive must be a digit"),
        ((-1, 3), "negative must be a whole"),
    ],
)
def test_pairs_refuse_what_is_no_pair_of_digits(load, pair, message):
    with pytest.raises(ValueError, match=message):
        load(*pair)


def test_options_that_are_true_or_false_are_no_text():
    """Text such as "no" counted as true."""
    with pytest.raises(ValueError, match="return_X_y must be True or False; got 'no'"):
        load_digits_pair(return_X_y="no")
    with pytest.raises(ValueError, match="center must be True or False; got 'yes'"):
        scale_max_abs(np.eye(3), center="yes")
    assert len(load_digits_pair(return_X_y=np.True_)) == 2


def test_loaders_refuse_unknown_names_before_they_look_for_files(monkeypatch):
    monkeypatch.setenv("SPARING_DATA", "/nowhere")
    with pytest.raises(ValueError, match="subset must be one of 'train', 'test', 'all'; got 'validation'"):
        load_mnist_pair(subset="validation")
    with pytest.raises(ValueError, match="positive must be a class from 1 to 7, or None"):
        load_covertype(8)
    with pytest.raises(ValueError, match="name must be one of 'heart', 'pima', 'hepatitis', 'thyroid'"):
        load_medical("liver")
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        load_rcv1(dtype=np.int8)
