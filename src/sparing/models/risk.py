"""Predictions of a model for partly seen examples, of targets and of cells, and the variance that they explain."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sparing.cells import Cells
from sparing.kernels import condition as kernel
from sparing.kernels.covariance import condition_by_table
from sparing.kernels.factor import Factors, new_room
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import SHORT, covariance_parts
from sparing.models.gaussian import Gaussian
from sparing.models.summary import LOOKS_FOR_A_SCALE, Summary

ENTRIES = 1 << 20  # of covariance matrices that are inverted at once, to bound memory


class SeenParts(NamedTuple):
    """Predictions from the seen part of every example, and how well the model's correlations fit its cells."""

    predictions: np.ndarray  # E[w'x | x_S] less its mean, in standard deviations of the target: (n_examples, n_outputs)
    log_ratios: np.ndarray  # log-likelihood of the cells less that of uncorrelated ones: (n_examples,)


def from_seen(cells: Cells, summary: Summary, gaussian: Gaussian, weights: np.ndarray) -> SeenParts:
    r"""Predict the targets of examples from their seen cells: weights applied to conditional means.

    As :math:`E[x | x_S] = \mu + \Sigma_{\cdot S} \Sigma_{SS}^{-1} (x_S - \mu_S)`, the prediction is the inner product
    of :math:`(\Sigma w)_S` and :math:`\Sigma_{SS}^{-1} (x_S - \mu_S)`. A mean that was estimated from few looks adds
    its own variance to that of the cell.

    The likelihood ratio compares the model with uncorrelated attributes *of the same variances*, so it shows how well
    correlations fit, whatever the distributions of single columns. With likelihoods themselves, those would decide: too
    small a variance makes a column of rare, large values likelier in most examples, and impossible in a few.
    """
    return seen_parts(StandardizedCells(cells, summary), gaussian, weights)


def seen_parts(data: StandardizedCells, gaussian: Gaussian, weights: np.ndarray) -> SeenParts:
    """The same for cells that are already standardized."""
    solved, likelihoods = solved_by_seen(data, gaussian, data.looks.values)
    likelihoods -= _apart(gaussian.variances / data.spreads**2 + _doubt(data), data)
    predictions = solved @ (gaussian.times(weights) / data.target_spreads)
    return SeenParts(predictions[data.places], likelihoods[data.places])


def seen_variances(cells: Cells, summary: Summary, gaussian: Gaussian, weights: np.ndarray) -> np.ndarray:
    r"""The variances of predictions from seen parts according to the model: (n_examples, n_outputs).

    With :math:`g = \Sigma w` they are :math:`g_S^T \Sigma_{SS}^{-1} g_S`, in units of the targets' variances.
    """
    data, covariances = StandardizedCells(cells, summary), gaussian.times(weights) / summary.target_spreads
    variances = np.empty((data.n_examples, covariances.shape[1]))
    for output, covariance in enumerate(covariances.T):
        standardized = covariance / data.spreads
        variances[:, output] = solved_by_seen(data, gaussian, standardized[data.looks.attributes])[0] @ covariance
    return variances[data.places]


def explained_by_others(
    cells: Cells, summary: Summary, gaussian: Gaussian, columns: np.ndarray | None = None
) -> np.ndarray:
    r"""How much of the squares of each example's standardized cells its other cells explain: (n_examples,).

    With :math:`P = \Sigma_{SS}^{-1}`, the error of a prediction from the other cells of the example is
    :math:`(P z)_i / P_{ii}`. Functions of one column (``columns`` has the column of each) are seen together, so they
    are predicted together from those of the others: :math:`P_{BB}^{-1} (P z)_B` for the functions B of a column.

    It is negative if a model knows less of an example than that its cells are near their means. This holds for
    attributes of any shape, where a Gaussian likelihood holds for none but normal ones.
    """
    gains, sizes = np.zeros(cells.n_examples), np.diff(cells.starts)
    if gaussian.is_uncorrelated:
        return gains
    distances = (cells.values - summary.means[cells.attributes]) / summary.spreads[cells.attributes]
    columns = np.arange(cells.n_attributes) if columns is None else columns
    for size in np.unique(sizes[sizes > 1]):
        examples = np.flatnonzero(sizes == size)
        if gaussian.dense is None and int(size) ** 2 > ENTRIES:
            for example in examples:
                here = slice(cells.starts[example], cells.starts[example + 1])
                at, seen = cells.attributes[here], distances[here]
                errors = _errors_by_factors(gaussian, at, summary.spreads[at], columns[at], seen)
                gains[example] = np.sum(seen**2 - errors**2)
            continue
        for some in np.array_split(examples, -(-examples.size * int(size) ** 2 // ENTRIES)):
            places = cells.starts[some][:, None] + np.arange(size)
            at, seen = cells.attributes[places], distances[places]
            spreads, owners = summary.spreads[at], columns[at]
            precisions = np.linalg.inv(gaussian.blocks(at) / (spreads[:, :, None] * spreads[:, None, :]))
            of_columns = np.where(owners[:, :, None] == owners[:, None, :], precisions, 0.0)
            errors = np.linalg.solve(of_columns, precisions @ seen[:, :, None])[:, :, 0]
            gains[some] = np.sum(seen**2 - errors**2, axis=1)
    return gains


def _errors_by_factors(gaussian: Gaussian, at, spreads, owners, seen) -> np.ndarray:
    r"""The errors of :func:`explained_by_others` for one long example, without a matrix of all its cells.

    By Woodbury's identity :math:`P = \Psi^{-1} - H H^T`, where H has as many columns as there are factors.
    """
    loadings, noise = gaussian.loadings[at] / spreads[:, None], gaussian.noise[at] / spreads**2
    scaled = loadings / noise[:, None]
    inner = np.linalg.cholesky(np.eye(loadings.shape[1]) + loadings.T @ scaled)
    half = np.linalg.solve(inner, scaled.T).T
    errors = seen / noise - half @ (half.T @ seen)
    order = np.argsort(owners, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(owners[order])) + 1):
        errors[own] = np.linalg.solve(np.diag(1.0 / noise[own]) - half[own] @ half[own].T, errors[own])
    return errors


def solved_by_seen(
    data: StandardizedCells, gaussian: Gaussian, values: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    r""":math:`\Sigma_{SS}^{-1} v_S` as one row per example, with standardized values v, and log-likelihoods."""
    looks = data.looks._replace(values=values, targets=np.empty((data.n_examples, 0)))
    spreads, doubt = data.spreads, _doubt(data)
    solution, likelihoods = np.empty(looks.values.size), np.empty(data.n_examples)
    if gaussian.dense is not None:
        table = gaussian.dense / np.outer(spreads, spreads) + np.diag(doubt)

        def condition(first, last):
            condition_by_table(table, looks, first, last, data.block(last), solution, likelihoods)

        data.in_parts(condition)
    elif gaussian.is_uncorrelated:
        variances = gaussian.noise / spreads**2 + doubt
        solution[:] = looks.values / variances[looks.attributes]
        likelihoods[:] = _apart(variances, data)
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
    return sparse.csr_array(entries, shape=(data.n_examples, data.n_attributes)), likelihoods


def _doubt(data: StandardizedCells) -> np.ndarray:
    """Variances of means that were estimated from few looks; otherwise zero."""
    counts = data.summary.counts
    return np.where(counts < LOOKS_FOR_A_SCALE, 1.0 / np.maximum(counts, 1.0), 0.0)


def _apart(variances: np.ndarray, data: StandardizedCells) -> np.ndarray:
    """The log-likelihood of the cells of each example if they were uncorrelated, up to a constant."""
    variances, values = variances[data.looks.attributes], data.looks.values
    examples = np.repeat(np.arange(data.n_examples), np.diff(data.looks.starts))
    return -0.5 * np.bincount(examples, values**2 / variances + np.log(variances), data.n_examples)
