"""What bought cells say of single attributes and of pairs: counts, means, variances, covariances."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.kernels.pairs import sum_pairs

LOOKS_FOR_A_SCALE = 5  # below as many looks an attribute's own scale is unknown: two close values would make it tiny
COMPARABLE = 30.0  # ratio of the 90th to the 10th percentile of ranges, up to which attributes share one scale


class Summary(NamedTuple):
    """Counts, means and variances of attributes and targets."""

    counts: np.ndarray  # looks at each attribute
    means: np.ndarray
    ranges: np.ndarray  # about the largest distance from the mean: the scale of each attribute
    variances: np.ndarray  # shrunk, as parts of squared ranges, toward their mean by one imaginary look: never zero
    target_means: np.ndarray
    target_variances: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which attributes have a scale to go by: a shared one, or enough looks for one of their own."""
        return (self.counts >= LOOKS_FOR_A_SCALE) | (np.ptp(self.ranges) == 0.0)

    @property
    def spreads(self) -> np.ndarray:
        """Standard deviations of the attributes."""
        return np.sqrt(self.variances)

    @property
    def target_spreads(self) -> np.ndarray:
        """Standard deviations of the targets, one for a constant target."""
        return np.sqrt(np.where(self.target_variances > 0, self.target_variances, 1.0))


class PairMoments(NamedTuple):
    """Covariances of pairs of attributes, and of attributes with targets."""

    attributes: np.ndarray  # (d, d): zero where a pair was never seen
    targets: np.ndarray  # (d, n_outputs)
    counts: np.ndarray  # (d, d): examples in which both were seen


def summarize(cells: Cells) -> Summary:
    """Counts, means, ranges and variances; an attribute with few looks is taken for an ordinary one."""
    d, attributes = cells.n_attributes, cells.attributes
    values = cells.values.astype(np.float64, copy=False)
    counts = np.bincount(attributes, minlength=d)
    looks = np.maximum(counts, 1)
    means = np.bincount(attributes, weights=values, minlength=d) / looks
    means += np.bincount(attributes, weights=values - means[attributes], minlength=d) / looks  # what rounding left out
    distances = values - means[attributes]
    ranges = _ranges(attributes, np.abs(distances), counts)
    squares = np.bincount(attributes, weights=(distances / ranges[attributes]) ** 2, minlength=d)
    typical = float(squares.sum() / max(counts.sum(), 1)) or 1.0
    variances = (squares + typical) / (counts + 1.0) * ranges**2
    target_means = cells.targets.mean(axis=0)
    target_variances = np.mean((cells.targets - target_means) ** 2, axis=0)
    return Summary(counts, means, ranges, variances, target_means, target_variances)


def _ranges(attributes, distances, counts) -> np.ndarray:
    """The scale of each attribute: one for all where their ranges are comparable (pixels, say), else its own.

    The range of a pixel that was seldom lit is unknown, and a scale of its own would overrate it. So would that of an
    attribute of few looks, whose values may be close by chance: it is taken for no less than the typical one.
    """
    d = counts.size
    ranges = np.zeros(d)
    np.maximum.at(ranges, attributes, distances)
    if not ranges.any():
        return np.ones(d)
    low, typical, high = np.quantile(ranges[ranges > 0], (0.1, 0.5, 0.9))
    if high <= COMPARABLE * low:
        return np.full(d, typical)
    return np.where(counts >= LOOKS_FOR_A_SCALE, np.where(ranges > 0, ranges, typical), np.maximum(ranges, typical))


def pair_moments(cells: Cells, summary: Summary) -> PairMoments:
    r"""Averages over the examples in which both of a pair were seen.

    :math:`C_{ij}` is the mean of :math:`(x_i - \bar x_i)(x_j - \bar x_j)`, and :math:`c_i` that of
    :math:`(x_i - \bar x_i)(y - \bar y)`. What is asked never depends on an example's values, so the examples in which
    a pair was seen are a fair sample.
    """
    d, attributes = cells.n_attributes, cells.attributes
    distances = cells.values - summary.means[attributes]
    sums, counts = np.zeros((d, d)), np.zeros((d, d), np.int32)
    sum_pairs(cells.starts, attributes, distances, sums, counts)
    averages = np.divide(sums, counts, out=sums, where=counts > 0)
    residuals = (cells.targets - summary.target_means)[cells.examples()]
    with_targets = [
        np.bincount(attributes, weights=distances * residuals[:, output], minlength=d)
        for output in range(cells.n_outputs)
    ]
    looks = np.maximum(summary.counts, 1)[:, None]
    return PairMoments(_symmetric(averages), np.column_stack(with_targets) / looks, _symmetric(counts))


def _symmetric(upper: np.ndarray) -> np.ndarray:
    """A full matrix from its upper half."""
    diagonal = np.diagonal(upper).copy()
    upper += upper.T
    np.fill_diagonal(upper, diagonal)
    return upper
