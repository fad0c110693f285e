"""Norm-constrained problems, solved by searching over the ridge."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from sparing.types import Solution

Solver = Callable[[float, np.ndarray | None], Solution]


def norm(coef: np.ndarray) -> float:
    return float(np.linalg.norm(coef))


def within_ball(
    solve: Solver, ridge: float, radius: float, slope: float, size: Callable[[np.ndarray], float] = norm
) -> Solution:
    r"""Minimise :math:`L(w) + \tfrac\lambda2 \|w\|^2` over :math:`\|w\| \le B` for convex L.

    If the constraint binds, the minimiser is that of :math:`L(w) + \tfrac\mu2 \|w\|^2` for the one
    :math:`\mu \ge \lambda` at which it has norm B (complementary slackness). The norm falls as :math:`\mu` grows,
    and is at most :math:`\|\nabla L(0)\|/\mu`, which brackets the root. ``solve(ridge, start)`` solves without the
    constraint, ``slope`` is :math:`\|\nabla L(0)\|`, and ``size`` computes the norm of w from the coefficients of a
    solution. Each solution is the starting point of the next.
    """
    solution = solve(ridge, None)
    if size(solution.coef) <= radius:
        return solution
    iterations = solution.iterations

    def excess(logarithm: float) -> float:
        nonlocal solution, iterations
        solution = solve(float(np.exp(logarithm)), solution.coef)
        iterations += solution.iterations
        return float(np.log(size(solution.coef) / radius))

    highest = np.log(2 * slope / radius)
    brentq(excess, np.log(ridge), max(highest, np.log(2 * ridge)), xtol=1e-10, rtol=1e-12)
    inside = solution.coef * min(1.0, radius / size(solution.coef))  # the root is found up to rounding
    return replace(solution, coef=inside, iterations=iterations)
