"""An unrestricted covariance of attributes and targets, by expectation-maximisation on bought cells."""

from collections.abc import Iterator

import numpy as np

from sparing.kernels.covariance import add_covariance_gradients
from sparing.kernels.sweep import LINE
from sparing.models.em import StandardizedCells
from sparing.models.gaussian import Candidate, Gaussian


def covariance_gradients(
    data: StandardizedCells, covariance: np.ndarray, last: int | None = None
) -> tuple[np.ndarray, float]:
    r"""The gradient W of the log-likelihood with respect to the covariance, and the log-likelihood.

    :math:`W + W^T = \sum a a^T - \Sigma_S^{-1}` with :math:`a = \Sigma_S^{-1} x_S`, summed over all examples, or those
    before ``last``, with their weights.
    """

    def add(first, last):
        gradients, likelihood = np.zeros_like(covariance), np.zeros(2 * LINE)[LINE : LINE + 1]  # no shared cache line
        add_covariance_gradients(covariance, data.looks, first, last, data.block(last), gradients, likelihood)
        return gradients, float(likelihood[0])

    done = data.in_parts(add, last=last)
    gradients = done[0][0] if done else np.zeros_like(covariance)
    for part, _ in done[1:]:
        gradients += part
    gradients.flat[:: len(gradients) + 1] /= 2.0
    return gradients, sum(likelihood for _, likelihood in done)


def covariance_iterates(
    data: StandardizedCells, target: np.ndarray, prior: float, start: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    r"""The covariance of attributes and targets after one EM iteration, two, and so on.

    It starts from ``start``, or else from ``target``, toward which it is shrunk with prior sample size ``prior``. In
    the expectation step, :math:`E[x x^T | x_S] = \Sigma + \Sigma (a a^T - \Sigma_S^{-1}) \Sigma` with the middle factor
    padded with zeros, so that only gradients need to be summed over examples.
    """
    n, covariance, toward = data.total, target if start is None else start, prior * target
    while True:
        moved = covariance @ data.summed(covariance_gradients, covariance)[0] @ covariance
        covariance = n * covariance
        for added in (moved, moved.T, toward):
            covariance += added  # in place: matrices may be large
        covariance /= n + prior
        yield covariance


def covariance_candidate(setting: str, data: StandardizedCells, covariance: np.ndarray) -> Candidate:
    """The regression of targets on attributes that a joint covariance of standardized cells implies."""
    d, means, spreads = data.n_attributes, data.summary.means, data.spreads  # the closure must not keep cells in memory
    weights = data.weights(np.linalg.solve(covariance[:d, :d], covariance[:d, d:]))
    return Candidate(
        setting, weights, lambda: Gaussian.of_covariance(means, covariance[:d, :d] * np.outer(spreads, spreads))
    )
