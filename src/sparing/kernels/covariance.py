"""Gradient of the log-likelihood of a Gaussian in its covariance, from the cells that were bought."""

from sparing.kernels.compiling import entry
from sparing.kernels.sweep import fill_from_table, load, to_gradients


@entry(any_order=True)
def add_covariance_gradients(covariance, looks, first, last, block, gradients, likelihood):
    r"""Add :math:`a a^T - \Sigma_S^{-1}`, :math:`a = \Sigma_S^{-1} x_S`, of the examples from first to last, weighted.

    Only lower halves are read and added to. Their log-likelihood is added to ``likelihood``.
    """
    d = covariance.shape[0] - looks.targets.shape[1]
    gram, index, lanes = block.gram, block.index, block.index.shape[1]
    for start in range(first, last, lanes):
        n = load(block, looks, d, start, last)
        fill_from_table(covariance, block, n)
        likelihood[0] += to_gradients(block, n)
        for lane in range(min(lanes, last - start)):
            for a in range(n):
                own = index[a, lane]
                if own >= 0:
                    for b in range(a + 1):
                        other = index[b, lane]
                        gradients[max(own, other), min(own, other)] += block.weights[lane] * gram[a, b, lane]
