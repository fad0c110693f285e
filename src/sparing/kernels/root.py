"""Inverse roots as sums of resolvents: of a whole matrix, and of a diagonal one plus a few outer products."""

from math import sqrt

from sparing.kernels.compiling import entry, part


@entry
def leads_elsewhere(turned, values, delta, ratio):
    """Whether a vector, in the basis of the values, has a square above ``ratio`` times value + delta."""
    found = False
    for i in range(values.size):
        found |= turned[i] * turned[i] > ratio * (values[i] + delta)
    return found


@entry(any_order=True)
def correct(values, recent, turned, squared_nodes, weights, delta, answer, scaled, small, right):
    """answer <- answer - sum_j w_j E_j Z^T (I + Z E_j Z^T)^-1 Z E_j v: see :func:`sparing.optim.root.solve`.

    Z is ``recent``, v is ``turned``, E_j = (Lambda + (delta + s_j^2) I)^-1. ``scaled`` holds Z E_j, ``small`` the
    Cholesky factor and ``right`` the solution, one node after the other.
    """
    r, k = recent.shape
    for j in range(weights.size):
        for a in range(r):
            total = 0.0
            for i in range(k):
                scaled[a, i] = recent[a, i] / (values[i] + (delta + squared_nodes[j]))
                total += scaled[a, i] * turned[i]
            right[a] = total
        for a in range(r):
            for b in range(a + 1):
                total = 1.0 if a == b else 0.0
                for i in range(k):
                    total += scaled[a, i] * recent[b, i]
                for c in range(b):
                    total -= small[a, c] * small[b, c]
                small[a, b] = sqrt(total) if a == b else total / small[b, b]
            for c in range(a):
                right[a] -= small[a, c] * right[c]
            right[a] /= small[a, a]
        for a in range(r - 1, -1, -1):
            for c in range(a + 1, r):
                right[a] -= small[c, a] * right[c]
            right[a] /= small[a, a]
            part = weights[j] * right[a]
            for i in range(k):
                answer[i] -= part * scaled[a, i]


@entry(any_order=True)
def tridiagonal_solve(matrix, squared_nodes, weights, delta, v, diagonal, below, ahead, pivots, out):
    """out = sum_j w_j (M + (delta + s_j^2) I)^-1 v for a symmetric M of k rows, in O(k^3 + k nodes).

    Householder reflections make M tridiagonal, and every node is then one elimination. M and v are used up; the other
    arrays hold k numbers each.
    """
    k = v.size
    for c in range(k - 2):
        _reflect(matrix, c, v, below, ahead)
    for i in range(k):
        diagonal[i] = matrix[i, i]
        out[i] = 0.0
    if k > 1:
        below[k - 2] = matrix[k - 1, k - 2]
    for j in range(weights.size):
        shift = delta + squared_nodes[j]
        pivots[0], ahead[0] = max(diagonal[0] + shift, shift), v[0]
        for i in range(1, k):
            ratio = below[i - 1] / pivots[i - 1]
            pivots[i] = max(diagonal[i] + shift - ratio * below[i - 1], shift)  # less is but rounding
            ahead[i] = v[i] - ratio * ahead[i - 1]
        after = ahead[k - 1] / pivots[k - 1]
        out[k - 1] += weights[j] * after
        for i in range(k - 2, -1, -1):
            after = (ahead[i] - below[i] * after) / pivots[i]
            out[i] += weights[j] * after
    for c in range(k - 3, -1, -1):
        _apply(matrix, c, out)


@part
def _reflect(matrix, c, v, below, ahead):
    """Make column c zero below its second entry by H = I - u u^T: M <- H M H, v <- H v.

    M is its lower triangle; u is kept in row c of the upper one.
    """
    k = v.size
    total = 0.0
    for i in range(c + 1, k):
        matrix[c, i] = matrix[i, c]
        total += matrix[i, c] * matrix[i, c]
    size, first = sqrt(total), matrix[c, c + 1]
    if total <= first * first:  # nothing below it, or nothing at all
        below[c] = first
        for i in range(c + 1, k):
            matrix[c, i] = 0.0
        return
    below[c] = -size if first > 0 else size
    matrix[c, c + 1] = first - below[c]
    scale = 1.0 / sqrt(size * (size + abs(first)))
    for i in range(c + 1, k):
        matrix[c, i] *= scale
        ahead[i] = 0.0
    for i in range(c + 1, k):  # ahead = M u
        entry, total = matrix[c, i], matrix[i, i] * matrix[c, i]
        for j in range(c + 1, i):
            total += matrix[i, j] * matrix[c, j]
            ahead[j] += matrix[i, j] * entry
        ahead[i] += total
    half = 0.0
    for i in range(c + 1, k):
        half += 0.5 * ahead[i] * matrix[c, i]
    for i in range(c + 1, k):
        ahead[i] -= half * matrix[c, i]
    for i in range(c + 1, k):
        for j in range(c + 1, i + 1):
            matrix[i, j] -= matrix[c, i] * ahead[j] + ahead[i] * matrix[c, j]
    _apply(matrix, c, v)


@part
def _apply(matrix, c, v):
    """v <- (I - u u^T) v with the u in row c."""
    total = 0.0
    for i in range(c + 1, v.size):
        total += matrix[c, i] * v[i]
    for i in range(c + 1, v.size):
        v[i] -= total * matrix[c, i]
