r"""Attribute-efficient lasso: exponentiated gradient on the ball :math:`\|w\|_1 \le B`."""

from sparing.learners.known_moments import KnownMoments
from sparing.learners.online import OnlineLearner
from sparing.learners.two_phase import TwoPhase


class AELR(OnlineLearner):
    r"""Looks uniform (Hazan & Koren 2012, Algorithm 2): :math:`q_i = 1/d`.

    Expected excess risk at most :math:`4B^2\sqrt{10 d \log(2d)/(km)}` for :math:`m \ge \log 2d` (Theorem 3.4).
    Options are those of :class:`OnlineLearner`.
    """

    penalty = "lasso"


class DDAELR(KnownMoments):
    r"""Looks by known second moments (Kukliansky & Shamir 2015): :math:`q_i \propto E[x_i^2]`.

    Expected excess risk at most :math:`4B^2\sqrt{5\log(2d)(\|E[x^2]\|_1/k + 1)/m}` (Theorem 4.6).
    Options are those of :class:`KnownMoments`.
    """

    penalty = "lasso"


class TwoPhasedDDAELR(TwoPhase):
    r"""Second moments estimated on the way (Kukliansky & Shamir 2015, Algorithm 4, Theorem 4.7).

    Phase two draws :math:`q_i \propto A_i + 13\epsilon/6`, with :math:`\epsilon` at most 1.
    Options are those of :class:`TwoPhase`.
    """

    penalty = "lasso"
