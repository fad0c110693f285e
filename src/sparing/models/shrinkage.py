"""How far predictions are shrunk toward the mean target, by what held-out examples show."""

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.models.blocks import block_numbers, standard_error
from sparing.models.cross_validation import CLEARLY, STANDARD_ERRORS, CrossValidation, Fits
from sparing.models.folds import thinned
from sparing.models.gaussian import Gaussian
from sparing.models.risk import seen_variances

MOST_PAIRED = 5_000  # held-out examples of a fold whose pairs of cells are compared with the model


def shrinkage(judged: CrossValidation, best: int, chosen: list[int]) -> np.ndarray:
    """The factor for the predictions of the chosen candidates, from 0 (the mean target) to 1, for each output."""
    slopes = supported_slopes(judged.targets, judged.predictions[chosen].mean(axis=0), judged.examples, judged.blocks)
    return np.minimum(np.minimum(slopes, 1.0), largest_slopes(judged, best, chosen)) if slopes.any() else slopes


def supported_slopes(
    targets: np.ndarray, predictions: np.ndarray, weights: np.ndarray, blocks: np.ndarray | None = None
) -> np.ndarray:
    r"""The slope b of held-out targets on their predictions, reduced by its uncertainty: (n_outputs,).

    It is :math:`b (1 - 4 s^2 / b^2)_+`, with the jackknife's standard error s of b: zero unless the slope is clearly
    positive. This takes half as much evidence as to show that unshrunk predictions are better than the mean target: if
    the slope is one, the t statistic of the difference in losses is half that of the slope.
    """
    groups = np.arange(len(targets)) if blocks is None else blocks
    products, squares = (
        np.stack([np.bincount(groups, weights=weights * output) for output in values.T])
        for values in (targets * predictions, predictions**2)
    )
    sums = products.sum(axis=1, keepdims=True), squares.sum(axis=1, keepdims=True)
    slopes, without = _ratio(*sums), _ratio(sums[0] - products, sums[1] - squares)
    n = products.shape[1]
    variances = (n - 1) / n * np.sum((without - slopes) ** 2, axis=1)
    slopes = np.maximum(slopes[:, 0], 0.0)
    return np.maximum(slopes - CLEARLY**2 * _ratio(variances, slopes), 0.0)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The ratio; zero where the denominator is zero."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 1e-12 * np.max(below, initial=0.0))


def largest_slopes(judged: CrossValidation, best: int, chosen: list[int]) -> np.ndarray:
    r"""An upper limit of the slope of targets on predictions for whole rows: (n_outputs,).

    Columns with few looks may be more correlated than in a model that is shrunk toward uncorrelated ones. Their weights
    then add up to too much on whole rows. Predictions from seen parts do not show this, but pairs of held-out cells do.
    Model-assisted (difference) estimates of the variance of :math:`w^T x` and of its covariance with y are

    .. math::

        w^T \Sigma w + \frac{1}{n} \sum_e \sum_{i \ne j \in S_e} w_i w_j \frac{x_i x_j - \Sigma_{ij}}{\pi_{ij}}, \quad
        w^T c + \frac{1}{n} \sum_e \sum_{i \in S_e} w_i \frac{x_i y - c_i}{\pi_i}

    with the model's covariances c of attributes and target, and the probabilities :math:`\pi` that an attribute or a
    pair is seen. The limit is C / V, with the covariance C one standard error above its estimate, and the variance V
    one below.

    A variance V with standard error s counts as :math:`V + s^2 / V`, since :math:`b = C V / (V^2 + s^2)` minimises the
    expected squared error of b V. The standard error is multiplied by the fraction of the variance that is due to
    unseen cells according to the model: what seen parts predict is confirmed by the slope above.
    """
    expected, seen, beyond, compared = [], [], [], []
    for split, fits in zip(judged.parts, judged.fits, strict=True):
        cells, gaussian = thinned(split.judged, MOST_PAIRED), fits.candidates[best].attributes()
        weights = np.mean([fits.candidates[c].weights for c in chosen], axis=0) / fits.summary.target_spreads
        covariances = gaussian.times(fits.candidates[best].weights) / fits.summary.target_spreads
        expected.append([np.sum(weights * gaussian.times(weights), axis=0), np.sum(weights * covariances, axis=0)])
        seen.append(seen_variances(cells, fits.summary, gaussian, weights * fits.summary.target_spreads).mean(axis=0))
        scaled = weights / np.maximum(fits.summary.counts, 1.0)[:, None] * split.learnt.weights.sum()
        pairs = np.stack([beyond_expected_pairs(cells, fits, gaussian, output) for output in scaled.T])
        beyond.append(np.stack([pairs, _beyond_expected_products(cells, fits, covariances, scaled)]))
        compared.append(cells)
    (variances, covariances), added = np.mean(expected, axis=0), np.concatenate(beyond, axis=2)
    unseen = np.clip(1.0 - _ratio(np.mean(seen, axis=0), variances), 0.0, 1.0)
    errors = np.apply_along_axis(standard_error, 2, added, block_numbers(*compared))
    more, products = added.mean(axis=2) + STANDARD_ERRORS * np.array([[-1.0], [1.0]]) * errors
    variances = variances + np.maximum(more, 0.0)
    variances = variances + _ratio((unseen * errors[0]) ** 2, variances)
    return np.where(variances > 0, _ratio(np.maximum(covariances + products, 0.0), variances), 1.0)


def beyond_expected_pairs(cells: Cells, fits: Fits, gaussian: Gaussian, scaled: np.ndarray) -> np.ndarray:
    """What pairs of cells of each example add to the estimated variance of predictions: (n_examples,).

    Weights are ``scaled`` by the inverse probabilities of looks. Functions of one column do not count as a pair.
    """
    examples, n = cells.examples(), cells.n_examples
    columns = cells.attributes if fits.columns is None else fits.columns[cells.attributes]
    first = np.ones(len(cells), bool)
    first[1:] = (np.diff(columns) != 0) | (np.diff(examples) != 0)
    owners, looks = examples[first], np.bincount(columns[first])
    sizes = np.bincount(owners, minlength=n)
    independent = (looks.sum() ** 2 - np.sum(looks**2)) / n**2  # pairs of columns if looks did not exclude each other
    scaled = scaled[cells.attributes]
    sums = np.bincount(np.cumsum(first) - 1, scaled * (cells.values - fits.summary.means[cells.attributes]))
    found = np.bincount(owners, sums, n) ** 2 - np.bincount(owners, sums**2, n)
    rows = sparse.csr_array((scaled, cells.attributes, cells.starts), shape=(n, cells.n_attributes))
    expected = gaussian.variances_along(rows) - rows.power(2) @ gaussian.variances
    return (found - expected) * independent / max(np.mean(sizes * (sizes - 1.0)), np.finfo(float).tiny)


def _beyond_expected_products(cells: Cells, fits: Fits, covariances: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """What cells of each example add to the estimated covariance with the target: (n_outputs, n_examples)."""
    at, examples = cells.attributes, cells.examples()
    targets = (cells.targets - fits.summary.target_means) / fits.summary.target_spreads
    distances = cells.values - fits.summary.means[at]
    added = scaled[at] * (distances[:, None] * targets[examples] - covariances[at])
    return np.stack([np.bincount(examples, output, cells.n_examples) for output in added.T])
