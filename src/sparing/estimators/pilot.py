"""The first examples of a fit: looked at uniformly, to learn the data's units before the data."""

from math import ceil

import numpy as np

from sparing import designs
from sparing.kernels.gather import rows_of
from sparing.kernels.look import look

_OTHER_STREAM = 0x5EED  # the pilot's draws must not repeat those of the learner that follows with the same seed
TEN_LOOKS = 10  # at an attribute, before its spread is believed


def pilot_size(n_attributes: int, budget: int, n_examples: int | None) -> int:
    """A tenth of the examples, as in Kukliansky & Shamir 2015, or what gives ten looks an attribute, up to a quarter.

    Where nobody knows how many examples will come, just those ten looks.
    """
    ten_looks = ceil(TEN_LOOKS * n_attributes / budget)
    if n_examples is None:
        return ten_looks
    return max(ceil(n_examples / 10), min(ten_looks, n_examples // 4))


class Pilot:
    """Looks at its first ``n_rows`` examples and says what they tell of means, spreads and second moments."""

    def __init__(self, n_rows: int, n_attributes: int, n_outputs: int, budget: int, seed: int):
        self.seed = seed ^ _OTHER_STREAM
        self.n_rows = n_rows
        self.n_seen = 0
        self.attributes = np.zeros((n_rows, budget), np.int64)
        self.values = np.zeros((n_rows, budget))
        self.targets = np.zeros((n_rows, n_outputs))
        self.n_attributes = n_attributes

    @property
    def complete(self) -> bool:
        """Whether all rows wanted have been looked at."""
        return self.n_seen == self.n_rows

    @property
    def cells(self) -> int:
        """Values bought."""
        return self.n_seen * self.attributes.shape[1]

    def look(self, X, y) -> int:
        """Look at as many rows of X as are still wanted; returns how many."""
        rows = min(X.shape[0], self.n_rows - self.n_seen)
        here = slice(self.n_seen, self.n_seen + rows)
        look(rows_of(X), self.n_attributes, self.n_seen, self.seed, self.attributes[here], self.values[here])
        self.targets[here] = y[:rows]
        self.n_seen += rows
        return rows

    def sums(self, values) -> np.ndarray:
        """Sum over the looks at each attribute."""
        seen = self.attributes[: self.n_seen]
        return np.bincount(seen.ravel(), weights=values.ravel(), minlength=self.n_attributes)

    @property
    def target_means(self) -> np.ndarray:
        """Mean of the targets seen, per output."""
        return self.targets[: self.n_seen].sum(axis=0) / max(self.n_seen, 1)

    def describe(self, center: bool) -> None:
        """Set ``counts``, ``means``, ``mean_squares``, ``squares`` (about the means, if ``center``), ``scale`` and
        ``target_variance``. A value that could not be had, NaN in a memory map, is left out.
        """
        seen, values, targets = self.attributes[: self.n_seen], self.values[: self.n_seen], self.targets[: self.n_seen]
        had = np.isfinite(values)
        self.counts = self.sums(had)
        looks = np.maximum(self.counts, 1.0)
        self.means = self.sums(np.where(had, values, 0.0)) / looks
        self.means += (
            self.sums(np.where(had, values - self.means[seen], 0.0)) / looks
        )  # rounding must not pass for spread
        self.mean_squares = self.sums(np.where(had, values, 0.0) ** 2) / looks
        distances = np.where(had, values - center * self.means[seen], 0.0)
        self.squares = self.sums(distances**2) / looks
        self.target_variance = float(np.sum((targets - center * self.target_means) ** 2) / max(self.n_seen, 1))
        spread = np.zeros(self.n_attributes)
        np.maximum.at(spread, seen.ravel(), np.abs(distances).ravel())
        typical = float(np.median(spread[spread > 0])) if spread.any() else 1.0
        unsure = 1.0 - np.minimum(self.counts / TEN_LOOKS, 1.0)  # the spread of a few looks may be far too small
        self.scale = np.maximum(np.where(spread > 0, spread, typical), unsure * typical)

    def second_moments(self, scale) -> np.ndarray:
        """Estimates of E[x_i^2] of the attributes as described, divided by ``scale``."""
        return designs.estimated_moments(self.counts, self.squares / scale**2)
