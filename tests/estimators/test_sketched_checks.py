"""scikit-learn's own checks, for the estimators that are preconditioned by sketches."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparing import SketchedKernelRidge, SketchedLogistic, SketchedRidge, SketchedRidgeCV

ESTIMATORS = [
    SketchedRidge(random_state=0),
    SketchedRidge(solver="sketch", tol=1e-12, random_state=0),
    SketchedRidge(solver="cg", tol=1e-12, random_state=0),
    SketchedRidgeCV(random_state=0),
    SketchedKernelRidge(random_state=0),
    SketchedKernelRidge(solver="nystrom", random_state=0),
    SketchedLogistic(random_state=0),
    SketchedLogistic(solver="cholesky", random_state=0),
]


@pytest.mark.filterwarnings("default::RuntimeWarning")  # some checks feed infinities on purpose
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
