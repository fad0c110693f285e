"""scikit-learn estimators."""

from sparing.estimators.budget import BudgetLasso, BudgetRidge
from sparing.estimators.classifier import BudgetClassifier
from sparing.estimators.sketched_kernel import SketchedKernelRidge
from sparing.estimators.sketched_ridge import SketchedRidge
from sparing.estimators.svr import BudgetSVR

__all__ = ["BudgetClassifier", "BudgetLasso", "BudgetRidge", "BudgetSVR", "SketchedKernelRidge", "SketchedRidge"]
