"""Predictions for rows known in part: weights applied to the conditional means of missing values."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sparing.kernels import condition_rows as kernel

if TYPE_CHECKING:
    from sparing.models.gaussian import Gaussian

WORTH_THREADS = 1_000  # rows from which threads are faster
LARGEST_CONDITION = 1e8  # condition number of correlations up to which their inverse is accurate enough


class FromKnown(NamedTuple):
    """The distribution of w'x given the known part of each row."""

    means: np.ndarray  # E[w'x | x_S] less the mean of w'x: (n, n_outputs)
    unexplained: np.ndarray  # Cov(w'x | x_S) between outputs: (n, n_outputs, n_outputs)


class Conditional:
    r"""The distribution of :math:`w^T x` given a part of x, for a Gaussian x.

    With S known and M missing, the mean of :math:`w^T x` changes by
    :math:`w_S^T \tilde x_S + w_M^T \Sigma_{MS} \Sigma_{SS}^{-1} \tilde x_S`, and
    :math:`w_M^T (\Sigma_{MM} - \Sigma_{MS} \Sigma_{SS}^{-1} \Sigma_{SM}) w_M` of its variance is left. For a dense
    covariance this solves the smaller of two systems, that of the known or that of the missing attributes. For factors
    it uses the posterior of the factors, without a d × d matrix.

    Parameters
    ----------
    gaussian : Gaussian
    weights : array of shape (d, n_outputs)

    Examples
    --------
    >>> from sparing.models.gaussian import Gaussian
    >>> pair = Conditional(Gaussian.of_covariance([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), np.ones((2, 1)))
    >>> known = pair(np.array([[2.0, np.nan]]))
    >>> float(known.means[0, 0]), float(known.unexplained[0, 0, 0])
    (3.0, 0.75)
    """

    def __init__(self, gaussian: "Gaussian", weights: np.ndarray):
        self.gaussian, self.weights = gaussian, np.ascontiguousarray(weights)
        self.with_targets = np.ascontiguousarray(gaussian.times(self.weights))
        self.total = self.weights.T @ self.with_targets

    def __call__(self, X: np.ndarray) -> FromKnown:
        """Means and covariances for rows with NaN where a value is missing."""
        n, m = X.shape[0], self.weights.shape[1]
        found = FromKnown(np.empty((n, m)), np.empty((n, m, m)))
        missing = np.isnan(X)
        order = _by_pattern(missing)
        if self.gaussian.dense is None:
            _in_parts(order, lambda part: self._by_factors(X, part, found))
            return found
        fewer_missing = np.zeros(n, bool)
        if self._precision is not None:
            fewer_missing = 2 * missing.sum(axis=1) < X.shape[1]
        _in_parts(order[fewer_missing[order]], lambda part: self._by_missing(X, part, found))
        _in_parts(order[~fewer_missing[order]], lambda part: self._by_known(X, part, found))
        return found

    @cached_property
    def _precision(self) -> np.ndarray | None:
        """The inverse of a dense covariance; None if rounding errors would be too large."""
        covariance = self.gaussian.covariance
        scales = np.sqrt(np.diagonal(covariance))
        correlations = covariance / np.outer(scales, scales)
        try:
            inverse = cho_solve(cho_factor(correlations, lower=True), np.eye(len(scales)))
        except LinAlgError:
            return None
        if np.abs(inverse).sum(axis=0).max() * np.abs(correlations).sum(axis=0).max() > LARGEST_CONDITION:
            return None
        return np.ascontiguousarray((inverse + inverse.T) / (2.0 * np.outer(scales, scales)))

    def _by_known(self, X, order, found: FromKnown) -> None:
        room = kernel.new_cholesky_room(*self.weights.shape)
        covariance = np.ascontiguousarray(self.gaussian.dense)
        kernel.condition_on_known(
            covariance, self.with_targets, self.total, X, self.gaussian.means, order, room, *found
        )  # fmt: skip

    def _by_missing(self, X, order, found: FromKnown) -> None:
        room = kernel.new_cholesky_room(*self.weights.shape)
        kernel.condition_on_missing(self._precision, self.weights, X, self.gaussian.means, order, room, *found)

    def _by_factors(self, X, order, found: FromKnown) -> None:
        (d, m), noise, means = self.weights.shape, self.gaussian.noise, self.gaussian.means
        if self.gaussian.is_uncorrelated:
            kernel.condition_uncorrelated(noise, self.weights, X, means, order, *found)
            return
        loadings = np.ascontiguousarray(self.gaussian.loadings)
        room = kernel.new_factor_room(d, loadings.shape[1], m)
        kernel.condition_factors(loadings, noise, self.weights, X, means, order, room, *found)


def _by_pattern(missing: np.ndarray) -> np.ndarray:
    """An order of rows in which equal patterns are adjacent, and patterns with equal beginnings are close."""
    packed = np.packbits(missing, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.lexsort(np.ascontiguousarray(padded).view(">u8").T[::-1])


def _in_parts(order: np.ndarray, task) -> None:
    """Call ``task(part)`` for parts of the rows, on all cores."""
    cores = os.cpu_count() or 1
    if order.size < WORTH_THREADS or cores == 1:
        if order.size:
            task(order)
        return
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(task, np.array_split(order, cores)))
