"""The gradient of a factor model's log-likelihood, computed in the fastest way for each example."""

import numpy as np

from sparing.kernels import factor as kernel
from sparing.kernels.sweep import own_lines
from sparing.models.covariance import covariance_gradients
from sparing.models.em import StandardizedCells

SHORT = 1.5  # cells and targets per factor up to which it is faster to solve for them than for the factors
TABLE = 1 << 17  # covariances, and at most two per cell, up to which a table of them is faster than products


def implied_covariance(factors: kernel.Factors) -> np.ndarray:
    r"""The covariance of attributes and targets, :math:`L L^T + \Psi`."""
    return factors.loadings @ factors.loadings.T + np.diag(factors.noise)


def covariance_parts(factors: kernel.Factors, n_outputs: int) -> kernel.Parts:
    """The parts from which the kernels compute entries of that covariance."""
    loadings = own_lines(factors.loadings.shape)
    loadings += factors.loadings
    targets = loadings[len(loadings) - n_outputs :]
    return kernel.Parts(loadings, np.sum(loadings**2, axis=1) + factors.noise, targets @ loadings.T)


def factor_gradients(data: StandardizedCells, factors: kernel.Factors) -> kernel.Gradients:
    """The log-likelihood of all cells and targets, and its gradient with respect to loadings and noise."""
    rank = factors.loadings.shape[1]
    few = data.up_to(SHORT * rank)

    def add(first, last):
        gradients = kernel.Gradients(np.zeros_like(factors.loadings), np.zeros_like(factors.noise), np.zeros(1))
        kernel.add_gradients_of_many(factors, data.looks, first, last, kernel.new_room(rank), gradients)
        return gradients

    done = data.in_parts(add, few)
    if few:
        looked_up = data.counts.size**2 <= min(TABLE, 2 * data.looks.starts[few])
        done.append((_by_table if looked_up else _by_parts)(data, factors, few))
    loadings, noise, likelihood = (sum(part) for part in zip(*done, strict=True))
    return kernel.Gradients(loadings, noise, likelihood)


def _by_table(data: StandardizedCells, factors: kernel.Factors, last: int) -> kernel.Gradients:
    half, likelihood = covariance_gradients(data, implied_covariance(factors), last)
    whole = half @ factors.loadings + half.T @ factors.loadings
    return kernel.Gradients(whole, 2.0 * half.diagonal(), np.array([likelihood]))


def _by_parts(data: StandardizedCells, factors: kernel.Factors, last: int) -> kernel.Gradients:
    covariance, m = covariance_parts(factors, data.n_outputs), data.n_outputs

    def add(first, last):
        gradients, likelihood = kernel.Parts(*map(own_lines, map(np.shape, covariance))), own_lines((1,))
        kernel.add_gradients_of_few(covariance, data.looks, first, last, data.block(last), gradients, likelihood)
        return *gradients, likelihood

    done = data.in_parts(add, 0, last)
    loadings, diagonal, with_targets, likelihood = (np.asarray(sum(part)) for part in zip(*done, strict=True))
    loadings += diagonal[:, None] * factors.loadings + with_targets.T @ factors.loadings[-m:]
    loadings[-m:] += with_targets @ factors.loadings
    return kernel.Gradients(loadings, diagonal, likelihood)
