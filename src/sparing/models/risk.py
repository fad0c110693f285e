"""How good a model is, from partly seen examples that it was not fitted to: on the seen parts, and on whole rows."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.kernels import condition as kernel
from sparing.kernels.factor import Factors, new_room
from sparing.kernels.pairs import predict_products, sum_pairs
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import SHORT, covariance_parts
from sparing.models.gaussian import Gaussian
from sparing.models.summary import LOOKS_FOR_A_SCALE, Summary

COUNTED_PAIRS = 2000  # attributes, up to which the examples that saw each pair are counted


class _Chances(NamedTuple):
    """How often cells and pairs of cells were seen, corrected for how likely it was that they are seen at all."""

    singles: np.ndarray  # (d,): one over the chance of a cell
    pairs: np.ndarray  # (d, d): the same of a pair, zero where it was never seen; empty for very many attributes
    share: float  # the chance of a pair over the product of its cells' chances, on average


def _chances(cells: Cells) -> _Chances:
    r"""The frequency with which cells and pairs were seen, divided by the probability that they are seen at all.

    What is looked at does not depend on an example's values, so those that see a pair are a fair sample, whatever
    money, panels, changing plans or unavailable values made of its chance. A sum over the :math:`n_{ij}` of n examples
    that saw a pair is to be multiplied by :math:`n / n_{ij}` and, as there is none with probability
    :math:`(1 - \pi_{ij})^n`, divided by :math:`1 - (1 - \pi_{ij})^n`. For a pair seen often that changes nothing; for
    one seen hardly ever, :math:`1 / \pi_{ij}` is left. There :math:`\pi_{ij}` is a multiple of :math:`\pi_i \pi_j`.
    """
    n, d, attributes = cells.n_examples, cells.n_attributes, cells.attributes
    looks, sizes = np.bincount(attributes, minlength=d), np.diff(cells.starts)
    told = cells.probabilities.astype(np.float64)
    inverse = np.bincount(attributes, weights=1.0 / told, minlength=d)  # NaN where some probability is unknown
    planned = np.divide(looks, inverse, out=np.zeros(d), where=looks > 0)
    known = ~np.isnan(planned)
    planned = np.where(known, planned, looks / max(n, 1))
    squares = np.where(np.isnan(told), planned[attributes], told).sum() / max(n, 1)  # estimates their sum over all
    share = np.mean(sizes * (sizes - 1.0)) / max(np.mean(sizes) ** 2 - squares, 1e-9) if n else 0.0

    def at_all(probability):
        return -np.expm1(n * np.log1p(-np.clip(probability, 0.0, 1.0 - 1e-15)))

    singles = np.divide(n, looks * np.where(known, at_all(planned), 1.0), out=np.zeros(d), where=looks > 0)
    if d > COUNTED_PAIRS:
        return _Chances(singles, np.empty((0, 0)), share)
    pairs, counts = np.zeros((d, d)), np.zeros((d, d), np.int32)
    sum_pairs(cells.starts, attributes, np.zeros(len(cells)), pairs, counts)
    counts += np.triu(counts, 1).T
    ever = np.where(np.outer(known, known), at_all(share * np.outer(planned, planned)), 1.0)
    np.divide(n, counts * ever, out=pairs, where=counts * ever > 0)
    return _Chances(singles, pairs, share)


def unbiased_losses(cells: Cells, summary: Summary, weights: np.ndarray) -> np.ndarray:
    r"""For each example and output an estimate of the squared error of weights on the whole row, unbiased on average.

    It is :math:`\widehat{\langle w, x\rangle^2} - 2 y \widehat{\langle w, x\rangle} + y^2`, each term divided by the
    chance that its cells are seen (Horvitz & Thompson 1952). Its variance is large where looks are few, and grows with
    opposing weights.
    Weights of shape (d, n_outputs) give losses of shape (n_examples, n_outputs); several of them, stacked along a first
    axis, are judged at once, in far less time, and give losses along such an axis.
    """
    stacked, chances = weights.reshape(-1, *weights.shape[-2:]), _chances(cells)
    columns = np.ascontiguousarray(stacked.transpose(1, 0, 2).reshape(cells.n_attributes, -1))
    distances = cells.values - summary.means[cells.attributes]
    residuals = cells.targets - summary.target_means
    losses = np.empty((cells.n_examples, columns.shape[1]))
    predict_products(
        cells.starts, cells.attributes, distances, residuals, columns,
        chances.singles, chances.pairs, chances.share, losses,
    )  # fmt: skip
    by_candidate = losses.reshape(cells.n_examples, len(stacked), -1).transpose(1, 0, 2)
    return by_candidate.reshape(*weights.shape[:-2], *by_candidate.shape[1:])


class SeenParts(NamedTuple):
    """What a model makes of the seen part of every example."""

    predictions: np.ndarray  # E[w'x | x_S] less its mean, in standard deviations of the target: (n_examples, n_outputs)
    log_likelihoods: np.ndarray  # of the cells of each example, up to a constant


def from_seen(cells: Cells, summary: Summary, gaussian: Gaussian, weights: np.ndarray) -> SeenParts:
    r"""Predict the targets of examples from what was seen of them: weights applied to conditional means.

    :math:`E[x | x_S] = \mu + \Sigma_{\cdot S} \Sigma_{SS}^{-1} (x_S - \mu_S)`. So :math:`\Sigma w`, gathered at the
    cells of an example, times :math:`\Sigma_{SS}^{-1} (x_S - \mu_S)` is all that is needed. A mean that was estimated
    from few looks adds its own variance to that of the cell.
    """
    data = StandardizedCells(cells, summary)
    looks, spreads = data.looks._replace(targets=np.empty((data.n_examples, 0))), data.spreads
    doubt = np.where(summary.counts < LOOKS_FOR_A_SCALE, 1.0 / np.maximum(summary.counts, 1.0), 0.0)
    solution, likelihoods = np.empty(looks.values.size), np.empty(data.n_examples)
    if gaussian.dense is not None:
        table = gaussian.dense / np.outer(spreads, spreads) + np.diag(doubt)

        def condition(first, last):
            kernel.condition_by_table(table, looks, first, last, data.block(last), solution, likelihoods)

        data.in_parts(condition)
    else:
        loadings = np.ascontiguousarray(gaussian.loadings / spreads[:, None])
        factors = Factors(loadings, gaussian.noise / spreads**2 + doubt)
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
