r"""Step sizes, risk bounds and sample sizes of attribute-efficient regression, each with its theorem.

The sources are Hazan & Koren 2012 (HK) and Kukliansky & Shamir 2015 (KS, numbered as in the long version).
With d attributes, m examples, k looks at the point, radius B and gradient estimates of second moment at most
G^2, a run with step size eta has an expected excess risk of at most

    ridge:  2 B^2 / (eta m) + eta G^2 / 2                               (KS Theorem 3.1, HK Theorem 3.1)
    lasso:  B log(2d) / (eta m) + 5 B eta G^2,   if eta <= 1/(2G)       (KS Theorem 4.1, HK Theorem 3.4)

Both are a/(eta m) + b eta G^2: smallest at eta = sqrt(a/b) / (G sqrt(m)), where it is 2 G sqrt(ab/m). What is
left to an algorithm is its G^2 = 4 B^2 V: V bounds the second moment of its estimate of the example.

The theorems assume ||x|| <= 1 (2-norm for ridge, largest entry for lasso) and |y| <= B. With ||x|| <= X they
hold for x' = x/X, w' = X w, B' = X B. The loss stays as it is, g = X g', and so G = X G' = 2 X^2 B sqrt(V'):
with that G, step size and bound are those of the data as they are, for |y| <= X B.

Where printed formulas contradict their proofs, the proofs are followed: the step of AELR is
sqrt(log(2d) / (5m)) / G (HK print 1/(4B^2) for 1/(4B), KS repeat the ridge step); the k (or 1) of KS Theorems
3.6 and 3.12 stands outside the inner root; and the fallback step of KS Lemma 3.10 has 6d.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np

from sparing import checks


class _Setting(NamedTuple):
    """What V depends on; second moments and half-norm are those of x/X."""

    algorithm: str
    n_attributes: int
    point_looks: int
    second_moments: np.ndarray | None
    half_norm: float | None
    epsilon: float | None
    norm_bound: float

    def need(self, name: str):
        """The named option, which this algorithm cannot do without."""
        if (value := getattr(self, name)) is None:
            raise ValueError(f"{self.algorithm} needs {name}; got None. {_REMEDIES[name]}")
        return value


_REMEDIES = {
    "second_moments": "Pass one E[x_i^2] per attribute, in column order.",
    "epsilon": "Pass epsilon=confidence_width(...), or 0 to take the averages of phase one at their word.",
}


def _full_information(s: _Setting) -> float:
    """1, of the example itself: |w.x - y| <= 2B, and so G = 2B."""
    return 1.0


def _uniform(s: _Setting) -> float:
    """2d/k (HK Lemmas 3.3 and 3.8); it covers the exact (d + k - 1)/k as long as k <= d + 1."""
    return 2 * s.n_attributes / s.point_looks


def _moment_ridge(s: _Setting) -> float:
    """H/k + 1 (KS Theorem 3.5)."""
    return _half_norm(s) / s.point_looks + 1


def _moment_lasso(s: _Setting) -> float:
    """L/k + 1 (KS Theorem 4.6)."""
    return _total(s) / s.point_looks + 1


def _two_phase_ridge(s: _Setting) -> float:
    """The smaller of 6d/k (KS Lemma 3.8) and (2H + 2 sqrt(5/3) d sqrt(H epsilon))/k + 1 (KS Lemma 3.9).

    H is given (KS Theorem 3.6), or the upper estimate ||2A + 10 epsilon/3||_1/2 (KS Theorem 3.12).
    """
    epsilon = s.need("epsilon")
    half_norm = _half_norm(s, upper=epsilon)
    spread = 2 * half_norm + 2 * sqrt(5 / 3) * s.n_attributes * sqrt(half_norm * epsilon)
    return min(6 * s.n_attributes / s.point_looks, spread / s.point_looks + 1)


def _two_phase_lasso(s: _Setting) -> float:
    """(8 ||A||_1 + 20 d epsilon)/k + 1, epsilon at most 1 (KS Theorem 4.7)."""
    return (8 * _total(s) + 20 * s.n_attributes * min(s.need("epsilon"), 1.0)) / s.point_looks + 1


def _foreseen_ridge(s: _Setting) -> float:
    """As KS Theorem 3.6 if H is given; else 16 ((sqrt(H) + d sqrt(2 epsilon))^2/k + 1) or 6d/k (3.12)."""
    if s.half_norm is not None:
        return _two_phase_ridge(s)
    root = sqrt(_half_norm(s)) + s.n_attributes * sqrt(2 * s.need("epsilon"))
    return min(6 * s.n_attributes / s.point_looks, 16 * (root**2 / s.point_looks + 1))


def _foreseen_lasso(s: _Setting) -> float:
    """(16 L + 88 d epsilon/3)/k + 1, epsilon at most 1, hence never above 61^2 d/(80 k) (KS Theorem 4.7)."""
    return (16 * _total(s) + 88 / 3 * s.n_attributes * min(s.need("epsilon"), 1.0)) / s.point_looks + 1


def _half_norm(s: _Setting, upper: float | None = None) -> float:
    if s.half_norm is not None:
        return s.half_norm
    moments = s.need("second_moments")
    return float(np.sqrt(moments if upper is None else 2 * moments + 10 / 3 * upper).sum() ** 2)


def _total(s: _Setting) -> float:
    return float(s.need("second_moments").sum())


class _Algorithm(NamedTuple):
    """Its penalty and V; for two phases also the V to foresee before phase one, from the true moments."""

    penalty: str
    spread: Callable[[_Setting], float]
    foreseen: Callable[[_Setting], float] | None = None


ALGORITHMS = {
    "AERR": _Algorithm("ridge", _uniform),
    "DDAERR": _Algorithm("ridge", _moment_ridge),
    "TwoPhasedDDAERR": _Algorithm("ridge", _two_phase_ridge, _foreseen_ridge),
    "OnlineRidge": _Algorithm("ridge", _full_information),
    "AELR": _Algorithm("lasso", _uniform),
    "DDAELR": _Algorithm("lasso", _moment_lasso),
    "TwoPhasedDDAELR": _Algorithm("lasso", _two_phase_lasso, _foreseen_lasso),
    "OnlineLasso": _Algorithm("lasso", _full_information),
}
_TWO_PHASED = [name for name, row in ALGORITHMS.items() if row.foreseen]


class _Rate(NamedTuple):
    """The bound a/(eta m) + b eta G^2, for m >= least_examples."""

    start: float
    noise: float
    gradient: float
    least_examples: float = 1.0

    def step_size(self, n_examples: int) -> float:
        return sqrt(self.start / self.noise / n_examples) / self.gradient

    def bound(self, n_examples: int) -> float:
        return 2 * self.gradient * sqrt(self.start * self.noise / n_examples)

    def enough(self, n_examples: int) -> int:
        n_examples = checks.whole("n_examples", n_examples)
        if n_examples < self.least_examples:
            raise ValueError(
                f"the theorems on the lasso need m >= log(2d) = {self.least_examples:.3g} examples; got "
                f"n_examples={n_examples}. Pass {ceil(self.least_examples)} or more."
            )
        return n_examples


def _spread(s: _Setting, foreseen: bool = False) -> float:
    row = ALGORITHMS[s.algorithm]
    return (row.foreseen if foreseen and row.foreseen else row.spread)(s)


def _rate(s: _Setting, radius: float, foreseen: bool = False) -> _Rate:
    radius = checks.positive("radius", radius)
    gradient = 2 * s.norm_bound**2 * radius * sqrt(_spread(s, foreseen))
    if ALGORITHMS[s.algorithm].penalty == "ridge":
        return _Rate(2 * radius**2, 0.5, gradient)
    return _Rate(radius * log(2 * s.n_attributes), 5 * radius, gradient, log(2 * s.n_attributes))


def _setting(algorithm, d, budget, second_moments, half_norm, epsilon, point_looks, norm_bound) -> _Setting:
    """The options, checked, for data scaled to norm one."""
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    d = checks.whole("n_attributes", d)
    if ALGORITHMS[algorithm].spread is not _full_information:
        budget = checks.attribute_budget(budget, d)
        point_looks = checks.whole("point_looks", budget - 1 if point_looks is None else point_looks)
        if point_looks >= budget:
            raise ValueError(
                f"point_looks is {point_looks} of a budget of {budget} looks; leave at least one of them for "
                "the inner product."
            )
    scale = checks.positive("norm_bound", norm_bound) ** 2
    if second_moments is not None:
        second_moments = checks.second_moments(second_moments, d) / scale
    if half_norm is not None:
        half_norm = checks.positive("half_norm", half_norm) / scale
    if epsilon is not None:
        epsilon = checks.positive("epsilon", epsilon, zero=True)
    return _Setting(algorithm, d, point_looks, second_moments, half_norm, epsilon, norm_bound)


def _certified(s: _Setting, foreseen: bool = False) -> _Setting:
    """Refuse moments that ||x|| <= X rules out, for no theorem covers them; averages need not sum to X^2."""
    summed = ALGORITHMS[s.algorithm].penalty == "ridge" and (foreseen or s.algorithm not in _TWO_PHASED)
    if s.second_moments is not None:
        largest = float(s.second_moments.sum() if summed else s.second_moments.max())
        if largest > 1 + 1e-9:
            raise ValueError(
                f"second_moments {'sum' if summed else 'go up'} to {largest * s.norm_bound**2:.6g}, too much "
                f"for examples of norm {s.norm_bound:.6g}; pass their largest norm as norm_bound."
            )
    return s


def step_size(
    algorithm: str,
    *,
    n_attributes: int,
    n_examples: int,
    radius: float,
    budget: int | None = None,
    second_moments=None,
    half_norm: float | None = None,
    epsilon: float | None = None,
    point_looks: int | None = None,
    norm_bound: float = 1.0,
) -> float:
    r"""The step of the smallest bound: ridge :math:`2B/(G\sqrt m)`, lasso :math:`\sqrt{\log(2d)/(5m)}/G`.

    Parameters
    ----------
    algorithm : str
        A learner by the papers' name, one of ``ALGORITHMS``.
    n_attributes, n_examples : int
        d, and the m examples that the step is used on: of two phases, those of the second. Lasso needs
        :math:`m \ge \log 2d`.
    radius : float
        B, the largest norm of the weights: 2-norm for ridge, 1-norm for lasso.
    budget : int
        Looks an example, k + 1. Full information does without.
    second_moments : array of shape (n_attributes,)
        :math:`E[x_i^2]` for DDAERR and DDAELR; for two phases A, the averages of phase one.
    half_norm : float
        For ridge, if known: H, the 1/2-norm of :math:`E[x^2]` or more. Comes before ``second_moments``.
    epsilon : float
        The ``confidence_width`` of phase one, in units of X^2. The lasso caps it at 1.
    point_looks : int
        Looks at the point, k; budget - 1 unless more than one look goes to the inner product.
    norm_bound : float
        X, the largest norm of an example: 2-norm for ridge, largest entry for lasso. Moments are those of the
        examples as they are; :math:`|y| \le XB` is assumed.

    Examples
    --------
    >>> step_size("AERR", n_attributes=50, budget=5, n_examples=400, radius=3.0)  # sqrt(k / (2dm))
    0.01
    """
    s = _setting(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = _rate(s, radius)
    return rate.step_size(rate.enough(n_examples))


def risk_bound(
    algorithm: str,
    *,
    n_attributes: int,
    n_examples: int,
    radius: float,
    budget: int | None = None,
    second_moments=None,
    half_norm: float | None = None,
    epsilon: float | None = None,
    point_looks: int | None = None,
    norm_bound: float = 1.0,
    foreseen: bool = False,
) -> float:
    r"""A bound on the expected excess risk of a run with :func:`step_size`: that of its averaged weights.

    Ridge :math:`2BG/\sqrt m`, lasso :math:`2BG\sqrt{5\log(2d)/m}`; keywords as for :func:`step_size`. Moments
    that no data within ``norm_bound`` can have are refused.

    For two phases it speaks of phase two, and holds with the confidence over phase one that ``epsilon`` was
    made for. So does its part 6d/k, which the paper states for any outcome of phase one: one that hides a
    frequent attribute has a positive probability and breaks it, unless epsilon >= 1. To know before phase one
    what the bound will be at most, pass ``foreseen=True`` and in place of A the true moments, or a guess.

    Examples
    --------
    >>> risk_bound("AERR", n_attributes=50, budget=5, n_examples=400, radius=3.0)  # 4 B^2 sqrt(2d / (km))
    9.0
    """
    s = _setting(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = _rate(_certified(s, foreseen), radius, foreseen)
    return rate.bound(rate.enough(n_examples))


def sample_complexity(
    algorithm: str,
    *,
    excess: float,
    n_attributes: int,
    radius: float,
    budget: int | None = None,
    second_moments=None,
    half_norm: float | None = None,
    epsilon: float | None = None,
    point_looks: int | None = None,
    norm_bound: float = 1.0,
) -> int:
    """The fewest examples (of two phases, in the second) whose :func:`risk_bound` is at most ``excess``.

    Examples
    --------
    >>> sample_complexity("AERR", excess=9.0, n_attributes=50, budget=5, radius=3.0)
    400
    """
    s = _setting(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = _rate(_certified(s), radius)
    excess = checks.positive("excess", excess)
    least, about = ceil(rate.least_examples), ceil((rate.bound(1) / excess) ** 2)
    slack = 2 + about // 10**14  # what rounding may do to the closed form
    near = range(max(least, about - slack), max(least, about + slack))
    return near.start + bisect_left(near, True, key=lambda m: rate.bound(m) <= excess)


def confidence_width(*, n_attributes: int, budget: int, n_pilot: int, confidence: float) -> float:
    r"""How far phase one may be off: :math:`\epsilon = d \log(2d/\delta) / ((k+1) m_1)`, in units of X^2.

    With probability :math:`1 - \delta`, the ``confidence``, over :math:`m_1` = ``n_pilot`` examples
    :math:`E[x_i^2]/2 - 5\epsilon/3 \le A_i \le 2E[x_i^2] + 7\epsilon/6` for all i (KS equation 15).

    Examples
    --------
    >>> round(confidence_width(n_attributes=500, budget=5, n_pilot=10_000, confidence=0.95), 4)
    0.099
    """
    d = checks.whole("n_attributes", n_attributes)
    budget = checks.attribute_budget(budget, d)
    delta = 1 - checks.fraction("confidence", confidence)
    return d * log(2 * d / delta) / (budget * checks.whole("n_pilot", n_pilot))


def pilot_size(
    algorithm: str,
    *,
    n_attributes: int,
    budget: int,
    confidence: float,
    goal: str = "improve",
    second_moments=None,
    half_norm: float | None = None,
    norm_bound: float = 1.0,
) -> int:
    r"""The order of the phase-one examples needed: :math:`d\log(2d/\delta)/(k+1)` times a factor.

    Far more than that ``"improve"`` on uniform looks: the factor is H for ridge if H is known, d if not; 1 for
    lasso. So many ``"match"`` known moments up to constants: the factor is :math:`d^2/H` for ridge and
    :math:`d/L` for lasso (KS after Theorems 3.6, 3.12 and 4.7).

    Examples
    --------
    >>> pilot_size("TwoPhasedDDAERR", n_attributes=100, budget=5, confidence=0.95, half_norm=4.0)
    664
    """
    checks.one_of("algorithm", algorithm, _TWO_PHASED)
    checks.one_of("goal", goal, ("improve", "match"))
    s = _setting(algorithm, n_attributes, budget, second_moments, half_norm, None, None, norm_bound)
    if ALGORITHMS[algorithm].penalty == "lasso":
        factor = 1.0 if goal == "improve" else n_attributes / _total(s)
    elif goal == "improve":
        factor = s.half_norm or n_attributes
    else:
        factor = n_attributes**2 / _half_norm(s)
    width = confidence_width(n_attributes=n_attributes, budget=budget, n_pilot=1, confidence=confidence)
    return ceil(factor * width)


def smallest_paying_pilot(
    algorithm: str,
    *,
    n_attributes: int,
    budget: int,
    n_examples: int,
    confidence: float,
    second_moments=None,
    half_norm: float | None = None,
    point_looks: int | None = None,
    norm_bound: float = 1.0,
) -> int | None:
    """The fewest of m examples to spend on phase one for a better bound than uniform looks at all m have.

    Sets the foreseen :func:`risk_bound` on the other examples against that of AERR or AELR on m. None if no
    pilot pays: constants are large, and so must m be. With ``half_norm`` the ridge learner knows H.

    Examples
    --------
    >>> options = dict(n_attributes=1000, budget=5, confidence=0.95, half_norm=2.0)
    >>> smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**6, **options)
    7226
    >>> smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**4, **options) is None
    True
    """
    checks.one_of("algorithm", algorithm, _TWO_PHASED)
    width = confidence_width(n_attributes=n_attributes, budget=budget, n_pilot=1, confidence=confidence)
    s = _setting(algorithm, n_attributes, budget, second_moments, half_norm, width, point_looks, norm_bound)
    rate = _rate(_certified(s, foreseen=True), 1.0, foreseen=True)
    n_pilot, most = 1, rate.enough(n_examples) - ceil(rate.least_examples)

    def pays(pilot: int, n_left: int) -> bool:
        return _spread(s._replace(epsilon=width / pilot), foreseen=True) * n_examples < _uniform(s) * n_left

    # A larger pilot has a narrower spread but leaves fewer examples: it must pay even with as many left.
    while n_pilot <= most:
        missing = bisect_left(range(n_pilot, most + 1), True, key=partial(pays, n_left=n_examples - n_pilot))
        if missing == 0:
            return n_pilot
        n_pilot += missing
    return None


def gradient_second_moment(x, y: float, w, q, p, *, point_looks: int, inner_looks: int = 1) -> float:
    r"""The exact :math:`E\|\tilde g\|^2` of one example's gradient estimate, over the draws of its looks.

    With :math:`k_1` point looks drawn from q and :math:`k_2` inner looks drawn from p it is

    .. math:: \Big[(w^T x - y)^2 + \tfrac1{k_2}\big(\textstyle\sum_j w_j^2 x_j^2 / p_j - (w^T x)^2\big)\Big]
              \Big[\tfrac1{k_1} \textstyle\sum_i x_i^2 / q_i + \tfrac{k_1-1}{k_1} \|x\|^2\Big]

    (KS Lemmas 3.2 and 3.3 before their inequalities, for any split of the looks). For w = 0 any p will do.

    Examples
    --------
    >>> gradient_second_moment([1.0, 1.0], 0.0, [1.0, 0.0], [0.5, 0.5], [1.0, 0.0], point_looks=1)
    4.0
    """
    x, w, q, p = (np.asarray(vector, dtype=np.float64) for vector in (x, w, q, p))
    if not x.shape == w.shape == q.shape == p.shape == (x.size,):
        raise ValueError(
            f"x, w, q and p must be vectors of one length; got shapes {x.shape}, {w.shape}, {q.shape} and {p.shape}."
        )
    product = float(w @ x)
    inner_variance = (_drawn_square("p", p, w * x) - product**2) / checks.whole("inner_looks", inner_looks)
    looks = checks.whole("point_looks", point_looks)
    point = (_drawn_square("q", q, x) + (looks - 1) * float(x @ x)) / looks
    return ((product - y) ** 2 + inner_variance) * point


def _drawn_square(name: str, probabilities: np.ndarray, values: np.ndarray) -> float:
    """E[(v_i / p_i)^2] = sum_i v_i^2 / p_i for i drawn from p."""
    live = values != 0
    if (probabilities < 0).any() or not np.isclose(probabilities.sum(), 1) or not probabilities[live].all():
        raise ValueError(
            f"{name} must be probabilities that sum to 1, none of them 0 where there is something to see; "
            f"got {probabilities}."
        )
    return float((values[live] ** 2 / probabilities[live]).sum())
