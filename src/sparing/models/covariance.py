"""Any covariance of attributes and targets, by expectation-maximisation on bought cells."""

from collections.abc import Iterator

import numpy as np

from sparing.kernels.covariance import add_covariance_slopes
from sparing.kernels.sweep import own_lines
from sparing.models.em import Standard

FULL_PRIOR = 20.0  # imagined examples without any correlation, that hold a full covariance down


def covariance_slopes(data: Standard, covariance: np.ndarray, last: int | None = None) -> tuple[np.ndarray, float]:
    r"""Slope W of the log-likelihood in the covariance, and itself; :math:`W + W^T = \sum a a^T - \Sigma_S^{-1}`.

    Over all examples, or those before ``last``.
    """

    def add(first, last):
        slopes, likelihood = np.zeros_like(covariance), own_lines((1,))
        add_covariance_slopes(covariance, data.looks, first, last, data.block(last), slopes, likelihood)
        return slopes, float(likelihood[0])

    done = data.in_parts(add, last=last)
    slopes = sum((part for part, _ in done), np.zeros_like(covariance))
    slopes[np.diag_indices_from(slopes)] /= 2.0
    return slopes, sum(likelihood for _, likelihood in done)


def tails(data: Standard) -> np.ndarray:
    """How much more variance than was seen attributes have as a rule that range so far; of targets nothing.

    Where values are seldom far out, and then very far, few examples may not have shown it yet. It takes both an
    attribute's unit, which those of one kind share, and its own largest value to say so.
    """
    largest = np.zeros(data.n_attributes)
    np.maximum.at(largest, data.looks.attributes, np.abs(data.looks.values))
    varied, more = largest > 0.0, np.zeros(data.counts.size)
    if varied.any():
        more[: varied.size][varied] = np.minimum(
            _more_than_usual(largest[varied]), _more_than_usual(data.ranges[varied])
        )
    return more


def _more_than_usual(ranges: np.ndarray) -> np.ndarray:
    """The variance that goes with such a range in spreads in the middle one of the attributes, less one, if more."""
    squares = ranges**2
    return np.maximum(squares / np.median(squares) - 1.0, 0.0)


def unrelated(data: Standard) -> np.ndarray:
    """The covariance that is expected of attributes and targets before any pair is seen: none goes with another."""
    return np.diag(1.0 + tails(data))


def covariance_rounds(data: Standard, target: np.ndarray, prior: float) -> Iterator[np.ndarray]:
    r"""The covariance of attributes and targets after one round of EM, two, and so on.

    It starts from ``target`` and is shrunk to it, as by so many examples that showed just this. What a round expects of
    an example is :math:`E[x x^T | x_S] = \Sigma + \Sigma (a a^T - \Sigma_S^{-1}) \Sigma`, the middle filled up with
    zeros: so examples only add up slopes.
    """
    n, covariance = data.n_examples, target
    while True:
        moved = covariance @ covariance_slopes(data, covariance)[0] @ covariance
        covariance = (n * covariance + moved + moved.T + prior * target) / (n + prior)
        yield covariance


def covariance_weights(data: Standard, covariance: np.ndarray) -> np.ndarray:
    """Weights for attributes and targets as they are."""
    d = data.n_attributes
    return data.weights(np.linalg.solve(covariance[:d, :d], covariance[:d, d:]))
