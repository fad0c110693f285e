"""Argument checks and types that all optimisers share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparing import checks

Optimizer = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], tuple[np.ndarray, Any]]]


class Strengths(NamedTuple):
    """The checked options of an optimiser; one delta applies inside a sketch, the other outside."""

    step_size: float
    delta_r: float
    delta_c: float
    l2: float
    l1: float
    tau: float = 1.0


def strengths(step_size, delta, l2, l1, tau=1.0, *, delta_r=None, delta_c=None) -> Strengths:
    """The options, checked to be finite, with positive step size, deltas and tau, and no negative penalty."""
    delta = checks.positive("delta", delta)
    return Strengths(
        checks.positive("step_size", step_size),
        delta if delta_r is None else checks.positive("delta_r", delta_r),
        delta if delta_c is None else checks.positive("delta_c", delta_c),
        checks.positive("l2", l2, zero=True),
        checks.positive("l1", l1, zero=True),
        checks.positive("tau", tau),
    )


def flat(name: str, values) -> np.ndarray:
    """The numbers as a vector of float64, all finite."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers; got {array.dtype}.")
    vector = np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
    if vector.size == 0:
        raise ValueError(f"{name} is empty; there is nothing to optimise.")
    if not np.isfinite(vector).all():
        bad = np.flatnonzero(~np.isfinite(vector))
        raise ValueError(
            f"{name} must be finite; entry {bad[0]} is {vector[bad[0]]}"
            f"{'' if bad.size == 1 else f' ({bad.size} such entries)'}. Nothing was changed: leave this round out."
        )
    return vector


def pair(gradient, params, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and parameters as vectors, of one shape and of the size that the state was made for."""
    if np.shape(gradient) != np.shape(params):
        raise ValueError(
            f"gradient has shape {np.shape(gradient)}, params {np.shape(params)}; pass one derivative per parameter."
        )
    if np.size(params) != n:
        raise ValueError(f"params has {np.size(params)} entries; this state was made for {n}: use init(params).")
    return flat("gradient", gradient), flat("params", params)


def like(vector: np.ndarray, params) -> np.ndarray:
    """The vector in the shape and float type of the parameters."""
    params = np.asarray(params)
    return vector.reshape(params.shape).astype(params.dtype if params.dtype.kind == "f" else np.float64, copy=False)
