"""Learners that are told the second moments of the data."""

from dataclasses import dataclass

import numpy as np

from sparing import checks, designs
from sparing.learners.online import OnlineLearner


@dataclass(kw_only=True, eq=False)
class KnownMoments(OnlineLearner):
    """Looks where the known second moments say.

    ``second_moments`` holds one E[x_i^2] per attribute, as it is learnt from: less its mean if ``center``, divided by
    ``scale`` if that is given. An attribute of moment 0 is never looked at: right only if it is zero in every example.
    Moments that are no more than estimates want a ``floor``, the part of the draws that stays uniform. Other
    options are those of :class:`OnlineLearner`.
    """

    second_moments: np.ndarray
    floor: float = 0.0

    def _check(self) -> None:
        super()._check()
        self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)
        if self.floor != 0:
            checks.fraction("floor", self.floor)

    def _design(self) -> np.ndarray:
        return designs.moment(self.second_moments, self.penalty, floor=self.floor)

    def _importance(self) -> np.ndarray | None:
        """Positive wherever the design may look, so that no weight is left out of the inner product."""
        if self.inner != "improved":
            return None
        return np.sqrt((1.0 - self.floor) * self.second_moments + self.floor * self.second_moments.mean())

    def _theory(self):
        return {"second_moments": self.second_moments}

    def _has_bound(self) -> bool:
        return super()._has_bound() and self.floor == 0
