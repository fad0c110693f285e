"""What bought cells say of each item, before the next plan is made."""

import numpy as np
import pytest

from sparing.learners import AutoLearner
from sparing.learners.evidence import evidence


def test_a_category_too_rare_for_a_function_counts_as_having_a_typical_weight():
    """Three rows of 300 are of another category, so the column has no function yet; of the others one matters."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(300), rng.standard_normal((300, 2))])
    X[:3, 0] = [1.0, 2.0, 3.0]
    learner = AutoLearner(3, budget=2, random_state=0).run(X, X[:, 1] + 0.1 * rng.standard_normal(300))
    variances, weights, looks = evidence(learner.bought, learner.buyer.shop, np.array([4, 0, 0]), None)
    np.testing.assert_array_equal(looks, np.bincount(learner.bought.attributes))
    assert weights[1] > 10.0 * weights[2]
    assert weights[0] ** 2 == pytest.approx(variances[1:] @ weights[1:] ** 2 / variances[1:].sum())
    assert 0.0 < variances[0] < 0.1 * variances[1]
