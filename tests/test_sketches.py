"""Transforms against scipy's Hadamard matrix, sketches against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from sparing.sketches import hadamard, hadamard_rows, hadamard_sparse, srht

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", range(13))
def test_equals_the_matrix(levels, dtype):
    n = 2**levels
    X = np.random.default_rng(levels).standard_normal((3, n)).astype(dtype)
    H = linalg.hadamard(n)
    assert hadamard(X).dtype == dtype
    np.testing.assert_allclose(hadamard(X), X @ H / np.sqrt(n), atol=TOLERANCE[dtype] * 4)
    np.testing.assert_allclose(hadamard(X, orthonormal=False), X @ H, atol=TOLERANCE[dtype] * 4 * np.sqrt(n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [14, 17, 20])
def test_long_vectors_are_their_own_inverse_and_pick_out_columns(levels, dtype):
    """Too long for a matrix: H H x = x, and the transform of a unit vector is a column of signs."""
    n = 2**levels
    x = np.random.default_rng(0).standard_normal(n).astype(dtype)
    np.testing.assert_allclose(hadamard(hadamard(x)), x, atol=20 * TOLERANCE[dtype])
    column = n // 3
    unit = np.zeros(n, dtype)
    unit[column] = 1
    signs = [-1.0 if (row & column).bit_count() % 2 else 1.0 for row in range(n)]
    assert np.array_equal(hadamard(unit, orthonormal=False), signs)


def test_in_place_means_in_place():
    x = np.arange(16.0)
    y = x.copy()
    assert hadamard(x, overwrite=True) is x
    np.testing.assert_array_equal(x, hadamard(y))
    np.testing.assert_array_equal(y, np.arange(16.0))
    X = np.arange(24.0, dtype=np.float32).reshape(3, 2, 4)
    assert hadamard(X, overwrite=True) is X


@settings(max_examples=60, deadline=None)
@given(
    levels=st.integers(0, 13),
    count=st.integers(0, 40),
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_sparse_and_trimmed_forms_are_the_whole_one(levels, count, seed, dtype):
    """13 levels and few entries take the short cut, the others the whole transform."""
    n, rng = 2**levels, np.random.default_rng(seed)
    places, values = rng.integers(n, size=count), rng.standard_normal(count).astype(dtype)
    spread = np.zeros(n, dtype)
    np.add.at(spread, places, values)
    found = hadamard_sparse(places, values, n)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, hadamard(spread), atol=10 * TOLERANCE[dtype])
    x = rng.standard_normal(n).astype(dtype)
    found = hadamard_rows(x, places)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, hadamard(x)[places], atol=50 * TOLERANCE[dtype])


@pytest.mark.parametrize(("k", "n"), [(0, 4), (1, 1), (3, 8), (8, 8), (5, 11), (11, 11), (40, 1000), (3, 5000)])
@pytest.mark.parametrize("scaled", [False, True])
def test_sketch_is_what_it_says(k, n, scaled):
    sketch = srht(k, n, random_state=1, scaled=scaled)
    padded = sketch.n_padded
    H = linalg.hadamard(padded) / np.sqrt(padded)
    dense = (np.sqrt(padded / k) if scaled and k else 1.0) * H[sketch.rows, :n] * sketch.signs
    rng = np.random.default_rng(0)
    x, z, weights = rng.standard_normal(n), rng.standard_normal(k), rng.random(n)
    assert sketch.shape == (k, n)
    assert len(set(sketch.rows)) == k
    np.testing.assert_allclose(sketch.matvec(x), dense @ x, atol=1e-12)
    np.testing.assert_allclose(sketch.rmatvec(z), dense.T @ z, atol=1e-12)
    np.testing.assert_allclose(sketch.gram(weights), dense * weights @ dense.T, atol=1e-12)
    np.testing.assert_allclose(sketch.columns(np.arange(n)), dense, atol=1e-14)
    if not scaled and n == padded:
        np.testing.assert_allclose(sketch.gram(np.ones(n)), np.eye(k), atol=1e-13)


def test_single_precision_stays():
    sketch = srht(5, 64, random_state=0)
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    assert sketch.matvec(x).dtype == sketch.rmatvec(x[:5]).dtype == sketch.gram(x).dtype == np.float32


def test_the_scaled_sketch_keeps_lengths_on_average():
    """E |Pi x|^2 = |x|^2: 2,000 draws; the mean lies within four of its standard errors."""
    x = np.random.default_rng(3).standard_normal(50)
    squares = [np.sum(srht(6, 50, random_state=seed, scaled=True).matvec(x) ** 2) for seed in range(2000)]
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - x @ x) < 4 * error


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: hadamard(np.ones(3)), ValueError, "not a power of two; pad with zeros to 4"),
        (lambda: hadamard(np.ones(0)), ValueError, "not a power of two"),
        (lambda: hadamard(1.0), ValueError, "single number"),
        (lambda: hadamard(np.ones(4, complex)), TypeError, "real numbers; got complex128"),
        (lambda: hadamard([1.0, 2.0], overwrite=True), ValueError, "overwrite=True needs"),
        (lambda: hadamard(np.ones((4, 4))[:, ::2], overwrite=True), ValueError, "C-contiguous"),
        (lambda: hadamard(np.ones(4, int), overwrite=True), ValueError, "got int64"),
        (lambda: hadamard_sparse([4], [1.0], 4), IndexError, "between 0 and 3; got 4 to 4"),
        (lambda: hadamard_sparse([-1], [1.0], 4), IndexError, "between 0 and 3"),
        (lambda: hadamard_sparse([0.5], [1.0], 4), TypeError, "whole numbers"),
        (lambda: hadamard_sparse([0, 1], [1.0], 4), ValueError, "one value per index"),
        (lambda: hadamard_rows(np.ones((2, 2)), [0]), ValueError, "must be a vector"),
        (lambda: srht(5, 4), ValueError, "k is 5, more than the n = 4 columns"),
        (lambda: srht(-1, 4), ValueError, "whole number, 0 or more"),
        (lambda: srht(2, 0), ValueError, "whole number, 1 or more"),
        (lambda: srht(2, 4).gram(np.ones(3)), ValueError, "one number for each of 4 columns"),
    ],
)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
