"""Smooth convex losses with the derivatives that Newton's method needs."""

from typing import Protocol

import numpy as np
from scipy.special import expit

from sparing.solvers.conjugate import Operator


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


class LogisticLoss:
    r""":math:`\sum_i s_i \log(1 + e^{-y_i z_i})` for :math:`y_i = \pm 1` and weights s.

    >>> round(LogisticLoss(np.array([1.0, -1.0]), np.ones(2)).value(np.zeros((2, 1))), 3)  # 2 log 2
    1.386
    """

    def __init__(self, y: np.ndarray, weights: np.ndarray):
        self.y, self.weights = y[:, None], weights[:, None]

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


class MultinomialLoss:
    r""":math:`-\sum_i s_i \log p_{i, y_i}` with :math:`p_i` the softmax of the scores of example i."""

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray):
        self.classes, self.weights = classes, weights
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
