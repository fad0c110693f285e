"""Regression on pairwise covariances: estimated from pairs seen together, made positive, and regularised."""

from functools import cached_property
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.linalg import eigh

from sparing.cells import Cells
from sparing.models.bases import transformed
from sparing.models.blocks import block_numbers
from sparing.models.gaussian import Candidate, FittedModel, Gaussian, fitted_model
from sparing.models.pair_moments import PairMoments, pair_moments
from sparing.models.summary import Summary, summarize

RIDGES = (0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)  # as multiples of the noise, about the most negative eigenvalue
USUAL_RIDGE = 0.5  # if none can be chosen
PENALTIES = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.02)  # of the lasso, relative to the largest useful one
PATH_STEPS = 500
LEFT_OUT = 20  # maximum number of groups of blocks in the jackknife for standard errors


class RepairedCovariance:
    r"""Pairwise covariances without their negative eigenvalues, in units :math:`\sqrt{D_i}` of the attributes.

    The most negative eigenvalue measures the noise, and so do the counts; ridges are multiples of the larger of the
    two. Units decide what a ridge shrinks: ``"raw"`` takes attributes as they are, ``"looks"`` takes
    :math:`D_i \propto s_i^2 / n_i`. The latter follows from the standard error of the risk: that of :math:`w^T C w` is
    :math:`\sqrt{\sum_{ij} w_i^2 w_j^2 s_i^2 s_j^2 / n_{ij}}`, and as pairs are seen in proportion to the product of
    both counts, this is a ridge :math:`\propto \sum_i w_i^2 s_i^2 / n_i`.
    """

    def __init__(self, moments: PairMoments, summary: Summary, units: str):
        scale = summary.variances / np.maximum(summary.counts, 1.0) * max(summary.counts.mean(), 1.0)
        self.units = {"looks": np.sqrt(scale), "raw": np.ones(scale.size)}[units]
        self.values, self.vectors = eigh(moments.attributes / np.outer(self.units, self.units), driver="evd")
        self.noise = max(-self.values[0], self._noise_of_averages(moments, summary), np.finfo(float).tiny)
        self.targets = self.vectors.T @ (moments.targets / self.units[:, None])

    def _noise_of_averages(self, moments: PairMoments, summary: Summary) -> float:
        r"""The largest :math:`\sqrt{\sum_j s_i^2 s_j^2 / n_{ij}}`: half the norm of independent noise.

        If a few attributes were often seen together, no eigenvalue is negative although there is noise.
        """
        variances = summary.variances / self.units**2
        pairs = np.divide(1.0, moments.counts, out=np.zeros(moments.counts.shape), where=moments.counts > 0)
        return float(np.max(np.sqrt(variances) * np.sqrt(pairs @ variances)))

    def ridge(self, ridge: float) -> np.ndarray:
        r"""Weights :math:`(C_+ + \mathrm{ridge}\,D)^{-1} c`."""
        kept = np.maximum(self.values, 0.0) + ridge
        return self.vectors @ (self.targets / kept[:, None]) / self.units[:, None]

    @cached_property
    def _clipped(self) -> np.ndarray:
        return (self.vectors * np.maximum(self.values, 0.0)) @ self.vectors.T

    def covariance(self, ridge: float) -> np.ndarray:
        """The repaired covariance plus the ridge, in these units."""
        return self._clipped + ridge * np.eye(len(self.units))

    def gaussian(self, means: np.ndarray, ridge: float) -> Gaussian:
        """The Gaussian with this covariance in the attributes' own units."""
        return Gaussian.of_covariance(means, self.covariance(ridge) * np.outer(self.units, self.units))


def ridge_candidates(cells: Cells, summary: Summary) -> list[Candidate]:
    """Ridge regression on the repaired covariance in units of looks, with several ridges."""
    repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
    return [
        ridge_candidate(repaired, summary, f"ridge {ridge:g} of the noise", ridge * repaired.noise) for ridge in RIDGES
    ]


def ridge_candidate(repaired: RepairedCovariance, summary: Summary, setting: str, ridge: float) -> Candidate:
    """Ridge regression on a repaired covariance."""
    return Candidate(setting, repaired.ridge(ridge), lambda: repaired.gaussian(summary.means, ridge))


def lasso_candidates(cells: Cells, summary: Summary) -> list[Candidate]:
    """The lasso path on the repaired covariance, in units of looks."""
    moments = pair_moments(cells, summary)
    repaired = RepairedCovariance(moments, summary, "looks")
    units, ridge = repaired.units[:, None], USUAL_RIDGE * repaired.noise
    return [
        Candidate(setting, path / units, lambda: repaired.gaussian(summary.means, ridge))
        for setting, path in lasso_path(repaired.covariance(ridge), moments.targets / units)
    ]


def lasso_path(covariance, with_targets, penalties=PENALTIES) -> list[tuple[str, np.ndarray]]:
    """Minimisers of w'Cw/2 - c'w + alpha |w|_1, each with a name; alpha is relative to the least that zeroes w."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    weights = [np.zeros_like(with_targets) for _ in penalties]
    for output in range(with_targets.shape[1]):
        c = with_targets[:, output]
        largest = float(np.abs(c).max(initial=0.0))
        if largest == 0.0:
            continue
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # a path that ends early competes like any other
            alphas, _, path = lars_path_gram(  # in units of the largest, since its tolerances are absolute
                c / largest, covariance, n_samples=1, method="lasso", max_iter=PATH_STEPS, alpha_min=min(penalties)
            )
        for column, penalty in zip(weights, penalties, strict=True):  # the path is piecewise linear
            after = min(int(np.searchsorted(-alphas, -penalty)), alphas.size - 1)
            before = max(after - 1, 0)
            width = alphas[before] - alphas[after]
            part = np.clip((alphas[before] - penalty) / width, 0.0, 1.0) if width > 0 else 1.0
            column[:, output] = largest * (path[:, before] + part * (path[:, after] - path[:, before]))
    settings = [f"lasso {penalty:g} of the largest penalty" for penalty in penalties]
    return list(zip(settings, weights, strict=True))


def given_model(cells: Cells, penalty: str, strength: float, levels: np.ndarray | None = None) -> FittedModel:
    """Ridge or lasso regression of a given strength on the repaired covariance, for attributes as they are."""
    basis, cells, summary = transformed(None, levels, cells)
    moments = pair_moments(cells, summary)
    repaired = RepairedCovariance(moments, summary, "raw")
    if penalty == "ridge":
        candidate = ridge_candidate(repaired, summary, f"ridge {strength:g}", strength)
    else:
        ridge = USUAL_RIDGE * repaired.noise
        largest = max(float(np.abs(moments.targets).max()), np.finfo(float).tiny)
        ((_, weights),) = lasso_path(repaired.covariance(ridge), moments.targets, (min(strength / largest, 1.0),))
        candidate = Candidate(f"lasso {strength:g}", weights, lambda: repaired.gaussian(summary.means, ridge))
    facts = {"setting": candidate.setting, "families": ["pairwise"], "why": "it was asked for"}
    return fitted_model(summary, candidate.weights, candidate, facts, basis)


def standard_errors(cells: Cells, weights: np.ndarray, ridge: float | None = None) -> np.ndarray:
    r"""Standard errors of the weights due to the noise of the moments, with the ridge held fixed.

    The error of :math:`c - C w` in coordinate i has two parts: that of a mean of :math:`x_i - \bar x_i` times the
    residual over the :math:`n_i` looks at it, and that of seeing :math:`x_j` in only :math:`n_{ij}` of those examples.
    If fourth moments are products of second ones, its covariances are :math:`C_{ik} \sigma^2 n_{ik} / (n_i n_k)` with
    :math:`\sigma^2 = \sigma_y^2 - 2 c^T w + w^T C w`, plus :math:`s_i^2 \sum_j w_j^2 s_j^2 (1/n_{ij} - 1/n_i)` on the
    diagonal. For whole rows they are those of least squares.

    If blocks of examples share a query, standard errors come from a jackknife over groups of blocks.
    """
    blocks = block_numbers(cells)
    if blocks is not None:
        return _jackknife(cells, blocks, ridge)
    summary = summarize(cells)
    moments = pair_moments(cells, summary)
    repaired = RepairedCovariance(moments, summary, "raw")
    ridge = USUAL_RIDGE * repaired.noise if ridge is None else ridge
    inverse = (repaired.vectors / (np.maximum(repaired.values, 0.0) + ridge)) @ repaired.vectors.T
    covariance = repaired.covariance(0.0)
    explained = np.sum(weights * (2.0 * moments.targets - covariance @ weights), axis=0)
    residual = np.maximum(summary.target_variances - explained, 0.0)
    looks = 1.0 / np.maximum(summary.counts, 1)
    shared = covariance * moments.counts * np.outer(looks, looks)
    unseen = 1.0 / np.maximum(moments.counts, 1) - looks[:, None]
    alone = summary.variances[:, None] * (unseen @ (weights**2 * summary.variances[:, None]))
    variances = np.sum(inverse * (shared @ inverse), axis=0)[:, None] * residual + inverse**2 @ alone
    return np.sqrt(variances)


def _jackknife(cells: Cells, blocks: np.ndarray, ridge: float | None) -> np.ndarray:
    """Standard errors of the weights by a jackknife over groups of blocks."""
    n = min(int(blocks.max()) + 1, LEFT_OUT)
    found = []
    for group in range(n):
        rest = cells.take(blocks % n != group)
        summary = summarize(rest)
        repaired = RepairedCovariance(pair_moments(rest, summary), summary, "raw")
        found.append(repaired.ridge(USUAL_RIDGE * repaired.noise if ridge is None else ridge))
    return np.sqrt((n - 1) * np.var(found, axis=0))
