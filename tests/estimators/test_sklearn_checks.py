"""scikit-learn's own checks, but for those that repeat rows, and one that online learners cannot pass."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

UNIFORM = {"design": "uniform", "step_size": "theory", "radius": 1.0, "n_examples": 100}
ESTIMATORS = [
    BudgetRidge(),
    BudgetRidge(budget=2, learner="online", random_state=0),
    BudgetRidge(budget=2, learner="online", random_state=0, **UNIFORM),
    BudgetLasso(budget=2, random_state=0),
    BudgetSVR(budget=2, random_state=0),
    BudgetClassifier(budget=2, random_state=0),
    BudgetClassifier(budget=2, learner="online", random_state=0),
]


REPEATED = "repeated rows are looked at anew: tests/models/test_weights.py has this check for what was bought"
EXCEPT = {
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": REPEATED,
}
ONLINE = {"check_estimators_pickle": "predicts for rows with NaN, from which an online learner can only learn"}


def expected_failures(estimator):
    return EXCEPT | (ONLINE if estimator.learner == "online" or isinstance(estimator, BudgetSVR) else {})


@pytest.mark.filterwarnings("default::RuntimeWarning")  # some checks feed infinities on purpose
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_can_be_pickled(estimator):
    rng = np.random.default_rng(0)
    X, holes = rng.standard_normal((60, 3)), rng.random((60, 3)) < 0.1
    y = X[:, 0] > 0 if isinstance(estimator, BudgetClassifier) else X[:, 0]
    model = clone(estimator).fit(np.where(holes, np.nan, X), y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
