"""Expectations of a Gaussian with any covariance, example by example, from the cells that were bought of it."""

from math import sqrt

from sparing.kernels.compiling import entry, part


@part
def _whiten(covariance, index, values, n, gram, rows):
    """Cholesky factor of the covariance of what was seen; rows of the covariance and values times its inverse."""
    size = covariance.shape[0]
    for a in range(n):
        for b in range(a + 1):
            s = covariance[index[a], index[b]]
            for k in range(b):
                s -= gram[a, k] * gram[b, k]
            gram[a, b] = sqrt(max(s, 1e-300)) if a == b else s / gram[b, b]
        own = 1.0 / gram[a, a]
        for k in range(size):
            rows[a, k] = covariance[index[a], k]
        for b in range(a):
            values[a] -= gram[a, b] * values[b]
            for k in range(size):
                rows[a, k] -= gram[a, b] * rows[b, k]
        values[a] *= own
        for k in range(size):
            rows[a, k] *= own


@entry(any_order=True)
def expect_second_moments(covariance, starts, attributes, values, targets, first, last, room, seconds):
    r"""Add :math:`E[x x^T | x_S] - \Sigma` of the examples from first to last to the lower half of ``seconds``.

    The covariance is over attributes, then targets; ``room`` is (index, values, gram, rows, mean).
    """
    index, seen, gram, rows, mean = room
    size = covariance.shape[0]
    d = size - targets.shape[1]
    for example in range(first, last):
        n = 0
        for at in range(starts[example], starts[example + 1]):
            index[n], seen[n] = attributes[at], values[at]
            n += 1
        for output in range(targets.shape[1]):
            index[n], seen[n] = d + output, targets[example, output]
            n += 1
        _whiten(covariance, index, seen, n, gram, rows)
        for k in range(size):
            mean[k] = 0.0
        for a in range(n):
            for k in range(size):
                mean[k] += seen[a] * rows[a, k]
        for k in range(size):
            for j in range(k + 1):
                seconds[k, j] += mean[k] * mean[j]
        for a in range(n):
            for k in range(size):
                c = rows[a, k]
                for j in range(k + 1):
                    seconds[k, j] -= c * rows[a, j]
