"""The error of a chosen model on whole rows, estimated from examples that were seen in part."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import truncnorm

from sparing.cells import Cells
from sparing.models.gaussian import FittedModel
from sparing.models.risk import seen_variances
from sparing.models.summary import Summary

# Set on half of the splits of benchmarks/forecasts.py and shown on the others, with every table left out in turn.
UNSEEN_DOUBT = 0.4  # relative standard deviation of what the model says unseen values explain
BASIC_DOUBT = 0.05  # of the error from seen parts, since the model is not one of those that were held out
LEVEL = 0.9  # of intervals


class WholeRowRisk(NamedTuple):
    """Squared error on whole rows over the targets' variance, as a normal distribution that is cut off at zero."""

    center: float
    spread: float

    @property
    def _distribution(self):
        return truncnorm(-self.center / self.spread, np.inf, loc=self.center, scale=self.spread)

    @property
    def facts(self) -> dict[str, Any]:
        """For a report: the risk with its standard error, and R² with an interval."""
        risk, error = float(self._distribution.mean()), float(self._distribution.std())
        low, high = (1.0 - float(risk) for risk in self._distribution.ppf([0.5 + LEVEL / 2, 0.5 - LEVEL / 2]))
        return {"risk": risk, "risk_error": error, "r2": 1.0 - risk, "r2_interval": (low, high)}

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Risks that the data leave possible."""
        return self._distribution.rvs(n, random_state=generator)


def seen_share(cells: Cells, summary: Summary, model: FittedModel) -> float:
    """Of the variance of predictions for whole rows, the part that predictions from seen parts have in the model.

    The cells are of the functions that the weights speak of.
    """
    seen = seen_variances(cells, summary, model.attributes, model.weights).mean(axis=0)
    whole = np.sum(model.weights * model.attributes.times(model.weights), axis=0) / summary.target_spreads**2
    return float(np.clip(seen.sum() / whole.sum(), 0.0, 1.0)) if whole.sum() > 0 and seen.sum() > 0 else 1.0


def whole_row_risk(targets: np.ndarray, predictions: np.ndarray, better: np.ndarray, share: float) -> WholeRowRisk:
    r"""The error on whole rows, from held-out targets and their predictions from seen parts, all standardized.

    What the predictions explain, :math:`R^2_S`, is measured. Whole rows explain more, and the model says how much:
    :math:`R^2 = R^2_S / s`, where s is the ``share`` that seen parts have of the variance of predictions. If the
    covariance or the weights are wrong by a factor, that factor cancels. The error of :math:`R^2_S` is found from its
    examples, and the model is trusted within some forty per cent. No error is negative: that cuts off the distribution.

    The first examples may have ``better`` predictions, from trees that are averaged in.
    """
    squares, losses = np.mean(targets**2, axis=1), np.mean((targets - predictions) ** 2, axis=1)
    scale = max(float(squares.mean()), np.finfo(float).tiny)
    some = len(better)
    gains = losses[:some] - np.mean((targets[:some] - better) ** 2, axis=1)
    gain, gain_error = gains.mean() / scale, gains.std() / scale / np.sqrt(some)
    relative = losses.mean() / scale
    error = np.hypot(np.std(losses - relative * squares) / scale / np.sqrt(losses.size), gain_error)
    explained = 1.0 - relative + gain
    unseen = explained * (1.0 / share - 1.0)
    spread = np.sqrt((error / share) ** 2 + (UNSEEN_DOUBT * unseen) ** 2 + (BASIC_DOUBT * (1.0 - explained)) ** 2)
    return WholeRowRisk(float(1.0 - explained - unseen), max(float(spread), 1e-6))
