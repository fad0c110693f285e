"""The projection of AdaGrad: the point of the ball nearest to w in the norm of the step's own diagonal matrix.

It moves every weight by a factor of its own, so a round that leaves the ball costs a few passes over d; others cost
O(b log d).
"""

from math import sqrt

from sparing.kernels.compiling import part, piece
from sparing.kernels.state import RIDGE, SCALE, SIZE, SQUARES, WEIGHT, fold

RIDGE_SQUARES = SQUARES[RIDGE]
NEAR = 1e-12  # relative distance from the sphere that counts as on it
MOST = 100  # Newton's steps; a handful suffice


@part
def held_square(rows, c):
    """The squared norm of the weights of output c that no gradient has moved: the matrix leaves them where they are."""
    held = 0.0
    for i in range(rows.shape[0]):
        if rows[i, c, RIDGE_SQUARES] == 0.0:
            held += rows[i, c, WEIGHT] * rows[i, c, WEIGHT]
    return held


@part
def multiplier(rows, c, radius):
    """The lambda with ``sum((h w / (h + lambda))^2) = radius^2``, h the roots of the summed squared gradients.

    By Newton's method on one over the norm, which is concave in lambda: it rises to the root and never passes it.
    """
    shift = 0.0
    for _ in range(MOST):
        square, slope = 0.0, 0.0
        for i in range(rows.shape[0]):
            h = sqrt(rows[i, c, RIDGE_SQUARES])
            if h > 0.0:
                w = rows[i, c, WEIGHT] * (h / (h + shift))
                square += w * w
                slope += w * w / (h + shift)
        size = sqrt(square)
        if size <= radius * (1.0 + NEAR):
            break
        shift += square / slope * (size - radius) / radius
    return shift


@piece(rare=True)
def project_in_own_norm(model, c, radius, penalty):
    """w <- argmin over ||v||_2 <= radius of sum_i h_i (v_i - w_i)^2, which is w_i h_i / (h_i + lambda), for output c.

    The scale is written out. Only where no room is left beside the weights that stay, everything is shrunk alike.
    """
    rows, numbers = model.rows, model.numbers
    fold(model, c, numbers[SCALE, c], penalty)
    numbers[SCALE, c] = 1.0
    room = radius * radius - held_square(rows, c)
    if room > NEAR * radius * radius:
        shift = multiplier(rows, c, sqrt(room))
        for i in range(rows.shape[0]):
            h = sqrt(rows[i, c, RIDGE_SQUARES])
            if h > 0.0:
                rows[i, c, WEIGHT] *= h / (h + shift)
        fold(model, c, 1.0, penalty)
    else:
        numbers[SCALE, c] = min(1.0, radius / sqrt(numbers[SIZE, c]))
