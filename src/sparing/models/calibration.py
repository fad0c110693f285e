"""Calibration: from the variance that a Gaussian leaves unexplained to the errors of held-out examples."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

FEWEST_ERRORS = 30  # held-out examples from which quantiles of their errors replace normal ones
PRIOR_SPREAD = 0.3  # prior standard deviation of the share, whose prior mean is one
LARGEST_SHARE = 8.0
LEAST_LEFT = 1e-3  # smallest fraction of a target's variance that is left unexplained


class HeldOut(NamedTuple):
    """Predictions for examples that the model was not fitted to, from the cells that were seen."""

    targets: np.ndarray  # (n, n_outputs)
    predictions: np.ndarray  # (n, n_outputs)
    unexplained: np.ndarray  # Cov(w'x | x_S): (n, n_outputs, n_outputs)
    weights: np.ndarray | None = None  # of the examples: (n,); None if all are one, as in files of earlier versions


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""How much of the variance that a model claims to explain it does explain, and how its errors are distributed.

    From :math:`x_S` the Gaussian claims to explain :math:`G_S = \mathrm{Var}(E[w^T x | x_S])`, a fraction
    :math:`g = G_S / \sigma_y^2` of the target's variance. But its parameters are estimated, data are not Gaussian, and
    boosted trees may explain more. Held-out examples confirm a ``share`` s of it:

    .. math:: \mathrm{Var}(y | x_S) / \sigma_y^2 = 1 - s g \;\text{ if } s \le 1, \text{ else } (1 - g)^s .

    Both have slope -s where little is known, and neither becomes negative where all is known. The share maximises the
    likelihood of normal errors, which is a proper score of variances for any distribution of errors. It gives most
    weight to examples of which most is known, the ones most like whole rows. Quantiles of held-out errors, divided by
    these standard deviations, give the width of intervals, as in split conformal prediction (Lei et al. 2018).

    Parameters
    ----------
    total : array of shape (n_outputs,)
        Variances of the targets.
    share : float
    least : array of shape (n_outputs,)
        Lower bounds on the unexplained variances.
    errors : array of shape (n, n_outputs)
        Held-out errors over their standard deviations, sorted; empty if nothing was held out.
    held_out : HeldOut, optional
        The examples that this was learnt from, followed by the same examples with some of their cells hidden. Class
        probabilities are calibrated on both.
    """

    total: np.ndarray
    share: float
    least: np.ndarray
    errors: np.ndarray | None = None
    held_out: HeldOut | None = None

    @classmethod
    def of_nothing(cls, total: np.ndarray) -> Self:
        """The calibration without held-out examples, which trusts the Gaussian."""
        return cls(total, 1.0, LEAST_LEFT * total)

    def in_units(self, targets: np.ndarray) -> Self:
        """The same for targets multiplied by these powers of two."""
        held_out = self.held_out
        if held_out is not None:
            held_out = HeldOut(
                np.ldexp(held_out.targets, targets),
                np.ldexp(held_out.predictions, targets),
                np.ldexp(held_out.unexplained, targets[:, None] + targets),
                held_out.weights,
            )
        total, least = (np.ldexp(variances, 2 * targets) for variances in (self.total, self.least))
        return replace(self, total=total, least=least, held_out=held_out)

    def variances(self, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """Variances of targets, given the ``claimed`` variances of predictions and their unexplained parts."""
        return self._variances(self.share, self._explained(claimed, unexplained))

    def _explained(self, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """The fraction of the targets' variances that the Gaussian claims to explain."""
        explained = np.diagonal(claimed) - np.diagonal(unexplained, axis1=-2, axis2=-1)
        return explained / np.where(self.total > 0, self.total, 1.0)

    def _variances(self, share: float, explained: np.ndarray) -> np.ndarray:
        return np.maximum(self.total * part_left(share, explained), self.least)

    def quantiles(
        self, probability: float, claimed: np.ndarray, unexplained: np.ndarray, center: np.ndarray
    ) -> np.ndarray:
        """Quantiles of errors over their standard deviations: (n, n_outputs); normal ones if few were held out.

        If nothing is known, errors have the distribution of the targets around the ``center``, which is the prediction
        then: the interval ends at targets, which matters where many share a value. If as much is explained as for
        held-out examples, they have that of their errors. In between, quantiles are interpolated.
        """
        if self.held_out is None or self.errors is None or len(self.errors) < FEWEST_ERRORS:
            return np.full(unexplained.shape[:-1], ndtri(probability))
        targets, left = (of[: len(self.errors)] for of in (self.held_out.targets, self.held_out.unexplained))
        usual = np.mean(self._explained(claimed, left), axis=0)
        part = np.clip(self._explained(claimed, unexplained) / np.maximum(usual, np.finfo(float).tiny), 0.0, 1.0)
        alone = _quantile(np.sort(targets - center, axis=0), probability)
        alone /= np.sqrt(np.where(self.total > 0, self.total, 1.0))
        return (1.0 - part) * alone + part * _quantile(self.errors, probability)

    def learnt(
        self, claimed: np.ndarray, held_out: HeldOut, n_as_seen: int, expected: float = 1.0, correlated: bool = True
    ) -> Self:
        """The calibration learnt from the first ``n_as_seen`` held-out examples, of which no cell is hidden.

        A model of few looks may claim to explain more than all of a target's variance, though from the parts that
        were seen it predicts well. Then no more of it is confirmed than the R² that is ``expected`` of whole rows.
        Nor is more than that explained by a model of uncorrelated attributes: it counts twice what several of them
        tell, and held-out examples do not show it as they show few of them.
        """
        targets, predictions, left = (of[:n_as_seen] for of in held_out[:3])
        explained, errors = self._explained(claimed, left), targets - predictions

        def loss(share: float) -> float:
            variances = np.maximum(self._variances(share, explained), np.finfo(float).tiny)
            fit = np.mean(np.log(variances) + errors**2 / variances, axis=1)
            return float(np.sum(fit) + ((share - 1.0) / PRIOR_SPREAD) ** 2)

        most = np.max(np.diagonal(claimed) / np.where(self.total > 0, self.total, np.inf), initial=0.0)
        largest = LARGEST_SHARE if most <= 1.0 else max(expected, 0.0) / most
        share = float(minimize_scalar(loss, bounds=(0.0, largest), method="bounded").x)
        errors = errors / np.sqrt(np.maximum(self._variances(share, explained), np.finfo(float).tiny))
        least = self.least if correlated else np.maximum(self.least, (1.0 - max(expected, 0.0)) * self.total)
        return replace(self, share=share, least=least, held_out=held_out, errors=np.sort(errors, axis=0))


def part_left(share: float, explained: np.ndarray) -> np.ndarray:
    """The fraction of a variance that is left unexplained, given the fraction that a Gaussian claims to explain.

    >>> part_left(0.5, np.array([0.0, 0.6])).tolist(), part_left(2.0, np.array([0.0, 0.6])).round(2).tolist()
    ([1.0, 0.7], [1.0, 0.16])
    """
    return 1.0 - share * explained if share <= 1.0 else (1.0 - np.clip(explained, 0.0, 1.0)) ** share


def _quantile(ordered: np.ndarray, probability: float) -> np.ndarray:
    """A quantile of each sorted column, rounded outward: a new value ranks among n + 1, not n."""
    n = len(ordered)
    place = np.ceil(probability * (n + 1)) if probability > 0.5 else np.floor(probability * (n + 1))
    return ordered[int(np.clip(place - 1, 0, n - 1))]
