"""Counts, means and variances of bought cells."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells

LOOKS_FOR_A_SCALE = 5  # looks that differ from an attribute's most common value, from which its scale is known
LOOKS_AT_ONE_OF_TWO = 2  # the same for attributes of two values, whose distance is their scale
LOOKS_FOR_A_MODE = 1000  # looks per attribute from which its most common value is found
FEWEST_FOR_A_MODE = 50  # minimum number of such looks in each of many parts


class Summary(NamedTuple):
    """Counts, means and variances of attributes and targets."""

    counts: np.ndarray  # looks at each attribute, or the sum of their weights
    varied: np.ndarray  # looks that differed from the attribute's most common value
    means: np.ndarray
    ranges: np.ndarray  # about the largest distance from the mean: the scale of each attribute
    variances: np.ndarray  # over squared ranges, shrunk toward their mean with prior sample size 1, so never zero
    target_means: np.ndarray
    target_variances: np.ndarray
    two_valued: np.ndarray | bool = False  # attributes of which only two values were seen

    @property
    def known(self) -> np.ndarray:
        """Which attributes vary often enough for a scale of their own; others get no weight.

        Two values that are close by chance would give a tiny scale, and so would a pixel that was lit faintly, once.
        For an attribute of two values, two looks at the rarer one are enough. If most attributes have fewer looks than
        a scale needs, all of them have the typical scale.
        """
        return (self.varied >= self.enough) | (np.median(self.counts) < LOOKS_FOR_A_SCALE)

    @property
    def enough(self) -> np.ndarray:
        """How many looks must differ from an attribute's most common value until its scale is known."""
        return np.where(self.two_valued, LOOKS_AT_ONE_OF_TWO, LOOKS_FOR_A_SCALE)

    @property
    def spreads(self) -> np.ndarray:
        """Standard deviations of the attributes."""
        return np.sqrt(self.variances)

    @property
    def target_spreads(self) -> np.ndarray:
        """Standard deviations of the targets, one for a constant target."""
        return np.sqrt(np.where(self.target_variances > 0, self.target_variances, 1.0))


def summarize(cells: Cells) -> Summary:
    """Counts, means, ranges and variances; those of an attribute with few looks are shrunk to typical values.

    An example of weight two counts as two of weight one.
    """
    first = cells.summed(first_pass, combine=FirstPass.plus)
    divisors = np.where(first.looks > 0, first.counts, 1)
    means, target_means = first.sums / divisors, first.target_sums / (first.total or 1)
    left_out, varied, target_squares = cells.summed(second_pass, means, first.usual, target_means)
    means += left_out / divisors
    ranges = ranges_of(np.maximum(first.highest - means, means - first.lowest), first.looks)
    squares = cells.summed(squared_distances, means, ranges)
    typical = float(squares.sum() / (first.counts.sum() or 1)) or 1.0
    variances = (squares + typical) / (first.counts + 1.0) * ranges**2
    target_variances = target_squares / (first.total or 1)
    return Summary(
        first.counts,
        varied,
        means,
        ranges,
        variances,
        target_means,
        target_variances,
        first.common.two_valued(ranges.size),
    )


class FirstPass(NamedTuple):
    """Sums from a first pass over cells, before means are known."""

    looks: np.ndarray
    counts: np.ndarray  # the same, or the sum of their weights
    sums: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    common: "CommonValues"
    total: float  # examples, or the sum of their weights
    target_sums: np.ndarray

    def plus(self, other: "FirstPass") -> "FirstPass":
        """The sums over the cells of both."""
        return FirstPass(
            self.looks + other.looks,
            self.counts + other.counts,
            self.sums + other.sums,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            self.common.plus(other.common),
            self.total + other.total,
            self.target_sums + other.target_sums,
        )

    @property
    def usual(self) -> np.ndarray:
        """The most common value of each attribute."""
        return self.common.usual(self.looks.size)


def first_pass(cells: Cells, parts: int = 1) -> FirstPass:
    """The sums over these cells, one of so many parts."""
    d = cells.n_attributes
    looks, lowest, highest = np.zeros(d, np.int64), np.full(d, np.inf), np.full(d, -np.inf)
    sums, weighted_looks = np.zeros((2, d))
    for piece in cells.pieces():
        attributes, values = piece.attributes.astype(np.intp), piece.values.astype(np.float64, copy=False)
        looks += np.bincount(attributes, minlength=d)
        np.minimum.at(lowest, attributes, values)
        np.maximum.at(highest, attributes, values)
        np.add.at(sums, attributes, piece.weighted(values))  # one after the other, so pieces change no bit
        if cells.is_weighted:
            np.add.at(weighted_looks, attributes, piece.weighted(np.ones(values.size)))
    counts = weighted_looks if cells.is_weighted else looks
    total = float(cells.weights.sum()) if cells.is_weighted else cells.n_examples
    common = common_values(cells, parts)
    return FirstPass(looks, counts, sums, lowest, highest, common, total, _target_sums(cells, cells.targets))


def second_pass(cells: Cells, means, usual, target_means) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounding errors of the means, looks that differ from the most common value, and squares of the targets."""
    d = cells.n_attributes
    left_out, varied = np.zeros(d), np.zeros(d, np.int64)
    for piece in cells.pieces():
        attributes = piece.attributes.astype(np.intp)
        varied += np.bincount(attributes[piece.values != usual[attributes]], minlength=d)
        np.add.at(left_out, attributes, piece.weighted(piece.values - means[attributes]))
    return left_out, varied, _target_sums(cells, (cells.targets - target_means) ** 2)


def squared_distances(cells: Cells, means, ranges) -> np.ndarray:
    """Sums of squared distances from the means, in ranges."""
    sums = np.zeros(cells.n_attributes)
    for piece in cells.pieces():
        attributes = piece.attributes.astype(np.intp)
        distances = piece.values - means[attributes]
        distances /= ranges[attributes]
        np.add.at(sums, attributes, piece.weighted(np.square(distances, out=distances)))
    return sums


def _target_sums(cells: Cells, of_examples: np.ndarray) -> np.ndarray:
    return (cells.weights[:, None] * of_examples if cells.is_weighted else of_examples).sum(axis=0)


class CommonValues(NamedTuple):
    """The most common values of each attribute, sorted by frequency; at most as many as a scale needs."""

    attributes: np.ndarray
    values: np.ndarray
    looks: np.ndarray

    def plus(self, other: "CommonValues") -> "CommonValues":
        """The most common values of both parts: exact for attributes of few values; for others any value will do."""
        return _commonest(*map(np.concatenate, zip(self, other, strict=True)))

    def usual(self, n_attributes: int) -> np.ndarray:
        """The most common value of each attribute."""
        usual = np.zeros(n_attributes)
        usual[self.attributes] = self.values  # the last to be written is the most common
        return usual

    def two_valued(self, n_attributes: int) -> np.ndarray:
        """Whether each attribute has two values among these."""
        return np.bincount(self.attributes, minlength=n_attributes) == 2


def common_values(cells: Cells, parts: int = 1) -> CommonValues:
    """The most common values among the first looks at each of so many parts."""
    most = min(LOOKS_FOR_A_MODE, max(LOOKS_FOR_A_MODE // parts, FEWEST_FOR_A_MODE)) * cells.n_attributes
    if len(cells) > most:
        cells = cells.take(slice(0, int(np.searchsorted(cells.starts, most))))
    attributes, values = cells.attributes[:most], cells.values[:most]
    return _commonest(attributes, values, np.ones(values.size, np.int64))


def _commonest(attributes, values, looks) -> CommonValues:
    order = np.lexsort((values, attributes))
    attributes, values = attributes[order], values[order]
    changes = (attributes[1:] != attributes[:-1]) | (values[1:] != values[:-1])
    firsts = np.flatnonzero(np.r_[True, changes][: order.size])
    attributes, values, looks = attributes[firsts], values[firsts], np.add.reduceat(looks[order], firsts)
    rising = np.lexsort((looks, attributes))
    attributes, values, looks = attributes[rising], values[rising], looks[rising]
    after = np.searchsorted(attributes, attributes, side="right") - np.arange(attributes.size)
    kept = after <= LOOKS_FOR_A_SCALE + 1
    return CommonValues(attributes[kept], values[kept], looks[kept])


def looks_that_vary(cells: Cells) -> np.ndarray:
    """How many looks at each attribute differed from its most common value."""
    usual, looks = common_values(cells).usual(cells.n_attributes), np.zeros(cells.n_attributes, np.int64)
    for piece in cells.pieces(in_order=False):
        unusual = piece.values != usual[piece.attributes]
        looks += np.bincount(piece.attributes[unusual], minlength=cells.n_attributes)
    return looks


def target_moments(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the targets."""
    weights = cells.weights if cells.is_weighted else None
    means = np.average(cells.targets, axis=0, weights=weights)
    return means, np.average((cells.targets - means) ** 2, axis=0, weights=weights)


def ranges_of(farthest: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The largest distance of each attribute from its mean, so that results do not depend on units.

    For an attribute with few looks, whose values may be close by chance, it is at least the typical distance.
    """
    ranges = np.where(counts > 0, farthest, 0.0)
    if not ranges.any():
        return np.ones(counts.size)
    typical = np.median(ranges[ranges > 0])
    return np.where(counts >= LOOKS_FOR_A_SCALE, np.where(ranges > 0, ranges, typical), np.maximum(ranges, typical))
