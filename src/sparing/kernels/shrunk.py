"""The step of AER: shrink all weights, move those looked at, project on the L1 ball.

Shrinking changes ``scale`` alone, so a round costs O(b log d) while the weights stay inside the ball. The projection
is a soft threshold of all weights: a round in which it is active costs a few passes over d.

SIZE is the 1-norm of v. GRADIENTS counts the gradients taken: it is the t of the algorithm.
"""

from sparing.kernels.compiling import entry
from sparing.kernels.state import (
    FOLD,
    GRADIENTS,
    OFFSET,
    SCALE,
    SCALE_SUM,
    SIZE,
    SIZE_ERROR,
    WEIGHT,
    add_exactly,
    fold,
)


@entry
def threshold(rows, c, total, radius):
    """The theta of ``sum(max(|v| - theta, 0)) = radius`` over the weights v of output c, of 1-norm ``total`` > radius.

    Weights at most theta leave the sum, which raises theta, until none leaves (Michelot 1986).
    """
    theta, active = (total - radius) / rows.shape[0], rows.shape[0]
    while True:
        left, above = 0, 0.0
        for i in range(rows.shape[0]):
            if abs(rows[i, c, WEIGHT]) > theta:
                left += 1
                above += abs(rows[i, c, WEIGHT])
        if left == active or left == 0:
            return theta
        theta, active = (above - radius) / left, left


@entry
def project(model, c, radius, penalty):
    """The point of the L1 ball nearest to w: w_j <- sign(w_j) max(|w_j| - theta, 0), with the scale written out."""
    rows, numbers = model.rows, model.numbers
    fold(model, c, numbers[SCALE, c], penalty)
    numbers[SCALE, c] = 1.0
    theta = threshold(rows, c, numbers[SIZE, c], radius)
    for i in range(rows.shape[0]):
        old = rows[i, c, WEIGHT]
        size = max(abs(old) - theta, 0.0)
        rows[i, c, WEIGHT] = size if old > 0.0 else -size
    fold(model, c, 1.0, penalty)


def shrunk_step(model, draws, options, point, slope, longest, c):
    """AER: w <- (1 - 1/t) w - (1 / (lambda t)) phi x_tilde, then the nearest point of the L1 ball, for output c.

    ``options.step`` is 1 / lambda. At t = 1 nothing is left of the weights the learner began with.
    """
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    numbers[GRADIENTS, c] += 1.0
    t = numbers[GRADIENTS, c]
    numbers[SCALE, c] *= 1.0 - 1.0 / t
    if numbers[SCALE, c] < FOLD:
        fold(model, c, numbers[SCALE, c], options.penalty)
        numbers[SCALE, c] = 1.0
    over_scale = options.step[c] / (t * numbers[SCALE, c])
    size, lost = numbers[SIZE, c], numbers[SIZE_ERROR, c]
    for a in range(n):
        i = draws.attributes[a]
        old = rows[i, c, WEIGHT]
        new = old - slope * point[a] * over_scale
        rows[i, c, WEIGHT] = new
        rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM, c]
        size, lost = add_exactly(size, lost, -abs(old))
        size, lost = add_exactly(size, lost, abs(new))
    numbers[SIZE, c], numbers[SIZE_ERROR, c] = size, lost
    if numbers[SCALE, c] * (size + lost) > options.radius[c]:
        project(model, c, options.radius[c], options.penalty)
