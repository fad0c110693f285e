"""Learners that estimate the second moments first, and then look where those say."""

from dataclasses import dataclass

import numpy as np

from sparing import checks, designs, theory
from sparing.kernels import state as kernel
from sparing.kernels.sampling import alias_table
from sparing.learners.online import OnlineLearner


@dataclass(kw_only=True, eq=False)
class TwoPhase(OnlineLearner):
    r"""Phase one looks uniformly and estimates E[x_i^2]; phase two draws by the estimates.

    Other options are those of :class:`OnlineLearner`.

    Parameters
    ----------
    pilot : float or int
        Phase one: a fraction of ``n_examples`` or a number of examples.
    epsilon : {"zero", "theory"} or float
        Confidence term added to the estimates (times 13/6) before phase two: none, as in the papers' experiments;
        :math:`\epsilon = d \log(2d/\delta) / ((k+1) m_1)`; or a number.
    confidence : float
        :math:`1 - \delta`, for ``epsilon="theory"``.
    warm_start : bool
        Learn during phase one too and start phase two from its result (the experiments), or only look (the theorems).
    floor : float
        Part of phase two's draws that stays uniform, so that no attribute can be lost to a poor estimate. Zero only
        with a positive epsilon.
    """

    pilot: float = 0.1
    epsilon: str | float = "zero"
    confidence: float = 0.95
    warm_start: bool = True
    floor: float = 0.05

    def _check(self) -> None:
        super()._check()
        if isinstance(self.pilot, float):
            checks.fraction("pilot", self.pilot)
        else:
            checks.whole("pilot", self.pilot)
        checks.fraction("confidence", self.confidence)
        if isinstance(self.epsilon, str):
            checks.one_of("epsilon", self.epsilon, ("zero", "theory"))
        else:
            checks.positive("epsilon", self.epsilon, zero=True)
        if not 0 <= self.floor < 1 or (self.floor == 0 and self.epsilon in ("zero", 0)):
            raise ValueError(
                f"floor must lie in (0, 1), or in [0, 1) with a positive epsilon; got {self.floor!r}. Without either, "
                "an attribute that phase one saw only as zero would never be looked at again."
            )

    @property
    def n_pilot(self) -> int:
        """Examples of phase one."""
        if not isinstance(self.pilot, float):
            return int(self.pilot)
        if self.n_examples is None:
            raise ValueError(
                f"pilot={self.pilot} is a fraction of how many examples will come; pass n_examples=, or the number of "
                "examples of phase one as pilot=."
            )
        return max(1, round(self.pilot * self.n_examples))

    @property
    def in_phase_two(self) -> bool:
        """Whether the design follows the estimates already."""
        return "second_moments" in self._kept

    @property
    def second_moments(self) -> np.ndarray:
        """The estimates that phase one has given, or gives so far: of the attributes as they are learnt from."""
        if self.in_phase_two:
            return self._kept["second_moments"]
        if self._seen is None:
            raise ValueError("second_moments are estimated from what is told; nothing has been told yet.")
        counts, means, variances, units = self._seen.attributes.T
        squares = (variances if self.center else variances + means**2) * units**2
        if self.confidence_width > 0.0 and squares.any():
            return squares  # as printed: the confidence term itself keeps every attribute in play
        return designs.estimated_moments(counts, squares)

    @property
    def confidence_width(self) -> float:
        """The epsilon in use, in the units of the second moments."""
        if self.epsilon == "zero":
            return 0.0
        if not isinstance(self.epsilon, str):
            return float(self.epsilon)
        width = theory.confidence_width(
            n_attributes=self.n_attributes,
            budget=self.budget,
            n_pilot=self.n_pilot,
            confidence=self.confidence,
        )
        return self.norm_bound**2 * (min(width, 1.0) if self.penalty == "lasso" else width)

    def _importance(self) -> None:
        """Phase one draws by the weights alone; what it learns serves from phase two on."""

    def _rounds_left(self) -> int:
        return super()._rounds_left() if self.in_phase_two else self.n_pilot - self.n_rounds

    def _first_options(self) -> kernel.Options:
        """Phase one: the uniform looks of AERR or AELR, or nothing but looking."""
        if not self.warm_start:
            return self._options_for(kernel.FIXED, 0.0)._replace(
                n_point=self.budget, n_inner=0, track=True, learn=False
            )
        uniform = {"ridge": "AERR", "lasso": "AELR"}[self.penalty]
        options = self._options_for(*self._step(algorithm=uniform, n_examples=self.n_pilot))
        return options._replace(inner=self._inner_kind("paper"), track=True)

    def _turn(self) -> None:
        if self.in_phase_two or self.n_rounds < self.n_pilot:
            return
        self._kept["second_moments"] = moments = self.second_moments
        width = self.confidence_width
        self._table = alias_table(designs.confident(moments, width, self.penalty, floor=self.floor))
        self._options = self._options_for(*self._step())
        if self.inner == "improved":
            self._model = self._model._replace(importance=np.sqrt(moments + 13.0 / 6.0 * width))
        kernel.restart(self._model, kernel.average(self._model), self._options)

    def _theory(self):
        if not self.in_phase_two:
            return {}
        known = {"second_moments": self.second_moments, "epsilon": self.confidence_width / self.norm_bound**2}
        return known | {"n_examples": max(1, int(self.n_examples or 0) - self.n_pilot)}

    def _has_bound(self) -> bool:
        """The theorems know phase two as printed: it starts anew, with their epsilon and without a floor."""
        return (
            super()._has_bound()
            and self.in_phase_two
            and self.epsilon == "theory"
            and not self.warm_start
            and self.floor == 0
        )
