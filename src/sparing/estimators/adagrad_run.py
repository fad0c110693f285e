"""One online run over rows: predict, suffer, learn; and what its regret bound needs to know."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from sparing.optim.prediction_losses import Loss
from sparing.optim.regret import gradient_sizes, split
from sparing.optim.vectors import Optimizer
from sparing.theory.regret import regret_bound


@dataclass
class Run:
    """One weight vector on its way; the last weight belongs to the constant 1 if there is an intercept.

    ``total`` is the sum of the weights that were predicted with, ``inside`` and ``outside`` the largest distances from
    the origin, in and out of the sketch.
    """

    weights: np.ndarray
    state: Any
    total: np.ndarray
    n_rounds: int = 0
    loss: float = 0.0
    inside: float = 0.0
    outside: float = 0.0

    def learn(self, rows, y, *, loss: Loss, optimizer: Optimizer, intercept: bool) -> np.ndarray:
        """One round on the mean loss of a few rows; returns what was predicted for them before."""
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

    def bound(self, comparator, *, step_size: float, delta: float, tau: float) -> float:
        """Theorems 1 to 3 against these weights; the largest distance to them is that to the origin and on."""
        trace, sizes = gradient_sizes(self.state)
        hidden = np.zeros(getattr(self.state, "hidden", np.empty(0)).size)
        state = self.state._replace(hidden=hidden) if hidden.size else self.state
        inside, outside = split(state, comparator)
        return regret_bound(
            step_size,
            trace=trace,
            sizes=sizes,
            inside=self.inside + float(np.linalg.norm(inside)),
            outside=self.outside + float(np.abs(outside).max(initial=0.0)),
            start=float(np.linalg.norm(outside)),
            delta=delta,
            tau=tau,
        )


def begin(n: int, optimizer: Optimizer) -> Run:
    """All weights zero."""
    return Run(np.zeros(n), optimizer[0](np.zeros(n)), np.zeros(n))
