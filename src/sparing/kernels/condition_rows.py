r"""Condition a Gaussian on what is known of each row: rows hold NaN where a value is missing.

Letters: x̃ is a row less its means, S what is known of it, M what is missing, w the weights of an output. Every function
writes :math:`E[w^T \tilde x \mid x_S]` and the covariances of :math:`w^T x` given :math:`x_S` between outputs. What
depends on the pattern of missing values alone is computed once for neighbours that share it: so rows come in an
``order`` that brings equal patterns together.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, part
from sparing.kernels.factor import invert

LEAST_PIVOT = 1e-12  # variance that is left, relative to all of it; a variable that others determine adds nothing


class CholeskyRoom(NamedTuple):
    """Scratch space for the Cholesky factor of the members of one pattern."""

    members: np.ndarray  # (d,): the variables whose system is solved
    size: np.ndarray  # (1,): how many they are
    factor: np.ndarray  # (d, d): of the matrix of the members, row by row
    inverse_pivots: np.ndarray  # (d,)
    forward: np.ndarray  # (d, m): the factor's inverse times the right-hand sides
    solution: np.ndarray  # (d, m)


class FactorRoom(NamedTuple):
    """Scratch space for the posterior of the factors under one pattern."""

    known: np.ndarray  # (d,): one for the variables that are known, else zero
    inverse: np.ndarray  # (r, r): posterior covariance of the factors
    row: np.ndarray  # (r,)
    missing: np.ndarray  # (r, m): the loadings of what is missing, times its weights
    solution: np.ndarray  # (r, m): their product with the posterior covariance


def new_cholesky_room(d: int, m: int) -> CholeskyRoom:
    """Room for patterns of d variables and m outputs."""
    shapes = (d, d), d, (d, m), (d, m)
    return CholeskyRoom(np.zeros(d, np.int64), np.zeros(1, np.int64), *map(np.empty, shapes))


def new_factor_room(d: int, r: int, m: int) -> FactorRoom:
    """Room for patterns of d variables, r factors and m outputs."""
    return FactorRoom(np.full(d, -1, np.int8), *map(np.empty, ((r, r), r, (r, m), (r, m))))


@part
def _load(X, row, missing, room):
    """Make the known or the missing variables of a row the members; returns how many lead the list as before."""
    members, shared, size, before = room.members, 0, 0, room.size[0]
    for j in range(X.shape[1]):
        if (X[row, j] != X[row, j]) == missing:
            if shared == size and size < before and members[size] == j:
                shared += 1
            else:
                members[size] = j
            size += 1
    changed = shared < size or size != before
    room.size[0] = size
    return shared, size, changed


@part
def _solve(matrix, right, shared, size, room):
    """Solve the members' system; the first ``shared`` rows of its factor are there already."""
    members, factor, forward = room.members, room.factor, room.forward
    for i in range(shared, size):
        own = members[i]
        left = matrix[own, own]
        for j in range(i):
            s = matrix[own, members[j]]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            s *= room.inverse_pivots[j]
            factor[i, j] = s
            left -= s * s
        room.inverse_pivots[i] = 1.0 / sqrt(left) if left > LEAST_PIVOT * matrix[own, own] else 0.0
        for output in range(right.shape[1]):
            s = right[own, output]
            for k in range(i):
                s -= factor[i, k] * forward[k, output]
            forward[i, output] = s * room.inverse_pivots[i]
    for output in range(right.shape[1]):
        for i in range(size):
            room.solution[i, output] = forward[i, output]
        for i in range(size - 1, -1, -1):
            s = room.solution[i, output] * room.inverse_pivots[i]
            room.solution[i, output] = s
            for k in range(i):
                room.solution[k, output] -= factor[i, k] * s


@entry(any_order=True)
def condition_on_known(covariance, with_targets, total, X, means, order, room, predictions, unexplained):
    r"""By the system of what is known: :math:`\Sigma_{SS}^{-1} c_S` with :math:`c = \Sigma w`, ``with_targets``.

    ``total`` holds the covariances of :math:`w^T x` when nothing is known.
    """
    m = with_targets.shape[1]
    for at in range(order.size):
        row = order[at]
        shared, size, changed = _load(X, row, False, room)
        if changed:
            _solve(covariance, with_targets, shared, size, room)
        for output in range(m):
            s = 0.0
            for i in range(size):
                own = room.members[i]
                s += room.solution[i, output] * (X[row, own] - means[own])
            predictions[row, output] = s
            for other in range(m):
                s = total[output, other]
                for i in range(size):
                    s -= room.forward[i, output] * room.forward[i, other]
                unexplained[row, output, other] = s


@entry(any_order=True)
def condition_on_missing(precision, weights, X, means, order, room, predictions, unexplained):
    r"""By the system of what is missing: with :math:`v = P_{MM}^{-1} w_M`, :math:`(w_S - P_{SM} v)^T \tilde x_S`."""
    m = weights.shape[1]
    for at in range(order.size):
        row = order[at]
        shared, size, changed = _load(X, row, True, room)
        if changed:
            _solve(precision, weights, shared, size, room)
        for output in range(m):
            predictions[row, output] = 0.0
        for j in range(X.shape[1]):
            if X[row, j] == X[row, j]:
                for output in range(m):
                    s = weights[j, output]
                    for i in range(size):
                        s -= precision[j, room.members[i]] * room.solution[i, output]
                    predictions[row, output] += s * (X[row, j] - means[j])
        for output in range(m):
            for other in range(m):
                s = 0.0
                for i in range(size):
                    s += room.forward[i, output] * room.forward[i, other]
                unexplained[row, output, other] = s


@part
def _load_factors(loadings, noise, weights, X, row, room):
    """The posterior covariance of the factors, and what it makes of the missing variables, unless both are there."""
    d, r, m = X.shape[1], loadings.shape[1], weights.shape[1]
    changed = False
    for j in range(d):
        known = 1 if X[row, j] == X[row, j] else 0
        changed |= known != room.known[j]
        room.known[j] = known
    if changed:
        for k in range(r):
            for output in range(m):
                room.missing[k, output] = 0.0
            for other in range(r):
                room.inverse[k, other] = 1.0 if k == other else 0.0
        for j in range(d):
            for k in range(r):
                if room.known[j]:
                    c = loadings[j, k] / noise[j]
                    for other in range(r):
                        room.inverse[k, other] += c * loadings[j, other]
                else:
                    for output in range(m):
                        room.missing[k, output] += loadings[j, k] * weights[j, output]
        invert(room.inverse, room.row)
        for k in range(r):
            for output in range(m):
                s = 0.0
                for other in range(r):
                    s += room.inverse[k, other] * room.missing[other, output]
                room.solution[k, output] = s


@entry(any_order=True)
def condition_factors(loadings, noise, weights, X, means, order, room, predictions, unexplained):
    r"""By factors z: :math:`w_S^T \tilde x_S + (L_M^T w_M)^T E[z \mid x_S]`, in time linear in d."""
    d, r, m = X.shape[1], loadings.shape[1], weights.shape[1]
    for at in range(order.size):
        row = order[at]
        _load_factors(loadings, noise, weights, X, row, room)
        for output in range(m):
            predictions[row, output] = 0.0
            for other in range(m):
                s = 0.0
                for k in range(r):
                    s += room.missing[k, output] * room.solution[k, other]
                unexplained[row, output, other] = s
        for j in range(d):
            if room.known[j]:
                distance = X[row, j] - means[j]
                for output in range(m):
                    s = 0.0
                    for k in range(r):
                        s += loadings[j, k] * room.solution[k, output]
                    predictions[row, output] += (weights[j, output] + s / noise[j]) * distance
            else:
                for output in range(m):
                    for other in range(m):
                        unexplained[row, output, other] += weights[j, output] * weights[j, other] * noise[j]


@entry(any_order=True)
def condition_uncorrelated(noise, weights, X, means, order, predictions, unexplained):
    """Without correlations, whatever is missing keeps its mean and its variance."""
    m = weights.shape[1]
    for at in range(order.size):
        row = order[at]
        for output in range(m):
            predictions[row, output] = 0.0
            for other in range(m):
                unexplained[row, output, other] = 0.0
        for j in range(X.shape[1]):
            known = X[row, j] == X[row, j]
            for output in range(m):
                if known:
                    predictions[row, output] += weights[j, output] * (X[row, j] - means[j])
                else:
                    for other in range(m):
                        unexplained[row, output, other] += weights[j, output] * weights[j, other] * noise[j]
