"""Diagonal AdaGrad."""

from typing import NamedTuple

import numpy as np

from sparing.kernels.adagrad import diagonal_step
from sparing.optim.vectors import Optimizer, flat, like, pair, strengths


class DiagonalState(NamedTuple):
    """Sums of squares, one per coordinate."""

    squares: np.ndarray


def adagrad(step_size: float = 1.0, *, delta: float = 1e-4, l2: float = 0.0, l1: float = 0.0) -> Optimizer:
    r"""Diagonal AdaGrad: :math:`A_t = \mathrm{diag}(\sum_{s \le t} g_s g_s^T)^{1/2} + \delta I`.

    :math:`x_{t+1} = (A_t + \eta\lambda_2)^{-1} S_{\eta\lambda_1}(A_t x_t - \eta g_t)` with the soft threshold S, in
    :math:`O(n)` (Duchi, Hazan & Singer 2011). Without penalties this is ``torch.optim.Adagrad`` with ``eps=delta``.

    Parameters
    ----------
    step_size : float, default=1.0
        :math:`\eta`.
    delta : float, default=1e-4
        :math:`\delta`, outside the root.
    l2, l1 : float, default=0.0
        Strengths of the composite terms :math:`\frac{\lambda_2}{2} \|x\|_2^2` and :math:`\lambda_1 \|x\|_1`.

    Examples
    --------
    >>> import numpy as np
    >>> init, update = adagrad(0.1)
    >>> x = np.array([1.0, -1.0])
    >>> x, state = update(2 * x, init(x), x)
    >>> x.round(3)
    array([ 0.9, -0.9])
    """
    options = strengths(step_size, delta, l2, l1)

    def init(params) -> DiagonalState:
        return DiagonalState(np.zeros(flat("params", params).size))

    def update(gradient, state: DiagonalState, params) -> tuple[np.ndarray, DiagonalState]:
        g, x = pair(gradient, params, state.squares.size)
        new_x, squares = np.empty_like(x), np.empty_like(x)
        diagonal_step(
            x, g, state.squares, options.step_size, 1.0, options.delta_c, options.l1, options.l2, new_x, squares
        )
        return like(new_x, params), DiagonalState(squares)

    return init, update
