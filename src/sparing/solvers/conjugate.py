"""Preconditioned conjugate gradients for several right-hand sides at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Operator = Callable[[np.ndarray], np.ndarray]


class Descent(NamedTuple):
    """The result of conjugate gradients: the point, H times it, the steps made and the remaining energy by column."""

    point: np.ndarray
    image: np.ndarray
    iterations: int
    energy: np.ndarray


def conjugate_gradients(
    apply: Operator,
    target: np.ndarray,
    inverse: Operator,
    *,
    enough: Callable[[np.ndarray, np.ndarray], np.ndarray],
    max_iter: int,
    start: np.ndarray | None = None,
) -> Descent:
    r"""Solve :math:`H X = B` column by column, where ``apply`` is H and ``inverse`` is near :math:`H^{-1}`.

    The energy :math:`r^T P^{-1} r` of a residual is the error :math:`(x - x^*)^T H (x - x^*)` up to the factors
    between P and H: if :math:`P \preceq H`, it is no less. That error is twice the excess of the quadratic that
    x minimises, so ``enough(energy, x)`` decides on it, column by column, when to stop. Columns that have converged, or
    that rounding errors keep from improving, drop out of the products with H.

    >>> H = np.diag([1.0, 10.0, 100.0])
    >>> descent = conjugate_gradients(
    ...     lambda V: H @ V, np.ones((3, 1)), lambda V: V, enough=lambda energy, X: energy < 1e-20, max_iter=10
    ... )
    >>> descent.point.ravel(), descent.iterations
    (array([1.  , 0.1 , 0.01]), 3)
    """
    point = np.zeros_like(target) if start is None else start.copy()
    image = np.zeros_like(target) if start is None else apply(point)
    residual = target - image
    direction = inverse(residual).copy()
    energy = columnwise(residual, direction)
    moving = np.ones(len(energy), dtype=bool)
    for iteration in range(max_iter):
        moving &= ~enough(energy, point) & (energy > 0)
        if not moving.any():
            return Descent(point, image, iteration, _known(energy, residual))
        columns = slice(None) if moving.all() else moving  # a view if possible
        along, left = direction[:, columns], energy[columns].copy()
        product = apply(along)
        curvature = columnwise(along, product)
        step = np.divide(left, curvature, out=np.zeros_like(left), where=np.isfinite(curvature) & (curvature > 0))
        point[:, columns] += step * along
        image[:, columns] += step * product
        residual[:, columns] -= step * product
        preconditioned = inverse(residual[:, columns])
        energy[columns] = columnwise(residual[:, columns], preconditioned)
        direction[:, columns] = preconditioned + energy[columns] / left * along
        moving[columns] = curvature > 0  # otherwise rounding errors prevail
    return Descent(point, image, max_iter, _known(energy, residual))


def _known(energy: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """The energies, with infinity where rounding errors made one negative: then nothing is known about the error."""
    return np.where((energy > 0) | ((energy == 0) & ~residual.any(axis=0)), energy, np.inf)


def columnwise(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Inner products of corresponding columns of A and B."""
    return np.einsum("ij,ij->j", A, B)
