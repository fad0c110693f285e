"""Train linear models without paying for everything.

Names are imported when they are first used, so that ``import sparing`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

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
    "Study",
    "cells",
    "compare",
    "datasets",
    "designs",
    "distributed",
    "estimators",
    "geometry",
    "learners",
    "load_model",
    "optim",
    "planning",
    "plotting",
    "prediction",
    "save_model",
    "sketches",
    "solvers",
    "sources",
    "study",
    "theory",
]

if TYPE_CHECKING:
    from sparing import (
        cells,
        compare,
        datasets,
        designs,
        distributed,
        estimators,
        geometry,
        learners,
        optim,
        planning,
        plotting,
        prediction,
        sketches,
        solvers,
        sources,
        study,
        theory,
    )
    from sparing.estimators import (
        BudgetClassifier,
        BudgetLasso,
        BudgetRidge,
        BudgetSVR,
        OnlineClassifier,
        OnlineRegressor,
        SketchedKernelRidge,
        SketchedLogistic,
        SketchedRidge,
        SketchedRidgeCV,
        load_model,
        save_model,
    )
    from sparing.study import Study


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module 'sparing' has no attribute {name!r}; it has {', '.join(__all__)}.")
    if name == "Study":
        return import_module("sparing.study").Study
    if name[0].isupper() or name.endswith("_model"):
        return getattr(import_module("sparing.estimators"), name)
    return import_module(f"sparing.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
