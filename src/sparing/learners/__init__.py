"""Learners under the papers' own names."""

from sparing.learners.full_information import OnlineLasso, OnlineRidge
from sparing.learners.lasso import AELR, DDAELR, TwoPhasedDDAELR
from sparing.learners.ridge import AERR, DDAERR, TwoPhasedDDAERR

__all__ = [
    "AELR",
    "AERR",
    "DDAELR",
    "DDAERR",
    "OnlineLasso",
    "OnlineRidge",
    "TwoPhasedDDAELR",
    "TwoPhasedDDAERR",
]
