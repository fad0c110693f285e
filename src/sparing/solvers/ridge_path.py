"""Ridge regression over a path of ridges, from one sketch."""

from dataclasses import replace

import numpy as np

from sparing import checks
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows
from sparing.solvers.least_squares import LeastSquares, Preconditioner
from sparing.solvers.ridge import METHODS, SKETCHES, solve_ridge
from sparing.types import Solution


def solve_ridge_path(
    A,
    y,
    ridges,
    *,
    method: str = "auto",
    sketch: str = "auto",
    radius: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state=None,
) -> list[Solution]:
    r"""Ridge solutions for several ridges from one sketch, in the order of ``ridges``.

    Leverage scores decrease as the ridge grows, so the rows sampled for the smallest ridge suffice for all others.
    Ridges are solved from the largest to the smallest with warm starts. Where a sketch should cost more than a factor
    for every ridge, they share their Gram matrix instead. Keywords as for :func:`solve_ridge`; with a ``radius`` every
    ridge is solved separately.

    Examples
    --------
    >>> [round(float(solution.coef[0]), 2) for solution in solve_ridge_path([[1.0], [1.0]], [1.0, 1.0], [2.0, 6.0])]
    [0.5, 0.25]
    """
    ridges = [checks.positive("ridges", ridge) for ridge in ridges]
    rows = Rows.of(A)
    if radius is not None:
        options = {"method": method, "sketch": sketch, "tol": tol, "max_iter": max_iter, "random_state": random_state}
        return [solve_ridge(rows, y, ridge, radius=radius, **options) for ridge in ridges]
    targets = checks.targets(y, rows.shape[0]).astype(rows.dtype, copy=False)
    checks.one_of("sketch", sketch, SKETCHES)
    smallest = LeastSquares(rows, targets, min(ridges), checks.positive("tol", tol), checks.whole("max_iter", max_iter))
    rng = np.random.default_rng(checks.seed(random_state))
    made = smallest.shared(checks.one_of("method", method, METHODS), sketch, rng, len(set(ridges)))
    solutions, start = {}, None
    for ridge in sorted(set(ridges), reverse=True):
        problem = LeastSquares(rows, targets, ridge, tol, max_iter)
        inverse = made.inverse.at(ridge) if isinstance(made.inverse, RidgeInverse) else None
        if inverse is None:
            solution = problem.descend(problem.plain(), start)
        elif made.size:
            sketched = Preconditioner(inverse, made.size, slack=inverse.ridge / ridge)
            solution = problem.descend(sketched, start)
        else:
            solution = problem.direct(inverse) if method == "auto" else problem.descend(problem.whole(inverse), None)
        start = solution.coef
        solutions[ridge] = replace(solution, coef=start[:, 0] if np.ndim(y) == 1 else start)
    return [solutions[ridge] for ridge in ridges]
