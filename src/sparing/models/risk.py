"""How good a model is, from partly seen examples that it was not fitted to: on what was seen of them, and on whole rows."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.kernels import condition as kernel
from sparing.kernels.factor import Factors, new_room
from sparing.kernels.pairs import predict_products
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import SHORT, covariance_parts
from sparing.models.gaussian import Gaussian
from sparing.models.summary import Summary


def unbiased_losses(cells: Cells, summary: Summary, weights: np.ndarray) -> np.ndarray:
    r"""For each example and output an unbiased estimate of the squared error of weights on the whole row.

    It is :math:`\widehat{\langle w, x\rangle^2} - 2 y \widehat{\langle w, x\rangle} + y^2`, each term divided by the
    probability that its cells were bought (Horvitz & Thompson 1952). Where that is unknown, the frequency with which
    an attribute was seen replaces it. Its variance is large where looks are few, and grows with opposing weights.
    """
    starts, attributes = cells.starts, cells.attributes
    frequency = np.bincount(attributes, minlength=cells.n_attributes) / max(cells.n_examples, 1)
    chances = np.where(np.isnan(cells.probabilities), frequency[attributes], cells.probabilities.astype(np.float64))
    distances = cells.values - summary.means[attributes]
    sizes = np.diff(starts)
    expected = np.concatenate([[0.0], np.cumsum(chances)])
    alone = np.diff(expected[starts])  # estimates the sum of squared probabilities over all attributes
    pair_share = sizes * (sizes - 1.0) / np.maximum(sizes.astype(float) ** 2 - alone, 1e-9)
    residuals = cells.targets - summary.target_means
    losses, estimates = np.empty(residuals.shape), np.empty((cells.n_examples, 2))
    for output in range(cells.n_outputs):
        column = np.ascontiguousarray(weights[:, output])
        predict_products(starts, attributes, distances, column, chances, pair_share, estimates)
        y = residuals[:, output]
        losses[:, output] = estimates[:, 1] - 2.0 * y * estimates[:, 0] + y * y
    return losses


class SeenParts(NamedTuple):
    """What a model makes of the seen part of every example."""

    predictions: np.ndarray  # E[w'x | x_S] less its mean, in standard deviations of the target: (n_examples, n_outputs)
    log_likelihoods: np.ndarray  # of the cells of each example, up to a constant


def from_seen(cells: Cells, summary: Summary, gaussian: Gaussian, weights: np.ndarray) -> SeenParts:
    r"""Predict the targets of examples from what was seen of them: weights applied to conditional means.

    :math:`E[x | x_S] = \mu + \Sigma_{\cdot S} \Sigma_{SS}^{-1} (x_S - \mu_S)`. So :math:`\Sigma w`, gathered at the
    cells of an example, times :math:`\Sigma_{SS}^{-1} (x_S - \mu_S)` is all that is needed.
    """
    data = StandardizedCells(cells, summary)
    looks, spreads = data.looks._replace(targets=np.empty((data.n_examples, 0))), data.spreads
    solution, likelihoods = np.empty(looks.values.size), np.empty(data.n_examples)
    if gaussian.dense is not None:
        table = gaussian.dense / np.outer(spreads, spreads)

        def condition(first, last):
            kernel.condition_by_table(table, looks, first, last, data.block(last), solution, likelihoods)

        data.in_parts(condition)
    else:
        factors = Factors(np.ascontiguousarray(gaussian.loadings / spreads[:, None]), gaussian.noise / spreads**2)
        rank = factors.loadings.shape[1]
        few = data.up_to(SHORT * rank)
        if few:
            parts = covariance_parts(factors, 0)
            kernel.condition_by_parts(parts, looks, 0, few, data.block(few), solution, likelihoods)
        kernel.condition_by_factors(factors, looks, few, data.n_examples, new_room(rank), solution, likelihoods)
    entries = (solution / spreads[looks.attributes], looks.attributes, looks.starts)
    solved = sparse.csr_array(entries, shape=(data.n_examples, data.n_attributes))
    predictions = solved @ (gaussian.times(weights) / summary.target_spreads)
    return SeenParts(predictions[data.places], likelihoods[data.places])
