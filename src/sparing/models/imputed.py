"""Regression on rows whose unseen attributes are filled with means: what many do first, and right in one case."""

import numpy as np
from scipy.linalg import eigh

from sparing.cells import Cells
from sparing.models.selection import Candidate
from sparing.models.summary import Described, covariances, describe

STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # ridges, in sums of squares of standard attributes
FOLDS = 4


def imputed_family(cells: Cells, seen: Described) -> list[Candidate]:
    r"""Ridge regression on rows filled with means, of several strengths.

    Its normal equations are the pairwise *sums* :math:`S_{ij} = n_{ij} C_{ij}`, without a division by how often a pair
    was seen: so they need no repair. Where attributes are independent, the mean is the best guess of what was not seen,
    and this is the regression to make; where they are not, it is biased. A ridge in ``"standard"`` units holds down
    what each attribute adds to the prediction, one in units of the ``"range"`` what a step of each changes.
    """
    moments = covariances(cells, seen)
    target_units = np.sqrt(np.maximum(seen.target_variances, np.finfo(float).tiny))
    typical = np.sqrt(np.mean(seen.variances / seen.ranges**2))
    candidates, known = [], seen.known[:, None]
    for name, units in (("standard", np.sqrt(seen.variances)), ("range", typical * seen.ranges)):
        values, vectors = eigh(moments.attributes * moments.counts / np.outer(units, units))
        sums = vectors.T @ (moments.targets * seen.counts[:, None] / np.outer(units, target_units))
        for strength in STRENGTHS:
            weights = known * (vectors @ (sums / (np.maximum(values, 0.0) + strength)[:, None]))
            setting = f"{name} units, ridge {strength:g}"
            weights = weights / units[:, None] * target_units
            candidates.append(Candidate("mean-imputed", setting, weights, biased=True))
    return candidates


def imputed_errors(cells: Cells) -> np.ndarray:
    """How much each of the family errs on rows that it did not learn from, filled with means."""
    errors = np.zeros(2 * len(STRENGTHS))
    if cells.n_examples < 2 * FOLDS:
        return errors
    fold = np.arange(cells.n_examples) % FOLDS
    for held_out in range(FOLDS):
        learnt, judged = cells.take(fold != held_out), cells.take(fold == held_out)
        seen = describe(learnt)
        errors += [_imputed_error(judged, seen, candidate.weights) for candidate in imputed_family(learnt, seen)]
    return errors


def _imputed_error(cells: Cells, seen: Described, weights: np.ndarray) -> float:
    """Squared error on rows filled with means."""
    distances = cells.values - seen.means[cells.attributes]
    error = cells.targets - seen.target_means
    for output in range(cells.n_outputs):
        share = weights[cells.attributes, output] * distances
        error[:, output] -= np.bincount(cells.examples(), weights=share, minlength=cells.n_examples)
    return float(np.sum(error**2))
