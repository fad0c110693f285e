"""Approximate inverse Hessians of smooth losses, built when plain steps are too many and reused while they work."""

from typing import NamedTuple

import numpy as np

from sparing.geometry.leverage import PRECONDITIONER, Sample, draw_by_leverage
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows
from sparing.solvers.certificates import energy_root
from sparing.solvers.conjugate import Operator
from sparing.solvers.least_squares import SMALL
from sparing.solvers.smooth_losses import SmoothLoss

PLAIN_STEPS = 100  # steps of conjugate gradients before a preconditioner is built
PLAIN_STEPS_SMALL = 20  # the same for dense rows of few columns, where a preconditioner is cheap
WORN_STEPS, WORN_RATIO = 12, 8.0  # steps, or decrease of curvatures, after which a preconditioner is rebuilt
MOST = 4000  # maximum sketch size of method="auto"


class _Made(NamedTuple):
    inverse: RidgeInverse
    curvature: np.ndarray  # of the examples when it was built


class HessianInverse:
    r"""The inverse of :math:`A^T D A + \lambda I`, or an approximation, as the curvatures D of the loss change.

    ``method`` is "cg" (the ridge alone), "sketch" (rows sampled once, with their current curvatures), "cholesky" (all
    rows), or "auto" ("cg" until the number of steps justifies a preconditioner).
    """

    def __init__(self, rows: Rows, loss: SmoothLoss, ridge: float, method: str, rng):
        self.rows, self.loss, self.ridge, self.rng = rows, loss, ridge, rng
        self.small = not rows.is_sparse and rows.shape[1] <= SMALL
        self.adaptive, self.method = method == "auto", "cg" if method == "auto" else method
        self.plain_steps = PLAIN_STEPS_SMALL if self.small else PLAIN_STEPS
        self.sample: Sample | None = None
        self.effective_dimension: float | None = None
        self.made: _Made | None = None

    def at(self, Z: np.ndarray) -> Operator:
        r"""The inverse at scores Z for weights and, in the last row, intercepts, which centred rows decouple.

        An existing preconditioner P is reused. If every curvature is at least 1/f of its value at that time, P/f is at
        most the Hessian, so that the energy of a residual bounds its error.
        """
        curvature = self.loss.curvature(Z)
        total = max(float(curvature.sum()), np.finfo(float).tiny)
        if self.method == "cg":
            return lambda V: np.concatenate([V[:-1] / self.ridge, V[-1:] / total])
        if self.made is None or (fallen := _fallen(self.made.curvature, curvature)) > WORN_RATIO:
            self.made, fallen = _Made(RidgeInverse(self._sketch(Z), self.ridge), curvature), 1.0
        within = self.made.inverse
        slack = fallen * within.ridge / self.ridge  # a ridge below rounding errors was raised to them
        return lambda V: np.concatenate([slack * within(V[:-1]), V[-1:] / total])

    def residual_norm(self, Z: np.ndarray, left: np.ndarray) -> float:
        """The root of an upper bound of the energy of a residual, whatever rounding errors did to the inverse."""
        curvature = self.loss.curvature(Z)
        total = max(float(curvature.sum()), np.finfo(float).tiny)
        weights = float(np.linalg.norm(left[:-1])) / np.sqrt(self.ridge)
        if self.made is not None:
            slack = _fallen(self.made.curvature, curvature) * self.made.inverse.ridge / self.ridge
            columns = energy_root(self.made.inverse, left[:-1], self.ridge)
            weights = min(weights, float(np.sqrt(slack) * np.linalg.norm(columns)))
        return weights + float(np.linalg.norm(left[-1])) / np.sqrt(total)

    def served(self, steps: int) -> None:
        """Record the number of conjugate gradient steps that it took."""
        if steps > WORN_STEPS:
            self.made = None
        if self.adaptive and not self.rows.is_sparse:  # the limit is on the total for dense rows, and
            self.plain_steps -= steps  # on each descent for sparse ones, where a step costs less

    def precondition(self, Z: np.ndarray) -> None:
        """Switch to a sketch; if it would be too large, to all rows of a dense matrix and to none of a sparse one."""
        self.adaptive = False
        if not self.small:
            self._draw(self._weighted(Z), min(MOST, min(self.rows.shape) // 2))
        self.method = "sketch" if self.sample is not None else "cg" if self.rows.is_sparse else "cholesky"

    def _sketch(self, Z: np.ndarray) -> Rows:
        """Rows times the square root of their curvature: all rows, or the sample drawn at first use."""
        weighted = self._weighted(Z)
        if self.method == "cholesky":
            return weighted
        sample = self.sample or self._draw(weighted, None)
        return weighted.take(sample.indices, sample.factors)

    def _weighted(self, Z: np.ndarray) -> Rows:
        scale = np.sqrt(self.loss.curvature(Z))
        own = scale if self.rows.scale is None else scale * self.rows.scale
        return Rows(self.rows.X, scale=own, shift=self.rows.shift)

    def _draw(self, weighted: Rows, most: int | None) -> Sample:
        """Sample rows by leverage; the sample is kept unless it should have more than ``most`` rows."""
        sample = draw_by_leverage(weighted, self.ridge, self.rng, oversampling=PRECONDITIONER, most=most)
        if most is None or sample.wanted <= most:
            self.sample, self.effective_dimension = sample, float(sample.scores.sum())
        return sample


def _fallen(before: np.ndarray, now: np.ndarray) -> float:
    """The largest factor by which a curvature decreased; 1 if none did."""
    with np.errstate(over="ignore"):
        return float(np.max(before / np.maximum(now, np.finfo(float).tiny), initial=1.0))
