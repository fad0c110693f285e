"""An unrestricted covariance, fitted by EM: its iterations, its prior, and the regression that follows."""

from itertools import islice

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import Ridge

from planted_cells import SIZE, D, planted, random_cells, uniform_cells
from sparing.learners import FactorModel
from sparing.models.covariance import covariance_candidate, covariance_gradients, covariance_iterates
from sparing.models.em import StandardizedCells, nth_iterate
from sparing.models.families import USUAL_PRIOR
from sparing.models.summary import summarize

PRIOR = 4.0
A = np.random.default_rng(1).standard_normal((SIZE, SIZE))
TARGET = A @ A.T + np.eye(SIZE)


@pytest.fixture
def data():
    cells = random_cells(30, (0, D))
    return StandardizedCells(cells, summarize(cells))


def known_of(data, example):
    """Indices and standardized values of what is known of an example, attributes and then targets."""
    here = slice(data.looks.starts[example], data.looks.starts[example + 1])
    index = np.append(data.looks.attributes[here], np.arange(D, SIZE)).astype(int)
    return index, np.append(data.looks.values[here], data.looks.targets[example])


def test_an_iteration_is_its_conditional_expectation(data):
    """From the second on, where the covariance is not the target any more."""
    before, found = islice(covariance_iterates(data, TARGET, PRIOR), 2)
    expected = PRIOR * TARGET
    for example in range(30):
        index, x = known_of(data, example)
        gain = before[:, index] @ np.linalg.inv(before[np.ix_(index, index)])
        expected += np.outer(gain @ x, gain @ x) + before - gain @ before[index]
    np.testing.assert_allclose(found, expected / (30 + PRIOR), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("last", [None, 12])
def test_the_gradient_is_that_of_the_log_likelihood(data, last):
    """By central differences of scipy's density, in every direction."""

    def likelihood(covariance):
        total = 0.0
        for example in range(30 if last is None else last):
            index, x = known_of(data, example)
            total += multivariate_normal.logpdf(x, cov=covariance[np.ix_(index, index)])
            total += index.size * np.log(2 * np.pi) / 2
        return total

    half, found = covariance_gradients(data, TARGET, last)
    assert found == pytest.approx(likelihood(TARGET), rel=1e-10)
    for i, j in ((0, 0), (2, 1), (D, 3), (SIZE - 1, D), (SIZE - 1, SIZE - 1)):
        move = np.zeros((SIZE, SIZE))
        move[i, j] = move[j, i] = 1e-5
        slope = (likelihood(TARGET + move) - likelihood(TARGET - move)) / 2e-5
        whole = half[i, j] + half[j, i]
        assert (whole if i != j else whole / 2) == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_no_iteration_decreases_the_posterior(data):
    """The log-likelihood with that of the inverse Wishart prior, whose sample size and scale are the prior's."""

    def posterior(covariance):
        scatter = np.trace(np.linalg.solve(covariance, PRIOR * TARGET))
        prior = -0.5 * (PRIOR * np.linalg.slogdet(covariance)[1] + scatter)
        return covariance_gradients(data, covariance)[1] + prior

    found = [posterior(covariance) for covariance in islice(covariance_iterates(data, TARGET, PRIOR), 12)]
    assert np.diff([posterior(TARGET), *found]).min() > 0


def test_at_full_budget_it_is_the_samples_covariance_and_its_prior():
    X, y = planted(80, d=6)
    cells, prior = uniform_cells(X, y, 6), USUAL_PRIOR
    summary = summarize(cells)
    data = StandardizedCells(cells, summary)
    Z = np.column_stack([(X - X.mean(axis=0)) / summary.spreads, (y - y.mean()) / y.std()])
    expected = (Z.T @ Z + prior * np.eye(7)) / (80 + prior)
    for covariance in islice(covariance_iterates(data, np.eye(7), prior), 3):  # all is seen: the first is the last
        np.testing.assert_allclose(covariance, expected, rtol=1e-8, atol=1e-10)
    plain = Ridge(alpha=prior, fit_intercept=False).fit(Z[:, :6], Z[:, 6])
    learner = FactorModel(6, budget=6, rank="full", rounds=3).fit_cells(cells)
    np.testing.assert_allclose(learner.coef, plain.coef_ / summary.spreads * y.std(), rtol=1e-7)
    assert learner.intercept == pytest.approx(y.mean() - X.mean(axis=0) @ learner.coef)


def test_a_candidate_is_the_regression_in_the_attributes_own_units(data):
    covariance = nth_iterate(covariance_iterates(data, TARGET, PRIOR), 3)
    candidate, summary = covariance_candidate("name", data, covariance), data.summary
    both = np.append(summary.spreads, summary.target_spreads)
    own_units = covariance * np.outer(both, both)
    expected = np.linalg.inv(own_units[:D, :D]) @ own_units[:D, D:]
    np.testing.assert_allclose(candidate.weights, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(candidate.attributes().covariance, own_units[:D, :D], rtol=1e-12)
    np.testing.assert_array_equal(candidate.attributes().means, summary.means)
