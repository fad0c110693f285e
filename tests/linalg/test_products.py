"""Products by BLAS are numpy's, however the arrays lie in memory."""

import numpy as np
import pytest
from scipy import sparse

from sparing.linalg.products import squares, times


def laid_out(M, how):
    """A copy of M: row by row, column by column, every second value of a larger array, or some columns of one."""
    if how in "CF":
        return np.array(M, order=how)
    larger = np.zeros((2 * M.shape[0], 2 * M.shape[1]), M.dtype)
    view = larger[::2, ::2] if how == "spread" else larger[: M.shape[0], 1 : 1 + M.shape[1]]
    view[:] = M
    return view


@pytest.fixture(params=[(5, 3, 1), (5, 3, 2), (1, 4, 3), (4, 1, 1), (1, 1, 1), (700, 30, 4), (3, 3, 0)])
def shape(request):
    return request.param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["C", "F", "spread", "some"])
@pytest.mark.parametrize("other", ["C", "F", "spread", "some"])
def test_times_is_the_matrix_product(shape, dtype, how, other):
    n, d, k = shape
    rng = np.random.default_rng(0)
    A, B, R = (rng.standard_normal(size).astype(dtype) for size in ((n, d), (d, k), (n, k)))
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(times(laid_out(A, how), laid_out(B, other)), A @ B, **tolerance)
    np.testing.assert_allclose(times(laid_out(A, how).T, laid_out(R, other)), A.T @ R, **tolerance)
    assert times(laid_out(A, how), B).dtype == dtype


@pytest.mark.parametrize("how", ["C", "F", "spread", "some"])
@pytest.mark.parametrize("k", [1, 6])
def test_single_precision_times_double_is_double(how, k):
    """Far more values than are converted at a time, and not a multiple of them."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1301, 707)).astype(np.float32)
    B, R = rng.standard_normal((707, k)), rng.standard_normal((1301, k))
    np.testing.assert_allclose(times(laid_out(A, how), B), A.astype(float) @ B, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(times(laid_out(A, how).T, R), A.T.astype(float) @ R, rtol=1e-12, atol=1e-11)


def test_times_takes_what_blas_does_not():
    for A in (np.arange(6).reshape(2, 3), np.arange(6.0, dtype=np.longdouble).reshape(2, 3), sparse.eye_array(3)):
        B = np.ones((3, 2), dtype=A.dtype)
        np.testing.assert_array_equal(times(A, B), A @ B)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["C", "F", "spread", "some"])
def test_squares_add_up_and_are_symmetric(dtype, how):
    A = np.random.default_rng(0).standard_normal((1100, 40)).astype(dtype)
    parts = [laid_out(A[:, :15], how), laid_out(A[:, 15:], how)]
    found = squares(parts)
    np.testing.assert_allclose(found, A @ A.T, rtol=1e-4, atol=1e-4 if dtype == np.float32 else 1e-12)
    assert np.array_equal(found, found.T)
    assert found.dtype == dtype
    assert np.array_equal(np.hstack(parts), A)  # left as they were
