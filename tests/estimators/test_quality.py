"""How good budget estimators with online learners are, against an independent truth."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.datasets import make_power_law


def make(cls, *, budget=4, **options):
    return cls(budget, learner="online", **options)


def well_conditioned(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    return X, X @ np.linspace(1.0, -1.0, 8) + 3.0 + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso])
def test_at_full_budget_the_score_is_near_that_of_ridge(cls):
    """Excess risk falls as the root of n: 40,000 examples leave an R^2 within 0.02 of scikit-learn's 0.91."""
    train, test = well_conditioned(40_000, 0), well_conditioned(5_000, 1)
    best = Ridge().fit(*train).score(*test)
    assert best - 0.02 < make(cls, budget=8, random_state=0).fit(*train).score(*test) <= best + 0.002


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR])
def test_few_looks_beat_the_mean_by_far(cls):
    """R^2 is 0 for the mean. A fifth of the attributes of 4,000 examples gives about 0.7; over five seeds above 0.5."""
    X, y = make_power_law(6000, 30, -2.0, penalty="ridge", random_state=0, return_X_y=True)
    scores = [
        make(cls, budget=6, random_state=seed).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) for seed in range(5)
    ]
    assert min(scores) > 0.5


def test_few_looks_beat_the_largest_class_by_far():
    X, y = make_power_law(6000, 30, -2.0, penalty="ridge", random_state=0, return_X_y=True)
    labels = y > np.median(y)
    scores = [
        make(BudgetClassifier, budget=6, random_state=seed).fit(X[:4000], labels[:4000]).score(X[4000:], labels[4000:])
        for seed in range(5)
    ]
    assert min(scores) > 0.7  # the largest class has one half


def test_the_tube_loss_bears_outliers():
    """One target in twenty is off by 300 spreads, upwards: ridge learns their noise, the tube loss counts a sign.

    Both get the radius of clean data, so that the loss alone differs; on clean test data, mean over five seeds.
    """
    X, y = well_conditioned(8000, 0)
    test = well_conditioned(2000, 1)
    outliers = np.random.default_rng(2).random(8000) < 0.05
    dirty = y + 300.0 * np.std(y) * outliers * np.random.default_rng(3).choice([-1.0, 1.0], 8000)
    radius = make(BudgetRidge, random_state=0).fit(X, y).radius_

    def error(cls):
        fits = [make(cls, radius=radius, random_state=seed).fit(X, dirty) for seed in range(5)]
        return np.mean([np.mean((model.predict(test[0]) - test[1]) ** 2) for model in fits])

    assert error(BudgetSVR) < 0.5 * error(BudgetRidge)
