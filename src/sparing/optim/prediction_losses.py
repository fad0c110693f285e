"""Losses of a prediction z for a target y, with their derivatives in z."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit


class Loss(NamedTuple):
    """Value and subgradient, elementwise."""

    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]


LOSSES = {
    "squared": Loss(lambda z, y: 0.5 * (z - y) ** 2, lambda z, y: z - y),
    "absolute": Loss(lambda z, y: np.abs(z - y), lambda z, y: np.sign(z - y)),
    "logistic": Loss(lambda z, y: np.logaddexp(0.0, -y * z), lambda z, y: -y * expit(-y * z)),
    "hinge": Loss(lambda z, y: np.maximum(1.0 - y * z, 0.0), lambda z, y: np.where(y * z < 1.0, -y, 0.0)),
}
