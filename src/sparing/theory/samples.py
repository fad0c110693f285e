r"""How many examples ridge regression needs, from the spectrum of :math:`C = E[x x^T]` (Agarwal & Gonen).

:math:`\hat w_\lambda` minimises the average loss plus :math:`\tfrac\lambda2 \|w\|^2`. Losses
:math:`\phi_y(w \cdot x)` have slopes of at most :math:`\rho` and curvature of at least :math:`\alpha`; for
:math:`\tfrac12 (w \cdot x - y)^2` with targets and predictions within [-1, 1], :math:`\rho = 2` and :math:`\alpha = 1`
(Example 1). Where printed formulas contradict their proofs, the proofs are followed: Corollary 1 holds for
:math:`\lambda = \epsilon/B^2`, Theorem 11 lacks a tail term, and Theorem 6 constants.
"""

from math import ceil, inf, log1p, pi, sin, sqrt

import numpy as np
from scipy.optimize import brentq

from sparing import checks


def excess_risk_bound(
    spectrum, *, n_examples: int, ridge: float, radius: float, slope: float = 2.0, curvature: float = 1.0
) -> float:
    r"""Theorem 5: :math:`E F(\hat w_\lambda) - F(w^*) \le 4\rho^2 d_{\lambda/\alpha}(C)/(\alpha n) + \lambda B^2/2`.

    Parameters
    ----------
    spectrum : array
        The eigenvalues of :math:`C = E[x x^T]`.
    n_examples : int
    ridge : float
        :math:`\lambda`, on the average loss.
    radius : float
        B, no less than the norm of the best weights :math:`w^*`.
    slope, curvature : float
        :math:`\rho` and :math:`\alpha` of the loss.

    Examples
    --------
    >>> round(excess_risk_bound([1.0, 0.0], n_examples=160, ridge=0.25, radius=1.0), 3)
    0.205
    """
    ridge, radius = checks.positive("ridge", ridge), checks.positive("radius", radius)
    slope, curvature = checks.positive("slope", slope), checks.positive("curvature", curvature)
    dimension = _dimension(_spectrum(spectrum), ridge / curvature)
    variance = 4 * slope**2 * dimension / (curvature * checks.whole("n_examples", n_examples))
    return variance + ridge * radius**2 / 2


def rows_needed(spectrum, *, excess: float, radius: float, slope: float = 2.0, curvature: float = 1.0) -> int:
    r"""Corollary 1: :math:`8 \rho^2 d_{\epsilon/(\alpha B^2)}(C) / (\alpha \epsilon)` examples are enough.

    They bring the expected excess risk of ridge regression with :math:`\lambda = \epsilon/B^2` down to ``excess``,
    however many attributes there are. Keywords as for :func:`excess_risk_bound`.

    Examples
    --------
    >>> rows_needed(1.0 / np.arange(1, 10_001) ** 2, excess=0.01, radius=1.0)
    48634
    """
    excess, radius = checks.positive("excess", excess), checks.positive("radius", radius)
    slope, curvature = checks.positive("slope", slope), checks.positive("curvature", curvature)
    dimension = _dimension(_spectrum(spectrum), excess / (curvature * radius**2))
    return max(1, ceil(8 * slope**2 * dimension / (curvature * excess)))


def decay_dimension(ridge: float, *, constant: float = 1.0, power: float = inf) -> float:
    r"""Theorem 11: bounds on :math:`d_\lambda` for spectra that fall as :math:`C i^{-p}`, or as :math:`C e^{-i}`.

    :math:`(C/\lambda)^{1/p} \frac{\pi/p}{\sin(\pi/p)}` for p > 1, and :math:`\log(1 + C/\lambda)` for the exponential
    decay, which is ``power=inf``: the sums are below their integrals.

    Examples
    --------
    >>> round(decay_dimension(1e-4, power=2.0), 1), round(decay_dimension(1e-4), 1)
    (157.1, 9.2)
    """
    ratio = checks.positive("constant", constant) / checks.positive("ridge", ridge)
    if power == inf:
        return log1p(ratio)
    if not power > 1:
        raise ValueError(f"power must be above 1, or infinite for exponential decay; got {power!r}.")
    return ratio ** (1 / power) * (pi / power) / sin(pi / power)


def lower_risk_bound(spectrum, *, n_examples: int, radius: float) -> float:
    r"""Theorem 6: no learner has a smaller expected excess risk on every distribution with this spectrum.

    On the distributions of :func:`sparing.datasets.make_lower_bound`, for weights within the radius B and
    :math:`n \ge 2d/3` examples, it is at least :math:`\tfrac{1 - \sqrt{1/2}}{24} d_{\lambda^*}/n`, where
    :math:`\lambda^*` is the ridge at which the best weights have norm B, zero if they are shorter. The constants are
    those of the proof (Claim 1), which the statement leaves out.

    Examples
    --------
    >>> round(lower_risk_bound([0.5, 0.5], n_examples=100, radius=10.0) / (2 / 100), 4)
    0.0122
    """
    spectrum, radius = _spectrum(spectrum), checks.positive("radius", radius)
    n = checks.whole("n_examples", n_examples)
    if n < 2 * len(spectrum) / 3:
        raise ValueError(f"the theorem needs n >= 2d/3; got {n} examples for {len(spectrum)} eigenvalues.")
    ridge = _binding_ridge(spectrum, n, radius)
    return (1 - sqrt(0.5)) / 24 * (_dimension(spectrum, ridge) if ridge else len(spectrum)) / n


def _binding_ridge(spectrum: np.ndarray, n: int, radius: float) -> float:
    """The ridge at which sum_i l_i / (l_i + ridge)^2 / (6n) is the squared radius; 0 if it is less from the start."""

    def surplus(ridge: float) -> float:
        return float(np.sum(spectrum / (spectrum + ridge) ** 2)) / (6 * n) - radius**2

    if surplus(0.0) <= 0:
        return 0.0
    return float(brentq(surplus, 0.0, sqrt(float(spectrum.sum()) / (6 * n)) / radius))


def _dimension(spectrum: np.ndarray, ridge: float) -> float:
    return float(np.sum(spectrum / (spectrum + ridge)))


def _spectrum(values) -> np.ndarray:
    """Positive eigenvalues; zeros have no part in anything."""
    spectrum = np.asarray(values, dtype=np.float64)
    if spectrum.ndim != 1 or not np.isfinite(spectrum).all() or (spectrum < 0).any() or not spectrum.any():
        raise ValueError(f"spectrum must be eigenvalues, finite, none below zero, not all zero; got {values!r}.")
    return spectrum[spectrum > 0]
