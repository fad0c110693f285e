"""Slopes of the log-likelihood of a factor model, each example the quickest way."""

import numpy as np

from sparing.kernels import factor as kernel
from sparing.kernels.sweep import own_lines
from sparing.models.covariance import covariance_slopes
from sparing.models.em import Standard

FEW = 1.5  # cells and targets for each factor, up to which systems of those are quicker than systems of factors
TABLE = 1 << 17  # covariances, up to which (and up to two a cell) looking them up is quicker than making them


def implied_covariance(factors: kernel.Factors) -> np.ndarray:
    r"""Of attributes and targets: :math:`L L^T + \Psi`."""
    return factors.loadings @ factors.loadings.T + np.diag(factors.noise)


def parts_of(factors: kernel.Factors, n_outputs: int) -> kernel.Parts:
    """Their covariance, in parts."""
    loadings = own_lines(factors.loadings.shape)
    loadings += factors.loadings
    return kernel.Parts(loadings, np.sum(loadings**2, axis=1) + factors.noise, loadings[-n_outputs:] @ loadings.T)


def slopes_of(data: Standard, factors: kernel.Factors) -> kernel.Slopes:
    """The log-likelihood of all that was seen, and its slopes, each example the quickest way."""
    rank = factors.loadings.shape[1]
    few = data.up_to(FEW * rank)

    def add(first, last):
        slopes = kernel.Slopes(np.zeros_like(factors.loadings), np.zeros_like(factors.noise), np.zeros(1))
        kernel.add_slopes_of_many(factors, data.looks, first, last, kernel.new_room(rank), slopes)
        return slopes

    done = data.in_parts(add, few)
    if few:
        looked_up = data.counts.size**2 <= min(TABLE, 2 * data.looks.starts[few])
        done.append((_slopes_by_table if looked_up else _slopes_by_parts)(data, factors, few))
    loadings, noise, likelihood = (sum(part) for part in zip(*done, strict=True))
    return kernel.Slopes(loadings, noise, likelihood)


def _slopes_by_table(data: Standard, factors: kernel.Factors, last: int) -> kernel.Slopes:
    half, likelihood = covariance_slopes(data, implied_covariance(factors), last)
    whole = half @ factors.loadings + half.T @ factors.loadings
    return kernel.Slopes(whole, 2.0 * half.diagonal(), np.array([likelihood]))


def _slopes_by_parts(data: Standard, factors: kernel.Factors, last: int) -> kernel.Slopes:
    covariance, m = parts_of(factors, data.n_outputs), data.n_outputs

    def add(first, last):
        slopes, likelihood = kernel.Parts(*map(own_lines, map(np.shape, covariance))), own_lines((1,))
        kernel.add_slopes_of_few(covariance, data.looks, first, last, data.block(last), slopes, likelihood)
        return *slopes, likelihood

    done = data.in_parts(add, 0, last)
    loadings, diagonal, with_targets, likelihood = (np.asarray(sum(part)) for part in zip(*done, strict=True))
    loadings += diagonal[:, None] * factors.loadings + with_targets.T @ factors.loadings[-m:]
    loadings[-m:] += with_targets @ factors.loadings
    return kernel.Slopes(loadings, diagonal, likelihood)
