"""How good weights are on whole rows, from partly seen examples that they were not fitted to: two estimates."""

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.kernels import condition
from sparing.kernels import factor as kernel
from sparing.kernels.pairs import predict_products
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import FEW, covariance_parts
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


def completed_losses(cells: Cells, summary: Summary, reference: Gaussian, weights: np.ndarray) -> np.ndarray:
    r"""Squared errors of weights on rows completed by conditional means :math:`E[x | x_S]` under a reference model.

    If the reference is right, :math:`E[y | x_S] = \langle w, E[x | x_S]\rangle` for the best weights w: so they have
    the least such error, which varies far less than the unbiased estimate. Returned is one row per example and one
    column per column of ``weights``, whose columns repeat the outputs in turn.
    """
    order = np.argsort(np.diff(cells.starts), kind="stable")
    data = StandardizedCells(cells, summary)
    solution = solve_cells(data, reference)
    shape = (cells.n_examples, cells.n_attributes)
    solved = sparse.csr_array((solution / data.spreads[data.looks.attributes], data.looks.attributes,
                               data.looks.starts), shape=shape)  # fmt: skip
    predicted = solved @ reference.times(weights)
    targets = (cells.targets - summary.target_means)[order]
    losses = np.empty(predicted.shape)
    losses[order] = (np.tile(targets, weights.shape[1] // cells.n_outputs) - predicted) ** 2
    return losses


def solve_cells(data: StandardizedCells, reference: Gaussian) -> np.ndarray:
    r""":math:`\Sigma_{SS}^{-1} x_S` of every example, in units of the standardized cells."""
    looks = data.looks._replace(targets=np.empty((data.n_examples, 0)))
    spreads, solution = data.spreads, np.empty(data.looks.values.size)
    if reference.dense is not None:
        table = reference.dense / np.outer(spreads, spreads)
        data.in_parts(lambda first, last: condition.solve_by_table(table, looks, first, last, data.block(last), solution))
        return solution
    loadings = np.ascontiguousarray(reference.loadings / spreads[:, None])
    factors = kernel.Factors(loadings, reference.noise / spreads**2)
    rank = loadings.shape[1]
    few = data.up_to(FEW * rank)
    if few:
        parts = covariance_parts(factors, 0)
        condition.solve_by_parts(parts, looks, 0, few, data.block(few), solution)
    condition.solve_by_factors(factors, looks, few, data.n_examples, kernel.new_room(rank), solution)
    return solution
