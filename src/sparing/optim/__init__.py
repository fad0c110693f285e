r"""The AdaGrad family as pairs of pure functions, ``(init, update)``.

Every optimiser makes one step of composite mirror descent per round,

.. math:: x_{t+1} = \arg\min_x\; \eta \langle g_t, x \rangle
          + \eta \left( \ell_1 \|x\|_1 + \tfrac{\ell_2}{2} \|x\|_2^2 \right) + \tfrac12 \|x - x_t\|^2_{A_t},

and they differ in the matrix :math:`A_t` that they learn from the gradients: see each function. ``init(params)`` gives
the state before the first round, ``update(gradient, state, params)`` gives ``(new_params, new_state)`` and changes none
of its arguments; bad input is refused before anything is computed.

>>> import numpy as np
>>> from sparing.optim import comp_adagrad
>>> init, update = comp_adagrad(0.5, k=2, random_state=0)
>>> x = np.zeros(5)
>>> state = init(x)
>>> for _ in range(200):
...     x, state = update(x - np.arange(5.0), state, x)
>>> x.round(2)
array([0., 1., 2., 3., 4.])

For PyTorch: :class:`sparing.optim.torch.CompAdaGrad`.
"""

from sparing.optim.compressed import comp_adagrad, rada_grad
from sparing.optim.diagonal import adagrad
from sparing.optim.full import full_adagrad

__all__ = ["adagrad", "comp_adagrad", "full_adagrad", "rada_grad"]
