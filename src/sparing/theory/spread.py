"""V, the bound on the second moment of an algorithm's estimate of the example, in which the algorithms differ."""

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np

from sparing import checks


class TheoremInput(NamedTuple):
    """The quantities that V depends on; second moments and half-norm are those of x/X."""

    algorithm: str
    n_attributes: int
    point_looks: int
    second_moments: np.ndarray | None
    half_norm: float | None
    epsilon: float | None
    norm_bound: float

    def need(self, name: str):
        """The value of an option that this algorithm requires."""
        if (value := getattr(self, name)) is None:
            raise ValueError(f"{self.algorithm} needs {name}; got None. {_REMEDIES[name]}")
        return value


_REMEDIES = {
    "second_moments": "Pass one E[x_i^2] per attribute, in column order.",
    "epsilon": "Pass epsilon=confidence_width(...), or 0 to treat the averages of phase one as exact.",
}


def _full_information(s: TheoremInput) -> float:
    r"""V = 1, as the example itself is known: :math:`|w \cdot x - y| \le 2B`, and so :math:`G = 2B`."""
    return 1.0


def uniform(s: TheoremInput) -> float:
    r""":math:`2d/k` (HK Lemmas 3.3 and 3.8); it covers the exact :math:`(d + k - 1)/k` if :math:`k \le d + 1`."""
    return 2 * s.n_attributes / s.point_looks


def _moment_ridge(s: TheoremInput) -> float:
    """:math:`H/k + 1` (KS Theorem 3.5)."""
    return half_norm_of(s) / s.point_looks + 1


def _moment_lasso(s: TheoremInput) -> float:
    """:math:`L/k + 1` (KS Theorem 4.6)."""
    return total_of(s) / s.point_looks + 1


def _two_phase_ridge(s: TheoremInput) -> float:
    r"""The smaller of :math:`6d/k` (KS Lemma 3.8) and :math:`(2H + 2\sqrt{5/3}\, d\sqrt{H\epsilon})/k + 1` (Lemma 3.9).

    H is given (KS Theorem 3.6), or the upper estimate :math:`\|2A + 10\epsilon/3\|_{1/2}` (KS Theorem 3.12).
    """
    epsilon = s.need("epsilon")
    half_norm = half_norm_of(s, upper=epsilon)
    spread = 2 * half_norm + 2 * sqrt(5 / 3) * s.n_attributes * sqrt(half_norm * epsilon)
    return min(6 * s.n_attributes / s.point_looks, spread / s.point_looks + 1)


def _two_phase_lasso(s: TheoremInput) -> float:
    r""":math:`(8\|A\|_1 + 20 d\epsilon)/k + 1`, :math:`\epsilon` at most 1 (KS Theorem 4.7)."""
    return (8 * total_of(s) + 20 * s.n_attributes * min(s.need("epsilon"), 1.0)) / s.point_looks + 1


def _foreseen_ridge(s: TheoremInput) -> float:
    r"""As Theorem 3.6 if H is given; else :math:`16((\sqrt H + d\sqrt{2\epsilon})^2/k + 1)` or :math:`6d/k` (3.12)."""
    if s.half_norm is not None:
        return _two_phase_ridge(s)
    root = sqrt(half_norm_of(s)) + s.n_attributes * sqrt(2 * s.need("epsilon"))
    return min(6 * s.n_attributes / s.point_looks, 16 * (root**2 / s.point_looks + 1))


def _foreseen_lasso(s: TheoremInput) -> float:
    r""":math:`(16L + 88d\epsilon/3)/k + 1`, :math:`\epsilon` at most 1: at most :math:`61^2 d/(80k)` (Theorem 4.7)."""
    return (16 * total_of(s) + 88 / 3 * s.n_attributes * min(s.need("epsilon"), 1.0)) / s.point_looks + 1


def half_norm_of(s: TheoremInput, upper: float | None = None) -> float:
    if s.half_norm is not None:
        return s.half_norm
    moments = s.need("second_moments")
    return float(np.sqrt(moments if upper is None else 2 * moments + 10 / 3 * upper).sum() ** 2)


def total_of(s: TheoremInput) -> float:
    return float(s.need("second_moments").sum())


class Theorem(NamedTuple):
    """The penalty and V of an algorithm; with two phases also V before phase one, from the true moments."""

    penalty: str
    spread: Callable[[TheoremInput], float]
    foreseen: Callable[[TheoremInput], float] | None = None


ALGORITHMS = {
    "AERR": Theorem("ridge", uniform),
    "DDAERR": Theorem("ridge", _moment_ridge),
    "TwoPhasedDDAERR": Theorem("ridge", _two_phase_ridge, _foreseen_ridge),
    "OnlineRidge": Theorem("ridge", _full_information),
    "AELR": Theorem("lasso", uniform),
    "DDAELR": Theorem("lasso", _moment_lasso),
    "TwoPhasedDDAELR": Theorem("lasso", _two_phase_lasso, _foreseen_lasso),
    "OnlineLasso": Theorem("lasso", _full_information),
}
TWO_PHASED = [name for name, row in ALGORITHMS.items() if row.foreseen]


class Rate(NamedTuple):
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


def spread_of(s: TheoremInput, foreseen: bool = False) -> float:
    row = ALGORITHMS[s.algorithm]
    return (row.foreseen if foreseen and row.foreseen else row.spread)(s)


def rate_of(s: TheoremInput, radius: float, foreseen: bool = False) -> Rate:
    radius = checks.positive("radius", radius)
    gradient = 2 * s.norm_bound**2 * radius * sqrt(spread_of(s, foreseen))
    if ALGORITHMS[s.algorithm].penalty == "ridge":
        return Rate(2 * radius**2, 0.5, gradient)
    return Rate(radius * log(2 * s.n_attributes), 5 * radius, gradient, log(2 * s.n_attributes))


def theorem_input(algorithm, d, budget, second_moments, half_norm, epsilon, point_looks, norm_bound) -> TheoremInput:
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
    return TheoremInput(algorithm, d, point_looks, second_moments, half_norm, epsilon, norm_bound)


def certified(s: TheoremInput, foreseen: bool = False) -> TheoremInput:
    """Refuse moments that ||x|| <= X rules out, which no theorem covers; averages need not sum to X^2."""
    summed = ALGORITHMS[s.algorithm].penalty == "ridge" and (foreseen or s.algorithm not in TWO_PHASED)
    if s.second_moments is not None:
        largest = float(s.second_moments.sum() if summed else s.second_moments.max())
        if largest > 1 + 1e-9:
            raise ValueError(
                f"second_moments {'sum' if summed else 'rise'} to {largest * s.norm_bound**2:.6g}, too much "
                f"for examples of norm {s.norm_bound:.6g}; pass their largest norm as norm_bound."
            )
    return s
