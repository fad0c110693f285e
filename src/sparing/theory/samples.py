r"""How many examples ridge regression needs, from the spectrum of :math:`C = E[x x^T]` (Agarwal & Gonen).

:math:`\hat w_\lambda` minimises the average loss plus :math:`\tfrac\lambda2 \|w\|^2`. Losses
:math:`\phi_y(w \cdot x)` have slopes of at most :math:`\rho` and curvature of at least :math:`\alpha`; for
:math:`\tfrac12 (w \cdot x - y)^2` with targets and predictions within [-1, 1], :math:`\rho = 2` and :math:`\alpha = 1`
(Example 1). Where printed formulas contradict their proofs, the proofs are followed: Corollary 1 holds for
:math:`\lambda = \epsilon/B^2`, Theorem 11 lacks a tail term, and Theorem 6 constants.
"""

from math import ceil, e, inf, log, log1p, pi, sin, sqrt
from typing import NamedTuple

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


def decay_lower_bound(spectrum, *, n_examples: int, radius: float, constant: float = 1.0, power: float = inf) -> float:
    r"""Corollary 5: the lower bound of Theorem 6 for spectra with :math:`\lambda_i \le C i^{-p}`, or
    :math:`C e^{-i}`.

    Any :math:`\lambda = \gamma/(6nB^2)` with :math:`d_\lambda \le \gamma` is at least the binding ridge
    :math:`\lambda^*` of Theorem 6, so that :math:`\tfrac{1 - \sqrt{1/2}}{24} d_\lambda/n` is a lower bound, too. By
    Theorem 11 (corrected) that holds for :math:`\gamma = (\kappa^p\, 6 C n B^2)^{1/(p+1)}` with
    :math:`\kappa = \frac{\pi/p}{\sin(\pi/p)}`: :math:`\lambda` is of the order of :math:`(nB^2)^{-p/(p+1)}`, as the
    corollary states; the printed :math:`\gamma` has that division by :math:`nB^2` already in it. For the exponential
    decay, ``power=inf``, it is the root of :math:`\gamma = \log(1 + 6CnB^2/\gamma)`.

    Examples
    --------
    >>> spectrum = 1.0 / np.arange(1, 101) ** 2
    >>> bound = decay_lower_bound(spectrum, n_examples=1000, radius=0.05, power=2.0)
    >>> bound <= lower_risk_bound(spectrum, n_examples=1000, radius=0.05)
    True
    """
    values, radius = _spectrum(spectrum), checks.positive("radius", radius)
    n, constant = checks.whole("n_examples", n_examples), checks.positive("constant", constant)
    decay_dimension(1.0, power=power)  # refuses other powers
    i = np.arange(1.0, len(values) + 1)
    profile = constant * (np.exp(-i) if power == inf else i**-power)
    above = np.flatnonzero(np.sort(values)[::-1] > profile * (1 + 1e-12))
    if above.size:
        raise ValueError(
            f"eigenvalue {above[0] + 1} of the spectrum, {np.sort(values)[::-1][above[0]]:.3g}, is above the decay, "
            f"{profile[above[0]]:.3g}; pass a larger constant or a smaller power."
        )
    if n < 2 * len(values) / 3:
        raise ValueError(f"the theorem needs n >= 2d/3; got {n} examples for {len(values)} eigenvalues.")
    scale = 6 * n * radius**2
    if power == inf:
        gamma = float(brentq(lambda g: g - log1p(constant * scale / g), 1e-300, 1 + log1p(constant * scale)))
    else:
        gamma = (decay_dimension(1.0, power=power) ** power * constant * scale) ** (1 / (power + 1))
    return (1 - sqrt(0.5)) / 24 * _dimension(values, gamma / scale) / n


class Boosting(NamedTuple):
    """How many examples confidence boosting takes: ``parts`` solutions of ``rows`` each, and ``validation`` rows."""

    parts: int
    rows: int
    validation: int

    @property
    def total(self) -> int:
        return self.parts * self.rows + self.validation


def confident_rows_needed(
    spectrum,
    *,
    excess: float,
    radius: float,
    failure: float,
    slope: float = 2.0,
    curvature: float = 1.0,
    spread: float = 2.0,
) -> Boosting:
    r"""Remark 1: examples for an excess risk of at most :math:`\epsilon` with probability at least :math:`1 - \delta`.

    Corollary 1 holds in expectation. Confidence boosting (Mehta 2016) solves on :math:`K = \lceil\log(2/\delta)\rceil`
    separate parts of the data and keeps the solution with the least loss on m further examples
    (:func:`sparing.solvers.boost_confidence`). Each part has excess risk of at most :math:`e \epsilon_0` with
    probability :math:`1 - 1/e` (Markov), so that one has with probability :math:`1 - \delta/2`. Losses of curvature
    :math:`\alpha` and slope :math:`\rho` have differences :math:`f_w - f_{w^*}` of second moment at most
    :math:`\tfrac{2\rho^2}\alpha (F(w) - F(w^*))` and size at most :math:`\rho D`, with D the ``spread`` of the
    predictions; with Bernstein's inequality for all K, the one that is kept has, up to another :math:`\delta/2`,

    .. math:: F(w) - F(w^*) \le 3 e \epsilon_0 + \frac{8 \rho^2/\alpha + 8 \rho D/3}{m} \log\frac{4K}\delta .

    Here both terms are :math:`\epsilon/2`. The paper refers to Mehta without constants; these are ours.

    Parameters
    ----------
    spectrum, excess, radius, slope, curvature
        As for :func:`rows_needed`.
    failure : float
        :math:`\delta`.
    spread : float
        D, the largest difference between two predictions for the same example; 2 for predictions within [-1, 1].

    Examples
    --------
    >>> plan = confident_rows_needed([1.0, 0.5], excess=0.1, radius=1.0, failure=0.05)
    >>> plan.parts, plan.rows, plan.validation, plan.total
    (4, 10344, 4923, 46299)
    """
    failure, spread = checks.fraction("failure", failure), checks.positive("spread", spread)
    excess, slope = checks.positive("excess", excess), checks.positive("slope", slope)
    parts = ceil(log(2 / failure))
    rows = rows_needed(spectrum, excess=excess / (6 * e), radius=radius, slope=slope, curvature=curvature)
    deviation = (8 * slope**2 / curvature + 8 * slope * spread / 3) * log(4 * parts / failure)
    return Boosting(parts, rows, ceil(2 * deviation / excess))


def _binding_ridge(spectrum: np.ndarray, n: int, radius: float) -> float:
    """The ridge at which sum_i l_i / (l_i + ridge)^2 / (6n) is the squared radius; 0 if the sum is smaller there."""

    def surplus(ridge: float) -> float:
        return float(np.sum(spectrum / (spectrum + ridge) ** 2)) / (6 * n) - radius**2

    if surplus(0.0) <= 0:
        return 0.0
    return float(brentq(surplus, 0.0, sqrt(float(spectrum.sum()) / (6 * n)) / radius))


def _dimension(spectrum: np.ndarray, ridge: float) -> float:
    return float(np.sum(spectrum / (spectrum + ridge)))


def _spectrum(values) -> np.ndarray:
    """The positive eigenvalues; zeros change none of the results."""
    spectrum = np.asarray(values, dtype=np.float64)
    if spectrum.ndim != 1 or not np.isfinite(spectrum).all() or (spectrum < 0).any() or not spectrum.any():
        raise ValueError(f"spectrum must be eigenvalues, finite, none below zero, not all zero; got {values!r}.")
    return spectrum[spectrum > 0]
