"""Diagonal AdaGrad in one pass over memory."""

from math import sqrt

from sparing.kernels.compiling import entry


@entry
def diagonal_step(x, g, squares, eta, tau, delta, l1, l2, new_x, new_squares):
    """x_{t+1} of diagonal AdaGrad: D = tau (sqrt(sum of g^2) + delta), then (D x - eta g) shrunk by both penalties."""
    for i in range(x.size):
        total = squares[i] + g[i] * g[i]
        scale = tau * (sqrt(total) + delta)
        target = scale * x[i] - eta * g[i]
        size = max(abs(target) - eta * l1, 0.0)
        new_squares[i] = total
        new_x[i] = (size if target > 0 else -size) / (scale + eta * l2)
