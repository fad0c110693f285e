r"""Attribute-efficient ridge regression: projected gradient steps on the ball :math:`\|w\|_2 \le B`."""

from dataclasses import dataclass

from sparing.learners.known_moments import KnownMoments
from sparing.learners.online import OnlineLearner
from sparing.learners.two_phase import TwoPhase


class AERR(OnlineLearner):
    r"""Looks uniform (Hazan & Koren 2012, Algorithm 1): :math:`q_i = 1/d`.

    Expected excess risk at most :math:`4B^2\sqrt{2d/(km)}` (Theorem 3.1). Options are those of :class:`OnlineLearner`.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> data = make_power_law(20_000, n_attributes=20, random_state=0)
    >>> learner = AERR(20, budget=5, radius=5.0, step_size=0.01).run(data.data, data.target)
    >>> learner.cells <= 5 * 20_000
    True
    """


class DDAERR(KnownMoments):
    r"""Looks by known second moments (Kukliansky & Shamir 2015): :math:`q_i \propto \sqrt{E[x_i^2]}`.

    Expected excess risk at most :math:`\frac{4B^2}{\sqrt m}\sqrt{\|E[x^2]\|_{1/2}/k + 1}` (Theorem 3.5).
    Options are those of :class:`KnownMoments`.
    """


@dataclass(kw_only=True, eq=False)
class TwoPhasedDDAERR(TwoPhase):
    r"""Second moments estimated on the way (Kukliansky & Shamir 2015, Algorithm 2).

    Phase one looks uniformly and averages :math:`A_i` of :math:`x_i^2`; phase two draws
    :math:`q_i \propto \sqrt{A_i + 13\epsilon/6}`. With ``half_norm``, a bound on :math:`\|E[x^2]\|_{1/2}`, theory's
    step is that of Theorem 3.6, without it that of Theorem 3.12. Other options are those of :class:`TwoPhase`.
    """

    half_norm: float | None = None

    def _theory(self):
        return super()._theory() | {"half_norm": self.half_norm}
