"""Smooth convex losses of a score, by example: what a Newton step needs to know of them."""

from typing import Protocol

import numpy as np
from scipy.special import expit, log_softmax, softmax


class SmoothLoss(Protocol):
    """A sum over examples of a convex function of the scores Z, one row an example, one column an output."""

    def value(self, Z: np.ndarray) -> float: ...

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """The gradient with respect to Z."""
        ...

    def curve(self, Z: np.ndarray, U: np.ndarray) -> np.ndarray:
        """The Hessian with respect to Z, times U."""
        ...

    def curvature(self, Z: np.ndarray) -> np.ndarray:
        """One number an example that stands for its Hessian, for preconditioning."""
        ...


class LogisticLoss:
    r""":math:`\sum_i s_i \log(1 + e^{-y_i z_i})` for :math:`y_i = \pm 1` and weights s.

    >>> round(LogisticLoss(np.array([1.0, -1.0]), np.ones(2)).value(np.zeros((2, 1))), 3)  # 2 log 2
    1.386
    """

    def __init__(self, y: np.ndarray, weights: np.ndarray):
        self.y, self.weights = y[:, None], weights[:, None]

    def value(self, Z):
        return float(np.sum(self.weights * np.logaddexp(0.0, -self.y * Z)))

    def slopes(self, Z):
        return -self.weights * self.y * expit(-self.y * Z)

    def curve(self, Z, U):
        return self.curvature(Z)[:, None] * U

    def curvature(self, Z):
        chance = expit(Z)
        return (self.weights * chance * (1 - chance))[:, 0]


class MultinomialLoss:
    r""":math:`-\sum_i s_i \log p_{i, y_i}` with :math:`p_i` the softmax of the scores of example i."""

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray):
        self.classes, self.weights = classes, weights
        self.indicators = np.eye(n_classes)[classes]

    def value(self, Z):
        return float(-self.weights @ log_softmax(Z, axis=1)[np.arange(len(Z)), self.classes])

    def slopes(self, Z):
        return self.weights[:, None] * (softmax(Z, axis=1) - self.indicators)

    def curve(self, Z, U):
        chances = softmax(Z, axis=1)
        weighted = chances * U
        return self.weights[:, None] * (weighted - chances * weighted.sum(axis=1, keepdims=True))

    def curvature(self, Z):
        chances = softmax(Z, axis=1)
        return self.weights * np.mean(chances * (1 - chances), axis=1)
