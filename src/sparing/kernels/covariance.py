"""What a table of covariances says about the cells that were bought: their likelihood, its gradient, conditional means.

These are one kernel: they have most of their code in common, and the first fit on a machine needs both.
"""

import numpy as np

from sparing.kernels.compiling import entry
from sparing.kernels.condition import solve_block
from sparing.kernels.sweep import fill_from_table, load, to_gradients

_NO_SOLUTION, _NO_GRADIENTS = np.empty(0), np.empty((0, 0))


@entry(any_order=True)
def _by_table(covariance, looks, first, last, block, gradients, solution, likelihoods):
    """Add gradients if there is room for them, else solve for the values of each example."""
    d = covariance.shape[0] - looks.targets.shape[1]
    gram, index, lanes = block.gram, block.index, block.index.shape[1]
    for start in range(first, last, lanes):
        n = load(block, looks, d, start, last)
        fill_from_table(covariance, block, n)
        if gradients.size == 0:
            solve_block(block, looks, start, last, n, solution, likelihoods)
            continue
        likelihoods[0] += to_gradients(block, n)
        for lane in range(lanes if lanes < last - start else last - start):
            for a in range(n):
                own = index[a, lane]
                if own >= 0:
                    for b in range(a + 1):
                        row, other = own, index[b, lane]
                        if row < other:
                            row, other = other, row
                        gradients[row, other] += block.weights[lane] * gram[a, b, lane]


def add_covariance_gradients(covariance, looks, first, last, block, gradients, likelihood):
    r"""Add :math:`a a^T - \Sigma_S^{-1}`, :math:`a = \Sigma_S^{-1} x_S`, of the examples from first to last, weighted.

    Only lower halves are read and added to. Their log-likelihood is added to ``likelihood``.
    """
    _by_table(covariance, looks, first, last, block, gradients, _NO_SOLUTION, likelihood)


def condition_by_table(covariance, looks, first, last, block, solution, likelihoods):
    r"""Write :math:`\Sigma_S^{-1} x_S` of the examples from first to last, cell by cell, and log-likelihoods."""
    _by_table(covariance, looks, first, last, block, _NO_GRADIENTS, solution, likelihoods)
