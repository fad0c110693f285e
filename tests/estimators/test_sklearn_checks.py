"""scikit-learn's own checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

UNIFORM = {"design": "uniform", "step_size": "theory", "radius": 1.0, "n_examples": 100}
ESTIMATORS = [
    BudgetRidge(),
    BudgetRidge(budget=2, learner="online", random_state=0),
    BudgetRidge(budget=2, learner="online", random_state=0, **UNIFORM),
    BudgetLasso(budget=2, random_state=0),
    BudgetLasso(budget=2, learner="online", random_state=0),
    BudgetSVR(budget=2, random_state=0),
    BudgetClassifier(budget=2, random_state=0),
    BudgetClassifier(budget=2, learner="online", random_state=0),
]


@pytest.mark.filterwarnings("default::RuntimeWarning")  # some checks feed infinities on purpose
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
