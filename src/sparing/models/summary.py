"""What bought cells say of single attributes and of pairs: counts, means, variances, covariances."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.kernels.pairs import sum_pairs, sum_with_targets

LOOKS_FOR_A_SCALE = 5  # below as many looks at other than its usual value an attribute's scale is unknown
LOOKS_FOR_A_MODE = 1000  # per attribute, among which its most common value is looked for


class Summary(NamedTuple):
    """Counts, means and variances of attributes and targets."""

    counts: np.ndarray  # looks at each attribute, or the sum of their weights
    varied: np.ndarray  # looks that differed from the attribute's most common value
    means: np.ndarray
    ranges: np.ndarray  # about the largest distance from the mean: the scale of each attribute
    variances: np.ndarray  # shrunk, as parts of squared ranges, toward their mean by one imaginary look: never zero
    target_means: np.ndarray
    target_variances: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which attributes varied often enough for a scale of their own: others get no weight.

        Two close values would make a scale tiny, and so would a pixel that was lit once, and faintly. Where most
        attributes have fewer looks than that, there is no choice but to give them all one scale, the typical one.
        """
        return (self.varied >= LOOKS_FOR_A_SCALE) | (np.median(self.counts) < LOOKS_FOR_A_SCALE)

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
    counts: np.ndarray  # (d, d): examples in which both were seen, or the sum of their weights


def summarize(cells: Cells) -> Summary:
    """Counts, means, ranges and variances; an attribute with few looks is taken for an ordinary one.

    An example of weight two counts as two of weight one.
    """
    d, attributes = cells.n_attributes, cells.attributes
    values = cells.values.astype(np.float64, copy=False)
    counts = looks = np.bincount(attributes, minlength=d)
    weights = cells.weights[cells.examples()] if cells.is_weighted else 1.0
    if cells.is_weighted:
        counts = np.bincount(attributes, weights=weights, minlength=d)
    divisors = np.where(looks > 0, counts, 1)
    means = np.bincount(attributes, weights=weights * values, minlength=d) / divisors
    left_out = weights * (values - means[attributes])  # by rounding
    means += np.bincount(attributes, weights=left_out, minlength=d) / divisors
    del left_out  # cells may be very many
    distances = np.abs(values - means[attributes])
    ranges = _ranges(attributes, distances, looks)
    distances /= ranges[attributes]
    squares = np.bincount(attributes, weights=weights * np.square(distances, out=distances), minlength=d)
    typical = float(squares.sum() / (counts.sum() or 1)) or 1.0
    variances = (squares + typical) / (counts + 1.0) * ranges**2
    return Summary(counts, looks_that_vary(cells), means, ranges, variances, *target_moments(cells))


def target_moments(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the targets."""
    weights = cells.weights if cells.is_weighted else None
    means = np.average(cells.targets, axis=0, weights=weights)
    return means, np.average((cells.targets - means) ** 2, axis=0, weights=weights)


def looks_that_vary(cells: Cells) -> np.ndarray:
    """How many looks at each attribute differed from its most common value."""
    attributes, values = cells.attributes, cells.values
    part = slice(0, LOOKS_FOR_A_MODE * cells.n_attributes)
    order = np.lexsort((values[part], attributes[part]))
    attribute, value = attributes[part][order], values[part][order]
    firsts = np.flatnonzero(np.r_[True, (attribute[1:] != attribute[:-1]) | (value[1:] != value[:-1])][: order.size])
    lengths = np.diff(np.r_[firsts, order.size])
    rising = np.argsort(lengths, kind="stable")  # so that the longest run of an attribute is written last
    usual = np.zeros(cells.n_attributes)
    usual[attribute[firsts[rising]]] = value[firsts[rising]]
    return np.bincount(attributes[values != usual[attributes]], minlength=cells.n_attributes)


def _ranges(attributes, distances, counts) -> np.ndarray:
    """The largest distance of each attribute from its mean: no result depends on the unit of an attribute.

    Only an attribute of few looks, whose values may be close by chance, is taken for no less than the typical one.
    """
    ranges = np.zeros(counts.size)
    np.maximum.at(ranges, attributes, distances)
    if not ranges.any():
        return np.ones(counts.size)
    typical = np.median(ranges[ranges > 0])
    return np.where(counts >= LOOKS_FOR_A_SCALE, np.where(ranges > 0, ranges, typical), np.maximum(ranges, typical))


def pair_moments(cells: Cells, summary: Summary) -> PairMoments:
    r"""Averages over the examples in which both of a pair were seen.

    :math:`C_{ij}` is the mean of :math:`(x_i - \bar x_i)(x_j - \bar x_j)`, and :math:`c_i` that of
    :math:`(x_i - \bar x_i)(y - \bar y)`. What is asked never depends on an example's values, so the examples in which
    a pair was seen are a fair sample.
    """
    d, attributes = cells.n_attributes, cells.attributes
    distances = cells.values - summary.means[attributes]
    sums, seen = np.zeros((d, d)), np.zeros((d, d), np.int32)
    counts: np.ndarray = seen
    if cells.is_weighted:
        roots, counts = np.sqrt(cells.weights)[cells.examples()], np.zeros((d, d))
        sum_pairs(cells.starts, attributes, roots, counts, seen)  # products of roots are weights
        sum_pairs(cells.starts, attributes, roots * distances, sums, seen)
        distances = roots**2 * distances
    else:
        sum_pairs(cells.starts, attributes, distances, sums, seen)
    averages = np.divide(sums, counts, out=sums, where=counts > 0)
    with_targets = np.zeros((d, cells.n_outputs))
    sum_with_targets(cells.starts, attributes, distances, cells.targets - summary.target_means, with_targets)
    looks = np.where(summary.counts > 0, summary.counts, 1)[:, None]
    return PairMoments(_symmetric(averages), with_targets / looks, _symmetric(counts))


def _symmetric(upper: np.ndarray) -> np.ndarray:
    """A full matrix from its upper half."""
    diagonal = np.diagonal(upper).copy()
    upper += upper.T
    np.fill_diagonal(upper, diagonal)
    return upper
