"""How good weights are on whole rows, from partly seen examples that they were not fitted to: two estimates."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.kernels import condition as kernel
from sparing.kernels.factor import Factors, new_room
from sparing.kernels.pairs import predict_products
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import SHORT, covariance_parts
from sparing.models.gaussian import Candidate, Gaussian
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


class Completion(NamedTuple):
    """Examples completed by a reference model, short ones first: their expected whole rows, without making them."""

    solved: sparse.csr_array  # Sigma_SS^-1 (x_S - mean_S) of every example, so that E[x | x_S] - mean = Sigma solved
    targets: np.ndarray  # standardized
    log_likelihoods: np.ndarray  # of the cells of each example, up to a constant


def complete(cells: Cells, summary: Summary, reference: Gaussian) -> Completion:
    """Condition the reference on the cells of every example."""
    data = StandardizedCells(cells, summary)
    looks, spreads = data.looks._replace(targets=np.empty((data.n_examples, 0))), data.spreads
    solution, likelihoods = np.empty(looks.values.size), np.empty(data.n_examples)
    if reference.dense is not None:
        table = reference.dense / np.outer(spreads, spreads)

        def condition(first, last):
            kernel.condition_by_table(table, looks, first, last, data.block(last), solution, likelihoods)

        data.in_parts(condition)
    else:
        factors = Factors(np.ascontiguousarray(reference.loadings / spreads[:, None]), reference.noise / spreads**2)
        rank = factors.loadings.shape[1]
        few = data.up_to(SHORT * rank)
        if few:
            parts = covariance_parts(factors, 0)
            kernel.condition_by_parts(parts, looks, 0, few, data.block(few), solution, likelihoods)
        kernel.condition_by_factors(factors, looks, few, data.n_examples, new_room(rank), solution, likelihoods)
    entries = (solution / spreads[looks.attributes], looks.attributes, looks.starts)
    solved = sparse.csr_array(entries, shape=(data.n_examples, data.n_attributes))
    return Completion(solved, data.looks.targets, likelihoods)


def completed_losses(
    completion: Completion, summary: Summary, reference: Candidate, weights: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    r"""Expected squared errors on whole rows, given what was seen of them, if the reference model holds: in two parts.

    With :math:`\hat x = E[x | x_S]`, the reference's own weights :math:`w_0` and :math:`V = \mathrm{Cov}(x | x_S)` it
    is :math:`(y - w^T \hat x)^2 + (w - w_0)^T V (w - w_0) - w_0^T V w_0`: what is unseen of the row adds to the error
    as far as weights differ from :math:`w_0`, and the target has its part of it already. By the law of total variance
    the mean of :math:`v^T V v` is :math:`v^T \Sigma v` less the mean square of :math:`v^T \hat x`. The first part has
    one row per candidate and one column per example, short examples first; the second, which rests on the reference
    alone, one entry per candidate. Both are relative to the targets' variances, averaged over outputs.
    """
    gaussian, spreads = reference.attributes(), summary.target_spreads

    def known_and_unknown(v):
        """The part of v'x that is known of each example, and the mean variance of the rest."""
        through = gaussian.times(v)
        known = completion.solved @ through
        return known, np.maximum(np.sum(v * through, axis=0) - np.mean(known**2, axis=0), 0.0)

    own, own_unknown = known_and_unknown(reference.weights)
    seen, unseen = [], []
    for candidate in weights:
        known, unknown = known_and_unknown(candidate - reference.weights)
        seen.append(np.mean((completion.targets - (own + known) / spreads) ** 2, axis=1))
        unseen.append(np.mean((unknown - own_unknown) / spreads**2))
    return np.array(seen), np.array(unseen)
