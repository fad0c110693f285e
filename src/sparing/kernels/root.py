"""The inverse root of a diagonal matrix plus a few outer products."""

from math import sqrt

from sparing.kernels.compiling import entry


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
