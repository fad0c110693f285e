"""Pairwise moments: the covariance of what was seen together, repaired, calibrated by its own noise, and solved."""

from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.linalg import eigh

from sparing import checks
from sparing.cells import Cells
from sparing.geometry.cells import Covariances, Described, covariances, describe
from sparing.learners.batch import BatchLearner, Fitted
from sparing.learners.choice import Candidate, agreeing, consensus, judge, judged

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


@dataclass(kw_only=True, eq=False)
class PairwiseMoments(BatchLearner):
    r"""Keeps what it buys, estimates the covariance from pairs seen together, and solves.

    :math:`w = (C_+ + \mathrm{ridge})^{-1} c`, where C has every average over the examples that saw both of a pair, and
    negative eigenvalues, which only noise makes, are set to zero. Memory and time of a solve are those of a d × d
    matrix: for d up to some ten thousand. Other parameters are those of :class:`BatchLearner`.

    Parameters
    ----------
    ridge : float or "auto"
        Added to the diagonal of the covariance. "auto" tries multiples of the most negative eigenvalue by
        cross-validation on the cells bought and averages those that cannot be told apart; it takes half of that
        eigenvalue where d > 3,000 or there are fewer than 10 examples.
    penalty : {"ridge", "lasso"}
        "lasso" follows the path of :math:`\frac12 w^T C w - c^T w + \alpha \|w\|_1` on the repaired covariance.
    alpha : float or "auto"
        The lasso's penalty; chosen by cross-validation unless given.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import PairwiseMoments
    >>> X, y = make_power_law(4000, 20, -1.0, random_state=0, return_X_y=True)
    >>> learner = PairwiseMoments(20, budget=4, random_state=0).run(X, y)
    >>> bool(np.mean((X @ learner.coef + learner.intercept - y) ** 2) < 0.15 * y.var())
    True
    """

    ridge: Any = "auto"
    penalty: str = "ridge"
    alpha: Any = "auto"

    def __post_init__(self):
        checks.one_of("penalty", self.penalty, ("ridge", "lasso"))
        self.ridge = checks.one_of_or(checks.positive, "ridge", self.ridge, ("auto",))
        self.alpha = checks.one_of_or(checks.positive, "alpha", self.alpha, ("auto",))
        super().__post_init__()

    def _fit(self, cells: Cells) -> Fitted:
        seen = describe(cells)
        weights, facts = self._weights(cells, seen)
        return Fitted(weights, seen.target_means - seen.means @ weights, facts)

    def _weights(self, cells: Cells, seen: Described) -> tuple[np.ndarray, dict[str, Any]]:
        given = self.ridge if self.penalty == "ridge" else self.alpha
        if given == "auto" and can_judge(cells):
            family = pairwise_family(self.penalty)
            judgement, candidates = judge(cells, [family]), family(cells, seen)
            return consensus(candidates, agreeing(candidates, judgement)), judged(candidates, judgement)
        moments = covariances(cells, seen)
        repaired = Repaired(moments, seen, "raw" if self.penalty == "lasso" or given != "auto" else "range")
        ridge = USUAL * repaired.noise if self.penalty == "lasso" or given == "auto" else given
        if self.penalty == "ridge":
            return repaired.ridge(ridge), {"setting": f"ridge {ridge:g}"}
        largest = max(float(np.abs(moments.targets).max()), np.finfo(float).tiny)
        fraction = FRACTIONS[4] if given == "auto" else min(given / largest, 1.0)
        weights = lasso_weights(repaired.covariance(ridge), moments.targets, (fraction,))[0]
        return weights, {"setting": f"lasso {fraction * largest:g}"}

    def _planning_weights(self, seen: Described) -> np.ndarray | None:
        """A quick solve: choosing a ridge would take several."""
        if self.n_attributes > WIDEST_TO_TRY:
            return None
        cells = self.bought.in_order()
        repaired = Repaired(covariances(cells, seen), seen, "looks")
        return repaired.ridge(USUAL * max(-repaired.values[0], 0.01 * repaired.noise))  # bold: looks only follow it

    def standard_errors(self) -> np.ndarray:
        r"""Standard errors of the weights as the noise of the moments makes them, ridge held fixed; like ``coef``.

        The error of :math:`c - C w` in coordinate i is that of a mean of :math:`x_i - \bar x_i` times the residual
        over the :math:`n_i` looks at it, and that of seeing :math:`x_j` in only :math:`n_{ij}` of those. If fourth
        moments are products of second ones, its covariances are :math:`C_{ik} \sigma^2 n_{ik} / (n_i n_k)` with
        :math:`\sigma^2 = \sigma_y^2 - 2 c^T w + w^T C w`, and besides
        :math:`s_i^2 \sum_j w_j^2 s_j^2 (1/n_{ij} - 1/n_i)` on the diagonal. From whole rows that is what least squares
        has. With ``ridge="auto"`` it is taken at half the noise; a lasso's weights are judged as if by that ridge.
        """
        cells = self.bought.in_order()
        seen = describe(cells)
        moments = covariances(cells, seen)
        repaired, weights = Repaired(moments, seen, "raw"), self.fitted.weights
        ridge = USUAL * repaired.noise if isinstance(self.ridge, str) else self.ridge
        inverse = (repaired.vectors / (np.maximum(repaired.values, 0.0) + ridge)) @ repaired.vectors.T
        covariance = repaired.covariance(0.0)
        explained = np.sum(weights * (2.0 * moments.targets - covariance @ weights), axis=0)
        residual = np.maximum(seen.target_variances - explained, 0.0)
        looks = 1.0 / np.maximum(seen.counts, 1)
        shared = covariance * moments.counts * np.outer(looks, looks)
        unseen = 1.0 / np.maximum(moments.counts, 1) - looks[:, None]
        alone = seen.variances[:, None] * (unseen @ (weights**2 * seen.variances[:, None]))
        variances = np.sum(inverse * (shared @ inverse), axis=0)[:, None] * residual + inverse**2 @ alone
        errors = np.sqrt(variances)
        return errors[:, 0] if self.n_outputs == 1 else errors.T
