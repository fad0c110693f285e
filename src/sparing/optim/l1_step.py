"""The step with an L1 penalty: a lasso solved with a working set of coordinates."""

from collections.abc import Callable
from warnings import warn

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from sparing.kernels.descent import descend

FIRST = 32  # minimum number of coordinates that may join the working set at once
SWEEPS = 10  # sweeps between checks of the signs
ROUNDS = 2_000
TOLERANCE = 1e-12


def solve_lasso(
    gram: Callable[[np.ndarray], np.ndarray],
    product: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
    strength: float,
    start: np.ndarray,
) -> np.ndarray:
    r"""The minimiser of :math:`\frac12 x^T A x - b^T x + \lambda \|x\|_1` for positive definite A.

    ``gram(W)`` gives :math:`A_{WW}`, ``product(x)`` gives :math:`A x`, ``target`` is b. Coordinates that break the
    optimality conditions :math:`|b - A x| \le \lambda` join the working set W, which begins with the support of
    ``start``, until none does. (LARS, as in the paper, fails on tied correlations, which padding creates.)
    """
    x = np.zeros_like(target)
    x[:] = start
    working = np.flatnonzero(start)
    slack = TOLERANCE * max(float(np.abs(target).max()), strength)
    while True:
        if working.size:
            x[working] = _descend(gram(working), target[working], strength, x[working], slack)
        excess = np.abs(target - product(x)) - strength
        excess[working] = 0.0
        broken = np.flatnonzero(excess > 100 * slack)  # rounding differs between the two ways to A x
        if not broken.size:
            return x
        many = max(FIRST, working.size)
        working = np.union1d(working, broken[np.argsort(-excess[broken])[:many]])


def _descend(A, target, strength, x, slack) -> np.ndarray:
    """Coordinate descent until the signs are stable, then the exact solution for these signs."""
    x, signs = x.copy(), None
    for _ in range(ROUNDS):
        residual = target - A @ x
        descend(A, strength, x, residual, SWEEPS)
        settled = signs is not None and np.array_equal(signs, np.sign(x))
        signs = np.sign(x)
        if settled:
            exact = _given_signs(A, target, strength, signs)
            if np.array_equal(np.sign(exact), signs) and np.abs(target - A @ exact).max() <= strength + 10 * slack:
                return exact
    worst = np.abs(target - A @ x).max() - strength
    warn(
        f"the L1 step did not converge: a gradient is {worst:.1e} beyond l1; a larger delta makes it easier.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return x


def _given_signs(A, target, strength, signs) -> np.ndarray:
    """The stationary point with these signs, zeros where they are zero."""
    x, support = np.zeros_like(target), np.flatnonzero(signs)
    if support.size:
        pull = target[support] - strength * signs[support]
        x[support] = linalg.solve(A[np.ix_(support, support)], pull, assume_a="pos", check_finite=False)
    return x
