"""Logistic regression on rows that stay on the workers: Newton's method with Hessians summed over blocks."""

from typing import NamedTuple

import numpy as np
from distributed import Client
from scipy.linalg import solve

from sparing import checks
from sparing.distributed.blocks import Blocks, publish_columns
from sparing.distributed.parts import Parts
from sparing.distributed.rows_in_parts import Block
from sparing.distributed.sketched import centred, column_sums, loaded
from sparing.distributed.targets import classes_of
from sparing.estimators import SketchedLogistic
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss
from sparing.types import Solution

WIDEST = 5_000  # weights of all classes together, up to which a Hessian is made
LEAST_DECREASE = 1e-4  # smallest decrease that a step must bring, relative to that predicted by the slope
SHORTEST = 1e-10  # part of a Newton step


def fit_logistic(estimator: SketchedLogistic, blocks: Blocks, client: Client) -> None:
    """Fit as ``estimator.fit`` does on an array of the same rows."""
    ridge = estimator._ridge()
    if estimator.solver not in ("auto", "cholesky") or estimator.radius is not None:
        option = "radius=" if estimator.radius is not None else f"solver={estimator.solver!r}"
        raise ValueError(
            f"{option} is for one machine; on many, Hessians are summed and factored: leave it out, or pass "
            "solver='cholesky'."
        )
    classes = classes_of(blocks, client)
    n_outputs = 1 if len(classes) == 2 else len(classes)
    if (blocks.n_attributes + 1) * n_outputs > WIDEST:
        raise ValueError(
            f"{blocks.n_attributes} columns and {len(classes)} classes make a Hessian of more than {WIDEST} weights; "
            "fit on one machine."
        )
    parts, means = loaded(blocks, client, classes), np.zeros(blocks.n_attributes)
    if estimator.fit_intercept:
        means = parts.summed(column_sums)[0] / blocks.n_rows
    parts = parts.each(centred, means if estimator.fit_intercept else None, 0)
    shape, tol = (blocks.n_attributes + 1, n_outputs), checks.positive("tol", estimator.tol)
    newton = Newton(parts, ridge, shape, estimator.fit_intercept)
    solution = newton.run(tol, checks.whole("max_iter", estimator.max_iter))
    estimator._report(solution, "or scale the columns of X")
    publish_columns(estimator, blocks)
    estimator.classes_, estimator.coef_ = classes, solution.coef[:-1].T
    estimator.intercept_ = solution.coef[-1] - estimator.coef_ @ means


class Newton:
    """Newton's method: every step is one pass over the blocks, or a few if it must be shortened."""

    def __init__(self, parts: Parts, ridge: float, shape: tuple[int, int], fit_intercept: bool):
        self.parts, self.ridge, self.shape = parts, ridge, shape
        self.penalized = np.repeat(np.arange(shape[0]) < shape[0] - 1, shape[1])
        self.fixed = np.zeros(self.penalized.size, bool) if fit_intercept else ~self.penalized

    def run(self, tol: float, max_iter: int) -> Solution:
        """Steps until the next one promises less than the tolerance, relative to the objective."""
        W = np.zeros(self.penalized.size)
        here, excess = self._at(W), np.inf
        steps = 0
        while steps < max_iter and excess > tol:
            steps += 1
            step = -solve(here.hessian, here.gradient, assume_a="pos")
            decrement, length = -float(here.gradient @ step), 1.0
            excess = 0.5 * decrement / max(here.value, np.finfo(float).tiny)
            while length > SHORTEST:
                there = self._at(W + length * step)
                promised = LEAST_DECREASE * length * decrement - np.finfo(float).eps * abs(here.value)
                if there.value <= here.value - promised:
                    break
                length /= 2
            else:  # no step is short enough: rounding errors exceed the decrease
                return Solution(W.reshape(self.shape), steps, excess, False)
            W, here = W + length * step, there
        return Solution(W.reshape(self.shape), steps, excess, excess <= tol)

    def _at(self, W: np.ndarray) -> "Curved":
        """The objective with its penalty. Directions that are fixed, or have no effect, get a curvature of one."""
        found = self.parts.summed(_curved, W.reshape(self.shape))
        kept = np.where(self.penalized, W, 0.0)
        gradient = np.where(self.fixed, 0.0, found.gradient + self.ridge * kept)
        hessian = found.hessian + self.ridge * np.diag(self.penalized.astype(float))
        hessian[self.fixed] = hessian[:, self.fixed] = 0.0
        hessian[self.fixed, self.fixed] = 1.0
        if self.shape[1] > 1:  # adding the same to all intercepts changes nothing
            hessian += np.outer(~self.penalized, ~self.penalized)
        return Curved(found.value + 0.5 * self.ridge * float(kept @ kept), gradient, hessian)


class Curved(NamedTuple):
    """A function of the weights at a point: its value, gradient and Hessian."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


def _curved(block: Block, W: np.ndarray) -> Curved:
    """The loss of a block at these weights; their last row holds the intercepts."""
    n, n_outputs, codes = block.rows.shape[0], W.shape[1], block.targets[:, 0].astype(np.int64)
    weights, A = np.ones(n), np.column_stack([block.rows.columns(slice(None)).T, np.ones(n)])
    loss = LogisticLoss(2.0 * codes - 1.0, weights) if n_outputs == 1 else MultinomialLoss(codes, n_outputs, weights)
    Z = A @ W
    hessian, curve = np.empty((*W.shape, *W.shape)), loss.curve(Z)
    for output in range(n_outputs):
        curvatures = curve(np.eye(n_outputs)[np.full(n, output)])
        for other in range(n_outputs):
            hessian[:, output, :, other] = A.T @ (curvatures[:, [other]] * A)
    return Curved(loss.value(Z), (A.T @ loss.slopes(Z)).ravel(), hessian.reshape(W.size, W.size))
