"""Probabilities of classes, against explicit linear discriminant analysis and scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from sparing import BudgetClassifier
from sparing.models.classes import Classes
from sparing.models.conditional import Conditional
from sparing.models.gaussian import Gaussian

D = 5


def world(priors, seed=0):
    """Class means, the covariance within classes, and what a regression on -1 and +1 makes of both."""
    rng = np.random.default_rng(seed)
    priors = np.asarray(priors)
    centers = rng.standard_normal((len(priors), D))
    centers -= priors @ centers
    root = rng.standard_normal((D, D))
    within = root @ root.T / D + 0.3 * np.eye(D)
    covariance = within + (centers.T * priors) @ centers
    with_indicators = centers.T * priors  # Cov(x, Y): the mean of x is zero
    columns = with_indicators[:, 1:] if len(priors) == 2 else with_indicators
    weights = np.linalg.solve(covariance, 2.0 * columns)
    return centers, within, Conditional(Gaussian.of_covariance(np.zeros(D), covariance), weights)


def regression(priors, conditional, X):
    means, unexplained = conditional(X)
    return means + 2.0 * np.asarray(priors)[-means.shape[1] :] - 1.0, unexplained


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]])
def test_posteriors_are_those_of_explicit_discriminant_analysis(priors):
    """From any part of a row, by Bayes' rule on the densities of what is known."""
    centers, within, conditional = world(priors)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, D))
    X[rng.random(X.shape) < 0.4] = np.nan
    X[0], X[1] = np.nan, 0.5
    classes = Classes(np.asarray(priors), conditional.total)
    found = classes.log_posteriors(*regression(priors, conditional, X))
    for row, log_posterior in zip(X, found, strict=True):
        S = ~np.isnan(row)
        densities = [
            multivariate_normal(center[S], within[np.ix_(S, S)]).pdf(row[S]) if S.any() else 1.0 for center in centers
        ]
        expected = np.asarray(priors) * densities
        np.testing.assert_allclose(np.exp(log_posterior), expected / expected.sum(), rtol=1e-8, atol=1e-12)


def test_whole_rows_are_as_in_scikit_learn():
    """Moments of the sample itself make the regression and the analysis the same thing."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 300, p=[0.2, 0.5, 0.3])
    X = rng.standard_normal((300, D)) + 0.8 * rng.standard_normal((3, D))[y]
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    covariance = np.cov(X.T, bias=True)
    weights = np.linalg.solve(covariance, (X - X.mean(axis=0)).T @ signs / 300)
    conditional = Conditional(Gaussian.of_covariance(X.mean(axis=0), covariance), weights)
    means, unexplained = conditional(X)
    classes = Classes(np.bincount(y) / 300, conditional.total)
    found = classes.log_posteriors(means + signs.mean(axis=0), unexplained)
    # scikit-learn divides the scatter within classes by n, too, with this solver
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_log_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_prior_odds_multiply_the_odds():
    priors = [0.9, 0.1]
    _, _, conditional = world(priors)
    given = regression(priors, conditional, np.random.default_rng(0).standard_normal((10, D)))
    classes = Classes(np.asarray(priors), conditional.total)
    plain, weighted = classes.log_posteriors(*given), classes.weighted(np.array([1.0, 9.0])).log_posteriors(*given)
    odds = (weighted[:, 1] - weighted[:, 0]) - (plain[:, 1] - plain[:, 0])
    np.testing.assert_allclose(odds, np.log(9.0), rtol=1e-10)


@pytest.mark.parametrize("priors", [[0.7, 0.3], [0.2, 0.3, 0.5]])
def test_expected_errors_are_those_of_simulated_cases(priors):
    """After three of five attributes; 20,000 cases have a standard error below 0.004, the draws one of about 0.02."""
    centers, within, conditional = world(priors)
    rng = np.random.default_rng(2)
    y = rng.choice(len(priors), 20_000, p=priors)
    X = centers[y] + rng.multivariate_normal(np.zeros(D), within, 20_000)
    X[:, 3:] = np.nan
    classes = Classes(np.asarray(priors), conditional.total)
    means, unexplained = regression(priors, conditional, X)
    wrong = np.mean(classes.log_posteriors(means, unexplained).argmax(axis=1) != y)
    expected = classes.expected_errors(np.log([priors]), classes.separations(unexplained[:1])[0])[0]
    assert abs(expected - wrong) < (0.015 if len(priors) == 2 else 0.03)
    nothing = np.zeros((len(priors), len(priors)))
    assert classes.expected_errors(np.log([priors]), nothing)[0] == pytest.approx(1.0 - max(priors))


def test_two_classes_follow_the_rule_of_their_distance():
    """With equal odds, the error of the best linear rule at Mahalanobis distance d is the normal tail beyond d / 2."""
    classes = Classes(np.array([0.5, 0.5]), np.zeros((1, 1)))
    for distance in (0.5, 1.0, 3.0):
        gained = np.array([[0.0, 0.0], [0.0, distance**2]])
        assert classes.expected_errors(np.log([[0.5, 0.5]]), gained)[0] == pytest.approx(norm.cdf(-distance / 2))


def test_the_border_between_skewed_classes_is_fitted():
    """A Gaussian has it 1.5 points off here; where nothing is known, offsets say nothing."""
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.3
    X = rng.exponential(size=(4000, 3)) * np.where(y, 4.0, 1.0)[:, None]
    model = BudgetClassifier(budget=2, features="linear", random_state=0).fit(X[:2000], y[:2000])
    logistic = LogisticRegression().fit(X[:2000], y[:2000])
    assert np.mean(model.predict(X[2000:]) == y[2000:]) > logistic.score(X[2000:], y[2000:]) - 0.005
    classes = model.learner_.fitted.classes
    unshifted = replace(classes, offsets=0.0).log_posteriors(*model.learner_.fitted.from_known(X[2000:]))
    assert np.mean(unshifted.argmax(axis=1) == y[2000:]) < logistic.score(X[2000:], y[2000:]) - 0.01
    np.testing.assert_allclose(model.predict_proba(np.full((1, 3), np.nan))[0], classes.priors, atol=1e-12)


def test_a_claim_is_believed_as_far_as_it_is_confirmed():
    """Of 1.5 times the variance a share of one half is 0.75: the log-odds are (m - p) / (p (1 - p) (1 - 0.75))."""
    classes = Classes(np.array([0.5, 0.5]), np.array([[1.5]]), share=0.5)
    logs = classes.log_posteriors(np.array([[1.0], [0.0]]), np.zeros((2, 1, 1)))
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], [8.0, 0.0], atol=1e-12)


def test_offsets_go_by_the_weights_of_examples():
    """Balanced weights make both classes as frequent; offsets fitted to unweighted examples would undo that."""
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.04
    X = rng.exponential(size=(4000, 4)) + np.outer(y, [2.0, 1.0, 1.0, 0.0]) * rng.exponential(size=(4000, 1))
    weights = np.where(y, 0.5 / y.mean(), 0.5 / (1.0 - y.mean()))
    model = BudgetClassifier(budget=3, features="linear", random_state=0)
    positive = model.fit(X[:2000], y[:2000], sample_weight=weights[:2000]).predict_proba(X[2000:])[:, 1]
    assert np.average(positive, weights=weights[2000:]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("learner", ["auto", "pairwise"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_no_class_is_more_certain_than_the_examples_show(learner, n_classes):
    """Classes that one column decides: linear discriminant analysis alone has odds beyond 10^20.

    With "pairwise" no examples are held out; there are as many as were learnt from.
    """
    rng, n = np.random.default_rng(0), 10 * n_classes
    y = np.arange(n) % n_classes
    X = np.column_stack([10.0 * y, rng.standard_normal((n, 2))]) + 0.1 * rng.standard_normal((n, 3))
    model = BudgetClassifier(budget=2, learner=learner, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    rarest = model.learner_.fitted.classes.priors.min()  # looks and their weights move the frequencies a little
    assert 0.7 / n_classes < rarest
    assert probabilities.min() >= rarest / (1 + n) * (1 - 1e-9)
    assert (probabilities.argmax(axis=1) == y).mean() > 1.4 / n_classes
    nothing = model.predict_proba(np.full((1, 3), np.nan))[0]
    np.testing.assert_allclose(nothing, model.learner_.fitted.classes.priors)
    visit = model.visit(dict(enumerate(X[0])))
    np.testing.assert_allclose(visit.proba, probabilities[0])
    np.testing.assert_allclose(model.buy(X[:5], budget=3).proba, probabilities[:5])


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_looks_one_by_one_separate_classes_as_all_together(share):
    """Against explicit inverses: A = (P - G)^-1, where G is what looks explain, as far as it is believed."""
    rng, priors, chances = np.random.default_rng(3), np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.6, 0.3])
    classes = Classes(priors, np.zeros((3, 3)), share=share, slope=1.3)
    outputs = rng.standard_normal((2, 4, 3)) * 0.2
    outputs -= outputs.mean(axis=2, keepdims=True)
    found = classes.worth(classes.inverse_at_first, outputs, chances)
    for of_panel, worth in zip(outputs, found, strict=True):
        explained = share * of_panel.T @ of_panel / 4.0
        assert np.linalg.eigvalsh(explained / np.sqrt(np.outer(priors, priors))).max() < 0.95
        expected, inverse = np.linalg.inv(np.diag(priors) - explained), classes.inverse_at_first
        added = 1.3 * (expected - np.diag(1.0 / priors))
        np.testing.assert_allclose(worth, added.diagonal() @ chances - chances @ added @ chances, rtol=1e-10)
        for look in of_panel:
            inverse = classes.after_look(inverse, look)
        np.testing.assert_allclose(inverse, expected, rtol=1e-10)


def test_claims_beyond_all_variance_leave_classes_uncertain():
    """Fifty looks that each claim all of a contrast between two classes: the third keeps its distance."""
    priors = np.array([0.2, 0.3, 0.5])
    classes = Classes(priors, np.zeros((3, 3)))
    inverse = classes.inverse_at_first
    for _ in range(50):
        inverse = classes.after_look(inverse, np.array([1.0, -1.0, 0.0]))
    root = np.sqrt(priors)
    parts = np.linalg.eigvalsh(inverse * np.outer(root, root))
    assert 50.0 < parts.max() < 101.0  # at most 1 / (1 - MOST_EXPLAINED)
    assert parts.min() == pytest.approx(1.0)


def test_quantiles_of_a_single_variable_agree_with_many_draws():
    """A single look moves all classes along one direction; 40,000 draws have a standard error of 0.001."""
    rng, priors = np.random.default_rng(0), np.array([0.2, 0.3, 0.5])
    classes, direction = Classes(priors, np.zeros((3, 3))), np.array([1.5, -0.5, -1.0])
    truth = rng.choice(3, 40_000, p=priors)
    moved = np.log(priors) + direction * (direction[truth] + rng.standard_normal(40_000))[:, None] - direction**2 / 2.0
    expected = np.mean(moved.argmax(axis=1) != truth)
    found = classes.expected_errors(np.log([priors]), np.outer(direction, direction))[0]
    assert found == pytest.approx(expected, abs=0.006)
