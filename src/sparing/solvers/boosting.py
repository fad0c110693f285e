"""Confidence boosting: a risk bound in expectation becomes one with high probability (Agarwal & Gonen, Remark 1)."""

from collections.abc import Callable
from math import ceil, log
from typing import NamedTuple

import numpy as np

from sparing import checks
from sparing.linalg.rows import matrix


class Boosted(NamedTuple):
    """The solution that was kept, which of the parts it is from, and the mean validation loss of all."""

    coef: np.ndarray
    part: int
    losses: np.ndarray


def boost_confidence(
    A,
    y,
    solve: Callable,
    loss: Callable,
    *,
    failure: float = 0.05,
    validation: float = 0.25,
    random_state=None,
) -> Boosted:
    r"""Solve on several parts of the rows and keep the solution with the least loss on rows that none has seen.

    With :math:`K = \lceil\log(2/\delta)\rceil` parts, one of them has at most e times the expected excess risk with
    probability :math:`1 - \delta/2`, and validation finds one that is about as good
    (:func:`sparing.theory.confident_rows_needed` has the bound, and how many rows it takes).

    Parameters
    ----------
    A : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
    solve : callable
        ``solve(A_part, y_part)`` returns coefficients.
    loss : callable
        ``loss(scores, y)`` returns one loss per row for scores ``A @ coef``.
    failure : float
        :math:`\delta`, the probability with which the bound may fail.
    validation : float
        Fraction of the rows that are kept for validation.
    random_state : int, RandomState or None
        For the parts.

    Examples
    --------
    >>> from sparing.solvers import solve_ridge
    >>> A = np.random.default_rng(0).standard_normal((400, 3))
    >>> found = boost_confidence(
    ...     A,
    ...     A @ [1.0, 0.0, -1.0],
    ...     lambda X, z: solve_ridge(X, z, ridge=0.01 * len(X)).coef,
    ...     lambda scores, z: 0.5 * (scores - z) ** 2,
    ...     random_state=0,
    ... )
    >>> abs(found.coef).round(1), len(found.losses)
    (array([1., 0., 1.]), 4)
    """
    parts = ceil(log(2 / checks.fraction("failure", failure)))
    rows = matrix(A)
    targets, n = checks.targets(y, rows.shape[0])[:, 0], rows.shape[0]
    held_out = ceil(checks.fraction("validation", validation) * n)
    if n - held_out < parts:
        raise ValueError(
            f"{n} rows, {held_out} of them for validation, leave none for some of {parts} parts; pass more rows or a "
            "larger failure probability."
        )
    order = np.random.default_rng(checks.seed(random_state)).permutation(n)
    unseen = order[:held_out]
    coefs = [np.asarray(solve(rows[part], targets[part])) for part in np.array_split(order[held_out:], parts)]
    if bad := [coef.shape for coef in coefs if coef.shape[:1] != rows.shape[1:]]:
        raise ValueError(f"solve returned coefficients of shape {bad[0]} for {rows.shape[1]} columns.")
    losses = np.array([np.mean(loss(rows[unseen] @ coef, targets[unseen])) for coef in coefs])
    if not np.isfinite(losses).all():
        raise ValueError(f"the validation loss of part {np.argmin(np.isfinite(losses))} is not finite; check the loss.")
    best = int(np.argmin(losses))
    return Boosted(coefs[best], best, losses)
