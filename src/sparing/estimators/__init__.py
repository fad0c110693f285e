"""scikit-learn estimators."""

from sparing.estimators.adagrad import OnlineRegressor
from sparing.estimators.adagrad_classifier import OnlineClassifier
from sparing.estimators.budget import BudgetLasso, BudgetRidge
from sparing.estimators.classifier import BudgetClassifier
from sparing.estimators.model_files import load_model, save_model
from sparing.estimators.sketched_kernel import SketchedKernelRidge
from sparing.estimators.sketched_logistic import SketchedLogistic
from sparing.estimators.sketched_ridge import SketchedRidge
from sparing.estimators.sketched_ridge_cv import SketchedRidgeCV
from sparing.estimators.svr import BudgetSVR

__all__ = [
    "BudgetClassifier",
    "BudgetLasso",
    "BudgetRidge",
    "BudgetSVR",
    "OnlineClassifier",
    "OnlineRegressor",
    "SketchedKernelRidge",
    "SketchedLogistic",
    "SketchedRidge",
    "SketchedRidgeCV",
    "load_model",
    "save_model",
]
