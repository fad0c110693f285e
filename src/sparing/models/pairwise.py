"""Pairwise moments: the covariance of what was seen together, repaired, calibrated by its own noise, and solved."""

from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.linalg import eigh

from sparing.cells import Cells
from sparing.models.selection import Candidate
from sparing.models.summary import Covariances, Described, covariances

FACTORS = (0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)  # ridges to try, in sizes of the most negative eigenvalue
USUAL = 0.5  # the one to take where none can be tried
FRACTIONS = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.02)  # lasso penalties, in parts of the one that kills all
WIDEST_TO_TRY = 3000  # attributes, up to which ridges are chosen by cross-validation
PATH_STEPS = 500


class Repaired:
    r"""A noisy covariance without its negative eigenvalues, in units :math:`\sqrt{D_i}` of the attributes.

    The most negative eigenvalue measures the noise, and so do the counts; ridges are multiples of the larger. Units
    decide what a ridge holds down: ``"range"`` divides attributes by the largest distance from their means, ``"raw"``
    takes them as they are, ``"looks"`` takes :math:`D_i \propto s_i^2 / n_i`. That is what the standard error of the
    risk asks for: that of :math:`w^T C w` is :math:`\sqrt{\sum_{ij} w_i^2 w_j^2 s_i^2 s_j^2 /
    n_{ij}}`, and as pairs are seen in proportion to the product of both looks, it is a ridge
    :math:`\propto \sum_i w_i^2 s_i^2 / n_i`.
    """

    def __init__(self, moments: Covariances, seen: Described, units: str):
        scale = seen.variances / np.maximum(seen.counts, 1.0) * max(seen.counts.mean(), 1.0)
        self.units = {"looks": np.sqrt(scale), "range": seen.ranges, "raw": np.ones(scale.size)}[units]
        self.values, self.vectors = eigh(moments.attributes / np.outer(self.units, self.units), driver="evd")
        self.noise = max(-self.values[0], self._noise_of_averages(moments, seen), np.finfo(float).tiny)
        self.targets = self.vectors.T @ (moments.targets / self.units[:, None])

    def _noise_of_averages(self, moments: Covariances, seen: Described) -> float:
        r"""The largest :math:`\sqrt{\sum_j s_i^2 s_j^2 / n_{ij}}`: half the norm of independent noise.

        Where few attributes were seen together often, no eigenvalue turns negative though there is noise.
        """
        variances = seen.variances / self.units**2
        pairs = np.divide(1.0, moments.counts, out=np.zeros(moments.counts.shape), where=moments.counts > 0)
        return float(np.max(np.sqrt(variances) * np.sqrt(pairs @ variances)))

    def ridge(self, ridge: float) -> np.ndarray:
        r"""Weights :math:`(C_+ + \mathrm{ridge}\,D)^{-1} c`."""
        kept = np.maximum(self.values, 0.0) + ridge
        return self.vectors @ (self.targets / kept[:, None]) / self.units[:, None]

    def covariance(self, ridge: float) -> np.ndarray:
        """The repaired covariance with its ridge, in these units."""
        return (self.vectors * (np.maximum(self.values, 0.0) + ridge)) @ self.vectors.T


def lasso_weights(covariance, with_targets, fractions=FRACTIONS) -> list[np.ndarray]:
    """Minimisers of w'Cw/2 - c'w + alpha |w|_1 for alpha at these parts of the smallest that leaves no weight."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    weights = [np.zeros_like(with_targets) for _ in fractions]
    for output in range(with_targets.shape[1]):
        c = with_targets[:, output]
        largest = float(np.abs(c).max(initial=0.0))
        if largest == 0.0:
            continue
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # a path that ends early is judged like any other
            alphas, _, path = lars_path_gram(
                c, covariance, n_samples=1, method="lasso", max_iter=PATH_STEPS, alpha_min=min(fractions) * largest
            )
        for column, fraction in zip(weights, fractions, strict=True):  # the path is linear between its corners
            after = min(int(np.searchsorted(-alphas, -fraction * largest)), alphas.size - 1)
            before = max(after - 1, 0)
            width = alphas[before] - alphas[after]
            part = np.clip((alphas[before] - fraction * largest) / width, 0.0, 1.0) if width > 0 else 1.0
            column[:, output] = path[:, before] + part * (path[:, after] - path[:, before])
    return weights


def pairwise_family(penalty: str = "ridge", factors=FACTORS):
    """Candidates from pairwise moments: ridges in both units, or a lasso path on the repaired covariance."""

    def family(cells: Cells, seen: Described) -> list[Candidate]:
        moments, candidates = covariances(cells, seen), []
        for units in ("range", "looks"):
            repaired = Repaired(moments, seen, units)
            if penalty == "ridge":
                candidates += [
                    Candidate(
                        "pairwise", f"{units} units, ridge {f:g} of the noise", repaired.ridge(f * repaired.noise)
                    )
                    for f in factors
                ]
            elif units == "looks":
                scale = repaired.units
                paths = lasso_weights(repaired.covariance(USUAL * repaired.noise), moments.targets / scale[:, None])
                candidates += [
                    Candidate("pairwise", f"lasso {fraction:g} of the largest penalty", path / scale[:, None])
                    for fraction, path in zip(FRACTIONS, paths, strict=True)
                ]
        return candidates

    return family


def can_judge(cells: Cells) -> bool:
    """Whether there are neither too few examples nor too many attributes to fit several times."""
    return cells.n_attributes <= WIDEST_TO_TRY and cells.n_examples >= 10
