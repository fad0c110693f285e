"""The first examples of a fit: looked at uniformly, to learn the data's units before the data."""

from math import ceil

import numpy as np

from sparing import designs
from sparing.kernels.gather import rows_of
from sparing.kernels.look import look

_OTHER_STREAM = 0x5EED  # the pilot's draws must not repeat those of the learner that follows with the same seed


def pilot_size(n_attributes: int, budget: int, n_examples: int | None) -> int:
    """A tenth of the examples, as in Kukliansky & Shamir 2015, or what gives ten looks an attribute, up to a quarter.

    Where nobody knows how many examples will come, just those ten looks.
    """
    ten_looks = ceil(10 * n_attributes / budget)
    if n_examples is None:
        return ten_looks
    return max(ceil(n_examples / 10), min(ten_looks, n_examples // 4))


class Pilot:
    """Looks at its first ``n_rows`` examples and says what they tell of means, spreads and second moments."""

    def __init__(self, n_rows: int, n_attributes: int, n_outputs: int, budget: int, seed: int):
        self.seed = seed ^ _OTHER_STREAM
        self.n_seen = 0
        self.attributes = np.zeros((n_rows, budget), np.int64)
        self.values = np.zeros((n_rows, budget))
        self.targets = np.zeros((n_rows, n_outputs))
        self.n_attributes = n_attributes

    @property
    def complete(self) -> bool:
        """Whether all rows wanted have been looked at."""
        return self.n_seen == len(self.attributes)

    @property
    def cells(self) -> int:
        """Values bought."""
        return self.n_seen * self.attributes.shape[1]

    def look(self, X, y) -> int:
        """Look at as many rows of X as are still wanted; returns how many."""
        rows = min(X.shape[0], len(self.attributes) - self.n_seen)
        here = slice(self.n_seen, self.n_seen + rows)
        look(rows_of(X), self.n_attributes, self.n_seen, self.seed, self.attributes[here], self.values[here])
        self.targets[here] = y[:rows]
        self.n_seen += rows
        return rows

    def sums(self, values) -> np.ndarray:
        """Sum over the looks at each attribute."""
        seen = self.attributes[: self.n_seen]
        return np.bincount(seen.ravel(), weights=values.ravel(), minlength=self.n_attributes)

    def describe(self, center: bool) -> None:
        """Set ``counts``, ``means``, ``mean_squares``, ``scale``, ``target_means`` and ``target_variance``."""
        values, targets = self.values[: self.n_seen], self.targets[: self.n_seen]
        self.counts = self.sums(np.ones_like(values))
        looks = np.maximum(self.counts, 1.0)
        self.means = self.sums(values) / looks
        self.mean_squares = self.sums(values**2) / looks
        offsets = self.means if center else np.zeros(self.n_attributes)
        self.target_means = targets.mean(axis=0) if self.n_seen else np.zeros(targets.shape[1])
        self.target_variance = float(np.sum((targets - center * self.target_means) ** 2) / max(self.n_seen, 1))
        spread = np.zeros(self.n_attributes)
        seen = self.attributes[: self.n_seen]
        np.maximum.at(spread, seen.ravel(), np.abs(values - offsets[seen]).ravel())
        typical = float(np.median(spread[spread > 0])) if spread.any() else 1.0
        self.scale = np.where(
            spread > 0, spread, typical
        )  # a constant or unseen attribute is taken for an ordinary one

    def second_moments(self, scale, center: bool) -> np.ndarray:
        """Estimates of E[x_i^2] of the attributes divided by ``scale`` and, if ``center``, less their means."""
        squares = self.mean_squares - self.means**2 if center else self.mean_squares
        return designs.estimated_moments(self.counts, np.maximum(squares, 0.0) / scale**2)
