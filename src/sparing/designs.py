r"""Which attributes to look at: from what is known of the data to the probabilities q of the point draws.

An attribute with q_i = 0 is never looked at for the point, and the gradient estimate is unbiased only if such an
attribute is zero in every example. Known moments may say so; estimated ones may not, so those keep a floor.
"""

import numpy as np

from sparing import checks

PENALTIES = ("ridge", "lasso")
DESIGNS = ("uniform", "moments", "two-phase")


def uniform(n_attributes: int) -> np.ndarray:
    """Every attribute alike: q_i = 1/d (Hazan & Koren 2012)."""
    return np.full(n_attributes, 1.0 / n_attributes)


def moment(second_moments, penalty: str = "ridge", *, floor: float = 0.0) -> np.ndarray:
    r"""As the second moments say: :math:`q_i \propto \sqrt{E[x_i^2]}` for ridge, :math:`\propto E[x_i^2]` for lasso.

    The first minimises :math:`E\|\tilde x\|_2^2` (Kukliansky & Shamir 2015, equation 4), the second
    :math:`\|E[\tilde x^2]\|_\infty` (Lemma 4.3). With a ``floor`` the attributes share that part of the draws evenly.

    Examples
    --------
    >>> moment([4.0, 1.0, 1.0]).tolist()
    [0.5, 0.25, 0.25]
    >>> moment([4.0, 0.0], "lasso", floor=0.5).tolist()
    [0.75, 0.25]
    """
    moments = checks.second_moments(second_moments)
    checks.one_of("penalty", penalty, PENALTIES)
    wished = np.sqrt(moments) if penalty == "ridge" else moments
    return (1.0 - floor) * wished / wished.sum() + floor / moments.size


def estimated_moments(counts, mean_squares) -> np.ndarray:
    """Second moments from the cells seen, each shrunk to the mean of all by one imagined look.

    An attribute that was looked at seldom, or never, is so taken for an ordinary one, not for a zero.

    Examples
    --------
    >>> estimated_moments(np.array([1, 3, 0]), np.array([4.0, 0.0, 0.0])).tolist()
    [2.5, 0.25, 1.0]
    """
    looks = counts.sum()
    typical = float(counts @ mean_squares / looks) if looks else 1.0
    if typical == 0.0:
        return np.ones(len(counts))  # only zeros were seen: nothing is known that could tell attributes apart
    return (counts * mean_squares + typical) / (counts + 1.0)


def confident(moments, epsilon: float, penalty: str = "ridge", *, floor: float = 0.0) -> np.ndarray:
    r"""The design of phase two: as :func:`moment`, of :math:`A_i + \frac{13}{6}\epsilon` (Algorithms 2 and 4)."""
    return moment(moments + 13.0 / 6.0 * epsilon, penalty, floor=floor)
