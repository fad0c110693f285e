"""Bad input to estimators that keep what they buy is refused before anything is read."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sparing import BudgetRidge

D, N = 6, 80
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = X @ np.arange(1.0, D + 1)
FITTED = ("coef_", "intercept_", "cells_", "n_iter_", "learner_")


KEEP = ["auto", "pairwise", "factor"]


def refuse(model, X, y, message, verb="fit", **more):
    """The call fails with this message and leaves nothing that looks like a model."""
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, verb)(X, y, **more)
    assert not [name for name in FITTED if hasattr(model, name)]


@pytest.mark.parametrize("learner", KEEP)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["a"] * (D - 1)}, f"groups has {D - 1} labels for {D} attributes"),
        ({"groups": 5}, "groups must be a dict of labels by name, or one label per attribute; got 5"),
        ({"groups": ["a"] * D}, "the cheapest purchase costs 6; nothing could ever be bought. Raise the budget"),
        ({"total_budget": 0}, "total_budget must be a positive finite number; got 0"),
        ({"total_budget": "all"}, "total_budget must be a positive finite number; got 'all'"),
        ({"second_moments": np.ones(D - 1)}, f"second_moments has {D - 1} entries for {D} attributes"),
    ],
)
def test_keepers_refuse_options(learner, options, message):
    refuse(BudgetRidge(3, learner=learner, **options), X, Y, message)


@pytest.mark.parametrize("learner", KEEP)
def test_too_few_looks_are_warned_of_by_keepers(learner):
    with pytest.warns(ConvergenceWarning, match=re.escape("about 5 looks")):
        BudgetRidge(2, learner=learner, random_state=0).fit(X[:15], Y[:15])


@pytest.mark.parametrize("learner", [*KEEP, "online"])
def test_rounding_does_not_pass_for_variance(learner):
    """A sum of tenths is not ten times as many; the difference is no spread, and earns no weight."""
    model = BudgetRidge(3, learner=learner, random_state=0).fit(0.0 * X + 0.1, Y)
    assert np.abs(model.coef_).max() < 1.0
    np.testing.assert_allclose(model.predict(X), Y.mean(), rtol=1e-9)
