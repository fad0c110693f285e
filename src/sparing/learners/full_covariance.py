"""Any covariance of attributes and targets, by expectation-maximisation on bought cells."""

from collections.abc import Iterator

import numpy as np

from sparing.kernels.covariance import add_covariance_slopes
from sparing.kernels.sweep import new_block
from sparing.learners.expectation import Standard


def covariance_slopes(data: Standard, covariance: np.ndarray) -> np.ndarray:
    r"""The slope W of the log-likelihood in the covariance; :math:`W + W^T = \sum a a^T - \Sigma_S^{-1}`."""

    def add(first, last):
        slopes = np.zeros_like(covariance)
        add_covariance_slopes(covariance, data.looks, first, last, new_block(data.most), slopes)
        return slopes

    slopes = sum(data.in_parts(add))
    slopes[np.diag_indices_from(slopes)] /= 2.0
    return slopes


def covariance_rounds(data: Standard, target: np.ndarray, prior: float) -> Iterator[np.ndarray]:
    r"""The covariance of attributes and targets after one round of EM, two, and so on.

    It starts from ``target`` and is shrunk to it, as by so many examples that showed just this. What a round expects of
    an example is :math:`E[x x^T | x_S] = \Sigma + \Sigma (a a^T - \Sigma_S^{-1}) \Sigma`, the middle filled up with
    zeros: so examples only add up slopes.
    """
    n, covariance = data.n_examples, target
    while True:
        moved = covariance @ covariance_slopes(data, covariance) @ covariance
        covariance = (n * covariance + moved + moved.T + prior * target) / (n + prior)
        yield covariance


def covariance_weights(data: Standard, covariance: np.ndarray) -> np.ndarray:
    """Weights for attributes and targets as they are."""
    d = data.n_attributes
    return data.weights(np.linalg.solve(covariance[:d, :d], covariance[:d, d:]))
