"""How many examples phase one needs, how accurate its estimates are, and when it pays off."""

from bisect import bisect_left
from functools import partial
from math import ceil, log

from sparing import checks
from sparing.theory.spread import (
    ALGORITHMS,
    TWO_PHASED,
    certified,
    half_norm_of,
    rate_of,
    spread_of,
    theorem_input,
    total_of,
    uniform,
)


def confidence_width(*, n_attributes: int, budget: int, n_pilot: int, confidence: float) -> float:
    r"""The accuracy of phase one: :math:`\epsilon = d \log(2d/\delta) / ((k+1) m_1)`, in units of X^2.

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
    r"""The order of the number of examples that phase one needs: :math:`d\log(2d/\delta)/(k+1)` times a factor.

    To ``"improve"`` on uniform looks, phase one must be far longer than this with the factor H for ridge if H is known,
    d if not, and 1 for lasso. To ``"match"`` known moments up to constants, the factor is :math:`d^2/H` for ridge and
    :math:`d/L` for lasso (KS after Theorems 3.6, 3.12 and 4.7).

    Examples
    --------
    >>> pilot_size("TwoPhasedDDAERR", n_attributes=100, budget=5, confidence=0.95, half_norm=4.0)
    664
    """
    checks.one_of("algorithm", algorithm, TWO_PHASED)
    checks.one_of("goal", goal, ("improve", "match"))
    d = checks.whole("n_attributes", n_attributes)  # Python's integers do not overflow when squared
    s = theorem_input(algorithm, d, budget, second_moments, half_norm, None, None, norm_bound)
    if ALGORITHMS[algorithm].penalty == "lasso":
        factor = 1.0 if goal == "improve" else d / total_of(s)
    elif goal == "improve":
        factor = s.half_norm or d
    else:
        factor = d**2 / half_norm_of(s)
    width = confidence_width(n_attributes=d, budget=budget, n_pilot=1, confidence=confidence)
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
    """The shortest phase one, out of m examples, with a better bound than uniform looks at all m examples.

    Compares the foreseen :func:`risk_bound` on the other examples with that of AERR or AELR on all m. It is None if no
    pilot pays off: constants are large, so m must be large, too. With ``half_norm`` the ridge learner knows H.

    Examples
    --------
    >>> options = dict(n_attributes=1000, budget=5, confidence=0.95, half_norm=2.0)
    >>> smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**6, **options)
    7226
    >>> smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**4, **options) is None
    True
    """
    checks.one_of("algorithm", algorithm, TWO_PHASED)
    width = confidence_width(n_attributes=n_attributes, budget=budget, n_pilot=1, confidence=confidence)
    s = theorem_input(algorithm, n_attributes, budget, second_moments, half_norm, width, point_looks, norm_bound)
    rate = rate_of(certified(s, foreseen=True), 1.0, foreseen=True)
    n_pilot, most = 1, rate.enough(n_examples) - ceil(rate.least_examples)

    def pays(pilot: int, n_left: int) -> bool:
        return spread_of(s._replace(epsilon=width / pilot), foreseen=True) * n_examples < uniform(s) * n_left

    # A larger pilot has a smaller V but leaves fewer examples. Skip those that would not pay off even with more left.
    while n_pilot <= most:
        missing = bisect_left(range(n_pilot, most + 1), True, key=partial(pays, n_left=n_examples - n_pilot))
        if missing == 0:
            return n_pilot
        n_pilot += missing
    return None
