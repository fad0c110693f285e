"""An unrestricted covariance of attributes and targets, by expectation-maximisation on bought cells."""

from collections.abc import Iterator

import numpy as np

from sparing.kernels.covariance import add_covariance_gradients
from sparing.kernels.sweep import own_lines
from sparing.models.em import StandardizedCells
from sparing.models.gaussian import Candidate, Gaussian


def covariance_gradients(
    data: StandardizedCells, covariance: np.ndarray, last: int | None = None
) -> tuple[np.ndarray, float]:
    r"""The gradient W of the log-likelihood in the covariance, and the log-likelihood.

    :math:`W + W^T = \sum a a^T - \Sigma_S^{-1}` with :math:`a = \Sigma_S^{-1} x_S`, over all examples, or those before
    ``last``, each times its weight.
    """

    def add(first, last):
        gradients, likelihood = np.zeros_like(covariance), own_lines((1,))
        add_covariance_gradients(covariance, data.looks, first, last, data.block(last), gradients, likelihood)
        return gradients, float(likelihood[0])

    done = data.in_parts(add, last=last)
    gradients = sum((part for part, _ in done), np.zeros_like(covariance))
    gradients.flat[:: len(gradients) + 1] /= 2.0
    return gradients, sum(likelihood for _, likelihood in done)


def covariance_iterates(
    data: StandardizedCells, target: np.ndarray, prior: float, start: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    r"""The covariance of attributes and targets after one EM iteration, two, and so on.

    It starts from ``start``, or else from ``target``, toward which it is shrunk with prior sample size ``prior``. The
    expectation step has
    :math:`E[x x^T | x_S] = \Sigma + \Sigma (a a^T - \Sigma_S^{-1}) \Sigma`, the middle padded with zeros: so examples
    only add up gradients.
    """
    n, covariance = data.total, target if start is None else start
    while True:
        moved = covariance @ data.summed(covariance_gradients, covariance)[0] @ covariance
        covariance = (n * covariance + moved + moved.T + prior * target) / (n + prior)
        yield covariance


def covariance_candidate(setting: str, data: StandardizedCells, covariance: np.ndarray) -> Candidate:
    """The regression of targets on attributes that a joint covariance of standardized cells implies."""
    d, means, spreads = data.n_attributes, data.summary.means, data.spreads  # so that cells are not kept alive
    weights = data.weights(np.linalg.solve(covariance[:d, :d], covariance[:d, d:]))
    return Candidate(
        setting, weights, lambda: Gaussian.of_covariance(means, covariance[:d, :d] * np.outer(spreads, spreads))
    )
