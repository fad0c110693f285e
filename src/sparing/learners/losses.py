r"""Losses whose derivative can be estimated from a few looks without bias: those with an entire derivative."""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, pi, sqrt
from typing import Any

import numpy as np
from scipy import special

from sparing import checks
from sparing.kernels.series import MOST_ORDERS

MOST_COEFFICIENTS = 2 * MOST_ORDERS
REACH = 4.0  # how far from 0 the Taylor series must agree with the derivative


@dataclass(frozen=True, eq=False)
class AnalyticLoss:
    r"""A loss :math:`f(w \cdot x - y)` or :math:`f(y\, w \cdot x)`, by the Taylor series of its derivative.

    :math:`f'(z)` is the mean over ``shifts`` s of :math:`h((z - s) / \text{scale})` with :math:`h(u) = \sum a_n u^n`.
    The series must converge everywhere: the logistic loss, whose series ends at :math:`|u| = \pi`, is refused.

    Parameters
    ----------
    name : str
        What to call it.
    derivative : callable
        h, for arrays. It is used while the weights are zero, when the derivative is known without a look.
    coefficients : array
        :math:`a_0, a_1, \dots`, at most 128 of them; all others are zero.
    form : {"residual", "margin"}
        Whether f takes :math:`w \cdot x - y` or :math:`y\, w \cdot x`.

    Examples
    --------
    >>> rounded = AnalyticLoss("cosh", np.sinh, [n % 2 / factorial(n) for n in range(40)])
    >>> float(rounded.slope(1.0, 1.0))
    0.0
    >>> logistic = [-0.5, 0.25, 0.0, -1 / 48, 0.0, 1 / 480]
    >>> AnalyticLoss("logistic", lambda u: -1 / (1 + np.exp(u)), logistic, form="margin")
    Traceback (most recent call last):
    ValueError: the Taylor series of 'logistic' is -2.3 at u = -4, but its derivative is -0.98; ...
    """

    name: str
    derivative: Callable[[Any], Any]
    coefficients: np.ndarray
    form: str = "residual"
    shifts: tuple[float, ...] = (0.0,)
    scale: float = 1.0

    def __post_init__(self):
        checks.one_of("form", self.form, ("residual", "margin"))
        checks.positive("scale", self.scale)
        coefficients = np.trim_zeros(np.asarray(self.coefficients, dtype=np.float64), "b")
        if not 0 < coefficients.size <= MOST_COEFFICIENTS or not np.isfinite(coefficients).all():
            raise ValueError(
                f"coefficients must be 1 to {MOST_COEFFICIENTS} finite numbers, not all zero; got "
                f"{self.coefficients!r}."
            )
        object.__setattr__(self, "coefficients", coefficients)
        for u in (-REACH, -1.0, 1.0, REACH):
            terms = coefficients * u ** np.arange(coefficients.size)
            wanted = float(self.derivative(np.float64(u)))
            if not abs(terms.sum() - wanted) <= 1e-8 * (1.0 + np.abs(terms).sum()):
                raise ValueError(
                    f"the Taylor series of {self.name!r} is {terms.sum():.2g} at u = {u:g}, but its derivative is "
                    f"{wanted:.2g}; pass more coefficients (up to {MOST_COEFFICIENTS}). If that does not help, the "
                    "series does not converge everywhere, and no estimate from it is unbiased."
                )

    def slope(self, prediction, y) -> np.ndarray:
        r"""The factor of x in the gradient: :math:`f'(w \cdot x - y)`, or :math:`y f'(y\, w \cdot x)`."""
        prediction, y = np.asarray(prediction, dtype=np.float64), np.asarray(y, dtype=np.float64)
        z = y * prediction if self.form == "margin" else prediction - y
        mean = sum(self.derivative((z - shift) / self.scale) for shift in self.shifts) / len(self.shifts)
        return y * mean if self.form == "margin" else mean

    def tail(self, order: int, reach: float) -> float:
        r"""A bound on what orders from ``order`` on add to h: :math:`\sum_{n \ge order} |a_n|\, reach^n`."""
        powers = np.arange(order, self.coefficients.size)
        return float(np.abs(self.coefficients[order:]) @ reach**powers)


def _erf_coefficients() -> np.ndarray:
    r""":math:`a_{2j+1} = \frac{2}{\sqrt\pi} \frac{(-1)^j}{j!\,(2j+1)}` (Hazan & Koren 2012, equation 7)."""
    coefficients = np.zeros(MOST_COEFFICIENTS)
    for j in range(MOST_COEFFICIENTS // 2):
        coefficients[2 * j + 1] = 2.0 / sqrt(pi) * (-1) ** j / (factorial(j) * (2 * j + 1))
    return coefficients


def squared_loss() -> AnalyticLoss:
    r""":math:`\frac12 (w \cdot x - y)^2`: with ``orders="nonzero"`` its learner is AERR, draw for draw."""
    return AnalyticLoss("squared", np.positive, np.array([0.0, 1.0]))


def tube_loss(tube: float, accuracy: float) -> AnalyticLoss:
    r"""The tube loss :math:`\max(|z| - \delta, 0)` made smooth: at most :math:`\epsilon/\sqrt\pi` above it.

    :math:`f_\epsilon'(z) = \frac12 [\mathrm{erf}((z - \delta)/\epsilon) + \mathrm{erf}((z + \delta)/\epsilon)]` with
    ``tube`` :math:`\delta` and ``accuracy`` :math:`\epsilon` (Hazan & Koren 2012, section 4.2).
    """
    return AnalyticLoss("tube", special.erf, _erf_coefficients(), shifts=(tube, -tube), scale=accuracy)


def _hinge_slope(u):
    return 0.5 * (special.erf(u) - 1.0)


def hinge_loss(accuracy: float) -> AnalyticLoss:
    r"""The hinge loss :math:`\max(1 - y\, w \cdot x, 0)` made smooth, for labels -1 and +1.

    :math:`f'(z) = \frac12 [\mathrm{erf}((z - 1)/\epsilon) - 1]` with ``accuracy`` :math:`\epsilon`.
    """
    coefficients = 0.5 * _erf_coefficients()
    coefficients[0] = -0.5
    return AnalyticLoss("hinge", _hinge_slope, coefficients, form="margin", shifts=(1.0,), scale=accuracy)
