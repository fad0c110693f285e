"""Lower bounds for learners that see few attributes, and when they match learners that read whole rows."""

from math import ceil

import numpy as np

from sparing import checks

PENALTIES = ("ridge", "lasso")


def examples_lower_order(penalty: str, *, excess: float, n_attributes: int, budget: int) -> float:
    r"""The order of the number of examples that any learner of k attributes per example needs on some distribution.

    Ridge, :math:`\|x\|_2 \le 1` and :math:`\|w\|_2 \le 1`: :math:`d/(k \epsilon^2)`, for
    :math:`\epsilon \ge 1/\sqrt d` (Hazan & Koren 2012, Theorem 2.2; the distribution is
    :func:`sparing.datasets.make_hidden_signs`). Lasso, :math:`\|x\|_\infty \le 1` and :math:`\|w\|_1 \le 1`:
    :math:`d/(k \epsilon)`, for :math:`\epsilon < 1/16`, k > 1 and d > 4k (their Theorem 2.1, of Cesa-Bianchi et al.).

    The theorems are stated as :math:`\Omega(\cdot)`: the true number is at least this times a constant, the same for
    all d, k and :math:`\epsilon`, that neither paper gives. AERR needs :math:`32 d/(k\epsilon^2)` examples at most, so
    for ridge nothing but the constant is left to gain.

    Parameters
    ----------
    penalty : {"ridge", "lasso"}
    excess : float
        :math:`\epsilon`, the expected squared error above that of the best weights.
    n_attributes, budget : int
        d and k.

    Examples
    --------
    >>> examples_lower_order("ridge", excess=0.25, n_attributes=1000, budget=4)
    4000.0
    >>> examples_lower_order("lasso", excess=0.05, n_attributes=1000, budget=4)
    5000.0
    """
    checks.one_of("penalty", penalty, PENALTIES)
    excess, d = checks.positive("excess", excess), checks.whole("n_attributes", n_attributes)
    k = checks.whole("budget", budget)
    if penalty == "ridge":
        if not d**-0.5 <= excess <= 1 or k > d:
            raise ValueError(
                f"Theorem 2.2 holds for an excess from 1/sqrt(d) = {d**-0.5:.3g} to 1 and k <= d looks; got "
                f"excess={excess:g}, budget={k} for d = {d}."
            )
        return d / (k * excess**2)
    if excess >= 1 / 16 or k < 2 or d <= 4 * k:
        raise ValueError(
            f"Theorem 2.1 holds for an excess below 1/16, k > 1 looks and d > 4k; got excess={excess:g}, budget={k}, "
            f"n_attributes={d}."
        )
    return d / (k * excess)


def full_information_looks(second_moments, penalty: str = "ridge", *, norm_bound: float | None = None) -> int:
    r"""The k at which DDAERR or DDAELR has the rate of online gradient descent on whole rows, from k + 1 looks.

    :math:`k = \lceil \|E[x^2]\|_{1/2} / X^2 \rceil` for ridge and :math:`\lceil \|E[x^2]\|_1 / X^2 \rceil` for lasso.
    The bound on the excess risk is then at most :math:`\sqrt 2` times that of the learner that reads everything, so
    twice as many rounds of k + 1 looks have the same guarantee as rounds of d looks (Kukliansky & Shamir 2015, short
    version, section 6). Nothing is saved if 2 (k + 1) exceeds d. This compares bounds, for residuals as large as the
    radius. Where residuals become small, whole rows gain more, and half of the looks should go to the inner product,
    ``split="even"`` (``benchmarks/full_information.py``).

    Parameters
    ----------
    second_moments : array of shape (n_attributes,)
    penalty : {"ridge", "lasso"}
    norm_bound : float, optional
        X, the largest norm of an example (2-norm, or largest entry for lasso). By default the root mean square of the
        norm (ridge) or of the largest attribute (lasso): not a bound, but what matters where step sizes are tuned.

    Examples
    --------
    >>> full_information_looks([0.64, 0.04, 0.04])
    2
    >>> full_information_looks([1.0, 0.25, 0.25], "lasso")
    2
    """
    moments = checks.second_moments(second_moments)
    ridge = checks.one_of("penalty", penalty, PENALTIES) == "ridge"
    square = float(moments.sum() if ridge else moments.max())
    if norm_bound is not None:
        least, square = square, checks.positive("norm_bound", norm_bound) ** 2
        if least > square * (1 + 1e-9):
            raise ValueError(
                f"norm_bound is {norm_bound:g}, but second moments of {least:.6g} need examples of norm "
                f"{least**0.5:.6g}; pass their largest norm."
            )
    size = float(np.sqrt(moments).sum() ** 2) if ridge else float(moments.sum())
    return max(1, ceil(size / square - 1e-9))
