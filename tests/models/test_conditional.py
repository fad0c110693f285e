"""Predictions from what is known of rows, against explicit inverses."""

import numpy as np
import pytest

from sparing.models import conditional as module
from sparing.models.conditional import Conditional
from sparing.models.gaussian import Gaussian

D, RANK, OUTPUTS = 9, 3, 2
RNG = np.random.default_rng(5)
MEANS, WEIGHTS = RNG.standard_normal(D), RNG.standard_normal((D, OUTPUTS))
FACTORS = Gaussian.of_factors(MEANS, RNG.standard_normal((D, RANK)), RNG.uniform(0.1, 2.0, D))
DENSE = Gaussian.of_covariance(MEANS, FACTORS.covariance)
ALONE = Gaussian.uncorrelated(MEANS, FACTORS.noise)
any_form = pytest.mark.parametrize("gaussian", [FACTORS, DENSE, ALONE], ids=["factors", "dense", "uncorrelated"])


def rows(n=60, seed=0):
    """Whole rows, empty rows, and rows with as many holes as there are between."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    X[rng.random((n, D)) < rng.random((n, 1))] = np.nan
    X[0], X[1] = np.nan, 1.0
    return X


def explicit(gaussian, row):
    """Mean and covariance of w'x given what is known of a row."""
    known, missing, S = ~np.isnan(row), np.isnan(row), gaussian.covariance
    gain = S[np.ix_(missing, known)] @ np.linalg.inv(S[np.ix_(known, known)])
    away = row[known] - MEANS[known]
    left = S[np.ix_(missing, missing)] - gain @ S[np.ix_(known, missing)]
    return WEIGHTS[known].T @ away + WEIGHTS[missing].T @ gain @ away, WEIGHTS[missing].T @ left @ WEIGHTS[missing]


@any_form
def test_means_and_covariances_are_those_of_explicit_inverses(gaussian):
    X = rows()
    found = Conditional(gaussian, WEIGHTS)(X)
    for row, mean, left in zip(X, *found, strict=True):
        expected = explicit(gaussian, row)
        np.testing.assert_allclose(mean, expected[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(left, expected[1], rtol=1e-10, atol=1e-10)


@any_form
def test_neither_the_order_of_rows_nor_threads_matter(gaussian, monkeypatch):
    X, model = rows(200), Conditional(gaussian, WEIGHTS)
    one = [model(row[None]) for row in X]
    for worth in (10**9, 1):
        monkeypatch.setattr(module, "WORTH_THREADS", worth)
        together = model(X)
        np.testing.assert_array_equal(together.means, np.concatenate([found.means for found in one]))
        np.testing.assert_array_equal(together.unexplained, np.concatenate([found.unexplained for found in one]))


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale):
    """Variables in other units, with weights in theirs, are the same model."""
    units = np.where(np.arange(D) % 2, scale, 1.0)
    other = Gaussian.of_covariance(MEANS * units, DENSE.covariance * np.outer(units, units))
    found = Conditional(other, WEIGHTS / units[:, None])(rows() * units)
    expected = Conditional(DENSE, WEIGHTS)(rows())
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.unexplained, expected.unexplained, rtol=1e-9, atol=1e-9)


def test_variables_that_determine_each_other_leave_nothing_undefined():
    """A column twice: its copy adds nothing, and is known when the other is."""
    S = np.array([[2.0, 2.0, 0.5], [2.0, 2.0, 0.5], [0.5, 0.5, 1.0]])
    model = Conditional(Gaussian.of_covariance(np.zeros(3), S), np.ones((3, 1)))
    X = np.array([[1.0, 1.0, np.nan], [1.0, np.nan, np.nan], [np.nan, 1.0, 2.0]])
    found = model(X)
    np.testing.assert_allclose(found.means[:, 0], [2.25, 2.25, 4.0], rtol=1e-10)
    np.testing.assert_allclose(found.unexplained[:, 0, 0], [0.875, 0.875, 0.0], atol=1e-10)


def test_very_many_variables_need_no_matrix_of_them():
    """With 100,000 variables such a matrix would take 80 gigabytes."""
    rng = np.random.default_rng(0)
    d = 100_000
    wide = Gaussian.of_factors(np.zeros(d), rng.standard_normal((d, 2)), np.ones(d))
    weights = rng.standard_normal((d, 1)) / np.sqrt(d)
    X = rng.standard_normal((3, d))
    X[0], X[1, 1:] = np.nan, np.nan
    found = Conditional(wide, weights)(X)
    total = (weights.T @ wide.times(weights)).item()
    with_targets = wide.times(weights)[0, 0]
    first = wide.variances[0]
    np.testing.assert_allclose(
        found.means[:, 0], [0.0, with_targets / first * X[1, 0], X[2] @ weights[:, 0]], atol=1e-9
    )
    np.testing.assert_allclose(found.unexplained[:, 0, 0], [total, total - with_targets**2 / first, 0.0], atol=1e-8)
