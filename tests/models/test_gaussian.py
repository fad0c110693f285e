"""The Gaussian description of attributes: dense or by factors, it is the same one."""

import numpy as np
import pytest
from scipy import sparse

from sparing.cells import Cells
from sparing.models import gaussian as gaussian_module
from sparing.models.bases import Kind, learn_basis
from sparing.models.gaussian import Candidate, Gaussian, fitted_model
from sparing.models.imputed import uncorrelated
from sparing.models.summary import Summary

D = 7
RNG = np.random.default_rng(3)
MEANS, LOADINGS, NOISE = RNG.standard_normal(D), RNG.standard_normal((D, 2)), RNG.uniform(0.2, 1.5, D)
COVARIANCE = LOADINGS @ LOADINGS.T + np.diag(NOISE)
BOTH = {"factors": Gaussian.of_factors(MEANS, LOADINGS, NOISE), "dense": Gaussian.of_covariance(MEANS, COVARIANCE)}
either = pytest.mark.parametrize("gaussian", BOTH.values(), ids=BOTH)


@either
def test_the_covariance_is_the_same_however_it_is_given(gaussian):
    weights = RNG.standard_normal((D, 3))
    np.testing.assert_allclose(gaussian.covariance, COVARIANCE, rtol=1e-12)
    np.testing.assert_allclose(gaussian.variances, COVARIANCE.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(gaussian.times(weights), COVARIANCE @ weights, rtol=1e-12)
    gaussian.variances[:] = 0.0  # a copy
    np.testing.assert_allclose(gaussian.variances, COVARIANCE.diagonal(), rtol=1e-12)


def test_uncorrelated_is_diagonal():
    gaussian = Gaussian.uncorrelated(MEANS, NOISE)
    np.testing.assert_array_equal(gaussian.covariance, np.diag(NOISE))
    np.testing.assert_array_equal(gaussian.times(np.eye(D)), np.diag(NOISE))
    assert gaussian.simulate(3, np.random.default_rng(0)).shape == (3, D)


@either
def test_simulated_rows_have_the_means_and_the_covariance(gaussian):
    """Of 20,000 rows, each entry within five standard errors: sqrt((C_ii C_jj + C_ij^2) / n) of a covariance."""
    n = 20_000
    rows = gaussian.simulate(n, np.random.default_rng(0))
    s2 = COVARIANCE.diagonal()
    assert np.all(np.abs(rows.mean(axis=0) - MEANS) < 5 * np.sqrt(s2 / n))
    assert np.all(np.abs(np.cov(rows.T) - COVARIANCE) < 5 * np.sqrt((np.outer(s2, s2) + COVARIANCE**2) / n))
    np.testing.assert_array_equal(gaussian.simulate(5, np.random.default_rng(1)),
                                  gaussian.simulate(5, np.random.default_rng(1)))  # fmt: skip


@either
def test_the_residual_variance_is_what_weights_leave(gaussian):
    """sigma_y^2 - 2 c'w + w' Sigma w with c = Sigma w_0, also where weights are an average of several."""
    own, weights = RNG.standard_normal((D, 2)), RNG.standard_normal((D, 2))
    c = COVARIANCE @ own
    variances = np.diag(own.T @ c) + np.array([0.3, 50.0])
    ones, means = np.ones(D), np.array([1.0, -2.0])
    summary = Summary(ones, ones, MEANS, ones, COVARIANCE.diagonal(), means, variances)
    for w in (weights, own, 0 * own):
        model = fitted_model(summary, w, Candidate("", own, lambda: gaussian), {"why": "a test"})
        expected = variances - 2 * np.diag(c.T @ w) + np.diag(w.T @ COVARIANCE @ w)
        np.testing.assert_allclose(model.residual_variance, np.maximum(expected, 0.0), rtol=1e-10)
        np.testing.assert_allclose(model.intercept, [1.0, -2.0] - MEANS @ w)
        assert model.attributes is gaussian
        assert model.facts == {"why": "a test"}
    np.testing.assert_allclose(
        fitted_model(summary, own, Candidate("", own, lambda: gaussian), {}).residual_variance, [0.3, 50.0], rtol=1e-9
    )


def test_a_residual_variance_is_never_negative():
    """A covariance estimated from few pairs may explain more than there is."""
    own = np.ones((D, 1))
    summary = Summary(np.ones(D), np.ones(D), MEANS, np.ones(D), NOISE, np.zeros(1), np.array([1e-3]))
    model = fitted_model(summary, own, Candidate("", own, lambda: BOTH["dense"]), {})
    assert model.residual_variance.tolist() == [0.0]


# Curves -------------------------------------------------------------------------------------------------------------


def curved(n_outputs=2):
    """A model of curves of three columns, the second of which never varied, and rows."""
    rng = np.random.default_rng(0)
    rows = rng.gamma(1.0, size=(60, 3))
    rows[:, 1] = 2.0
    cells = Cells(3, n_outputs=n_outputs)
    cells.extend(np.full(60, 3), np.tile(np.arange(3), 60), rows.ravel(), rng.standard_normal((60, n_outputs)))
    basis = learn_basis(Kind("winsorized", 1), cells)
    summary, weights = basis.summary(basis.expand(cells)), rng.standard_normal((basis.size, n_outputs))
    candidate = uncorrelated("", summary, weights)
    return fitted_model(summary, weights, candidate, {}, basis), rows


def test_curves_are_predicted_by_their_functions_and_add_up():
    model, rows = curved()
    assert not model.is_linear
    expected = model.basis.functions(rows) @ model.weights + model.intercept
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict(sparse.csr_array(rows)), expected, rtol=1e-12)
    total = np.tile(model.intercept, (60, 1))
    for column in range(3):
        values, parts = model.effect(column)
        total += np.column_stack([np.interp(rows[:, column], values, part) for part in parts.T])
    np.testing.assert_allclose(total, expected, rtol=1e-10)
    assert not model.effect(1)[1].any()
    assert model.predict(rows[:0]).shape == (0, 2)


def test_many_rows_are_predicted_some_at_a_time(monkeypatch):
    model, rows = curved()
    expected = model.predict(rows)
    monkeypatch.setattr(gaussian_module, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-12)


def test_the_importance_of_a_column_is_the_spread_of_its_part():
    """Over the looks that the functions were learnt from, where they are uncorrelated and of variance one."""
    model, rows = curved()
    for column in range(3):
        values, parts = model.effect(column)
        spread = [np.interp(rows[:, column], values, part).std() for part in parts.T]
        np.testing.assert_allclose(model.importance[column], spread, rtol=1e-8, atol=1e-12)
    own = RNG.standard_normal((D, 2))
    ones = np.ones(D)
    summary = Summary(ones, ones, MEANS, ones, COVARIANCE.diagonal(), np.zeros(2), np.ones(2))
    linear = fitted_model(summary, own, Candidate("", own, lambda: BOTH["dense"]), {})
    expected = np.abs(own) * np.sqrt(COVARIANCE.diagonal())[:, None]
    np.testing.assert_allclose(linear.importance, expected, rtol=1e-12)
