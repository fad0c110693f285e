"""Any covariance, fitted by EM: its rounds, its prior, and what outliers let expect."""

from itertools import islice

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from planted_cells import SIZE, D, planted, random_cells
from sparing.cells import Cells
from sparing.learners import FactorModel
from sparing.models.covariance import FULL_PRIOR, covariance_rounds, tails
from sparing.models.covariance_families import near_factors_family
from sparing.models.em import PRIOR, Standard
from sparing.models.factor import factor_rounds
from sparing.models.factor_gradients import implied_covariance
from sparing.models.summary import describe


def test_a_round_of_any_covariance_is_its_conditional_expectation():
    """From the second round on, where the covariance is not the identity any more."""
    cells = random_cells(30, (0, D))
    data = Standard(cells, describe(cells))
    A = np.random.default_rng(1).standard_normal((SIZE, SIZE))
    target = A @ A.T + np.eye(SIZE)
    before, found = islice(covariance_rounds(data, target, PRIOR), 2)
    expected = PRIOR * target
    for example in range(30):
        here = slice(data.looks.starts[example], data.looks.starts[example + 1])
        index = np.append(data.looks.attributes[here], np.arange(D, SIZE)).astype(int)
        x = np.append(data.looks.values[here], data.looks.targets[example])
        gain = before[:, index] @ np.linalg.inv(before[np.ix_(index, index)])
        expected += np.outer(gain @ x, gain @ x) + before - gain @ before[index]
    np.testing.assert_allclose(found, expected / (30 + PRIOR), rtol=1e-8, atol=1e-10)


def test_at_full_budget_a_full_covariance_is_the_samples_and_its_prior():
    X, y = planted(80, d=6)
    learner = FactorModel(6, budget=6, rank="full", rounds=3).run(X, y)
    seen = describe(learner.bought)
    Z = np.column_stack([(X - X.mean(axis=0)) / np.sqrt(seen.variances), (y - y.mean()) / y.std()])
    rounds = covariance_rounds(Standard(learner.bought, seen), np.eye(7), FULL_PRIOR)
    for covariance in islice(rounds, 3):  # all is seen, so that the first round is the last
        expected = (Z.T @ Z + FULL_PRIOR * np.eye(7)) / (80 + FULL_PRIOR)
        np.testing.assert_allclose(covariance, expected, rtol=1e-8, atol=1e-10)
    usual = np.sqrt(1.0 + tails(Standard(learner.bought, seen))[:6])
    plain = Ridge(alpha=FULL_PRIOR, fit_intercept=False).fit(Z[:, :6] / usual, Z[:, 6])
    np.testing.assert_allclose(learner.coef, plain.coef_ / usual / np.sqrt(seen.variances) * y.std(), rtol=1e-7)
    assert learner.intercept == pytest.approx(y.mean() - X.mean(axis=0) @ learner.coef)


def test_an_attribute_with_outliers_is_expected_to_have_more():
    """One value in two hundred of the last is ten times as large as others; two have another unit, so each its own.

    Attributes that never vary, or were never seen, are no rule to go by.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 4)) * [1.0, 1.0, 1_000.0, 1_000.0]
    X[::200, 3] *= 10.0
    found = []
    for constants in (0, 4):
        rows = np.hstack([X, np.ones((1_000, constants))])
        cells = Cells(4 + 2 * constants)  # as many more are never seen
        sizes, attributes = np.full(1_000, rows.shape[1]), np.tile(np.arange(rows.shape[1]), 1_000)
        cells.extend(sizes, attributes, rows.ravel(), X.sum(axis=1)[:, None])
        found.append(tails(Standard(cells, describe(cells))))
    assert found[0][3] > 1.0
    assert max(found[0][:3]) < 0.3
    np.testing.assert_array_equal(found[0][4:], 0.0)  # the target is always seen
    np.testing.assert_array_equal(found[1][4:], 0.0)
    np.testing.assert_allclose(found[1][:4], found[0][:4], atol=0.3)


def test_what_factors_imply_is_expected_to_have_more_too():
    X, y = planted(300, d=12)
    X[::50, 3] *= 30.0
    X[:, 6:] *= 1_000.0  # other units, so that each has its own
    cells = FactorModel(12, budget=6, rank=2, rounds=1, design="uniform").run(X, y).bought.in_order()
    seen = describe(cells)
    (candidate,) = near_factors_family()(cells, seen)
    data = Standard(cells, seen)
    *_, (_, factors) = islice(factor_rounds(cells, seen, 12), 20)
    target = implied_covariance(factors) + np.diag(tails(data))
    *_, covariance = islice(covariance_rounds(data, target, 50.0), 40)
    assert tails(data).max() > 0.5
    expected = np.linalg.solve(covariance[:12, :12], covariance[:12, 12:]) / data.units[:, None] * data.target_units
    np.testing.assert_allclose(candidate.weights, expected, rtol=1e-9)
