"""Smooth convex losses with the derivatives that Newton's method needs."""

from typing import Protocol

import numpy as np
from scipy.special import expit, xlogy

from sparing import checks
from sparing.solvers.conjugate import Operator

MOST_SCORE = 300.0  # whose exponential has a finite square


class SmoothLoss(Protocol):
    """A sum over examples of a convex function of the scores Z, with one row per example and one column per output."""

    def value(self, Z: np.ndarray) -> float: ...

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """The gradient with respect to Z."""
        ...

    def curve(self, Z: np.ndarray) -> Operator:
        """The Hessian with respect to Z, as an operator on arrays of the shape of Z."""
        ...

    def curvature(self, Z: np.ndarray) -> np.ndarray:
        """One curvature per example that approximates its Hessian, for preconditioning."""
        ...


def match_shape(loss: SmoothLoss, n_examples: int, n_outputs: int) -> None:
    """Refuse a loss of other examples or outputs, if it has our losses' ``weights`` and ``n_outputs``."""
    weights, outputs = getattr(loss, "weights", None), getattr(loss, "n_outputs", n_outputs)
    if weights is not None and len(weights) != n_examples:
        raise ValueError(f"the loss has {len(weights)} examples and the matrix {n_examples}; pass one target per row.")
    if outputs != n_outputs:
        raise ValueError(f"the loss is of {outputs} scores per example; got n_outputs={n_outputs}.")


def _weights(values: np.ndarray, n: int) -> np.ndarray:
    """A column of weights, one per target."""
    weights = checks.non_negative("weights", values)
    if len(weights) != n:
        raise ValueError(f"{len(weights)} weights for {n} targets; pass one weight per target.")
    return weights[:, None]


class LogisticLoss:
    r""":math:`\sum_i s_i \log(1 + e^{-y_i z_i})` for :math:`y_i = \pm 1` and weights s.

    >>> round(LogisticLoss(np.array([1.0, -1.0]), np.ones(2)).value(np.zeros((2, 1))), 3)  # 2 log 2
    1.386
    """

    n_outputs = 1

    def __init__(self, y: np.ndarray, weights: np.ndarray):
        y = np.asarray(y, dtype=np.float64)
        if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all():
            other = f"shape {y.shape}" if y.ndim != 1 else f"{np.setdiff1d(y, (-1.0, 1.0))[0]}"
            raise ValueError(f"y must be a vector of labels -1 and +1; got {other}.")
        self.y, self.weights = y[:, None], _weights(weights, len(y))

    def value(self, Z):
        margins = self.y * Z  # np.logaddexp takes twice as long
        return float(np.sum(self.weights * (np.log1p(np.exp(-np.abs(margins))) - np.minimum(margins, 0.0))))

    def slopes(self, Z):
        return -self.weights * self.y * expit(-self.y * Z)

    def curve(self, Z):
        curvature = self.curvature(Z)[:, None]
        return lambda U: curvature * U

    def curvature(self, Z):
        chance = expit(Z)
        return (self.weights * chance * (1 - chance))[:, 0]


class PoissonLoss:
    r""":math:`\sum_i s_i (e^{z_i} - y_i z_i + y_i \log y_i - y_i)`, half the Poisson deviance of counts y.

    With the ridge :math:`n \alpha` the problem of scikit-learn's ``PoissonRegressor(alpha)``. On a bounded set of
    scores it is exp-concave.

    >>> PoissonLoss(np.array([1.0, 0.0]), np.ones(2)).value(np.zeros((2, 1)))
    1.0
    """

    n_outputs = 1

    def __init__(self, y: np.ndarray, weights: np.ndarray):
        self.y, self.weights = checks.non_negative("y", y)[:, None], _weights(weights, len(y))
        self.least = float(np.sum(self.weights * (xlogy(self.y, self.y) - self.y)))

    def value(self, Z):
        return float(np.sum(self.weights * (self._means(Z) - self.y * Z))) + self.least

    def slopes(self, Z):
        return self.weights * (self._means(Z) - self.y)

    def curve(self, Z):
        curvature = self.curvature(Z)[:, None]
        return lambda U: curvature * U

    def curvature(self, Z):
        return (self.weights * self._means(Z))[:, 0]

    def _means(self, Z):
        return np.exp(np.minimum(Z, MOST_SCORE))


class MultinomialLoss:
    r""":math:`-\sum_i s_i \log p_{i, y_i}` with :math:`p_i` the softmax of the scores of example i."""

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray):
        if not np.isin(classes, np.arange(n_classes)).all():
            raise ValueError(f"classes must be whole numbers from 0 to {n_classes - 1}; got {np.unique(classes)}.")
        self.classes, self.weights, self.n_outputs = classes, _weights(weights, len(classes))[:, 0], n_classes
        self.indicators = np.eye(n_classes)[classes]

    def value(self, Z):
        scores, total = self._exponentials(Z)[1:]
        return float(-self.weights @ (scores[self.classes, np.arange(len(Z))] - np.log(total)))

    def slopes(self, Z):
        return self.weights[:, None] * (self._chances(Z) - self.indicators)

    def curve(self, Z):
        chances, weights = self._chances(Z), self.weights[:, None]

        def times(U):
            weighted = chances * U
            return weights * (weighted - chances * weighted.sum(axis=1, keepdims=True))

        return times

    def curvature(self, Z):
        chances = self._chances(Z)
        return self.weights * np.mean(chances * (1 - chances), axis=1)

    def _chances(self, Z):
        exponentials, _, total = self._exponentials(Z)
        return (exponentials / total).T

    def _exponentials(self, Z):
        """Exponentials of the scores minus their maximum, these differences, and the sums, with one column per example:
        sums over the long axis are several times as fast as scipy's softmax over the short one."""
        scores = np.ascontiguousarray(Z.T)
        scores = scores - scores.max(axis=0)
        exponentials = np.exp(scores)
        return exponentials, scores, exponentials.sum(axis=0)
