"""From the variance that a Gaussian leaves unexplained to the errors that held-out examples show."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

FEWEST = 30  # held-out examples, from which quantiles of their errors replace normal ones
PRIOR_SPREAD = 0.3  # standard deviation of the share about one, before held-out examples say more
LEAST_LEFT = 1e-3  # of a target's variance: no prediction is more certain than that


class HeldOut(NamedTuple):
    """Predictions for examples that the model was not fitted to, from what was seen of them."""

    targets: np.ndarray  # (n, n_outputs)
    predictions: np.ndarray  # (n, n_outputs)
    unexplained: np.ndarray  # Cov(w'x | x_S): (n, n_outputs, n_outputs)


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""How much of the variance that a model claims to explain it does explain, and how its errors are distributed.

    From :math:`x_S` the Gaussian claims to explain :math:`G_S = \mathrm{Var}(E[w^T x | x_S])`. Parameters are estimated
    and no data are Gaussian, so held-out examples confirm only a ``share`` of it:

    .. math:: \mathrm{Var}(y | x_S) = \sigma_y^2 - \mathrm{share} \cdot G_S .

    The quantiles of held-out errors, divided by these standard deviations, say how wide an interval must be, as in
    split conformal prediction (Lei et al. 2018).

    Parameters
    ----------
    total : array of shape (n_outputs,)
        Variances of the targets.
    share : float
    least : array of shape (n_outputs,)
        The variance that is left when everything is known, at least.
    errors : array of shape (n, n_outputs)
        Held-out errors over their standard deviations, in order; empty where nothing was held out.
    held_out : HeldOut, optional
        The examples that this was learnt from, for probabilities of classes.
    """

    total: np.ndarray
    share: float
    least: np.ndarray
    errors: np.ndarray | None = None
    held_out: HeldOut | None = None

    def in_units(self, targets: np.ndarray) -> Self:
        """The same for targets multiplied by these powers of two."""
        held_out = self.held_out
        if held_out is not None:
            held_out = HeldOut(
                np.ldexp(held_out.targets, targets),
                np.ldexp(held_out.predictions, targets),
                np.ldexp(held_out.unexplained, targets[:, None] + targets),
            )
        total, least = (np.ldexp(variances, 2 * targets) for variances in (self.total, self.least))
        return replace(self, total=total, least=least, held_out=held_out)

    def variances(self, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """Of targets, when so much of the ``claimed`` variance of predictions is left unexplained: (n, n_outputs)."""
        left = np.diagonal(unexplained, axis1=-2, axis2=-1)
        floor = np.maximum(self.least, LEAST_LEFT * self.total)
        return np.maximum(self.total - self.share * (np.diagonal(claimed) - left), floor)

    def quantiles(self, probability: float, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """Of errors over their standard deviations: (n, n_outputs); normal ones unless enough examples were held out.

        Where nothing is known, errors are distributed as the targets are; where as much is explained as of held-out
        examples, as their errors; between the two, quantiles are interpolated.
        """
        if self.held_out is None or self.errors is None or len(self.errors) < FEWEST:
            return np.full(unexplained.shape[:-1], ndtri(probability))
        explained = np.diagonal(claimed) - np.diagonal(unexplained, axis1=-2, axis2=-1)
        usual = np.diagonal(claimed) - np.mean(np.diagonal(self.held_out.unexplained, axis1=1, axis2=2), axis=0)
        part = np.clip(explained / np.maximum(usual, np.finfo(float).tiny), 0.0, 1.0)
        targets = np.sort(self.held_out.targets - self.held_out.targets.mean(axis=0), axis=0)
        alone = _quantile(targets, probability) / np.sqrt(np.where(self.total > 0, self.total, 1.0))
        return (1.0 - part) * alone + part * _quantile(self.errors, probability)

    def learnt(self, claimed: np.ndarray, held_out: HeldOut) -> Self:
        """The share that held-out examples confirm, and their errors."""
        scales = np.where(self.total > 0, self.total, 1.0)
        left = np.diagonal(held_out.unexplained, axis1=1, axis2=2)
        said = np.mean((np.diagonal(claimed) - left) / scales)
        errors = held_out.targets - held_out.predictions
        found = np.mean((self.total - errors**2) / scales, axis=1)
        certain = PRIOR_SPREAD**2 / max(found.var() / len(found), np.finfo(float).tiny)
        share = float(max((said * found.mean() * certain + 1.0) / (said**2 * certain + 1.0), 0.0))
        known = replace(self, share=share, held_out=held_out)
        errors = errors / np.sqrt(np.maximum(known.variances(claimed, held_out.unexplained), np.finfo(float).tiny))
        return replace(known, errors=np.sort(errors, axis=0))


def _quantile(ordered: np.ndarray, probability: float) -> np.ndarray:
    """Of columns in order: a new entry is one more among those that were seen, so ends lie outward."""
    n = len(ordered)
    place = np.ceil(probability * (n + 1)) if probability > 0.5 else np.floor(probability * (n + 1))
    return ordered[int(np.clip(place - 1, 0, n - 1))]
