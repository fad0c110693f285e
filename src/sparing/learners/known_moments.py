"""Learners that are told the second moments of the data."""

from dataclasses import dataclass

import numpy as np

from sparing import checks, designs
from sparing.learners.online import OnlineLearner


@dataclass(kw_only=True, eq=False)
class KnownMoments(OnlineLearner):
    """Looks where the known second moments say.

    ``second_moments`` holds one E[x_i^2] per attribute, with ``center`` that of the attribute less its mean. An
    attribute of moment 0 is never looked at: that is right only if it is zero in every example.
    """

    second_moments: np.ndarray

    def _check(self) -> None:
        super()._check()
        self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)

    def _design(self) -> np.ndarray:
        return designs.moment(self.second_moments, self.penalty)

    def _importance(self) -> np.ndarray | None:
        return np.sqrt(self.second_moments) if self.inner == "improved" else None

    def _theory(self):
        return {"second_moments": self.second_moments}
