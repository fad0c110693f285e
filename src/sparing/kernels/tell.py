"""What was seen moves the state: gradient estimate, running moments, then a ridge or a lasso step."""

from math import erf

import numpy as np

from sparing.kernels.compiling import part
from sparing.kernels.own_norm import project_in_own_norm
from sparing.kernels.sampling import tree_refresh
from sparing.kernels.shrunk import shrunk_step
from sparing.kernels.state import (
    ADAGRAD,
    ADAPTIVE,
    AVERAGED,
    CELLS,
    DRAWS,
    EXAMPLES,
    FIXED,
    FOLD,
    GRADIENTS,
    LASSO,
    LOOKS,
    MEAN,
    MINUS,
    OFFSET,
    PLUS,
    RIDGE,
    ROUND,
    SCALE,
    SCALE_SUM,
    SHRUNK,
    SIZE,
    SIZE_ERROR,
    SQUARES,
    UNIT,
    VARIANCE,
    WEIGHT,
    add_exactly,
    fold,
    mass,
    measure,
)

RIDGE_SQUARES, LASSO_SQUARES = SQUARES[RIDGE], SQUARES[LASSO]
LONG = 1024.0  # radii: a step that costs the average ten bits of its 53
LARGEST = 1e100  # gradients from here on are not stepped along
_SMALLEST = 1e-290  # z+ and z- stop here: a weight that small is zero, but it must be able to grow again


@part
def slope(residual, tube, accuracy):
    """Derivative of the loss at a residual: the residual itself, or that of the smooth tube loss f_eps of AESVR."""
    if tube < 0.0:
        return residual
    return 0.5 * (erf((residual - tube) / accuracy) + erf((residual + tube) / accuracy))


@part
def estimate_point(draws, values, seen, options, point):
    """Fill ``point``: x_tilde, one entry per distinct point attribute. A NaN leaves its draws out."""
    for a in range(draws.sizes[1]):
        point[a] = 0.0
    for r in range(draws.point_weights.size):
        a = draws.place[r]
        x = as_learnt(values[a], draws.attributes[a], seen, options)
        if np.isfinite(x):
            point[a] += draws.point_weights[r] * x


@part
def as_learnt(x, i, seen, options):
    """A value less the mean of its attribute so far, in the attribute's unit, where the options ask for that.

    The first look at an attribute has no mean to be compared with: it is taken for the mean, and counts as zero.
    """
    if options.center:
        x -= seen.attributes[i, MEAN] if seen.attributes[i, LOOKS] > 0.0 else x
    return x * seen.attributes[i, UNIT] if options.scaled else x


@part
def estimate(draws, values, y, seen, options, point, phi):
    """Fill ``point`` and ``phi`` (one per output).

    Returns false if the inner product is unavailable because a value told was NaN.
    """
    n_point = draws.point_weights.size
    estimate_point(draws, values, seen, options, point)
    for c in range(phi.size):
        phi[c] = -(y[c] - seen.targets[c]) if options.center else -y[c]
    for s in range(draws.sizes[2]):
        a = draws.place[n_point + s]
        x = as_learnt(values[a], draws.attributes[a], seen, options)
        for c in range(phi.size):
            phi[c] += draws.inner_weights[s, c] * x
    known = True
    for c in range(phi.size):
        phi[c] = slope(phi[c], options.tube, options.accuracy)
        known = known and np.isfinite(phi[c])
    return known


@part
def remember(seen, draws, values, y, examples):
    """Add the cells just bought to the running moments. Each is a fair sample: its choice did not depend on it."""
    for a in range(draws.sizes[0]):
        x = values[a]
        if np.isfinite(x):
            row = seen.attributes[draws.attributes[a]]
            row[LOOKS] += 1.0
            distance = x - row[MEAN]
            row[MEAN] += distance / row[LOOKS]
            row[VARIANCE] += (distance * (x - row[MEAN]) - row[VARIANCE]) / row[LOOKS]
    for c in range(y.size):
        seen.targets[c] += (y[c] - seen.targets[c]) / examples


@part
def longest_entry(draws, point, phi):
    """The largest entry of the gradient estimate."""
    largest_phi = largest_point = 0.0
    for c in range(phi.size):
        largest_phi = max(largest_phi, abs(phi[c]))
    for a in range(draws.sizes[1]):
        largest_point = max(largest_point, abs(point[a]))
    return largest_phi * largest_point


@part
def _common_step(model, options, point, n, phi):
    """The step size of this round where all attributes share one."""
    if options.step_kind == FIXED:
        return options.step
    squared_phi = squared_point = 0.0
    for c in range(phi.size):
        squared_phi += phi[c] * phi[c]
    for a in range(n):
        squared_point += point[a] * point[a]
    model.numbers[GRADIENTS] += squared_phi * squared_point
    return options.step / np.sqrt(model.numbers[GRADIENTS]) if model.numbers[GRADIENTS] > 0.0 else 0.0


@part
def ridge_step(model, draws, options, point, phi, longest):
    """GAERR, lines 10-12: w <- project(w - eta phi x_tilde), at the attributes looked at only.

    A step far out of the ball will make the scale tiny, so the sum of all w is written out before: it would drown.
    """
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    per_attribute = options.step_kind == ADAGRAD
    eta = options.step if per_attribute else _common_step(model, options, point, n, phi)
    if eta * longest > LONG * options.radius and not per_attribute:
        fold(model, numbers[SCALE], options.inner)
        numbers[SCALE] = 1.0
        measure(model, RIDGE)
    over_scale = 1.0 / numbers[SCALE]
    size, lost = numbers[SIZE], numbers[SIZE_ERROR]
    for a in range(n):
        i = draws.attributes[a]
        for c in range(phi.size):
            g = phi[c] * point[a]
            move = eta * g
            if per_attribute:
                rows[i, c, RIDGE_SQUARES] += g * g
                move = move / np.sqrt(rows[i, c, RIDGE_SQUARES]) if rows[i, c, RIDGE_SQUARES] > 0.0 else 0.0
            old = rows[i, c, WEIGHT]
            new = old - move * over_scale
            rows[i, c, WEIGHT] = new
            rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM]
            size, lost = add_exactly(size, lost, -(old * old))
            size, lost = add_exactly(size, lost, new * new)
        model.tree[i] = mass(model, options.inner, i)
    numbers[SIZE], numbers[SIZE_ERROR] = size, lost
    tree_refresh(model.tree, model.starts, draws.attributes, n)
    squared_norm = numbers[SCALE] * numbers[SCALE] * (size + lost)
    if squared_norm > options.radius * options.radius:
        if options.own_norm:
            project_in_own_norm(model, options.radius, options.inner)
            return
        numbers[SCALE] *= options.radius / np.sqrt(squared_norm)
        if numbers[SCALE] < FOLD:
            fold(model, numbers[SCALE], options.inner)
            numbers[SCALE] = 1.0
            measure(model, RIDGE)


@part
def _largest_square(model, draws, point, phi):
    """Add the squared gradient entries to their sums; the largest sum stands for m G^2 of Theorem 4.1."""
    for a in range(draws.sizes[1]):
        for c in range(phi.size):
            g = phi[c] * point[a]
            model.rows[draws.attributes[a], c, LASSO_SQUARES] += g * g
            total = model.rows[draws.attributes[a], c, LASSO_SQUARES]
            model.numbers[GRADIENTS] = max(model.numbers[GRADIENTS], total)
    return model.numbers[GRADIENTS]


@part
def lasso_step(model, draws, options, point, phi):
    """GAELR, lines 12-16: z+- <- z+- exp(-+ eta clip(g, 1 / eta)), at the attributes looked at only."""
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    eta = options.step
    if options.step_kind == ADAPTIVE:
        eta /= np.sqrt(max(_largest_square(model, draws, point, phi), _SMALLEST))
    size, lost = numbers[SIZE], numbers[SIZE_ERROR]
    for a in range(n):
        i = draws.attributes[a]
        for c in range(phi.size):
            g = phi[c] * point[a]
            move = eta * g
            if options.step_kind == ADAGRAD:
                rows[i, c, LASSO_SQUARES] += g * g
                move = move / np.sqrt(rows[i, c, LASSO_SQUARES]) if rows[i, c, LASSO_SQUARES] > 0.0 else 0.0
            grow = np.exp(min(max(move, -1.0), 1.0))
            size, lost = add_exactly(size, lost, -rows[i, c, PLUS])
            size, lost = add_exactly(size, lost, -rows[i, c, MINUS])
            rows[i, c, PLUS] = max(rows[i, c, PLUS] / grow, _SMALLEST)
            rows[i, c, MINUS] = max(rows[i, c, MINUS] * grow, _SMALLEST)
            size, lost = add_exactly(size, lost, rows[i, c, PLUS])
            size, lost = add_exactly(size, lost, rows[i, c, MINUS])
            old, new = rows[i, c, WEIGHT], rows[i, c, PLUS] - rows[i, c, MINUS]
            rows[i, c, WEIGHT] = new
            rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM]
        model.tree[i] = mass(model, options.inner, i)
    numbers[SIZE], numbers[SIZE_ERROR] = size, lost
    tree_refresh(model.tree, model.starts, draws.attributes, n)
    begin = 2.0 * rows.shape[0] * rows.shape[1]
    if size * FOLD > begin:
        fold(model, begin / size, options.inner)
        measure(model, LASSO)
    numbers[SCALE] = options.radius / (numbers[SIZE] + numbers[SIZE_ERROR])


@part
def step(model, draws, options, point, phi, known):
    """Count this round's weights into the average, then move them.

    Not if the slope is not known, nor by a gradient so large that its square would overflow: that is no value to trust.
    """
    if options.learn:
        model.numbers[SCALE_SUM] += model.numbers[SCALE]
        model.counts[AVERAGED] += 1
        longest = longest_entry(draws, point, phi)
        if known and longest < LARGEST:
            if options.penalty == LASSO:
                lasso_step(model, draws, options, point, phi)
            elif options.penalty == SHRUNK:
                shrunk_step(model, draws, options, point, phi)
            else:
                ridge_step(model, draws, options, point, phi, longest)


@part
def book(model, draws):
    """Count the round and what it bought."""
    model.counts[ROUND] += 1
    model.counts[EXAMPLES] += 1
    model.counts[CELLS] += draws.sizes[0]
    model.counts[DRAWS] += draws.point_weights.size + draws.sizes[2]


@part
def tell(model, seen, options, draws, values, y, point, phi):
    """One round after its values are known: O(b log d)."""
    known = estimate(draws, values, y, seen, options, point, phi)
    step(model, draws, options, point, phi, known)
    book(model, draws)
    if options.track:
        remember(seen, draws, values, y, model.counts[EXAMPLES])
