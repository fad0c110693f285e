r"""Portfolio selection: the log-loss on the simplex, an exp-concave problem without a smooth penalty.

A portfolio w multiplies wealth by :math:`r_t \cdot w` in period t. An interior-point method follows the minimisers of
:math:`F(w) - \mu \sum_i \log w_i` on the simplex as :math:`\mu` falls. In the scaled variables :math:`w_i` over their
present values, a Newton step is a ridge problem with ridge :math:`\mu`, solved on the smaller side of the returns.
"""

import numpy as np

from sparing import checks
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows, matrix
from sparing.types import Solution

SHRINK = 0.2  # factor between successive barriers
INSIDE = 0.95  # fraction of the way to the boundary that a step may go
CENTRED = 0.1  # Newton decrement, relative to the barrier, at which the next barrier is taken


def solve_portfolio(returns, *, ridge: float = 0.0, start=None, tol: float = 1e-8, max_iter: int = 500) -> Solution:
    r"""Minimise :math:`-\sum_t \log(r_t \cdot w) + \tfrac\lambda2 \|w\|^2` over portfolios, the simplex.

    Without a ridge that is the best constant rebalanced portfolio, the one of the largest wealth in the end.

    Parameters
    ----------
    returns : array of shape (n_periods, n_assets)
        Price relatives :math:`r_{ti} \ge 0`: the price at the end of period t over that at its beginning. In every
        period some asset must keep some value.
    ridge : float
        :math:`\lambda \ge 0`, which draws the portfolio towards equal shares.
    start : array of shape (n_assets,), optional
        A portfolio on the simplex to start from; it is moved into the interior. Equal shares by default.
    tol : float
        Tolerance on the excess of the objective over its minimum, divided by the number of periods: on the growth rate.
        The bound is :math:`\nabla F(w) \cdot w - \min_i \nabla F(w)_i`, which holds for convex F on the simplex.
    max_iter : int
        Maximum number of Newton steps.

    Returns
    -------
    Solution
        ``coef`` is the portfolio, with ``residual`` the bound on its excess per period.

    Examples
    --------
    Two assets that double and halve in turn: half in each multiplies wealth by 1.25 in every period.

    >>> solution = solve_portfolio([[2.0, 0.5], [0.5, 2.0]])
    >>> solution.coef.round(4), solution.converged
    (array([0.5, 0.5]), True)
    """
    R, ridge = _returns(returns), checks.positive("ridge", ridge, zero=True)
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    n, d = R.shape
    w = np.full(d, 1.0 / d) if start is None else 0.5 * simplex("start", start, d) + 0.5 / d
    wealth = R @ w
    barrier, steps = float(n) / d, 0
    while True:
        gradient = ridge * w - R.T @ (1.0 / wealth)
        excess = max(float(gradient @ w - gradient.min()) / n, 0.0)
        if excess <= tol or steps == max_iter:
            return Solution(w, steps, excess, excess <= tol)
        step, decrement = _newton_step(R / wealth[:, None], w, gradient - barrier / w, ridge, barrier)
        steps += 1
        w = _search(R, ridge, barrier, w, step, decrement)
        wealth = R @ w
        if decrement <= CENTRED * barrier:
            barrier = max(SHRINK * barrier, 0.1 * tol * n / d)


def simplex(name: str, values, n_assets: int) -> np.ndarray:
    """A portfolio: shares that are not negative and sum to one."""
    w = np.asarray(values, dtype=np.float64)
    if w.shape != (n_assets,) or not np.isfinite(w).all():
        raise ValueError(f"{name} must hold one finite share for each of {n_assets} assets; got shape {w.shape}.")
    if w.min() < 0 or abs(w.sum() - 1) > 1e-8:
        raise ValueError(
            f"{name} is off the simplex: its smallest share is {w.min():.6g} and its sum {w.sum():.6g}; pass shares "
            "that are not negative and sum to 1."
        )
    return w


def _returns(values) -> np.ndarray:
    found = matrix(values)
    R = found.toarray() if hasattr(found, "toarray") else np.asarray(found, dtype=np.float64)
    if (negative := np.argwhere(R < 0)).size:
        t, i = negative[0]
        raise ValueError(
            f"returns must not be negative; period {t}, asset {i} has {R[t, i]:.6g}. Pass price relatives, new price "
            "over old, not differences."
        )
    if (lost := np.flatnonzero(~R.any(axis=1))).size:
        raise ValueError(f"all assets lose everything in period {lost[0]}; no portfolio has a finite loss.")
    return R


def _newton_step(scaled: np.ndarray, w: np.ndarray, gradient: np.ndarray, ridge: float, barrier: float):
    r"""The Newton step within :math:`\sum_i w_i = 1`, and its decrement.

    The Hessian is
    :math:`\tilde R^T \tilde R + \mathrm{diag}(\lambda + \mu/w_i^2)`, with rows :math:`r_t/(r_t \cdot w)`.
    """
    units = 1.0 / np.sqrt(ridge + barrier / w**2)
    inverse = RidgeInverse(Rows(scaled * units), 1.0)
    solved = units[:, None] * inverse(units[:, None] * np.column_stack([gradient, np.ones_like(w)]))
    step = solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum()) - solved[:, 0]
    return step, max(float(-gradient @ step), 0.0)


def _search(R: np.ndarray, ridge: float, barrier: float, w: np.ndarray, step: np.ndarray, decrement: float):
    """Backtracking within the interior of the simplex.

    Close to the minimum a step gains less than what rounding leaves of the sum of logarithms, and is not to be refused
    for that.
    """

    def terms(v):
        return np.concatenate([[0.5 * ridge * v @ v], -np.log(R @ v), -barrier * np.log(v)])

    shrinking = step < 0
    length = min(1.0, INSIDE * float(np.min(-w[shrinking] / step[shrinking], initial=np.inf)))
    before = terms(w)
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(before).sum())
    while length > 1e-12:
        trial = w + length * step
        if np.sum(terms(trial) - before) <= rounding - 1e-4 * length * decrement:
            return trial / trial.sum()
        length /= 2
    return w
