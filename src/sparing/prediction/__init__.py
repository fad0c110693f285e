"""Buying at prediction time: in which order to look at a new case, and when to stop."""

from sparing.prediction.many import Purchases
from sparing.prediction.route import Purchase, Route
from sparing.prediction.visit import Visit

__all__ = ["Purchase", "Purchases", "Route", "Visit"]
