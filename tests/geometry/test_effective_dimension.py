"""Effective dimension and leverage scores: against the eigenvalues that they are made of, and against each other."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from sparing.geometry import (
    best_ridge,
    effective_dimension,
    effective_dimension_at_most,
    ridge_leverage_scores,
    spectral_bounds,
)
from sparing.geometry.leverage import draw_by_leverage
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows

N, D, RIDGE = 1500, 120, 1e-3
SPECTRA = {
    "i^-1": 1.0 / np.arange(1, D + 1),
    "i^-2": 1.0 / np.arange(1, D + 1) ** 2,
    "exp(-i/5)": np.exp(-np.arange(D) / 5),
}


def make(spectrum, *, coherent, n=N, seed=0):
    """A matrix of n rows whose A^T A has that spectrum, or nearly: coherent if every direction rests on one row."""
    rng = np.random.default_rng(seed)
    d = len(spectrum)
    if coherent:
        A = 0.1 * rng.standard_normal((n, d)) * np.sqrt(spectrum / n)
        A[rng.choice(n, d, replace=False), np.arange(d)] += np.sqrt(spectrum)
        return A
    left, right = (np.linalg.qr(rng.standard_normal((size, d)))[0] for size in (n, d))
    return left * np.sqrt(spectrum) @ right.T


def exact_scores(A, ridge):
    """By the definition, with a general inverse."""
    return np.einsum("ij,jk,ik->i", A, np.linalg.inv(A.T @ A + ridge * np.eye(A.shape[1])), A)


every_matrix = pytest.mark.parametrize(
    "A",
    [make(spectrum, coherent=coherent) for spectrum in SPECTRA.values() for coherent in (False, True)],
    ids=[f"{name} {kind}" for name in SPECTRA for kind in ("incoherent", "coherent")],
)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
def test_dimension_is_the_sum_over_the_spectrum(ridge):
    spectrum = SPECTRA["i^-2"]
    expected = np.sum(spectrum / (spectrum + ridge))
    A = make(spectrum, coherent=False, n=300)
    for form in (A, A.T, sparse.csr_array(A), aslinearoperator(A), aslinearoperator(A.T)):
        assert effective_dimension(form, ridge) == pytest.approx(expected, rel=1e-8)
    assert effective_dimension(A @ A.T, ridge, gram=True) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(effective_dimension(A, [ridge, 2 * ridge])[0], expected, rtol=1e-8)


@every_matrix
def test_exact_scores_are_the_definition(A):
    expected = exact_scores(A, RIDGE)
    for form in (A, sparse.csr_array(A), aslinearoperator(A)):
        np.testing.assert_allclose(ridge_leverage_scores(form, RIDGE), expected, rtol=1e-7, atol=1e-12)
    few = A[:50]
    for scores in (ridge_leverage_scores(few, RIDGE), ridge_leverage_scores(few @ few.T, RIDGE, gram=True)):
        np.testing.assert_allclose(scores, exact_scores(few, RIDGE), rtol=1e-7, atol=1e-12)


@every_matrix
def test_sampled_scores_are_within_constants(A):
    """Each within a factor 2.5 (117 random directions leave 13 % of noise in each), the sum within 10 %."""
    expected = exact_scores(A, RIDGE)
    for form in (A, sparse.csr_array(A)):
        sampled = ridge_leverage_scores(form, RIDGE, method="recursive", random_state=1)
        ratio = sampled / expected
        assert 1 / 2.5 < ratio.min() < ratio.max() < 2.5
        assert sampled.sum() == pytest.approx(expected.sum(), rel=0.1)


@every_matrix
def test_overestimates_are_never_below(A):
    """All scores of five runs at once: each run may fail with probability 0.01, by bounds that are far from tight."""
    expected = exact_scores(A, RIDGE)
    options = {"method": "recursive", "overestimate": True}
    for seed in range(5):
        ratio = ridge_leverage_scores(A, RIDGE, random_state=seed, **options) / expected
        assert 1 - 1e-9 < ratio.min() < ratio.max() < 6
    plain = ridge_leverage_scores(A, RIDGE, method="recursive", random_state=0)
    assert np.mean(plain < expected) > 0.1  # what overestimate=True is for


@pytest.mark.parametrize("n", [300, 20_000])
def test_overestimates_from_real_samples(n):
    """With many rows of similar leverage few are sampled; with 300 all of them are. Sparse rows and kernels, too."""
    A = np.random.default_rng(0).standard_normal((n, 40)) * 2.0 ** -np.arange(40) / np.sqrt(n)
    expected = exact_scores(A, RIDGE)
    forms = [(A, False), (sparse.csr_array(A), False)] + ([(A @ A.T, True)] if n == 300 else [])
    for form, gram in forms:
        options = {"method": "recursive", "overestimate": True, "gram": gram, "failure": 1e-3}
        ratio = ridge_leverage_scores(form, RIDGE, random_state=0, **options) / expected
        assert 1 - 1e-9 < ratio.min() < ratio.max() < 8


@pytest.mark.parametrize("coherent", [False, True])
def test_sampled_scores_from_a_gram_matrix(coherent):
    A = make(SPECTRA["i^-2"], coherent=coherent)
    expected = exact_scores(A, RIDGE)
    sampled = ridge_leverage_scores(A @ A.T, RIDGE, method="recursive", random_state=0, gram=True)
    assert 1 / 2 < (sampled / expected).min() < (sampled / expected).max() < 2
    assert sampled.sum() == pytest.approx(expected.sum(), rel=0.1)


def test_rows_kept_follow_the_dimension():
    """d log d over two decades of d, within a factor 2; the ridge varies, the matrix does not."""
    spectrum = 1.0 / np.arange(1, 401) ** 2
    A = make(spectrum, coherent=False, n=6000)
    ratios = []
    for ridge in (1e-1, 1e-3, 2e-5):
        dimension = effective_dimension(A, ridge)
        kept = [len(draw_by_leverage(Rows(A), ridge, np.random.default_rng(seed)).indices) for seed in range(3)]
        ratios.append(np.mean(kept) / (dimension * max(1.0, np.log(dimension))))
    assert 0.7 < min(ratios) < max(ratios) < 2 * 0.7


@every_matrix
def test_a_sketch_is_a_spectral_approximation(A):
    sample = draw_by_leverage(Rows(A), RIDGE, np.random.default_rng(0), oversampling=8.0)
    sketch = Rows(A).take(sample.indices, sample.factors).X
    low, high = spectral_bounds(A, sketch, RIDGE)
    assert 0.5 < low <= 1 <= high < 1.6
    assert spectral_bounds(A, A, RIDGE) == pytest.approx((1.0, 1.0))


@every_matrix
def test_theorem_9_is_right_on_both_sides(A):
    """Certainly True from d up, certainly False below d/6: between them either answer is allowed."""
    dimension = effective_dimension(A, RIDGE)
    for seed in range(4):
        assert effective_dimension_at_most(A, RIDGE, dimension, random_state=seed)
        assert not effective_dimension_at_most(A, RIDGE, 0.16 * dimension, random_state=seed)


def test_theorem_9_from_a_gram_matrix():
    A = make(SPECTRA["i^-1"], coherent=False, n=800)
    dimension = effective_dimension(A, RIDGE)
    assert effective_dimension_at_most(A @ A.T, RIDGE, dimension, random_state=0, gram=True)
    assert not effective_dimension_at_most(A @ A.T, RIDGE, 0.16 * dimension, random_state=0, gram=True)


@pytest.mark.parametrize("n_rows", [30, 200])
def test_the_inverse_is_the_inverse(n_rows):
    """By rows and by columns, dense, and sparse with weights and a shift."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 60)) * (rng.random((n_rows, 60)) < 0.3)
    scale, shift = rng.random(n_rows), rng.standard_normal(60)
    A = scale[:, None] * (X - shift)
    expected = np.linalg.inv(A.T @ A + 0.1 * np.eye(60))
    dimension = np.trace(A.T @ A @ expected)
    for form in (X, sparse.csr_array(X), aslinearoperator(X)):
        rows = Rows(form, scale=scale, shift=shift)
        inverse = RidgeInverse(rows, 0.1)
        np.testing.assert_allclose(inverse(np.eye(60)), expected, atol=1e-9)
        assert inverse.within.effective_dimension == pytest.approx(dimension)
        np.testing.assert_allclose(rows.squared_norms(), np.square(A).sum(axis=1))
        np.testing.assert_allclose(rows.take(np.array([3, 1])).inner(), A[[3, 1]] @ A[[3, 1]].T, atol=1e-12)


def test_a_ridge_below_rounding_is_raised():
    inverse = RidgeInverse(Rows(np.ones((5, 8))), 1e-30)
    assert 1e-30 < inverse.within.ridge < 1e-12
    assert np.isfinite(inverse(np.ones((8, 1)))).all()


def test_a_matrix_of_zeros_has_no_dimension():
    A = np.zeros((300, 4))
    assert effective_dimension(A, 1.0) == 0
    assert ridge_leverage_scores(A, 1.0, method="recursive").sum() == 0
    assert effective_dimension_at_most(A, 1.0, 1)


@pytest.mark.parametrize("function", [effective_dimension, ridge_leverage_scores, best_ridge])
def test_bad_input_is_refused(function):
    A = np.eye(3)
    for ridge in (0.0, -1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="ridge must be a positive finite number"):
            function(A, ridge)
    with pytest.raises(ValueError, match="NaN"):
        function(np.array([[1.0, np.nan]]), 1.0)
    with pytest.raises(ValueError, match="square, symmetric"):
        function(np.ones((2, 3)), 1.0, gram=True)


def test_more_bad_input_is_refused():
    with pytest.raises(ValueError, match="m must be a positive"):
        effective_dimension_at_most(np.eye(3), 1.0, 0)
    with pytest.raises(ValueError, match="method must be one of 'exact', 'recursive'"):
        ridge_leverage_scores(np.eye(3), 1.0, method="fast")
    with pytest.raises(ValueError, match="overestimate=True is for method='recursive'"):
        ridge_leverage_scores(np.eye(3), 1.0, overestimate=True)
    with pytest.raises(ValueError, match="failure must lie strictly between 0 and 1"):
        ridge_leverage_scores(np.eye(3), 1.0, method="recursive", overestimate=True, failure=1.0)
    with pytest.raises(ValueError, match="2 columns for a matrix of 3"):
        spectral_bounds(np.eye(3), np.eye(2), 1.0)
