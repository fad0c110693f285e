r"""Designs: which attributes to look at, as probabilities q of the point draws.

An attribute with q_i = 0 is never looked at for the point, and the gradient estimate is unbiased only if such an
attribute is zero in every example. Known moments can guarantee that; estimated ones cannot, so they need a floor.
"""

import numpy as np
from scipy.optimize import brentq

from sparing import checks

PENALTIES = ("ridge", "lasso")
DESIGNS = ("uniform", "moments", "two-phase")
NEGLIGIBLE = 1e-12  # share of the total variance
MOST_LIKELY = 0.9999  # cap on inclusion probabilities, since draws without replacement cannot reach 1
TRUSTED = 4.0  # weights of d attributes count as much as variances once each was seen d / 4 times


def uniform(n_attributes: int) -> np.ndarray:
    """The same probability for every attribute, q_i = 1/d (Hazan & Koren 2012)."""
    return np.full(n_attributes, 1.0 / n_attributes)


def moment(second_moments, penalty: str = "ridge", *, floor: float = 0.0) -> np.ndarray:
    r"""Looks by second moments: :math:`q_i \propto \sqrt{E[x_i^2]}` for ridge, :math:`\propto E[x_i^2]` for lasso.

    The first minimises :math:`E\|\tilde x\|_2^2` (Kukliansky & Shamir 2015, equation 4), the second
    :math:`\|E[\tilde x^2]\|_\infty` (Lemma 4.3). A ``floor`` is the fraction of the draws that is uniform.

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
    """Second moments from the cells seen, each shrunk toward the mean of all with prior sample size 1.

    So an attribute with few looks is estimated to be average, not zero.

    Examples
    --------
    >>> estimated_moments(np.array([1, 3, 0]), np.array([4.0, 0.0, 0.0])).tolist()
    [2.5, 0.25, 1.0]
    """
    looks = counts.sum()
    typical = float(counts @ mean_squares / looks) if looks else 1.0
    if typical == 0.0:
        return np.ones(len(counts))  # only zeros were seen, so all attributes look the same
    return (counts * mean_squares + typical) / (counts + 1.0)


def confident(moments, epsilon: float, penalty: str = "ridge", *, floor: float = 0.0) -> np.ndarray:
    r"""The design of phase two: :func:`moment` of :math:`A_i + \frac{13}{6}\epsilon` (Algorithms 2 and 4)."""
    return moment(moments + 13.0 / 6.0 * epsilon, penalty, floor=floor)


# For values that are kept, or that have prices -----------------------------------------------------------------------


def priced(second_moments, costs, penalty: str = "ridge") -> np.ndarray:
    r"""As :func:`moment`, for attributes that cost :math:`c_i` and a budget that holds in expectation.

    k draws from q cost :math:`k \sum_i q_i c_i`, so a budget of b pays for :math:`k = b / \langle q, c\rangle` of
    them. Then :math:`\frac{1}{k} \sum_i E[x_i^2] / q_i` is :math:`\langle q, c\rangle \sum_i E[x_i^2]/q_i / b`,
    which is smallest at :math:`q_i \propto \sqrt{E[x_i^2] / c_i}` (Cauchy-Schwarz). For lasso,
    :math:`\langle q, c\rangle \max_i E[x_i^2]/q_i` is smallest at :math:`q_i \propto E[x_i^2]`: prices change only how
    many draws the money buys.

    Examples
    --------
    >>> priced([1.0, 1.0], [1.0, 4.0]).tolist()
    [0.6666666666666666, 0.3333333333333333]
    """
    moments = checks.second_moments(second_moments)
    costs = checks.costs(costs, moments.size)
    return moment(moments / costs if penalty == "ridge" else moments, penalty)


def adaptive(variances, weights=None, *, prices=None, looks=None, floor: float = 0.1) -> np.ndarray:
    r"""Shares of the next looks, for a learner that keeps what it bought.

    Noise in an attribute's moments does harm in proportion to its share of the prediction's variance. Weights that
    were estimated from few looks are mostly noise, so its share of the total variance counts, too,

    .. math:: a_i = \lambda \frac{s_i^2}{\sum_j s_j^2} + (1 - \lambda) \frac{w_i^2 s_i^2}{\sum_j w_j^2 s_j^2},
              \qquad \lambda = \frac{d}{d + 4 \bar n},

    after :math:`\bar n` looks per attribute. With :math:`n_i` looks at price :math:`c_i`, the sum of :math:`a_i / n_i`
    is smallest for :math:`n_i \propto \sqrt{a_i / c_i}`. Attributes that were seen often get fewer looks, so that the
    ``looks`` so far and as many again have these proportions together. Pairs of attributes, which are seen in
    proportion to the product of both, then follow.

    Parameters
    ----------
    variances : array of shape (n_attributes,)
        :math:`s_i^2`.
    weights : array of shape (n_attributes,) or (n_outputs, n_attributes), optional
        :math:`w_i`; without them variances alone count.
    prices, looks : array of shape (n_attributes,), optional
        :math:`c_i`, and how often each was looked at so far; without looks, weights are taken as known.
    floor : float
        Fraction of the looks that is uniform.

    Examples
    --------
    >>> adaptive([4.0, 1.0, 1.0], floor=0.0).round(2).tolist()
    [0.5, 0.25, 0.25]
    >>> adaptive([1.0, 1.0], [1.0, 0.0], looks=[1, 1], floor=0.0).round(2).tolist()
    [0.88, 0.12]
    """
    harm, prices = _harm(variances, weights, looks), _prices(prices, len(variances))
    wished = np.sqrt(harm / prices)
    if not wished.any():
        wished = 1.0 / np.sqrt(prices)
    wished = wished / wished.sum()
    if looks is not None and np.sum(looks):
        looks = np.asarray(looks, np.float64)
        missing = np.maximum(2.0 * looks.sum() * wished - looks, 0.0)
        wished = missing / missing.sum()
    return _with_floor(wished, prices, floor)


def upper_variances(variances, looks) -> np.ndarray:
    r"""Variances that lie one standard error above their estimates, in units of squared ranges.

    If the range is 1, the mean of n squared distances has a variance of at most :math:`s^2 / n`, so an estimate that is
    one standard error too low is :math:`\hat s^2 = s^2 - s / \sqrt n`. An attribute that was zero in all of n looks may
    still vary, and gets :math:`s^2 = 1/n`. One look is added to n for the shrinkage of the estimates.

    Examples
    --------
    >>> upper_variances([0.0, 0.0, 0.06], [3, 99, 99]).round(6).tolist()
    [0.25, 0.01, 0.09]
    """
    error = 1.0 / np.sqrt(np.asarray(looks, np.float64) + 1.0)
    return (error / 2.0 + np.sqrt(np.asarray(variances, np.float64) + error**2 / 4.0)) ** 2


def typical_where_unknown(used, variances, known) -> np.ndarray:
    """What attributes add to the prediction's variance; those not yet ``known`` add as much per variance as the others.

    An attribute that has hardly varied has no weight yet. If that counted as a weight of zero, looks would go to those
    that happened to vary first.

    Examples
    --------
    >>> typical_where_unknown([3.0, 1.0, 0.0], [1.0, 1.0, 0.5], [True, True, False]).tolist()
    [3.0, 1.0, 1.0]
    """
    used, variances = np.asarray(used, np.float64), np.asarray(variances, np.float64)
    typical = np.sum(used, where=known) / max(np.sum(variances, where=known), np.finfo(float).tiny)
    return np.where(known, used, typical * variances)


def rate_where_unknown(varied, looks, enough) -> float:
    r"""How often looks at attributes that varied fewer than ``enough`` times will differ from their usual value.

    The estimate is that of Good and Turing: with r of n looks varied, the expected rate is
    :math:`(r + 1) N_{r+1} / (n N_r)`, where :math:`N_r` attributes varied r times; here for all r below ``enough``
    together. Where all attributes are rare, those that never varied are as rare as the others. Where some vary often
    and none are in between, the others may never vary.

    Examples
    --------
    >>> rate_where_unknown([0, 0, 1, 2, 30], [50, 50, 50, 50, 50], 2)
    0.02
    """
    varied, unknown = np.asarray(varied), float(np.sum(looks, where=np.less(varied, enough)))
    return min(float(np.sum(varied, where=varied <= enough)) / unknown, 1.0) if unknown else 1.0


def worthwhile(
    variances, weights=None, *, budget: float, n_examples: int, prices=None, looks=None, floor: float = 0.02
) -> np.ndarray:
    r"""As :func:`adaptive`, for known rather than estimated variances: some attributes are not worth a look.

    Attribute i has a share :math:`a_i` of the prediction's variance; shares sum to 1. Regression on n examples that see
    it with probability :math:`p_i` leaves :math:`a_i / (1 + n p_i a_i)` of that unexplained. At a price of :math:`c_i`
    per look and a budget of b per example, the sum is smallest for

    .. math:: p_i = \Bigl[\frac{K}{\sqrt{c_i}} - \frac{1}{n a_i}\Bigr]_0^1, \qquad \sum_i c_i p_i = b,

    which is the same for all important attributes of one price, and zero where :math:`n a_i` is too small. Draws
    without replacement have these probabilities if shares are :math:`-\log(1 - p_i)`. With estimated variances this
    rule would give up attributes too early.

    Parameters
    ----------
    variances, weights, prices, looks, floor
        As for :func:`adaptive`.
    budget : float
        b, money per example.
    n_examples : int
        n, the number of all examples, including those already seen.

    Examples
    --------
    >>> worthwhile([4.0, 4.0, 0.001], budget=1, n_examples=100, floor=0.0).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    harm, prices = _harm(variances, weights, looks), _prices(prices, len(variances))
    if not harm.any() or prices.sum() <= budget:
        return adaptive(variances, weights, prices=prices, looks=looks, floor=floor)
    part = harm / harm.sum()
    worth = part > NEGLIGIBLE
    often = 1.0 / (n_examples * np.maximum(part, NEGLIGIBLE))

    def chances(level):
        return np.clip(level / np.sqrt(prices) - often, 0.0, 1.0)

    highest = float(np.max((1.0 + often[worth]) * np.sqrt(prices[worth])))  # at this level all of them are bought
    if prices[worth].sum() <= budget:
        level = highest
    else:
        level = float(brentq(lambda level: prices @ chances(level) - budget, 0.0, highest, maxiter=500))
    wished = np.where(worth, chances(level), 0.0)
    if looks is not None:
        missing = np.clip(n_examples * wished - np.asarray(looks), 0.0, None)
        to_come = max(n_examples - float(prices @ looks) / budget, 1.0)
        wished = np.minimum(missing / to_come, 1.0) if missing.any() else wished
    wished = -np.log1p(-np.minimum(wished, MOST_LIKELY))
    return _with_floor(wished / wished.sum(), prices, floor)


def _harm(variances, weights, looks) -> np.ndarray:
    """Each attribute's share of the prediction's variance, and of the total one as far as weights are mostly noise."""
    variances = np.asarray(variances, np.float64)
    shares = variances / max(variances.sum(), np.finfo(float).tiny)
    used = np.zeros(1) if weights is None else np.square(weights).reshape(-1, variances.size).sum(axis=0) * variances
    if not used.any():
        return shares
    noise = 0.0 if looks is None else variances.size / (variances.size + TRUSTED * np.mean(looks))
    return noise * shares + (1.0 - noise) * used / used.sum()


def _prices(prices, n: int) -> np.ndarray:
    return np.ones(n) if prices is None else np.asarray(prices, np.float64)


def _with_floor(shares: np.ndarray, prices: np.ndarray, floor: float) -> np.ndarray:
    alike = 1.0 / np.sqrt(prices)
    return (1.0 - floor) * shares + floor * alike / alike.sum()
