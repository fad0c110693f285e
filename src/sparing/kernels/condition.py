r"""Condition a Gaussian on the cells of each example, by factors; ``covariance.py`` does it by a table.

Every function writes :math:`\Sigma_{SS}^{-1} x_S` of the examples from first to last, cell by cell, and their
log-likelihood up to a constant. ``looks`` has no targets.
"""

from math import log

from sparing.kernels.compiling import entry, part
from sparing.kernels.factor import fill_from_parts, posterior
from sparing.kernels.sweep import load, sweep


@part
def solve_block(block, looks, start, last, n, solution, likelihoods):
    """Sweep a block whose covariances are filled in, and write what it gives."""
    gram, lanes = block.gram, block.index.shape[1]
    end = start + lanes if start + lanes < last else last
    for example in range(start, end):
        likelihoods[example] = 0.0
    for pivot in range(n):
        for example in range(start, end):
            variance, off = gram[pivot, pivot, example - start], gram[n, pivot, example - start]
            likelihoods[example] -= 0.5 * (off * off / variance + log(variance))
        sweep(block, n, pivot)
    for example in range(start, end):
        for at in range(looks.starts[example], looks.starts[example + 1]):
            solution[at] = gram[n, at - looks.starts[example], example - start]


@entry(any_order=True)
def condition_by_parts(covariance, looks, first, last, block, solution, likelihoods):
    """By a factor model, where examples have fewer cells than there are factors."""
    for start in range(first, last, block.index.shape[1]):
        n = load(block, looks, covariance.variances.size, start, last)
        fill_from_parts(covariance, block, n)
        solve_block(block, looks, start, last, n, solution, likelihoods)


@entry(any_order=True)
def condition_by_factors(factors, looks, first, last, room, solution, likelihoods):
    r"""By a factor model, where examples have more cells: :math:`\Psi_S^{-1} (x_S - L_S z)`, z the posterior mean."""
    for example in range(first, last):
        likelihoods[example] = posterior(factors, looks, example, 0, room)
        for at in range(looks.starts[example], looks.starts[example + 1]):
            own, left = looks.attributes[at], looks.values[at]
            for k in range(room.z.size):
                left -= factors.loadings[own, k] * room.z[k]
            solution[at] = left / factors.noise[own]
