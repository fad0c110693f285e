"""Covariances of pairs of attributes, from the examples in which both were seen."""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.kernels.pairs import sum_pairs, sum_with_targets
from sparing.models.summary import Summary

FEW_PAIRS = 0.5  # of all pairs: if no more were seen, sums are kept with their places, in less memory


class PairMoments(NamedTuple):
    """Covariances of pairs of attributes, and of attributes with targets."""

    attributes: np.ndarray  # (d, d): zero where a pair was never seen
    targets: np.ndarray  # (d, n_outputs)
    counts: np.ndarray  # (d, d): examples in which both were seen, or the sum of their weights


def pair_moments(cells: Cells, summary: Summary) -> PairMoments:
    r"""Averages over the examples in which both of a pair were seen.

    :math:`C_{ij}` is the mean of :math:`(x_i - \bar x_i)(x_j - \bar x_j)`, and :math:`c_i` that of
    :math:`(x_i - \bar x_i)(y - \bar y)`. A query never depends on an example's values, so the examples in which a
    pair was seen are a random sample.
    """
    d = cells.n_attributes
    found = cells.summed(pair_sums, summary, not cells.in_one_place, combine=PairSums.plus)
    sums, counts, with_targets, _ = found.of_all_pairs()
    averages = np.divide(sums, counts, out=sums, where=counts > 0)
    looks = np.where(summary.counts > 0, summary.counts, 1)[:, None]
    counts = counts if cells.is_weighted else counts.astype(np.int32)
    return PairMoments(_symmetric(averages, d), with_targets / looks, _symmetric(counts, d))


class PairSums(NamedTuple):
    """Sums over pairs from one pass over cells: upper halves of matrices, row after row."""

    sums: np.ndarray  # of products of both
    counts: np.ndarray  # examples in which both were seen, in as few bytes as that takes; or the sum of their weights
    with_targets: np.ndarray  # sums of products of attributes and targets: (d, n_outputs)
    places: np.ndarray | None = None  # positions in these halves of the pairs that were seen; None if all are here

    def plus(self, other: "PairSums") -> "PairSums":
        """The sums over the cells of both."""
        most = int(self.counts.max(initial=0)) + int(other.counts.max(initial=0))
        few = np.result_type(self.counts, other.counts)
        places = self._places_of_both(other)
        size = self._n_pairs if places is None else places.size
        sums, counts = np.zeros(size), np.zeros(size, few if few.kind == "f" else np.min_scalar_type(most))
        for part in (self, other):
            own = slice(None) if part.places is None else part.places
            at = own if places is None or part.places is None else np.searchsorted(places, part.places)
            sums[at] += part.sums
            counts[at] += part.counts
        return PairSums(sums, counts, self.with_targets + other.with_targets, places)

    def of_all_pairs(self) -> "PairSums":
        """The same with an entry for every pair, zero for pairs that were never seen together."""
        if self.places is None:
            return self
        sums, counts = np.zeros(self._n_pairs), np.zeros(self._n_pairs, self.counts.dtype)
        sums[self.places], counts[self.places] = self.sums, self.counts
        return PairSums(sums, counts, self.with_targets)

    def of_seen_pairs(self) -> "PairSums":
        """The same without pairs that were never seen together, if these are most: so for wide rows in few chunks."""
        places = np.flatnonzero(self.counts)
        if places.size > FEW_PAIRS * self._n_pairs:
            return self
        return PairSums(self.sums[places], self.counts[places], self.with_targets, places.astype(np.int32))

    @property
    def _n_pairs(self) -> int:
        d = len(self.with_targets)
        return d * (d + 1) // 2

    def _places_of_both(self, other: "PairSums") -> np.ndarray | None:
        if self.places is None or other.places is None:
            return None
        places = np.union1d(self.places, other.places)
        return places if places.size <= FEW_PAIRS * self._n_pairs else None


def pair_sums(cells: Cells, summary: Summary, seen_only: bool = False) -> PairSums:
    """The sums over these cells; without pairs that were never seen, if that takes less memory."""
    d, targets = cells.n_attributes, cells.n_outputs
    upper = d * (d + 1) // 2
    sums, seen, with_targets = np.zeros(upper), np.zeros(upper, np.int32), np.zeros((d, targets))
    counts = np.zeros(upper) if cells.is_weighted else seen
    for piece in cells.pieces():
        starts, attributes = piece.starts, piece.attributes
        distances = piece.values - summary.means[attributes]
        if piece.weights is not None:
            roots = np.repeat(np.sqrt(piece.weights), np.diff(starts))
            sum_pairs(starts, attributes, roots, d, counts, seen)  # products of roots are weights
            sum_pairs(starts, attributes, roots * distances, d, sums, seen)
            distances = roots**2 * distances
        else:
            sum_pairs(starts, attributes, distances, d, sums, seen)
        sum_with_targets(starts, attributes, distances, piece.targets - summary.target_means, with_targets)
    found = PairSums(sums, _in_few_bytes(counts), with_targets)
    return found.of_seen_pairs() if seen_only else found


def _in_few_bytes(counts: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest type that holds them, if they are integers."""
    return counts if counts.dtype.kind == "f" else counts.astype(np.min_scalar_type(counts.max(initial=0)), copy=False)


def _symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    """A full matrix from its packed upper half."""
    full, start = np.empty((d, d), upper.dtype), 0
    for at in range(d):
        full[at, at:] = full[at:, at] = upper[start : start + d - at]
        start += d - at
    return full
