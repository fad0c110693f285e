"""The step of AER: shrink all weights, move those looked at, project on the L1 ball.

Shrinking changes ``scale`` alone, so a round costs O(b log d) while the weights stay inside the ball. The projection
is a soft threshold of all weights: a round in which it is active costs a few passes over d.

The masses of p are |v_j|, so their sum in the tree is the 1-norm of v and needs no keeping of its own. GRADIENTS
counts the gradients taken: it is the t of the algorithm.
"""

from sparing.kernels.compiling import entry, part
from sparing.kernels.sampling import tree_refresh, tree_total
from sparing.kernels.state import FOLD, GRADIENTS, OFFSET, SCALE, SCALE_SUM, WEIGHT, fold, mass, rebuild


@entry
def threshold(rows, total, radius):
    """The theta of ``sum(max(|v| - theta, 0)) = radius`` over all weights v, whose 1-norm is ``total`` > radius.

    Weights at most theta leave the sum, which raises theta, until none leaves (Michelot 1986).
    """
    theta, active = (total - radius) / (rows.shape[0] * rows.shape[1]), rows.shape[0] * rows.shape[1]
    while True:
        left, above = 0, 0.0
        for i in range(rows.shape[0]):
            for c in range(rows.shape[1]):
                if abs(rows[i, c, WEIGHT]) > theta:
                    left += 1
                    above += abs(rows[i, c, WEIGHT])
        if left == active or left == 0:
            return theta
        theta, active = (above - radius) / left, left


@entry
def project(model, radius, inner):
    """The point of the L1 ball nearest to w: w_j <- sign(w_j) max(|w_j| - theta, 0), with the scale written out."""
    rows, numbers = model.rows, model.numbers
    fold(model, numbers[SCALE], inner)
    numbers[SCALE] = 1.0
    theta = threshold(rows, tree_total(model.tree, model.starts), radius)
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            old = rows[i, c, WEIGHT]
            size = max(abs(old) - theta, 0.0)
            rows[i, c, WEIGHT] = size if old > 0.0 else -size
    rebuild(model, inner)


@part
def shrunk_step(model, draws, options, point, phi):
    """AER: w <- (1 - 1/t) w - (1 / (lambda t)) phi x_tilde, then the nearest point with ||w||_1 <= radius.

    ``options.step`` is 1 / lambda. At t = 1 nothing is left of the weights the learner began with.
    """
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    numbers[GRADIENTS] += 1.0
    t = numbers[GRADIENTS]
    numbers[SCALE] *= 1.0 - 1.0 / t
    if numbers[SCALE] < FOLD:
        fold(model, numbers[SCALE], options.inner)
        numbers[SCALE] = 1.0
    over_scale = options.step / (t * numbers[SCALE])
    for a in range(n):
        i = draws.attributes[a]
        for c in range(phi.size):
            old = rows[i, c, WEIGHT]
            new = old - phi[c] * point[a] * over_scale
            rows[i, c, WEIGHT] = new
            rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM]
        model.tree[i] = mass(model, options.inner, i)
    tree_refresh(model.tree, model.starts, draws.attributes, n)
    if numbers[SCALE] * tree_total(model.tree, model.starts) > options.radius:
        project(model, options.radius, options.inner)
