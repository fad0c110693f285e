"""Expectations of the factor model, example by example, from the cells that were bought of it."""

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part

HALF_LOG_TAU = 0.9189385332046727  # log(2 pi) / 2


class Factors(NamedTuple):
    """Attributes and targets as L z + noise, z standard normal; targets come after the d attributes."""

    loadings: np.ndarray  # (d + m, r)
    noise: np.ndarray  # (d + m,): variances


class Sums(NamedTuple):
    """What the maximisation needs, per attribute and target."""

    seconds: np.ndarray  # (d + m, r (r + 1) / 2): lower halves of sums of E[z z^T] over the examples that saw it
    products: np.ndarray  # (d + m, r): sums of x E[z]


class Room(NamedTuple):
    """Room for one example: rows of the loadings seen, and what is made of them."""

    index: np.ndarray  # (most + m,)
    loadings: np.ndarray  # (most + m, r)
    gram: np.ndarray  # (most + m, most + m)
    values: np.ndarray  # (most + m,)
    z: np.ndarray  # (r,)
    second: np.ndarray  # (r * r,)
    spare: np.ndarray  # (r,)


@part
def _load(factors, room, attributes, values, targets, example, first, last):
    """The loadings and values of the cells and targets of one example; returns how many."""
    d, m, r = factors.noise.size - targets.shape[1], targets.shape[1], factors.loadings.shape[1]
    n = last - first + m
    for a in range(n):
        seen = a < last - first
        index = attributes[first + a] if seen else d + a - (last - first)
        room.index[a] = index
        room.values[a] = values[first + a] if seen else targets[example, index - d]
        for k in range(r):
            room.loadings[a, k] = factors.loadings[index, k]
    return n


@part
def _whiten(factors, room, n):
    r"""Cholesky factor of :math:`\Psi_S + L_S L_S^T`, and loadings and values multiplied by its inverse."""
    r = factors.loadings.shape[1]
    for a in range(n):
        for b in range(a + 1):
            s = 0.0
            for k in range(r):
                s += room.loadings[a, k] * room.loadings[b, k]
            room.gram[a, b] = s
        room.gram[a, a] += factors.noise[room.index[a]]
    for a in range(n):
        for b in range(a + 1):
            s = room.gram[a, b]
            for k in range(b):
                s -= room.gram[a, k] * room.gram[b, k]
            room.gram[a, b] = sqrt(max(s, 1e-300)) if a == b else s / room.gram[b, b]
        own = 1.0 / room.gram[a, a]
        for b in range(a):
            room.values[a] -= room.gram[a, b] * room.values[b]
            for k in range(r):
                room.loadings[a, k] -= room.gram[a, b] * room.loadings[b, k]
        room.values[a] *= own
        for k in range(r):
            room.loadings[a, k] *= own


@part
def _expect(room, n, r):
    r"""E[z] and :math:`E[z z^T] = I - K^T K + E[z] E[z]^T` from the whitened loadings K."""
    for k in range(r):
        room.z[k] = 0.0
    for a in range(n):
        for k in range(r):
            room.z[k] += room.values[a] * room.loadings[a, k]
    for k in range(r):
        for j in range(r):
            room.second[k * r + j] = room.z[k] * room.z[j]
        room.second[k * r + k] += 1.0
    for a in range(n):
        for k in range(r):
            c = room.loadings[a, k]
            for j in range(r):
                room.second[k * r + j] -= c * room.loadings[a, j]


@part
def _expect_many(factors, room, n, r):
    r"""The same for more cells than factors: :math:`E[z z^T] = M^{-1} + E[z] E[z]^T`.

    :math:`M = I + L^T \Psi^{-1} L` is summed, and inverted, in the room of the second moments.
    """
    second, z = room.second, room.z
    for k in range(r * r):
        second[k] = 0.0
    for k in range(r):
        z[k], second[k * r + k] = 0.0, 1.0
    for a in range(n):
        precision = 1.0 / factors.noise[room.index[a]]
        for k in range(r):
            c = precision * room.loadings[a, k]
            z[k] += c * room.values[a]
            for j in range(r):
                second[k * r + j] += c * room.loadings[a, j]
    _invert(second, r, room.spare)
    for k in range(r):
        s = 0.0
        for j in range(r):
            s += second[k * r + j] * z[j]
        room.spare[k] = s
    for k in range(r):
        z[k] = room.spare[k]
    for k in range(r):
        for j in range(r):
            second[k * r + j] += z[k] * z[j]


@part
def _invert(matrix, r, row):
    """Replace a positive definite matrix, row-major in one array, by its inverse (Gauss and Jordan, no pivots)."""
    for k in range(r):
        pivot = 1.0 / matrix[k * r + k]
        for j in range(r):
            row[j] = matrix[k * r + j] * pivot
        row[k] = pivot
        for i in range(r):
            if i != k:
                c = matrix[i * r + k]
                for j in range(r):
                    matrix[i * r + j] -= c * row[j]
                matrix[i * r + k] = -c * pivot
        for j in range(r):
            matrix[k * r + j] = row[j]


@part
def _pack(matrix, r):
    """Move the rows of the lower half of a matrix together."""
    at = 0
    for k in range(r):
        for j in range(k + 1):
            matrix[at + j] = matrix[k * r + j]
        at += k + 1


@entry(any_order=True)
def expect_rows(factors, starts, attributes, values, targets, first, last, room, sums):
    """Add the expectations of the examples from first to last to ``sums``."""
    r = factors.loadings.shape[1]
    for example in range(first, last):
        begin, end = starts[example], starts[example + 1]
        n = _load(factors, room, attributes, values, targets, example, begin, end)
        for a in range(n):  # the values themselves are needed after they are whitened
            room.gram[a, n] = room.values[a]
        if n > r:
            _expect_many(factors, room, n, r)
        else:
            _whiten(factors, room, n)
            _expect(room, n, r)
        _pack(room.second, r)
        for a in range(n):
            index, x = room.index[a], room.gram[a, n]
            for k in range(r):
                sums.products[index, k] += x * room.z[k]
            for k in range(sums.seconds.shape[1]):
                sums.seconds[index, k] += room.second[k]


@entry(any_order=True)
def target_likelihood(factors, starts, attributes, values, targets, room, likelihoods):
    """The log-likelihood of the targets given the cells, for every example."""
    m = targets.shape[1]
    for example in range(starts.size - 1):
        n = _load(factors, room, attributes, values, targets, example, starts[example], starts[example + 1])
        _whiten(factors, room, n)
        likelihoods[example] = 0.0
        for a in range(n - m, n):
            likelihoods[example] -= 0.5 * room.values[a] ** 2 + log(room.gram[a, a]) + HALF_LOG_TAU


def new_room(most: int, n_targets: int, rank: int) -> Room:
    """Room for examples of up to ``most`` cells."""
    n = most + n_targets
    return Room(
        index=np.empty(n, np.int64),
        loadings=np.empty((n, rank)),
        gram=np.empty((n, n + 1)),
        values=np.empty(n),
        z=np.empty(rank),
        second=np.empty(rank * rank),
        spare=np.empty(rank),
    )


def new_sums(n: int, rank: int) -> Sums:
    """Nothing summed yet."""
    return Sums(np.zeros((n, rank * (rank + 1) // 2)), np.zeros((n, rank)))
