"""The error of a chosen model on whole rows, estimated from examples that were seen in part."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, stdtrit

from sparing.cells import Cells
from sparing.models.blocks import standard_error
from sparing.models.gaussian import FittedModel
from sparing.models.risk import seen_variances
from sparing.models.summary import Summary

# Set by likelihood on some splits of 19 tables; docs/forecasts.md shows others.
UNSEEN_DOUBT = 0.4  # relative standard deviation of the model's estimate of what unseen values explain
BASIC_DOUBT = 0.05  # relative standard deviation of the error from seen parts, because the final model is another fit
LEVEL = 0.9  # of intervals
# Relative standard deviations times the number of examples. Of fits to 10 to 20 rows of 14 tables, 60 per cent of the
# intervals held the R² of `score` without them, and 90 per cent with them; other splits than those that set them.
UNSEEN_EXAMPLES = 20.0  # of what unseen values explain: covariances are shrunk as if by so many examples
REFIT_EXAMPLES = 7.0  # of the error of any model but the mean target: the best of many looks better than it is


class WholeRowRisk(NamedTuple):
    """Squared error on whole rows over the targets' variance, as a normal distribution that is cut off at zero."""

    center: float
    spread: float

    @property
    def mean(self) -> float:
        """The expected error."""
        return self.center + self.spread * self._hazard

    @property
    def deviation(self) -> float:
        """The standard deviation of the error."""
        left = 1.0 - self._hazard * (self._hazard + self.center / self.spread)
        return self.spread * float(np.sqrt(max(left, 0.0)))

    @property
    def _hazard(self) -> float:
        """The hazard of a standard normal distribution at the cut."""
        z = self.center / self.spread
        return float(np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi))

    def quantile(self, probability):
        """The error that is not exceeded with this probability."""
        return self.center - self.spread * ndtri((1.0 - probability) * ndtr(self.center / self.spread))

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Draws from this distribution."""
        return self.quantile(generator.random(n))

    @property
    def facts(self) -> dict[str, Any]:
        """For a report: the risk with its standard error, R² with an interval, and this distribution itself."""
        low, high = (1.0 - float(self.quantile(0.5 + side * LEVEL / 2)) for side in (1, -1))
        r2 = {"r2": 1.0 - self.mean, "r2_interval": [low, high]}
        return {"risk": self.mean, "risk_error": self.deviation, "risk_distribution": self} | r2


def seen_share(cells: Cells, summary: Summary, model: FittedModel) -> float:
    """The variance of predictions from seen parts over that of predictions for whole rows, according to the model.

    The cells are those of the functions that the weights refer to.
    """
    seen = seen_variances(cells, summary, model.attributes, model.weights).mean(axis=0)
    whole = np.sum(model.weights * model.attributes.times(model.weights), axis=0) / summary.target_spreads**2
    return float(np.clip(seen.sum() / whole.sum(), 0.0, 1.0)) if whole.sum() > 0 and seen.sum() > 0 else 1.0


def whole_row_risk(
    targets: np.ndarray, predictions: np.ndarray, gains: np.ndarray, share: float, blocks: np.ndarray | None = None
) -> WholeRowRisk:
    r"""The error on whole rows, from held-out targets and their predictions from seen parts, all standardized.

    What the predictions explain, :math:`R^2_S`, is measured. Whole rows explain more, and the model says how much:
    :math:`R^2 = R^2_S / s`, where s is the ``share`` that seen parts have of the variance of predictions. If the
    covariance or the weights are wrong by a factor, that factor cancels. The standard error of :math:`R^2_S` comes from
    its examples, and s has a relative standard deviation of forty per cent. The distribution is truncated at zero.

    Few examples say less. Intervals are as wide as with the quantile of Student's t, both relative standard deviations
    have a part in proportion to 1/n, and the mean of n targets is itself wrong: by 1/n of their variance on average,
    with a standard deviation of :math:`\sqrt{2}/n`.

    The ``gains`` are by how much trees reduce the squared errors of the first examples, if they are used. Examples of
    one of the ``blocks`` were seen in the same attributes, so standard errors are clustered by block.
    """
    explained, unseen, error = _explained(targets, predictions, gains, share, blocks)
    n = max(2.0, float(len(targets) if blocks is None else np.unique(blocks).size))
    wider = stdtrit(n - 1.0, (1.0 + LEVEL) / 2) / ndtri((1.0 + LEVEL) / 2) * np.sqrt(n / (n - 1.0))
    center, spread = _risk(explained, unseen, wider * error)
    refitted = (1.0 - explained) * bool(predictions.any())
    few = UNSEEN_EXAMPLES * unseen, REFIT_EXAMPLES * refitted, np.sqrt(2.0) * center
    return WholeRowRisk(center * (1.0 + 1.0 / n), float(np.hypot(spread, np.linalg.norm(few) / n)))


def _explained(targets, predictions, gains, share: float, blocks) -> tuple[float, float, float]:
    """What seen parts explain, what unseen values add to that, and the standard error, for whole rows."""
    squares, losses = np.mean(targets**2, axis=1), np.mean((targets - predictions) ** 2, axis=1)
    scale = max(float(squares.mean()), np.finfo(float).tiny)
    of_trees = None if blocks is None else blocks[: len(gains)]
    gain, gain_error = gains.mean() / scale, standard_error(gains, of_trees) / scale
    relative = losses.mean() / scale
    error = np.hypot(standard_error(losses - relative * squares, blocks) / scale, gain_error)
    explained = 1.0 - relative + gain
    return float(explained), float(explained * (1.0 / share - 1.0)), float(error / share)


def _risk(explained: float, unseen: float, error: float) -> WholeRowRisk:
    """The error on whole rows, from many examples."""
    spread = np.sqrt(error**2 + (UNSEEN_DOUBT * unseen) ** 2 + (BASIC_DOUBT * (1.0 - explained)) ** 2)
    return WholeRowRisk(1.0 - explained - unseen, max(float(spread), 1e-6))
