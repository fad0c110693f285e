"""Second moments of every kind of matrix, and the ratios of Kukliansky & Shamir 2015."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from sparing.geometry import half_norm, improvement_ratio, second_moments

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)
FLOATS = st.floats(-100, 100, width=16)
MATRICES = st.one_of(
    hnp.arrays(np.float64, SHAPES, elements=FLOATS),
    hnp.arrays(np.float32, SHAPES, elements=FLOATS),
    hnp.arrays(np.int16, SHAPES, elements=st.integers(-300, 300)),
    hnp.arrays(np.bool_, SHAPES),
)


def kinds_of(X):
    """The same matrix in every guise."""
    yield "C", np.ascontiguousarray(X)
    yield "Fortran", np.asfortranarray(X)
    yield "list", X.tolist()
    yield "frame", pd.DataFrame(X)
    for form in ("csr", "csc", "coo", "bsr", "lil"):
        yield form, sparse.csr_array(X.astype(np.float64)).asformat(form)
    yield "float32 csc", sparse.csc_matrix(X.astype(np.float32))
    yield "chunks", iter([X[:1], X[1:3], X[1:1], sparse.csr_array(X[3:].astype(float)), X[len(X) :]])


@pytest.mark.parametrize("center", [False, True])
@given(X=MATRICES, chunk_rows=st.none() | st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_every_kind_of_matrix_has_the_same_moments(center, X, chunk_rows):
    exact = X.astype(np.longdouble)
    truth = ((exact - exact.mean(axis=0) * center) ** 2).mean(axis=0).astype(np.float64)
    for kind, same in kinds_of(X):
        got = second_moments(same, center=center, chunk_rows=chunk_rows)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, truth, rtol=1e-9, atol=1e-9, err_msg=kind)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("chunk_rows", [None, 7])
def test_centred_moments_far_from_zero(kind, chunk_rows):
    """A spread of 1 at 1e8: the difference of E[x^2] and the squared mean would lose every digit."""
    X = np.random.default_rng(0).normal(size=(200, 3)) + np.array([0.0, 1e8, -1e8])
    truth = X.var(axis=0)
    np.testing.assert_allclose(second_moments(kind(X), center=True, chunk_rows=chunk_rows), truth, rtol=1e-6)
    assert not np.allclose((X**2).mean(axis=0) - X.mean(axis=0) ** 2, truth, rtol=1e-2)


def test_float32_is_summed_in_float64():
    X = np.full((3, 1), 1.0 + 2.0**-20, dtype=np.float32)
    assert second_moments(X)[0] == float(X[0, 0]) ** 2
    assert second_moments(sparse.csr_array(X))[0] == float(X[0, 0]) ** 2


def test_integers_do_not_overflow():
    assert second_moments(np.array([[200], [100]], dtype=np.uint8))[0] == 25_000
    assert second_moments(sparse.csc_array(np.array([[200], [100]], dtype=np.uint8)))[0] == 25_000


def test_repeated_entries_of_a_sparse_matrix_are_added_first():
    for make in (sparse.csr_array, sparse.csc_array):
        X = make((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
        assert X.nnz == 2
        assert second_moments(X)[0] == 9
        assert X.nnz == 2  # and the caller's matrix is left alone


class Recorded:
    """Rows that can only be sliced, and the shapes of the slices that were asked for."""

    def __init__(self, X):
        self.X, self.shape, self.read = X, X.shape, []

    def __getitem__(self, key):
        part = self.X[key]
        self.read.append(part.shape)
        return part


def recorded(sparse_array):
    """The same for a sparse array, which has to stay one."""

    class Sparse(type(sparse_array)):
        def __getitem__(self, key):
            part = super().__getitem__(key)
            read.append(part.shape)
            return type(sparse_array)(part)

    read = []
    return Sparse(sparse_array), read


def test_rows_are_read_in_chunks(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = Recorded(np.load(tmp_path / "X.npy", mmap_mode="r"))
    np.testing.assert_allclose(second_moments(mapped, chunk_rows=64), (X.astype(float) ** 2).mean(axis=0))
    assert max(rows for rows, _ in mapped.read) == 64
    assert sum(rows for rows, _ in mapped.read) == 1000
    form, read = recorded(sparse.csr_array(X))
    second_moments(form, chunk_rows=64)
    assert max(rows for rows, _ in read) == 64


@pytest.mark.parametrize("kind", [Recorded, sparse.csr_array, sparse.csc_array])
def test_a_chunk_is_about_eight_megabytes(kind):
    X = np.ones((1500, 2000))
    form = kind(X)
    form, read = (form, form.read) if kind is Recorded else recorded(form)
    np.testing.assert_array_equal(second_moments(form), 1.0)
    assert 2**22 < 8 * max(rows * columns for rows, columns in read) <= 2**23
    assert sum(rows * columns for rows, columns in read) == X.size


def test_frames_of_mixed_and_nullable_columns():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([3, 4], dtype="Int64")}, index=[7.5, 7.5])
    np.testing.assert_allclose(second_moments(frame), [2.5, 0.5, 12.5])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"X must have two dimensions.*; got shape \(3,\)"),
        ([[[1.0]]], r"got shape \(1, 1, 1\)"),
        (5.0, "X must have two dimensions.*; got 5.0"),
        (np.zeros((0, 3)), "X has 0 rows; second moments need at least one example and one attribute"),
        (np.zeros((3, 0)), "X has 3 rows and no columns"),
        (sparse.csc_array((3, 0)), "X has 3 rows and no columns"),
        (sparse.csr_array((0, 3)), "X has 0 rows"),
        (iter([]), "X has 0 rows"),
        (
            iter([np.ones((2, 3)), np.ones((1, 4))]),
            "chunk of X from row 2 on has 4 columns, the ones before it 3",
        ),
        (iter([np.ones(3)]), r"X must have two dimensions.*got shape \(3,\)"),
        ([[1.0, 2.0], [3.0, np.nan]], "X contains NaN or infinity, first in row 1, column 1; every"),
        (iter([np.ones((2, 1)), np.array([[np.inf]])]), "in row 2, column 0"),
        (sparse.csr_array([[0, 0], [0, np.inf]]), "in row 1, column 1"),
        (sparse.csc_array([[0, 0, 1], [0, 0, np.nan]]), "in row 1, column 2"),
        (pd.DataFrame({"a": [1.0, None]}), "in row 1, column 0"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "in row 1, column 0"),
        (pd.DataFrame({"a": ["x", "y"]}), "X must hold real numbers: .*Encode or drop"),
        (np.array([["x"]], dtype=object), "X must hold real numbers: could not convert"),
        (np.array([[1j]]), "X must hold real numbers: its type is complex128. Encode or drop"),
        (
            np.array([["2020-01-01"]], dtype="datetime64[D]"),
            "X must hold real numbers: its type is datetime64",
        ),
        (
            np.array([[1.0, 1e200]]),
            "too large to square: the second moment of column 1 is not finite; rescale",
        ),
        (sparse.csr_array([[1.0, 1e200]]), "too large to square: the second moment of column 1"),
    ],
)
def test_refusals(X, message):
    with pytest.raises(ValueError, match=message):
        second_moments(X)


def test_the_last_block_of_columns_names_its_column(monkeypatch):
    from sparing.geometry import moments

    monkeypatch.setattr(moments, "CHUNK_VALUES", 1)
    X = sparse.csc_array(np.array([[1.0, 2.0, np.nan]]))
    with pytest.raises(ValueError, match="in row 0, column 2"):
        second_moments(X)


@pytest.mark.parametrize("chunk_rows", [0, 2.5, True])
def test_chunk_rows_is_checked(chunk_rows):
    with pytest.raises(ValueError, match="chunk_rows must be a whole number, 1 or more"):
        second_moments(np.ones((2, 2)), chunk_rows=chunk_rows)


@given(v=hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e6, 1e6)))
def test_half_norm_lies_between_the_one_norm_and_d_times_it(v):
    one = np.abs(v).sum()
    assert one * (1 - 1e-9) <= half_norm(v) <= v.size * one * (1 + 1e-9)
    assert half_norm(4 * v) == pytest.approx(4 * half_norm(v))


@pytest.mark.parametrize("v", [[[1.0]], [np.nan], 3.0])
def test_half_norm_refuses(v):
    with pytest.raises(ValueError, match="v must be a vector of finite numbers; got shape"):
        half_norm(v)


@pytest.mark.parametrize(
    ("exponent", "ridge", "lasso"),
    [(0.0, 1.0, 1.0), (-0.5, 0.909, 0.0866), (-1.0, 0.552, 0.0136), (-2.0, 0.056, 0.0033)],
)
def test_improvement_ratios_of_the_power_laws(exponent, ridge, lasso):
    """Section 5.1: attributes are 0 or 1 with mean u_i = i^alpha, so that E[x_i^2] = u_i; d = 500."""
    u = np.arange(1, 501) ** exponent
    assert improvement_ratio(u / np.linalg.norm(u)) == pytest.approx(ridge, abs=6e-4)
    assert improvement_ratio(u, penalty="lasso") == pytest.approx(lasso, abs=6e-5)


def test_improvement_ratio_from_simulated_data():
    """As many examples as bring the estimate within a tenth; attributes rarely 1 stay noisy."""
    rng = np.random.default_rng(0)
    u = np.arange(1, 501) ** -1.0
    X = (rng.random((4000, 500)) < u).astype(np.int8)
    assert improvement_ratio(second_moments(X), "lasso") == pytest.approx(0.0136, rel=0.1)


def test_improvement_ratio_ignores_the_scale():
    m = np.array([3.0, 1.0, 0.5])
    for penalty in ("ridge", "lasso"):
        assert improvement_ratio(1e6 * m, penalty) == pytest.approx(improvement_ratio(m, penalty))


def test_improvement_ratio_refusals():
    with pytest.raises(ValueError, match="penalty must be one of 'ridge', 'lasso'; got 'elastic'"):
        improvement_ratio([1.0], penalty="elastic")
    with pytest.raises(ValueError, match="second_moments are all zero"):
        improvement_ratio([0.0, 0.0])
    with pytest.raises(ValueError, match="finite and not negative; entry 1 is -1"):
        improvement_ratio([0.0, -1.0])


def test_what_cannot_be_squared_is_refused_or_scaled_first():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="too small to square: the second moment of column 1 is zero"):
        second_moments(rows * [1.0, 1e-200])
    with pytest.raises(ValueError, match="too large to square: the second moment of column 0"):
        second_moments(rows * [1e200, 1.0])
    assert second_moments(np.zeros((3, 2))).tolist() == [0.0, 0.0]
    moments = np.array([4.0, 1.0, 0.0])
    for unit in (2.0**-1000, 2.0**1000):
        assert half_norm(moments * unit) == half_norm(moments) * unit
        for penalty in ("ridge", "lasso"):
            assert improvement_ratio(moments * unit, penalty) == improvement_ratio(moments, penalty)
    assert improvement_ratio(np.full(50, 1e308)) == pytest.approx(1.0)
