"""Learners under the papers' own names."""

from sparing.learners.aer import AER
from sparing.learners.full_information import OnlineLasso, OnlineRidge
from sparing.learners.keepers import AutoLearner, FactorModel, MeanImputed, PairwiseMoments
from sparing.learners.lasso import AELR, DDAELR, TwoPhasedDDAELR
from sparing.learners.losses import AnalyticLoss, hinge_loss, squared_loss, tube_loss
from sparing.learners.plug_in import PlugInSVR
from sparing.learners.ridge import AERR, DDAERR, TwoPhasedDDAERR
from sparing.learners.svr import AESVR, AnalyticLearner

__all__ = [
    "AELR",
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
