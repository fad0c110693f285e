"""Step sizes, risk bounds and sample sizes, all from the inequality in the package's docstring."""

from bisect import bisect_left
from math import ceil

import numpy as np

from sparing import checks
from sparing.theory.spread import certified, rate_of, theorem_input


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
        d, and the m examples that the step is used on; with two phases, those of the second. Lasso needs
        :math:`m \ge \log 2d`.
    radius : float
        B, the largest norm of the weights: 2-norm for ridge, 1-norm for lasso.
    budget : int
        Looks per example, k + 1. Not needed for full information.
    second_moments : array of shape (n_attributes,)
        :math:`E[x_i^2]` for DDAERR and DDAELR; for two phases A, the averages of phase one.
    half_norm : float
        For ridge, if known: H, the 1/2-norm of :math:`E[x^2]` or an upper bound. It overrides ``second_moments``.
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
    s = theorem_input(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = rate_of(s, radius)
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
    r"""A bound on the expected excess risk of the averaged weights of a run with :func:`step_size`.

    Ridge :math:`2BG/\sqrt m`, lasso :math:`2BG\sqrt{5\log(2d)/m}`; keywords as for :func:`step_size`. Moments
    that no data within ``norm_bound`` can have are refused.

    With two phases the bound is on phase two, and holds with the confidence over phase one that ``epsilon`` was
    computed for. The same is true of its part 6d/k, although the paper states it for any outcome of phase one: an
    outcome that misses a frequent attribute has positive probability and breaks it, unless epsilon >= 1. To get an
    upper limit of the bound before phase one, pass ``foreseen=True`` and the true moments, or a guess, instead of A.

    Examples
    --------
    >>> risk_bound("AERR", n_attributes=50, budget=5, n_examples=400, radius=3.0)  # 4 B^2 sqrt(2d / (km))
    9.0
    """
    s = theorem_input(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = rate_of(certified(s, foreseen), radius, foreseen)
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
    """The least number of examples whose :func:`risk_bound` is at most ``excess``; with two phases, of the second.

    Examples
    --------
    >>> sample_complexity("AERR", excess=9.0, n_attributes=50, budget=5, radius=3.0)
    400
    """
    s = theorem_input(algorithm, n_attributes, budget, second_moments, half_norm, epsilon, point_looks, norm_bound)
    rate = rate_of(certified(s), radius)
    excess = checks.positive("excess", excess)
    least, about = ceil(rate.least_examples), ceil((rate.bound(1) / excess) ** 2)
    slack = 2 + about // 10**14  # rounding error of the closed form
    near = range(max(least, about - slack), max(least, about + slack))
    return near.start + bisect_left(near, True, key=lambda m: rate.bound(m) <= excess)


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
            f"{name} must be probabilities that sum to 1 and are positive where values are not zero; "
            f"got {probabilities}."
        )
    return float((values[live] ** 2 / probabilities[live]).sum())
