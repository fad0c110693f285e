"""A round of CompAdaGrad but for the k by k matrices: all that is done to vectors, in two passes.

Letters are those of :func:`sparing.optim.comp_adagrad`; vectors have n entries, a power of two, and ``work`` is scratch
of that length. ``width`` is that of :func:`sparing.kernels.hadamard.scatter`, 0 for whole transforms, and ``few``
scratch for it.
"""

from math import sqrt

from sparing.kernels.compiling import entry, part
from sparing.kernels.hadamard import gather, look_up_xor, scatter, transform, upper_levels


@part
def _sketch(work, rows, width, few, out):
    """out = R H work; ``work``, already times the signs, is used up."""
    scale = 1.0 / sqrt(work.size)
    if width:
        upper_levels(work, width)
        gather(work, width, rows, out, few)
    else:
        transform(work, work.size, 1.0)
        for a in range(rows.size):
            out[a] = work[rows[a]]
    for a in range(rows.size):
        out[a] *= scale


@part
def _unsketch(z, rows, width, few, work):
    """work = H R^T z, not yet times the signs."""
    scale = 1.0 / sqrt(work.size)
    if width:
        scatter(work, width, rows, z, few)
        upper_levels(work, width)
        for i in range(work.size):
            work[i] *= scale
    else:
        for i in range(work.size):
            work[i] = 0.0
        for a in range(rows.size):
            work[rows[a]] = z[a]
        transform(work, work.size, scale)


@entry
def prepare(x, g, signs, rows, width, squares, eta, tau, delta, shift, sketched, pull, out, work, few):
    """Sketch the forces, and weigh the complement if there is one: ``squares`` has no entry otherwise.

    force = eta g + shift x, sketched = Pi g, pull = Pi force; squares of P_perp g are added to their sums, weights = B,
    gram = Pi B Pi^T, right = Pi B force. ``out`` holds force, new squares, weights, gram and right.
    """
    force, new_squares, weights, gram, right = out
    n = x.size
    for i in range(n):
        work[i] = signs[i] * g[i]
        force[i] = eta * g[i] + shift * x[i]
    _sketch(work, rows, width, few, sketched)
    for i in range(n):
        work[i] = signs[i] * force[i]
    _sketch(work, rows, width, few, pull)
    if squares.size == 0:
        return
    _unsketch(sketched, rows, width, few, work)
    for i in range(n):
        outside = g[i] - signs[i] * work[i]
        total = squares[i] + outside * outside
        new_squares[i] = total
        weights[i] = 1.0 / (tau * (sqrt(total) + delta) + shift)
        work[i] = weights[i]
    transform(work, n, 1.0)
    look_up_xor(work, rows, 1.0 / n, gram)
    for i in range(n):
        work[i] = signs[i] * weights[i] * force[i]
    _sketch(work, rows, width, few, right)


@entry
def move(x, weights, force, signs, rows, width, inside, multiplier, work, few):
    """x <- x - Pi^T inside - B (force - Pi^T multiplier); without complement ``weights`` has no entry."""
    _unsketch(inside, rows, width, few, work)
    for i in range(x.size):
        x[i] -= signs[i] * work[i]
    if weights.size == 0:
        return
    _unsketch(multiplier, rows, width, few, work)
    for i in range(x.size):
        x[i] -= weights[i] * (force[i] - signs[i] * work[i])
