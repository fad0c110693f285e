"""How targets depend on a model's predictions for whole rows, by the pairs of cells that were seen together."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models.gaussian import FittedModel
from sparing.models.summary import pair_moments, summarize

STANDARD_ERRORS = 1.0  # below its estimate, at which the risk is believed
MOST_FUNCTIONS = 2000  # attributes, or functions of them, up to which all pairs are counted


class Calibration(NamedTuple):
    """Of each output."""

    slope: np.ndarray  # of the target on the prediction: below one where predictions are too far from the mean
    explained: np.ndarray  # share of the target's variance that the prediction explains, once it has that slope


def calibrate(cells: Cells, model: FittedModel) -> Calibration:
    r"""Slope and explained share of a model that was fitted to these cells.

    They follow from :math:`s = w^T C w` and :math:`c^T w`. A model's own covariance can be far off where it was chosen
    by its predictions from parts of rows; averages over examples that saw a pair are not, but they vary: the variance
    of s is about :math:`\sum_{ij} w_i^2 w_j^2 s_i^2 s_j^2 / n_{ij}`. So both are averaged, the more on the side of the
    cells the smaller that is relative to the model's own :math:`s^2`. Cells that the weights were fitted to say too
    much good of :math:`c^T w`; where the risk was estimated from held-out examples, and r is as small as its standard
    error allows, it is at most what leaves r, :math:`(1 - r + s) / 2` for a target of variance one. Boosted trees are
    left out of account.
    """
    weights, gaussian = model.weights, model.attributes
    cells = cells if model.basis is None else model.basis.expand(cells)
    summary = summarize(cells)
    whole = np.where(summary.target_variances > 0, summary.target_variances, 1.0)
    predicted = np.sum(weights * gaussian.times(weights), axis=0)
    shared = (summary.target_variances + predicted - model.residual_variance) / 2.0
    if len(weights) <= MOST_FUNCTIONS and len(cells):
        moments = pair_moments(cells, summary)
        squares = weights**2 * summary.variances[:, None]
        rarity = np.divide(1.0, moments.counts, out=np.zeros(moments.counts.shape), where=moments.counts > 0)
        noise = np.sum(squares * (rarity @ squares), axis=0)
        sure = predicted**2 / np.maximum(predicted**2 + noise, np.finfo(float).tiny)
        seen = np.maximum(np.sum(weights * (moments.attributes @ weights), axis=0), 0.0)
        predicted = sure * seen + (1.0 - sure) * predicted
        shared = sure * np.sum(weights * moments.targets, axis=0) + (1.0 - sure) * shared
    shared = np.maximum(shared, 0.0)
    if "risk" in model.facts and shared.any():  # it is that of all outputs, on average
        least = max(model.facts["risk"] - STANDARD_ERRORS * model.facts["risk_error"], 0.0)
        shared *= min(1.0, np.mean(1.0 - least + predicted / whole) / (2.0 * np.mean(shared / whole)))
    slope = np.divide(shared, predicted, out=np.zeros_like(shared), where=predicted > 0)
    return Calibration(slope, slope * shared / whole)
