"""Learners that ask for values and are told them: the papers', under the papers' names, and ours, which keep cells."""

from sparing.learners.keepers import AutoLearner, FactorModel, MeanImputed, PairwiseMoments
from sparing.learners.losses import AnalyticLoss, hinge_loss, squared_loss, tube_loss
from sparing.learners.papers import (
    AELR,
    AER,
    AERR,
    DDAELR,
    DDAERR,
    OnlineLasso,
    OnlineRidge,
    TwoPhasedDDAELR,
    TwoPhasedDDAERR,
)
from sparing.learners.svr import AELSVR, AESVR, AnalyticLearner, PlugInSVR

__all__ = [
    "AELR",
    "AELSVR",
    "AER",
    "AERR",
    "AESVR",
    "DDAELR",
    "DDAERR",
    "AnalyticLearner",
    "AnalyticLoss",
    "AutoLearner",
    "FactorModel",
    "MeanImputed",
    "OnlineLasso",
    "OnlineRidge",
    "PairwiseMoments",
    "PlugInSVR",
    "TwoPhasedDDAELR",
    "TwoPhasedDDAERR",
    "hinge_loss",
    "squared_loss",
    "tube_loss",
]
