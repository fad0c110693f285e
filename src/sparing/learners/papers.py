r"""The papers' algorithms for the squared loss, under the papers' names.

HK is Hazan & Koren 2012, KS is Kukliansky & Shamir 2015. Ridge learners take projected gradient steps in the ball
:math:`\|w\|_2 \le B` (HK Algorithm 1, KS Algorithm 1, GAERR), lasso learners exponentiated gradient steps in the ball
:math:`\|w\|_1 \le B` (HK Algorithm 2, KS Algorithm 3, GAELR).
"""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from sparing import checks, designs, theory
from sparing.kernels import state as kernel
from sparing.kernels.sampling import alias_table
from sparing.learners.online import PAPER_INNER, OnlineLearner, PhaseDesign, StepRule
from sparing.learners.online_state import State


class AERR(OnlineLearner):
    r"""Ridge with uniform looks :math:`q_i = 1/d` (HK Algorithm 1).

    Expected excess risk at most :math:`4B^2\sqrt{2d/(km)}` (HK Theorem 3.1). The parameters are those of
    :class:`OnlineLearner`.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> data = make_power_law(20_000, n_attributes=20, random_state=0)
    >>> learner = AERR(20, budget=5, radius=5.0, step_size=0.01).run(data.data, data.target)
    >>> learner.cells <= 5 * 20_000
    True
    """


class AELR(OnlineLearner):
    r"""Lasso with uniform looks :math:`q_i = 1/d` (HK Algorithm 2).

    Expected excess risk at most :math:`4B^2\sqrt{10 d \log(2d)/(km)}` for :math:`m \ge \log 2d` (HK Theorem 3.4).
    The parameters are those of :class:`OnlineLearner`.
    """

    penalty = "lasso"


@dataclass(kw_only=True, eq=False)
class DDAERR(OnlineLearner):
    r"""Ridge with looks by known second moments, :math:`q_i \propto \sqrt{E[x_i^2]}` (KS Algorithm 1, equation 4).

    Expected excess risk at most :math:`\frac{4B^2}{\sqrt m}\sqrt{\|E[x^2]\|_{1/2}/k + 1}` (KS Theorem 3.5).
    Parameters not listed here are those of :class:`OnlineLearner`.

    Parameters
    ----------
    second_moments : array of shape (n_attributes,)
        E[x_i^2] of the attributes as the model sees them: about their means if ``center``, divided by ``scale`` if
        that is given. An attribute of moment 0 is never looked at, which is right only if it is zero in every example.
    floor : float
        Fraction of the draws that stays uniform, for moments that are only estimates.
    """

    second_moments: np.ndarray
    floor: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)
        if self.floor != 0:
            checks.fraction("floor", self.floor)

    def _looks(self) -> PhaseDesign:
        moments, floor = self.second_moments, self.floor
        # Positive wherever the design may look, so that no weight is left out of the inner product.
        importance = np.sqrt((1.0 - floor) * moments + floor * moments.mean())
        return PhaseDesign(
            designs.moment(moments, self.penalty, floor=floor),
            importance if self.inner == "improved" else None,
            theorem={"second_moments": moments},
            exact=floor == 0,
        )


class DDAELR(DDAERR):
    r"""Lasso with looks by known second moments, :math:`q_i \propto E[x_i^2]` (KS Algorithm 3, Lemma 4.3).

    Expected excess risk at most :math:`4B^2\sqrt{5\log(2d)(\|E[x^2]\|_1/k + 1)/m}` (KS Theorem 4.6).
    The parameters are those of :class:`DDAERR`.
    """

    penalty = "lasso"


@dataclass(kw_only=True, eq=False)
class TwoPhase(OnlineLearner):
    r"""Estimates E[x_i^2] from uniform looks in phase one and draws by the estimates in phase two.

    A pilot that was bought elsewhere replaces phase one: see ``recall``.

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
        Learn during phase one, too, and start phase two from its result, as in the papers' experiments; or only look,
        as in the theorems.
    floor : float
        Fraction of phase two's draws that stays uniform, so that a poor estimate cannot exclude an attribute. Zero is
        allowed only with a positive epsilon.
    pilot_step_scale : float, optional
        Multiplies the step size of phase one instead of ``step_scale``, which then applies to phase two only.
    renew : bool
        Update the second moments in phase two from the draws that estimate the gradient, and use the new estimates
        whenever the number of examples has doubled (KS, long version, section 3.2). No theorem covers this: attributes
        that are rarely drawn are never estimated well.

    Notes
    -----
    ``inner="improved"`` draws by :math:`p_j \propto |w_j| \sqrt{U_j}`. An estimate that is too small makes
    :math:`w_j x_j / p_j` large, and ``floor`` does not help: it changes q, not p. So :math:`U_j` is an upper estimate:
    the average over the :math:`c_j` looks of phase one, shrunk toward the largest one with prior sample size 1,
    :math:`U_j = (c_j A_j + \max_i A_i)/(c_j + 1) + \frac{13}{6}\epsilon`.
    """

    pilot: float = 0.1
    epsilon: str | float = "zero"
    confidence: float = 0.95
    warm_start: bool = True
    floor: float = 0.05
    pilot_step_scale: float | None = None
    renew: bool = False

    half_norm: ClassVar[float | None] = None
    estimates_moments = True

    def __post_init__(self):
        super().__post_init__()
        (checks.fraction if isinstance(self.pilot, float) else checks.whole)("pilot", self.pilot)
        checks.fraction("confidence", self.confidence)
        if self.pilot_step_scale is not None:
            checks.positive("pilot_step_scale", self.pilot_step_scale)
        checks.one_of_or(partial(checks.positive, zero=True), "epsilon", self.epsilon, ("zero", "theory"))
        if not 0 <= self.floor < 1 or (self.floor == 0 and self.epsilon in ("zero", 0)):
            raise ValueError(
                f"floor must lie in (0, 1), or in [0, 1) with a positive epsilon; got {self.floor!r}. Without either, "
                "an attribute that phase one saw only as zero would never be looked at again."
            )

    @property
    def n_pilot(self) -> int:
        """The number of examples of phase one."""
        if not isinstance(self.pilot, float):
            return int(self.pilot)
        if self.n_examples is None:
            raise ValueError(
                f"pilot={self.pilot} is a fraction of the number of examples; pass n_examples=, or the number of "
                "examples of phase one as pilot=."
            )
        return max(1, round(self.pilot * self.n_examples))

    @property
    def in_phase_two(self) -> bool:
        """Whether draws already use the estimates."""
        return self._estimates is not None

    @property
    def second_moments(self) -> np.ndarray:
        """The estimates of phase one, or of its looks so far, for the attributes as the model sees them."""
        if self._estimates is not None:
            return self._estimates
        if self._state is None:
            raise ValueError("second_moments are estimated from what is told; nothing has been told yet.")
        counts, squares = self._mean_squares()
        if self.confidence_width > 0.0 and squares.any():
            return squares  # as in the paper: the confidence term makes every probability positive
        return designs.estimated_moments(counts, squares)

    @property
    def confidence_width(self) -> float:
        """The epsilon in use, in the units of the second moments."""
        if self.epsilon == "zero":
            return 0.0
        if not isinstance(self.epsilon, str):
            return float(self.epsilon)
        names = ("n_attributes", "budget", "n_pilot", "confidence")
        width = theory.confidence_width(**{name: getattr(self, name) for name in names})
        return self.norm_bound**2 * (min(width, 1.0) if self.penalty == "lasso" else width)

    def _mean_squares(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each attribute was seen, and its mean square as the model sees it."""
        counts, means, variances, units = self._state.seen.attributes.T
        return counts, (variances if self.center else variances + means**2) * units**2

    def _importance(self) -> np.ndarray | None:
        """The roots of the upper estimates U from phase one."""
        if self.inner != "improved":
            return None
        if self._state.model.importance.size:
            return self._state.model.importance
        counts, squares = self._mean_squares()
        largest = squares.max() or 1.0  # if only zeros were seen, all attributes are equal
        return np.sqrt((counts * squares + largest) / (counts + 1.0) + 13.0 / 6.0 * self.confidence_width)

    def _steps(self) -> StepRule:
        rule = super()._steps()
        if self.pilot_step_scale is None or self.in_phase_two:
            return rule
        return rule._replace(scale=self.pilot_step_scale)

    def _looks(self) -> PhaseDesign:
        if not self.in_phase_two:
            only_look = {} if self.warm_start else {"learn": False, "n_point": self.budget, "n_inner": 0}
            return PhaseDesign(
                designs.uniform(self.n_attributes),
                until=self.n_pilot,
                options={"track": True, "inner": PAPER_INNER[self.penalty]} | only_look,
                theorem={"algorithm": {"ridge": "AERR", "lasso": "AELR"}[self.penalty], "n_examples": self.n_pilot},
                exact=False,
            )
        moments, width = self.second_moments, self.confidence_width
        known = {"second_moments": moments, "half_norm": self.half_norm, "epsilon": width / self.norm_bound**2}
        return PhaseDesign(
            designs.confident(moments, width, self.penalty, floor=self.floor),
            self._importance(),
            until=self._next_renewal() if self.renew else np.inf,
            options={"track": True} if self.renew else {},
            theorem=known | {"n_examples": max(1, int(self.n_examples or 0) - self.n_pilot)},
            exact=self.epsilon == "theory" and not self.warm_start and self.floor == 0 and not self.renew,
        )

    def _next_renewal(self) -> int:
        """The next round at which the number of examples has doubled: that of the pilot times a power of two."""
        return self.n_pilot << (self.n_rounds // self.n_pilot).bit_length()

    def _turn(self) -> None:
        """After phase one, draw by the estimates and start from its average weights; later, update the estimates."""
        if self.n_rounds < self._design.until:
            return
        again, self._estimates = self.in_phase_two, None
        self._state = self._state._replace(model=self._state.model._replace(importance=np.zeros(0)))
        self._estimates = self.second_moments
        self._design, self._pending = self._looks(), None
        options, model = self._options(), self._state.model
        if self._design.importance is not None:
            model = model._replace(importance=self._design.importance)
        if again:
            kernel.rebuild(model, options.inner)
        else:
            kernel.restart(model, kernel.average(model), options)
        self._state = State(model, alias_table(self._design.probabilities), self._state.seen, options)

    def recall(self, counts, means, variances, target_means, n_examples: int) -> None:
        """Begin with the moments of a pilot bought elsewhere, which completes phase one."""
        if not self.in_phase_two:
            self.pilot = checks.whole("n_examples", n_examples)
        super().recall(counts, means, variances, target_means, n_examples)
        if not self.in_phase_two:
            self._design = self._design._replace(until=self.n_rounds)
            self._turn()


@dataclass(kw_only=True, eq=False)
class TwoPhasedDDAERR(TwoPhase):
    r"""Ridge with second moments estimated in phase one (KS Algorithm 2).

    Phase one averages :math:`A_i` of :math:`x_i^2`; phase two draws :math:`q_i \propto \sqrt{A_i + 13\epsilon/6}`. With
    ``half_norm``, a bound on :math:`\|E[x^2]\|_{1/2}`, the theoretical step size is that of KS Theorem 3.6, without it
    that of KS Theorem 3.12. The other parameters are those of :class:`TwoPhase` and :class:`OnlineLearner`.
    """

    half_norm: float | None = None  # type: ignore[misc]  # a parameter here, None in other learners


class TwoPhasedDDAELR(TwoPhase):
    r"""Lasso with second moments estimated in phase one (KS Algorithm 4, Theorem 4.7).

    Phase two draws :math:`q_i \propto A_i + 13\epsilon/6`, with :math:`\epsilon` at most 1. The parameters are those of
    :class:`TwoPhase` and :class:`OnlineLearner`.
    """

    penalty = "lasso"


@dataclass(kw_only=True, eq=False)
class AER(OnlineLearner):
    r"""Attribute-efficient regression of Cesa-Bianchi, Shalev-Shwartz & Shamir (2010).

    Minimizes :math:`E[\frac12 (w \cdot x - y)^2] + \frac\lambda2 \|w\|_2^2` over :math:`\|w\|_1 \le B`. Round
    :math:`t = 1, 2, \dots` draws half of its looks uniformly for the point and half by
    :math:`p_j = |w_j| / \|w\|_1` for the inner product, then steps to

    .. math:: w \leftarrow \Pi_{\|w\|_1 \le B} \Big( (1 - \tfrac1t)\, w - \tfrac{1}{\lambda t}\, \tilde g \Big)

    with the Euclidean projection :math:`\Pi`. The model is the average of the weights over all rounds. A round without
    a step, because a value is unavailable, does not count towards t.

    Shrinking is free, but the projection moves every weight: a round that leaves the ball costs O(d), others
    O(b log d).

    Parameters
    ----------
    alpha : float
        :math:`\lambda` in the objective above, which also determines the step sizes.
    """

    alpha: float
    split: str = "even"
    step_size: str | float = field(default="theory", init=False)
    step_scale: float = field(default=1.0, init=False)

    penalty = "shrunk"

    def __post_init__(self):
        super().__post_init__()
        self.alpha = checks.positive("alpha", self.alpha)

    def _steps(self) -> StepRule:
        return StepRule(1.0 / self.alpha)


@dataclass(kw_only=True, eq=False)
class OnlineRidge(OnlineLearner):
    r"""Online gradient descent that reads whole rows; excess risk at most :math:`4B^2/\sqrt m`.

    The parameters are those of :class:`OnlineLearner`, without the budget.
    """

    budget: int = field(default=0, init=False)

    reads_everything = True

    def _looks(self) -> PhaseDesign:
        d = self.n_attributes
        return super()._looks()._replace(options={"everything": True, "n_point": d, "n_inner": d})


class OnlineLasso(OnlineRidge):
    r"""Exponentiated gradient that reads whole rows; excess risk at most :math:`4B^2\sqrt{5\log(2d)/m}`.

    The parameters are those of :class:`OnlineLearner`, without the budget.
    """

    penalty = "lasso"
