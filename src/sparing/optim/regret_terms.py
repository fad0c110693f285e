"""The quantities of a run that enter the regret bounds of Theorems 1 to 3."""

import numpy as np

from sparing.optim import root as roots
from sparing.optim.compressed import CompressedState
from sparing.optim.diagonal import DiagonalState


def split(state, params) -> tuple[np.ndarray, np.ndarray]:
    r"""The parameters inside the sketch, :math:`\Pi x`, and outside, :math:`P^\perp x`; either may be empty."""
    if isinstance(state, DiagonalState):
        return np.empty(0), params
    if not isinstance(state, CompressedState):
        return params, np.empty(0)
    padded = np.append(params, state.hidden)
    inside = state.sketch.matvec(padded)
    return inside, padded - state.sketch.rmatvec(inside)


def gradient_sizes(state) -> tuple[float, float]:
    r""":math:`\mathrm{tr}(\Pi G_T \Pi^T)^{1/2}` and :math:`\sum_j (\sum_t [P^\perp g_t]_j^2)^{1/2}`."""
    squares = getattr(state, "squares", None)
    return (
        roots.trace(state.root) if hasattr(state, "root") else 0.0,
        0.0 if squares is None else float(np.sqrt(squares).sum()),
    )
