"""Gradient of the log-likelihood of a factor model, from the cells that were bought."""

from math import log
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part, piece
from sparing.kernels.sweep import load, to_gradients


class Factors(NamedTuple):
    """Attributes and targets as L z + noise with z standard normal; targets follow the d attributes."""

    loadings: np.ndarray  # (d + m, r)
    noise: np.ndarray  # (d + m,): variances


class Gradients(NamedTuple):
    r"""Of the log-likelihood, by :math:`W = \sum a a^T - \Sigma_S^{-1}` with :math:`a = \Sigma_S^{-1} x_S`."""

    loadings: np.ndarray  # (d + m, r): W L
    noise: np.ndarray  # (d + m,): diagonal of W
    likelihood: np.ndarray  # (1,): the log-likelihood itself, up to a constant


class Parts(NamedTuple):
    """A symmetric matrix of attributes and targets in parts: between attributes, :math:`L L^T`; the rest as it is."""

    loadings: np.ndarray  # (d + m, r)
    variances: np.ndarray  # (d + m,): the diagonal
    with_targets: np.ndarray  # (m, d + m): of each target with attributes, and at least with the targets after it


class Room(NamedTuple):
    """Scratch space for the posterior of the factors of one example."""

    inverse: np.ndarray  # (r, r)
    sums: np.ndarray  # (r,)
    z: np.ndarray  # (r,)


@part
def fill_from_parts(covariance, block, n):
    """The covariances of what was seen of the examples of a block."""
    loadings, index, gram = covariance.loadings, block.index, block.gram
    m, r = covariance.with_targets.shape[0], loadings.shape[1]
    for lane in range(index.shape[1]):
        for a in range(n):
            own = index[a, lane]
            if own >= 0:
                for b in range(min(a, m)):
                    gram[a, b, lane] = covariance.with_targets[b, own]
                for b in range(m, a):
                    other, s = index[b, lane], 0.0
                    for k in range(r):
                        s += loadings[own, k] * loadings[other, k]
                    gram[a, b, lane] = s
                gram[a, a, lane] = covariance.variances[own]


@entry(any_order=True)
def add_gradients_of_few(covariance, looks, first, last, block, gradients, likelihood):
    r"""Add the parts of :math:`W` of the examples from first to last, and their log-likelihood, up to a constant.

    The place of the loadings takes the part of :math:`W` between different attributes, times L. Best where examples
    have fewer cells than there are factors.
    """
    loadings, m = covariance.loadings, looks.targets.shape[1]
    gram, index, lanes = block.gram, block.index, block.index.shape[1]
    for start in range(first, last, lanes):
        n = load(block, looks, covariance.variances.size - m, start, last)
        fill_from_parts(covariance, block, n)
        likelihood[0] += to_gradients(block, n)
        for lane in range(min(lanes, last - start)):
            for a in range(n):
                own = index[a, lane]
                if own >= 0:
                    gradients.variances[own] += block.weights[lane] * gram[a, a, lane]
                    for b in range(min(a, m)):
                        gradients.with_targets[b, own] += block.weights[lane] * gram[a, b, lane]
                    for b in range(m, a):
                        other, gradient = index[b, lane], block.weights[lane] * gram[a, b, lane]
                        for k in range(loadings.shape[1]):
                            gradients.loadings[own, k] += gradient * loadings[other, k]
                            gradients.loadings[other, k] += gradient * loadings[own, k]


@part
def posterior(factors, looks, example, skipped, room):
    r"""The posterior mean of the factors of an example, :math:`z = M^{-1} L_S^T \Psi_S^{-1} x_S`, and their covariance.

    That is the inverse of :math:`M = I + L_S^T \Psi_S^{-1} L_S`. Targets may be skipped. Returns the log-likelihood of
    what was seen, up to a constant.
    """
    m, r, likelihood = looks.targets.shape[1], factors.loadings.shape[1], 0.0
    for k in range(r):
        room.sums[k] = 0.0
        for j in range(r):
            room.inverse[k, j] = 1.0 if j == k else 0.0
    for a in range(skipped, m + looks.starts[example + 1] - looks.starts[example]):
        own, x = _look(factors, looks, example, a)
        likelihood -= 0.5 * (x * x / factors.noise[own] + log(factors.noise[own]))
        for k in range(r):
            c = factors.loadings[own, k] / factors.noise[own]
            room.sums[k] += c * x
            for j in range(r):
                room.inverse[k, j] += c * factors.loadings[own, j]
    likelihood -= 0.5 * invert(room.inverse, room.z)
    for k in range(r):
        s = 0.0
        for j in range(r):
            s += room.inverse[k, j] * room.sums[j]
        room.z[k] = s
        likelihood += 0.5 * s * room.sums[k]
    return likelihood


@part
def _look(factors, looks, example, a):
    """Which target or attribute came as the a-th, and its value."""
    m = looks.targets.shape[1]
    at = looks.starts[example] + max(a - m, 0)
    own = factors.noise.size - m + a if a < m else looks.attributes[at]
    return own, looks.targets[example, a] if a < m else looks.values[at]


@entry(any_order=True)
def add_gradients_of_many(factors, looks, first, last, room, gradients):
    r"""Add the gradients of long examples, by :math:`\Sigma_S^{-1} L_S = \Psi_S^{-1} L_S M^{-1}`."""
    loadings, m, r = factors.loadings, looks.targets.shape[1], factors.loadings.shape[1]
    for example in range(first, last):
        weight = looks.weights[example]
        gradients.likelihood[0] += weight * posterior(factors, looks, example, 0, room)
        for a in range(m + looks.starts[example + 1] - looks.starts[example]):
            own, left = _look(factors, looks, example, a)
            precision, known = 1.0 / factors.noise[own], 0.0
            for k in range(r):
                left -= room.z[k] * loadings[own, k]
            for k in range(r):
                s = 0.0
                for j in range(r):
                    s += room.inverse[k, j] * loadings[own, j]
                known += s * loadings[own, k]
                gradients.loadings[own, k] += weight * (precision * (left * room.z[k] - s))
            gradients.noise[own] += weight * (precision * (precision * (left * left + known) - 1.0))


@piece(any_order=True, rare=True)
def invert(matrix, row):
    """Replace a positive definite matrix by its inverse (Gauss and Jordan); returns the log of its determinant."""
    r, size = row.size, 0.0
    for k in range(r):
        size += log(matrix[k, k])
        pivot = 1.0 / matrix[k, k]
        for j in range(r):
            row[j] = matrix[k, j] * pivot
        row[k] = pivot
        for i in range(r):
            if i != k:
                c = matrix[i, k]
                for j in range(r):
                    matrix[i, j] -= c * row[j]
                matrix[i, k] = -c * pivot
        for j in range(r):
            matrix[k, j] = row[j]
    return size


def new_room(rank: int) -> Room:
    """Room for one example."""
    return Room(np.empty((rank, rank)), np.empty(rank), np.empty(rank))
