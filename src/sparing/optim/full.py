"""Full-matrix AdaGrad."""

from typing import NamedTuple

import numpy as np

from sparing import checks
from sparing.optim import root as roots
from sparing.optim.l1_step import solve_lasso
from sparing.optim.root import Root
from sparing.optim.vectors import Optimizer, flat, like, pair, strengths


class FullState(NamedTuple):
    """The sum of outer products of all gradients, with its root."""

    root: Root


def full_adagrad(
    step_size: float = 1.0, *, delta: float = 1e-4, l2: float = 0.0, l1: float = 0.0, refresh: int = 16
) -> Optimizer:
    r"""Full-matrix AdaGrad: :math:`A_t = (\sum_{s \le t} g_s g_s^T + \delta I)^{1/2}`.

    :math:`O(n^2)` per round and :math:`O(n^3)` every ``refresh`` rounds (Duchi, Hazan & Singer 2011). It is
    :func:`comp_adagrad` with k = n.

    Parameters
    ----------
    step_size : float, default=1.0
        :math:`\eta`.
    delta : float, default=1e-4
        :math:`\delta`, inside the root.
    l2, l1 : float, default=0.0
        Strengths of the composite terms :math:`\frac{\lambda_2}{2} \|x\|_2^2` and :math:`\lambda_1 \|x\|_1`.
    refresh : int, default=16
        Rounds between two eigendecompositions. It changes the time, not the result; with l1 it is every round.

    Examples
    --------
    >>> import numpy as np
    >>> init, update = full_adagrad(0.1)
    >>> x = np.array([3.0, 4.0])
    >>> x, state = update(x, init(x), x)
    >>> x.round(3)  # a step of length 0.1 along the gradient
    array([2.94, 3.92])
    """
    options = strengths(step_size, delta, l2, l1)
    refresh = checks.whole("refresh", refresh)

    def init(params) -> FullState:
        return FullState(roots.no_moments(flat("params", params).size))

    def update(gradient, state: FullState, params) -> tuple[np.ndarray, FullState]:
        g, x = pair(gradient, params, len(state.root.moments))
        root = roots.add(state.root, g, delta=options.delta_r, refresh=1 if options.l1 else refresh)
        eta, shift = options.step_size, options.step_size * options.l2
        if options.l1:
            A = roots.dense(root, delta=options.delta_r)
            target = A @ x - eta * g
            A[np.diag_indices_from(A)] += shift
            x = solve_lasso(lambda working: A[np.ix_(working, working)], A.__matmul__, target, eta * options.l1, x)
        else:
            x = x - roots.solve(root, eta * g + shift * x, delta=options.delta_r, shift=shift)
        return like(x, params), FullState(root)

    return init, update
