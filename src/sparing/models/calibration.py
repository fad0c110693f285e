"""From the variance that a Gaussian leaves unexplained to the errors that held-out examples show."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

FEWEST = 30  # held-out examples, from which quantiles of their errors replace normal ones
PRIOR_SPREAD = 0.3  # standard deviation of the share about one, before held-out examples say more
LARGEST_SHARE = 8.0
LEAST_LEFT = 1e-3  # of a target's variance, whatever is known


class HeldOut(NamedTuple):
    """Predictions for examples that the model was not fitted to, from what was seen of them."""

    targets: np.ndarray  # (n, n_outputs)
    predictions: np.ndarray  # (n, n_outputs)
    unexplained: np.ndarray  # Cov(w'x | x_S): (n, n_outputs, n_outputs)
    weights: np.ndarray  # of the examples: (n,)


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""How much of the variance that a model claims to explain it does explain, and how its errors are distributed.

    From :math:`x_S` the Gaussian claims to explain :math:`G_S = \mathrm{Var}(E[w^T x | x_S])`, a part
    :math:`g = G_S / \sigma_y^2` of the target's variance. Parameters are estimated, no data are Gaussian, and boosted
    trees may know more. Held-out examples confirm a ``share`` s of it:

    .. math:: \mathrm{Var}(y | x_S) / \sigma_y^2 = 1 - s g \;\text{ if } s \le 1, \text{ else } (1 - g)^s .

    Both have slope -s where little is known, and neither leaves less than nothing where all is. The share is the
    likeliest one for normal errors: a proper score of variances, whatever the distribution of errors, which weighs most
    the examples of which most is known; they are nearest to whole rows. The quantiles of held-out errors, divided by
    these standard deviations, say how wide an interval must be, as in split conformal prediction (Lei et al. 2018).

    Parameters
    ----------
    total : array of shape (n_outputs,)
        Variances of the targets.
    share : float
    least : array of shape (n_outputs,)
        The variances that are left whatever is known.
    errors : array of shape (n, n_outputs)
        Held-out errors over their standard deviations, in order; empty where nothing was held out.
    held_out : HeldOut, optional
        The examples that this was learnt from, then the same with a part of what was seen hidden; probabilities of
        classes are calibrated by both.
    """

    total: np.ndarray
    share: float
    least: np.ndarray
    errors: np.ndarray | None = None
    held_out: HeldOut | None = None

    @classmethod
    def of_nothing(cls, total: np.ndarray) -> Self:
        """The Gaussian is believed where nothing was held out."""
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
        """Of targets, when so much of the ``claimed`` variance of predictions is left unexplained: (n, n_outputs)."""
        return self._variances(self.share, self._explained(claimed, unexplained))

    def _explained(self, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """The part of the targets' variances that is claimed to be explained."""
        explained = np.diagonal(claimed) - np.diagonal(unexplained, axis1=-2, axis2=-1)
        return explained / np.where(self.total > 0, self.total, 1.0)

    def _variances(self, share: float, explained: np.ndarray) -> np.ndarray:
        return np.maximum(self.total * part_left(share, explained), self.least)

    def quantiles(self, probability: float, claimed: np.ndarray, unexplained: np.ndarray) -> np.ndarray:
        """Of errors over their standard deviations: (n, n_outputs); normal ones unless enough examples were held out.

        Where nothing is known, errors are distributed as the targets are; where as much is explained as of held-out
        examples, as their errors; between the two, quantiles are interpolated.
        """
        if self.held_out is None or self.errors is None or len(self.errors) < FEWEST:
            return np.full(unexplained.shape[:-1], ndtri(probability))
        targets, _, left, _ = (of[: len(self.errors)] for of in self.held_out)
        usual = np.mean(self._explained(claimed, left), axis=0)
        part = np.clip(self._explained(claimed, unexplained) / np.maximum(usual, np.finfo(float).tiny), 0.0, 1.0)
        targets = np.sort(targets - targets.mean(axis=0), axis=0)
        alone = _quantile(targets, probability) / np.sqrt(np.where(self.total > 0, self.total, 1.0))
        return (1.0 - part) * alone + part * _quantile(self.errors, probability)

    def learnt(self, claimed: np.ndarray, held_out: HeldOut, n_as_seen: int) -> Self:
        """The share that the first held-out examples confirm, and their errors; of others a part is hidden."""
        targets, predictions, left, _ = (of[:n_as_seen] for of in held_out)
        explained, errors = self._explained(claimed, left), targets - predictions

        def loss(share: float) -> float:
            variances = np.maximum(self._variances(share, explained), np.finfo(float).tiny)
            fit = np.mean(np.log(variances) + errors**2 / variances, axis=1)
            return float(np.sum(fit) + ((share - 1.0) / PRIOR_SPREAD) ** 2)

        share = float(minimize_scalar(loss, bounds=(0.0, LARGEST_SHARE), method="bounded").x)
        errors = errors / np.sqrt(np.maximum(self._variances(share, explained), np.finfo(float).tiny))
        return replace(self, share=share, held_out=held_out, errors=np.sort(errors, axis=0))


def part_left(share: float, explained: np.ndarray) -> np.ndarray:
    """The part of a variance that is left of what a Gaussian claims to explain.

    >>> part_left(0.5, np.array([0.0, 0.6])).tolist(), part_left(2.0, np.array([0.0, 0.6])).round(2).tolist()
    ([1.0, 0.7], [1.0, 0.16])
    """
    return 1.0 - share * explained if share <= 1.0 else (1.0 - np.clip(explained, 0.0, 1.0)) ** share


def _quantile(ordered: np.ndarray, probability: float) -> np.ndarray:
    """Of columns in order: a new entry is one more among those that were seen, so ends lie outward."""
    n = len(ordered)
    place = np.ceil(probability * (n + 1)) if probability > 0.5 else np.floor(probability * (n + 1))
    return ordered[int(np.clip(place - 1, 0, n - 1))]
