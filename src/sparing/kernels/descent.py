"""Coordinate descent for a lasso given by its Gram matrix."""

from sparing.kernels.compiling import entry


@entry
def descend(A, strength, x, residual, sweeps):
    """So many sweeps on x^T A x / 2 - b^T x + strength |x|_1, in place; ``residual`` is b - A x and is kept so."""
    for _ in range(sweeps):
        for j in range(x.size):
            column = A[j]  # A is symmetric
            pull = residual[j] + column[j] * x[j]
            size = max(abs(pull) - strength, 0.0) / column[j]
            change = (size if pull > 0 else -size) - x[j]
            if change != 0.0:
                x[j] += change
                for i in range(x.size):
                    residual[i] -= change * column[i]
