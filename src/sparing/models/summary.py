"""What bought cells say of means, spreads and covariances."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.kernels.pairs import sum_pairs

FEW_LOOKS = 5  # from which on a spread is known to some factor
ONE_KIND = 30.0  # times between small and large ranges of attributes that share a unit


class Described(NamedTuple):
    """Means and spreads of attributes and targets, from cells."""

    counts: np.ndarray  # looks at each attribute
    means: np.ndarray
    ranges: np.ndarray  # about the largest distance from the mean: the unit of each attribute
    variances: np.ndarray  # as parts of squared ranges, shrunk to their mean by one imagined look: none is zero
    target_means: np.ndarray
    target_variances: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which attributes have a spread to go by: a unit of their own says little before some looks.

        Two values that happen to be near make it tiny, and a weight huge.
        """
        return (self.counts >= FEW_LOOKS) | (np.ptp(self.ranges) == 0.0)


class Covariances(NamedTuple):
    """Moments of pairs: what they are averages of, and over how many examples."""

    attributes: np.ndarray  # (d, d): covariances, zero where a pair was never seen
    targets: np.ndarray  # (d, n_outputs): covariances with the targets
    counts: np.ndarray  # (d, d): examples in which both were seen


def describe(cells: Cells) -> Described:
    """Looks, means, ranges and variances of every attribute, whatever its unit.

    An attribute seen by few looks is taken for an ordinary one.
    """
    d, attributes = cells.n_attributes, cells.attributes
    values = cells.values.astype(np.float64, copy=False)
    counts = np.bincount(attributes, minlength=d)
    looks = np.maximum(counts, 1)
    means = np.bincount(attributes, weights=values, minlength=d) / looks
    means += np.bincount(attributes, weights=values - means[attributes], minlength=d) / looks  # what rounding left out
    distances = values - means[attributes]
    ranges = _ranges(attributes, np.abs(distances), counts)
    squares = np.bincount(attributes, weights=distances**2, minlength=d) / ranges**2
    typical = float(squares.sum() / max(counts.sum(), 1)) or 1.0  # nothing varied: nothing tells attributes apart
    variances = (squares + typical) / (counts + 1.0) * ranges**2
    target_means = cells.targets.mean(axis=0)
    target_variances = np.mean((cells.targets - target_means) ** 2, axis=0)
    return Described(counts, means, ranges, variances, target_means, target_variances)


def _ranges(attributes, distances, counts) -> np.ndarray:
    """What attributes are measured by: one unit where they are of one kind (pixels, say), else each its own.

    Of one kind they are if the largest distances seen, but for the tenth at either end, are within a factor of 30. The
    range of a pixel that was seldom lit is not known, and a unit of its own would take it for larger than it is.
    """
    ranges = np.zeros(counts.size)
    np.maximum.at(ranges, attributes, distances)
    if not ranges.any():
        return np.ones(counts.size)
    low, ordinary, high = np.quantile(ranges[ranges > 0], (0.1, 0.5, 0.9))
    if high <= ONE_KIND * low:
        return np.full(counts.size, ordinary)
    return np.where(ranges > 0, ranges, ordinary)


def covariances(cells: Cells, seen: Described) -> Covariances:
    r"""Averages over the examples in which both of a pair were seen.

    :math:`C_{ij}` is the mean of :math:`(x_i - \bar x_i)(x_j - \bar x_j)`, and :math:`c_i` that of
    :math:`(x_i - \bar x_i)(y - \bar y)`. What is asked never depends on an example's values, so every pair seen is
    a fair sample of that pair.
    """
    d, attributes = cells.n_attributes, cells.attributes
    distances = cells.values - seen.means[attributes]
    sums, counts = np.zeros((d, d)), np.zeros((d, d), np.int32)
    sum_pairs(cells.starts, attributes, distances, sums, counts)
    averages = np.divide(sums, counts, out=sums, where=counts > 0)
    residuals = (cells.targets - seen.target_means)[cells.examples()]
    with_targets = [
        np.bincount(attributes, weights=distances * residuals[:, output], minlength=d)
        for output in range(cells.n_outputs)
    ]
    looks = np.maximum(seen.counts, 1)[:, None]
    return Covariances(_symmetric(averages), np.column_stack(with_targets) / looks, _symmetric(counts))


def _symmetric(upper: np.ndarray) -> np.ndarray:
    """A full matrix from its upper half."""
    diagonal = np.diagonal(upper).copy()
    upper += upper.T
    np.fill_diagonal(upper, diagonal)
    return upper
