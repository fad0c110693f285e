"""Train linear models without paying for everything."""

from sparing import datasets, designs, geometry, learners, sources, theory
from sparing.estimators import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

__version__ = "0.1.0"

__all__ = [
    "BudgetClassifier",
    "BudgetLasso",
    "BudgetRidge",
    "BudgetSVR",
    "datasets",
    "designs",
    "geometry",
    "learners",
    "sources",
    "theory",
]
