"""Class probabilities from a regression on -1 and +1, for whole rows and for rows known in part."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtr, ndtri

from sparing.models.calibration import PRIOR_SPREAD

if TYPE_CHECKING:
    from sparing.models.gaussian import FittedModel

MOST_EXPLAINED = 0.99  # largest explained fraction of a contrast between classes, so that no case is certain
OFFSET_SPREAD = 0.5  # prior standard deviation of the offsets of whole rows; docs/rare-classes.md shows how it was set
LEAST_PIVOT = 1e-10  # relative to the largest variance; smaller pivots are zero, here and in kernels/visit_choices.py
DRAWS = 200  # simulations that estimate the expected error for three or more classes
NODES = 20  # quantiles in their place where a single normal variable moves all classes, as after a single look


@dataclass(frozen=True, eq=False)
class Classes:
    r"""Linear discriminant analysis on what is known, from the regression's predictions alone, recalibrated.

    Let Y be the indicators of the classes, p their frequencies, :math:`P = \mathrm{diag}(p)`, :math:`m_S = E[Y | x_S]`
    as a linear regression has it and :math:`G_S = \mathrm{Cov}(m_S)`. The covariance within classes is
    :math:`W = \Sigma - C P^{-1} C^T` with :math:`C = \mathrm{Cov}(x, Y)`, and by Woodbury's identity the log-posterior
    is, up to a constant,

    .. math:: \ell = \log p + u - \tfrac12 \mathrm{diag}\, D, \quad u = (P - G_S)^{-1} (m_S - p), \quad
        D = P^{-1} G_S (P - G_S)^{-1} .

    Here D holds the inner products of the class means with respect to :math:`W^{-1}`. Classes are not Gaussian, so the
    evidence :math:`u - \tfrac12 \mathrm{diag}\, D` is multiplied by a ``slope``, and ``offsets`` are added, in full for
    whole rows and otherwise in proportion to the explained part of the classes' variance: if classes are skewed, the
    border between them is not where the Gaussian has it. Both are fitted to held-out examples, as in Platt's scaling
    (1999). Probabilities are averaged with the class frequencies, which count as one example: n held-out examples
    cannot show that anything is rarer than 1 in n. If nothing is known, the probabilities are the class frequencies.

    Parameters
    ----------
    priors : array of shape (n_classes,)
    total : array of shape (n_outputs, n_outputs)
        The covariances of the regression's predictions when everything is known.
    share : float
        The share of the variance that it claims to explain, at most one, that held-out examples confirm.
    slope : float
    offsets : array of shape (n_classes,)
    odds : array of shape (n_classes,)
        Factors by which the odds of classes are multiplied.
    smoothing : float
        The weight of the class frequencies in the probabilities: that of one example among those held out, or among all
        examples if none were.
    """

    priors: np.ndarray
    total: np.ndarray
    share: float = 1.0
    slope: float = 1.0
    offsets: np.ndarray | float = 0.0
    odds: np.ndarray | float = 1.0
    smoothing: float = 0.0

    @classmethod
    def of(cls, model: "FittedModel") -> Self:
        """The classes of a regression that has one output for two classes, else one per class."""
        priors, counted = _indicators(model.center[None])[0], model.calibration.held_out
        priors = np.clip(priors, 1e-6, 1.0)
        share = min(model.calibration.share, 1.0)  # what trees explain beyond the Gaussian is none of its claims
        first = cls(priors / priors.sum(), model.conditional.total, share)
        if counted is None:
            return first
        evidence, explained = first._evidence(counted.predictions, counted.unexplained)
        labels = _indicators(counted.targets)
        labels = labels if counted.weights is None else counted.weights[:, None] * labels
        slope, offsets = _recalibrated(evidence, explained, np.log(first.priors), labels)
        n_as_seen = len(counted.targets) if model.calibration.errors is None else len(model.calibration.errors)
        return replace(first, slope=slope, offsets=offsets, smoothing=1.0 / (1.0 + n_as_seen))

    def weighted(self, odds: np.ndarray) -> Self:
        """The same with the odds of each class multiplied by a factor of its own."""
        return replace(self, odds=self.odds * odds)

    def of_examples(self, n: int) -> Self:
        """The same, but no more certain than n examples can show if none of them was held out."""
        return self if self.smoothing else replace(self, smoothing=1.0 / (1.0 + n))

    def log_posteriors(
        self, means: np.ndarray, unexplained: np.ndarray, of_rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Normalised log-probabilities from the regression's predictions, of shape (n, n_classes).

        ``of_rows`` has the number of the entry of ``unexplained`` for each row; without it, each row has its own.
        """
        evidence, explained = self._evidence(means, unexplained, of_rows)
        evidence = self.slope * evidence + self.offsets * explained
        return log_softmax(np.log(self.priors) + evidence + np.log(self.odds), axis=-1)

    def probabilities(self, log_posteriors: np.ndarray) -> np.ndarray:
        """Of the classes, none of them more certain than the held-out examples can show: (n, n_classes)."""
        frequencies = self.priors * self.odds / np.sum(self.priors * self.odds)
        return (1.0 - self.smoothing) * np.exp(log_posteriors) + self.smoothing * frequencies

    def _evidence(
        self, means: np.ndarray, unexplained: np.ndarray, of_rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each class, (n, n_classes), and how much is explained relative to whole rows, (n, 1) or (1, 1)."""
        inverses, separations, explained = self._pattern(unexplained)
        if of_rows is not None and len(inverses) > 1:
            inverses, separations, explained = inverses[of_rows], separations[of_rows], explained[of_rows]
        u = np.squeeze(inverses @ (_indicators(means) - self.priors)[:, :, None], -1)
        return u - np.diagonal(separations, axis1=-2, axis2=-1) / 2.0, explained / self._explained_by_everything

    @cached_property
    def _explained_by_everything(self) -> float:
        """The explained part of the classes' variance if whole rows are known."""
        return max(self._pattern(np.zeros((1, *self.total.shape)))[2].item(), np.finfo(float).tiny)

    def separations(self, unexplained: np.ndarray) -> np.ndarray:
        """The recalibrated matrix D, given the unexplained covariances: (..., n_classes, n_classes)."""
        return self.slope * self._pattern(unexplained)[1]

    def _pattern(self, unexplained: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r""":math:`(P - G)^{-1}`, D, and the explained part of P. Whole rows share theirs."""
        missing = unexplained.any(axis=(-2, -1))
        if unexplained.ndim == 3 and not missing.any():
            unexplained = unexplained[:1]
        root = np.sqrt(self.priors)
        parts, axes = np.linalg.eigh(_between_indicators(self.total - unexplained) / np.outer(root, root))
        parts = np.clip(self.share * parts, 0.0, MOST_EXPLAINED)[..., None, :]
        scaled = axes / root[:, None]
        inverse = (scaled / (1.0 - parts)) @ np.swapaxes(scaled, -1, -2)
        separations = (scaled * (parts / (1.0 - parts))) @ np.swapaxes(scaled, -1, -2)
        return inverse, separations, parts.sum(axis=-1) / (len(self.priors) - 1)

    # Look by look ----------------------------------------------------------------------------------------------------
    #
    # With A for (P - G)^-1, the matrix D is A - P^-1, and a look whose outputs are z adds b b' / (1 - a'b) to it, where
    # a is the part of z that is believed, and b = A a. Sums are taken in the order of kernels/visits.py.

    @property
    def inverse_at_first(self) -> np.ndarray:
        """A if nothing is known."""
        return np.diag(1.0 / self.priors)

    @property
    def belief(self) -> float:
        """From outputs of the regression to indicators, as far as its claims are believed."""
        return 0.5 * np.sqrt(self.share)

    def after_look(self, inverse: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """A after a look, bounded as it is where an explained fraction is ``MOST_EXPLAINED``."""
        (b,), (product,) = self._towards(inverse, outputs[None])
        weighted, most = self.priors * b, 1.0 / (1.0 - MOST_EXPLAINED)
        length = sum_in_turn(weighted * b)
        claimed = sum_in_turn(weighted * sum_in_turn(inverse * weighted))
        step = 1.0 / max(1.0 - product, 1.0 - MOST_EXPLAINED)
        if length > 0.0:
            step = min(step, max((most - claimed / length) / length, 0.0))
        return inverse + (step * b)[:, None] * b

    def worth(self, inverse: np.ndarray, outputs: np.ndarray, chances: np.ndarray) -> np.ndarray:
        r"""The squared distance between two classes drawn by ``chances`` that looks add on average: (n,).

        It is :math:`\sum_k \pi_k D_{kk} - \pi^T D \pi`, in standard deviations within classes. Of n purchases, each of
        k looks one after another, ``outputs`` are (n, k, n_classes).
        """
        found, n_looks = np.zeros(len(outputs)), outputs.shape[1]
        for at in range(n_looks):
            b, products = self._towards(inverse, outputs[:, at])
            left = np.maximum(1.0 - products, 1.0 - MOST_EXPLAINED)
            found += self.slope * (sum_in_turn(chances * b * b) - sum_in_turn(chances * b) ** 2) / left
            if at + 1 < n_looks:
                inverse = inverse + b[:, :, None] * b[:, None, :] / left[:, None, None]
        return found

    def _towards(self, inverse: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b and a'b for each of n looks."""
        a = self.belief * outputs
        b = sum_in_turn(inverse * a[:, None, :])
        return b, sum_in_turn(a * b)

    def expected_errors(self, log_posteriors: np.ndarray, gained: np.ndarray, least: float = 0.0) -> np.ndarray:
        r"""The probability of a wrong label for each case after purchases that add ``gained`` to the matrix D.

        If j is the true class, they change the log-posterior by :math:`N(D_{\cdot j} - \frac12 \mathrm{diag} D, D)`.
        For two classes there is a closed form in :math:`D_{00} + D_{11} - 2 D_{01}`; for more, this is an average over
        quantiles or fixed draws. Classes of probability below ``least`` are left out, as if they were never recognised.
        """
        if len(self.priors) == 2:
            distance = max(gained[0, 0] + gained[1, 1] - 2.0 * gained[0, 1], 0.0)
            return _error_of_two(log_posteriors[:, 1] - log_posteriors[:, 0], distance)
        root = _root(gained)
        noise = root @ (self.draws if np.count_nonzero(root.any(axis=0)) > 1 else self.nodes).T
        moves = (gained - np.diagonal(gained)[:, None] / 2.0)[:, :, None] + noise[:, None, :]  # (class, truth, draw)
        return 1.0 - np.array([_chance_to_be_right(one, moves, least) for one in log_posteriors])

    @cached_property
    def draws(self) -> np.ndarray:
        """Standard normal numbers: (DRAWS, n_classes)."""
        half = np.random.default_rng(0).standard_normal((DRAWS // 2, len(self.priors)))
        return np.concatenate([half, -half])

    @cached_property
    def nodes(self) -> np.ndarray:
        """Quantiles of a standard normal variable, for each class the same: (NODES, n_classes)."""
        return np.repeat(ndtri((np.arange(NODES) + 0.5) / NODES)[:, None], len(self.priors), axis=1)


def _error_of_two(log_odds, distance):
    """Expected 0-1 loss if log-odds change by N(±distance / 2, distance)."""
    p = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700, 700)))
    if distance < 1e-12:
        return np.minimum(p, 1.0 - p)
    root = np.sqrt(distance)
    return p * ndtr(-(log_odds + distance / 2.0) / root) + (1.0 - p) * ndtr((log_odds - distance / 2.0) / root)


def _root(matrix: np.ndarray) -> np.ndarray:
    """A Cholesky factor of a matrix that may be singular."""
    left, root, least = matrix.copy(), np.zeros_like(matrix), LEAST_PIVOT * matrix.diagonal().max()
    for at in range(len(matrix)):
        if left[at, at] > least:
            root[at:, at] = left[at:, at] / np.sqrt(left[at, at])
            left -= root[:, at, None] * root[:, at]
    return root


def _chance_to_be_right(log_posterior: np.ndarray, moves: np.ndarray, least: float) -> float:
    """The largest class probability, averaged over changes of the log-posterior."""
    chances = np.exp(log_posterior)
    truths = chances >= least
    moved = log_posterior[:, None, None] + moves[:, truths]
    largest = 1.0 / np.exp(moved - moved.max(axis=0)).sum(axis=0)
    return float(chances[truths] @ largest.mean(axis=1))


def sum_in_turn(terms: np.ndarray) -> np.ndarray:
    """The sum over the last axis, one term after another, so that it does not depend on the other axes."""
    return np.add.accumulate(terms, axis=-1)[..., -1]


def _indicators(signs: np.ndarray) -> np.ndarray:
    """From outputs of -1 and +1, one for two classes or one per class, to indicators of classes."""
    positive = (1.0 + signs) / 2.0
    return np.concatenate([1.0 - positive, positive], axis=1) if signs.shape[1] == 1 else positive


def _between_indicators(covariances: np.ndarray) -> np.ndarray:
    """From covariances of outputs to covariances of indicators."""
    return covariances / 4.0 * (np.array([[1.0, -1.0], [-1.0, 1.0]]) if covariances.shape[-1] == 1 else 1.0)


def _recalibrated(
    evidence: np.ndarray, explained: np.ndarray, log_priors: np.ndarray, labels: np.ndarray
) -> tuple[float, np.ndarray]:
    """The most probable slope and offsets. Without priors they would be infinite if all held-out labels were right.

    ``labels`` are indicators of classes, multiplied by the weights of the examples.
    """

    def loss(parameters):
        slope, offsets = np.exp(parameters[0]), parameters[1:]
        fitted = log_softmax(log_priors + slope * evidence + offsets * explained, axis=1)
        away, prior = weights * np.exp(fitted) - labels, parameters / spreads
        slopes = np.concatenate([[slope * np.sum(away * evidence)], np.sum(away * explained, axis=0)])
        return -np.sum(labels * fitted) + np.sum(prior**2) / 2.0, slopes + prior / spreads

    weights = labels.sum(axis=1, keepdims=True)
    spreads = np.array([PRIOR_SPREAD] + [OFFSET_SPREAD] * len(log_priors))
    bounds = [(-5.0, 2.0)] + [(None, None)] * len(log_priors)
    log_slope, *offsets = minimize(loss, np.zeros(spreads.size), jac=True, bounds=bounds, method="L-BFGS-B").x
    return float(np.exp(log_slope)), np.array(offsets)
