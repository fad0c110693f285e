"""What tests of budget estimators with online learners share: data, and ways to make, fit and compare."""

from itertools import pairwise

import numpy as np
import pytest

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

D, N, BUDGET = 12, 600, 4
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, D)) * np.linspace(3.0, 0.2, D) * (RNG.random((N, D)) < 0.6)
Y = X @ RNG.standard_normal(D) + 2.0 + 0.1 * RNG.standard_normal(N)
LABELS = np.where(np.median(Y) < Y, "high", "low")
LEARNT = ("coef_", "intercept_", "n_iter_", "cells_", "draws_", "spent_", "radius_", "scale_", "second_moments_")

REGRESSORS = [BudgetRidge, BudgetLasso, BudgetSVR]
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)
every_estimator = pytest.mark.parametrize("cls", [*REGRESSORS, BudgetClassifier])


def target(cls):
    return LABELS if cls is BudgetClassifier else Y


def make(cls, **options):
    return cls(**({"budget": BUDGET, "learner": "online", "random_state": 1} | options))


def fit(cls, X=X, **options):
    return make(cls, **options).fit(X, target(cls))


def learn(model, cuts, X=X):
    """``partial_fit`` over the chunks between the cuts."""
    y = target(type(model))
    named = {"classes": np.unique(y)} if isinstance(model, BudgetClassifier) else {}
    for first, last in pairwise(cuts):
        model.partial_fit(X[first:last], y[first:last], **named)
    return model


def assert_same(left, right):
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
