"""Minima of ridge, kernel ridge and logistic objectives to a hundred digits and more, by decimal arithmetic.

Systems are solved on the smaller side of the matrix, so that a matrix of 3 x 1,100 costs milliseconds.
"""

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 160  # condition numbers in the tests reach 1e70
exactly = np.vectorize(Decimal, otypes=[object])


def ridge_excess(A, y, ridge, w) -> float:
    """How far the ridge objective at w is above its minimum, relative to the minimum."""
    with localcontext(prec=DIGITS):
        A, y, w, ridge = exactly(A), exactly(y), exactly(w), Decimal(ridge)
        missed = A @ w - y
        value = missed @ missed + ridge * (w @ w)
        if len(A) <= A.shape[1]:
            least = ridge * (y @ solve(A @ A.T + ridge * _identity(len(A)), y))
        else:
            right = A.T @ y
            least = y @ y - right @ solve(A.T @ A + ridge * _identity(A.shape[1]), right)
        return float((value - least) / least) if least else float(value != 0)


def kernel_excess(factor, y, ridge, alpha) -> float:
    """The same for the dual objective of kernel ridge with K = F F^T, relative to its modulus at the minimum."""
    with localcontext(prec=DIGITS):
        F, y, alpha, ridge = exactly(factor), exactly(y), exactly(alpha), Decimal(ridge)
        right = F.T @ y
        best = (y - F @ solve(F.T @ F + ridge * _identity(F.shape[1]), right)) / ridge  # Woodbury
        least, off = y @ best, alpha - best
        inside = F.T @ off
        return float((inside @ inside + ridge * (off @ off)) / least) if least else float(np.any(off != 0))


def logistic_excesses(A, y, ridge, points, *, max_iter: int = 300) -> list[float]:
    """Lower bounds of the same for logistic regression without intercept, tight where Newton's method converges."""
    if not points:
        return []
    with localcontext(prec=DIGITS):
        A, y, ridge = exactly(A), exactly(y), Decimal(ridge)
        least = _least_logistic(A, y, ridge, max_iter)
        values = [_logistic(y * (A @ w)) + ridge * (w @ w) / 2 for w in map(exactly, points)]
        return [float((value - least) / least) for value in values]


def _least_logistic(A, y, ridge, max_iter):
    """Newton's method with backtracking: on weights, or on multipliers of rows where those are fewer."""
    wide = len(A) <= A.shape[1]
    inner = A @ A.T if wide else A
    point = exactly(np.zeros(inner.shape[1]))
    identity = _identity(len(point))

    def value(point, scores):
        return _logistic(y * scores) + ridge * (point @ (scores if wide else point)) / 2

    scores = inner @ point
    least = value(point, scores)
    for _ in range(max_iter):
        chance = np.array([_chance(margin) for margin in y * scores], dtype=object)
        slope, curvature = -y * chance, chance * (1 - chance)
        if wide:
            step = solve(curvature[:, None] * inner + ridge * identity, -(slope + ridge * point))
        else:
            step = solve((A.T * curvature) @ A + ridge * identity, -(A.T @ slope + ridge * point))
        change, length = inner @ step, Decimal(1)
        while (fallen := value(point + length * step, scores + length * change)) > least and length > Decimal("1e-30"):
            length /= 2
        if fallen >= least * (1 - Decimal("1e-25")):
            return min(least, fallen)
        point, scores, least = point + length * step, scores + length * change, fallen
    return least


def _logistic(margins):
    return sum((1 + (-abs(margin)).exp()).ln() - min(margin, Decimal(0)) for margin in margins)


def _chance(margin):
    """1 / (1 + e^margin) without overflow."""
    small = (-abs(margin)).exp()
    return (small if margin > 0 else Decimal(1)) / (1 + small)


def solve(M, b):
    """Gaussian elimination with row pivoting."""
    M, b, n = M.copy(), b.copy(), len(b)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(M[i:, i])))
        M[[i, pivot]], b[[i, pivot]] = M[[pivot, i]], b[[pivot, i]]
        factors = M[i + 1 :, i] / M[i, i]
        M[i + 1 :, i:] -= factors[:, None] * M[i, i:]
        b[i + 1 :] -= factors * b[i]
    for i in reversed(range(n)):
        b[i] = (b[i] - M[i, i + 1 :] @ b[i + 1 :]) / M[i, i]
    return b


def _identity(n: int):
    return exactly(np.eye(n))
