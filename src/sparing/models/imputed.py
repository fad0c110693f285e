"""Regression on mean-imputed rows: a common first choice, and the right one if attributes are uncorrelated."""

import numpy as np
from scipy.linalg import solve

from sparing.cells import Cells
from sparing.models.folds import FOLDS, folds
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.pair_moments import pair_moments
from sparing.models.summary import Summary, summarize

RIDGES = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # in sums of squares of standardized attributes


def imputed_candidates(cells: Cells, summary: Summary) -> list[Candidate]:
    r"""Ridge regression on mean-imputed rows of standardized attributes, with several ridges.

    Its normal equations have the pairwise *sums* :math:`S_{ij} = n_{ij} C_{ij}`, which are not divided by how often a
    pair was seen, so they need no repair. If attributes are uncorrelated, the mean is the best guess of an unseen
    value, and this is the right regression; otherwise it is biased for whole rows. Rarely seen attributes have a larger
    ridge, because the noise of their weights is harmful on whole rows, though hardly on rows seen in part.
    """
    moments, spreads = pair_moments(cells, summary), summary.spreads
    gram = moments.attributes * moments.counts / np.outer(spreads, spreads)
    sums = moments.targets * summary.counts[:, None] / np.outer(spreads, summary.target_spreads)
    candidates, known = [], summary.known[:, None]
    seldom = np.diag(max(summary.counts.mean(), 1.0) / np.maximum(summary.counts, 1.0))
    for ridge in RIDGES:  # a factorisation for each is faster than one eigendecomposition for all
        weights = known * solve(gram + ridge * seldom, sums, assume_a="pos")
        weights = weights / spreads[:, None] * summary.target_spreads
        candidates.append(uncorrelated(f"ridge {ridge:g}", summary, weights))
    return candidates


def uncorrelated(setting: str, summary: Summary, weights: np.ndarray) -> Candidate:
    """A candidate that treats attributes as uncorrelated."""
    return Candidate(setting, weights, lambda: Gaussian.uncorrelated(summary.means, summary.variances))


def imputed_errors(cells: Cells) -> np.ndarray:
    """The squared error of each candidate on mean-imputed rows that it was not fitted to."""
    errors = np.zeros(len(RIDGES))
    if cells.n_examples < 2 * FOLDS:
        return errors
    fold = folds(cells, FOLDS)
    for held_out in range(FOLDS):
        learnt, judged = cells.take(fold != held_out), cells.take(fold == held_out)
        summary = summarize(learnt)
        errors += [_imputed_error(judged, summary, c.weights) for c in imputed_candidates(learnt, summary)]
    return errors


def _imputed_error(cells: Cells, summary: Summary, weights: np.ndarray) -> float:
    distances = cells.values - summary.means[cells.attributes]
    error = cells.targets - summary.target_means
    for output in range(cells.n_outputs):
        share = weights[cells.attributes, output] * distances
        error[:, output] -= np.bincount(cells.examples(), weights=share, minlength=cells.n_examples)
    return float(np.sum(cells.weights[:, None] * (error / summary.target_spreads) ** 2))
