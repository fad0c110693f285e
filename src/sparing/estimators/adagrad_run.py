"""Online runs over rows, one for each step size, with the statistics of their regret bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from sparing.optim.compressed import unscaled
from sparing.optim.prediction_losses import Loss
from sparing.optim.regret_terms import gradient_sizes, split
from sparing.optim.vectors import Optimizer, Strengths
from sparing.theory.regret import regret_bound


@dataclass
class OnlineRun:
    """The state of one weight vector; the last weight is the intercept if there is one.

    ``total`` is the sum of the iterates, ``inside`` and ``outside`` are the largest distances from the origin inside
    and outside the sketch.
    """

    weights: np.ndarray
    state: Any
    total: np.ndarray
    n_rounds: int = 0
    loss: float = 0.0
    inside: float = 0.0
    outside: float = 0.0

    def learn(self, rows, y, *, loss: Loss, optimizer: Optimizer, intercept: bool) -> np.ndarray:
        """One round on the mean loss of a few rows; returns the predictions made before it."""
        n = rows.shape[1]
        z = safe_sparse_dot(rows, self.weights[:n], dense_output=True) + (self.weights[n] if intercept else 0.0)
        slopes = loss.slope(z, y) / len(y)
        gradient = safe_sparse_dot(rows.T, slopes, dense_output=True)
        if intercept:
            gradient = np.append(gradient, slopes.sum())
        moved, self.state = optimizer[1](gradient, self.state, self.weights)
        self.total = self.total + self.weights
        self.weights, self.n_rounds = moved, self.n_rounds + 1
        self.loss += float(loss.value(z, y).sum())
        inside, outside = split(self.state, moved)
        self.inside = max(self.inside, float(np.linalg.norm(inside)))
        self.outside = max(self.outside, float(np.abs(outside).max(initial=0.0)))
        return z

    def bound(self, comparator, options: Strengths, *, scaled: bool) -> float:
        """The bound of Theorems 1 to 3 relative to these weights; distances are bounded through the origin."""
        trace, sizes = gradient_sizes(self.state)
        hidden = np.zeros(getattr(self.state, "hidden", np.empty(0)).size)
        state = self.state._replace(hidden=hidden) if hidden.size else self.state
        inside, outside = split(state, comparator)
        options = unscaled(options, state.sketch) if scaled else options
        return regret_bound(
            options.step_size,
            trace=trace,
            sizes=sizes,
            inside=self.inside + float(np.linalg.norm(inside)),
            outside=self.outside + float(np.abs(outside).max(initial=0.0)),
            start=float(np.linalg.norm(outside)),
            delta=options.delta_r,
            delta_c=options.delta_c,
            tau=options.tau,
        )


@dataclass
class Race:
    """Runs with several step sizes on the same rows: the one with the least loss so far predicts.

    A step size is a factor times a unit. If it is ``automatic``, the unit is the mean absolute target (1 for labels),
    so that steps have the units of the targets; it is updated after 1, 2, 4, 8, ... rounds.
    """

    factors: tuple[float, ...]
    runs: list[OnlineRun]
    automatic: bool
    unit: float = 1.0
    targets: float = 0.0  # sum of the absolute values of targets
    n_targets: int = 0
    loss: float = 0.0

    @property
    def leader(self) -> int:
        """The number of the run with the least loss; ties go to the smallest step."""
        return int(np.argmin([run.loss for run in self.runs]))

    @property
    def best(self) -> OnlineRun:
        return self.runs[self.leader]

    @property
    def step_size(self) -> float:
        return self.factors[self.leader] * self.unit

    def go_on(self, factors: tuple[float, ...], *, automatic: bool) -> None:
        """Continue with step sizes that may have changed between two chunks."""
        if automatic != self.automatic:
            raise ValueError('step_size was changed from or to "auto" after the first rows; call fit to begin again.')
        self.factors = factors

    def learn(self, rows, y, *, loss: Loss, make: Callable[[float], Optimizer], intercept: bool) -> np.ndarray:
        """One round of every run; returns the predictions that the leader made before it."""
        leader = self.leader
        if self.automatic:
            self._renew_unit(y)
        scores = [
            run.learn(rows, y, loss=loss, optimizer=make(factor * self.unit), intercept=intercept)
            for factor, run in zip(self.factors, self.runs, strict=True)
        ]
        self.loss += float(loss.value(scores[leader], y).sum())
        return scores[leader]

    def _renew_unit(self, y) -> None:
        self.targets += float(np.abs(y).sum())
        self.n_targets += len(y)
        rounds = self.best.n_rounds + 1
        if rounds & (rounds - 1) == 0 and self.targets:  # while all targets are zero, weights stay zero
            self.unit = self.targets / self.n_targets


def begin(n: int, make: Callable[[float], Optimizer], factors: tuple[float, ...], *, automatic: bool) -> Race:
    """Runs that start from zero weights, one per factor."""
    init = make(1.0)[0]
    return Race(factors, [OnlineRun(np.zeros(n), init(np.zeros(n)), np.zeros(n)) for _ in factors], automatic)
