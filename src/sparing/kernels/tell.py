"""One round's update of the state: gradient estimate, running moments, then a ridge or a lasso step."""

from math import erf, exp, isfinite, sqrt

from numba.extending import overload

from sparing.kernels.compiling import PIECE, part, piece
from sparing.kernels.own_norm import project_in_own_norm
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
    SIZE,
    SIZE_ERROR,
    SKIPPED,
    SQUARES,
    UNIT,
    VARIANCE,
    WEIGHT,
    LassoOptions,
    Options,
    OwnNormOptions,
    ShrunkOptions,
    add_exactly,
    fold,
    renew,
    shares_are_stale,
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
        if isfinite(x):
            point[a] += draws.point_weights[r] * x


@part
def as_learnt(x, i, seen, options):
    """A value minus the mean of its attribute so far, in the attribute's unit, if the options say so.

    The first look at an attribute becomes its mean, and counts as zero. No ``seen``, no code for all of this.
    """
    if seen is not None:
        if options.center:
            x -= seen.attributes[i, MEAN] if seen.attributes[i, LOOKS] > 0.0 else x
        if options.scaled:
            x *= seen.attributes[i, UNIT]
    return x


@part
def target_as_learnt(y, c, seen, options):
    """Target c minus its mean so far, if the options say so."""
    target = y[c]
    if seen is not None and options.center:
        target -= seen.targets[c]
    return target


@piece
def estimate(draws, values, y, seen, options, point, phi):
    """Fill ``point`` and ``phi`` (one per output), which is NaN if a value of the inner product is unavailable."""
    n_point = draws.point_weights.size
    estimate_point(draws, values, seen, options, point)
    for c in range(phi.size):
        phi[c] = -target_as_learnt(y, c, seen, options)
    for s in range(draws.sizes[2]):
        a = draws.place[n_point + s]
        x = as_learnt(values[a], draws.attributes[a], seen, options)
        for c in range(phi.size):
            phi[c] += draws.inner_weights[s, c] * x
    for c in range(phi.size):
        phi[c] = slope(phi[c], options.tube, options.accuracy)


@part
def pace(weight, seen):
    """The weight of an example in a running mean, times the number ``seen``; the first example sets the mean."""
    return (weight if weight < seen else seen) if seen > 1.0 else 1.0


@piece
def remember(seen, draws, values, y, weight, examples):
    """Add the cells just bought to the running moments. Each is a fair sample: its choice did not depend on it.

    Weights move means faster or slower; where they average one, means approach the weighted ones.
    """
    for a in range(draws.sizes[0]):
        x = values[a]
        if isfinite(x):
            row = seen.attributes[draws.attributes[a]]
            row[LOOKS] += 1.0
            distance = x - row[MEAN]
            own = pace(weight, row[LOOKS])
            row[MEAN] += own * distance / row[LOOKS]
            row[VARIANCE] += own * (distance * (x - row[MEAN]) - row[VARIANCE]) / row[LOOKS]
    for c in range(y.size):
        seen.targets[c] += pace(weight, float(examples)) * (y[c] - seen.targets[c]) / examples


@part
def largest_entry(draws, point):
    """The largest entry of the point."""
    largest = 0.0
    for a in range(draws.sizes[1]):
        size = abs(point[a])
        largest = size if size > largest else largest
    return largest


@part
def _common_step(model, options, point, n, slope, c):
    """The step size of this round for output c, where all attributes share one."""
    if options.step_kind == FIXED:
        return options.step[c]
    squared_point = 0.0
    for a in range(n):
        squared_point += point[a] * point[a]
    model.numbers[GRADIENTS, c] += slope * slope * squared_point
    gradients = model.numbers[GRADIENTS, c]
    return options.step[c] / sqrt(gradients) if gradients > 0.0 else 0.0


@part
def gradient_step(model, draws, options, point, slope, longest, c):
    """w <- w - eta phi x_tilde, at the attributes looked at only, for output c; returns the squared norm of w.

    A step far out of the ball will make the scale tiny, so the sum of all w is written out before: it would drown.
    """
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    per_attribute = options.step_kind == ADAGRAD
    eta = options.step[c] if per_attribute else _common_step(model, options, point, n, slope, c)
    if eta * longest > LONG * options.radius[c] and not per_attribute:
        fold(model, c, numbers[SCALE, c], options.penalty)
        numbers[SCALE, c] = 1.0
    over_scale = 1.0 / numbers[SCALE, c]
    size, lost = numbers[SIZE, c], numbers[SIZE_ERROR, c]
    for a in range(n):
        i = draws.attributes[a]
        g = slope * point[a]
        move = eta * g
        if per_attribute:
            rows[i, c, RIDGE_SQUARES] += g * g
            move = move / sqrt(rows[i, c, RIDGE_SQUARES]) if rows[i, c, RIDGE_SQUARES] > 0.0 else 0.0
        old = rows[i, c, WEIGHT]
        new = old - move * over_scale
        rows[i, c, WEIGHT] = new
        rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM, c]
        size, lost = add_exactly(size, lost, -(old * old))
        size, lost = add_exactly(size, lost, new * new)
    numbers[SIZE, c], numbers[SIZE_ERROR, c] = size, lost
    return numbers[SCALE, c] * numbers[SCALE, c] * (size + lost)


def ridge_step(model, draws, options, point, slope, longest, c):
    """GAERR, lines 10-12: w <- project(w - eta phi x_tilde), at the attributes looked at only, for output c."""
    numbers = model.numbers
    squared_norm = gradient_step(model, draws, options, point, slope, longest, c)
    if squared_norm > options.radius[c] * options.radius[c]:
        numbers[SCALE, c] *= options.radius[c] / sqrt(squared_norm)
        if numbers[SCALE, c] < FOLD:
            fold(model, c, numbers[SCALE, c], options.penalty)
            numbers[SCALE, c] = 1.0


def own_norm_step(model, draws, options, point, slope, longest, c):
    """The same with the projection of AdaGrad."""
    squared_norm = gradient_step(model, draws, options, point, slope, longest, c)
    if squared_norm > options.radius[c] * options.radius[c]:
        project_in_own_norm(model, c, options.radius[c], options.penalty)


@part
def _largest_square(model, draws, point, slope, c):
    """Add the squared gradient entries to their sums; the largest sum stands for m G^2 of Theorem 4.1."""
    for a in range(draws.sizes[1]):
        g = slope * point[a]
        model.rows[draws.attributes[a], c, LASSO_SQUARES] += g * g
        total = model.rows[draws.attributes[a], c, LASSO_SQUARES]
        model.numbers[GRADIENTS, c] = max(model.numbers[GRADIENTS, c], total)
    return model.numbers[GRADIENTS, c]


def lasso_step(model, draws, options, point, slope, longest, c):
    """GAELR, lines 12-16: z+- <- z+- exp(-+ eta clip(g, 1 / eta)), at the attributes looked at only, for output c."""
    rows, numbers, n = model.rows, model.numbers, draws.sizes[1]
    eta = options.step[c]
    if options.step_kind == ADAPTIVE:
        largest = _largest_square(model, draws, point, slope, c)
        eta = eta / sqrt(largest) if largest > 0.0 else 0.0
    size, lost = numbers[SIZE, c], numbers[SIZE_ERROR, c]
    for a in range(n):
        i = draws.attributes[a]
        g = slope * point[a]
        move = eta * g
        if options.step_kind == ADAGRAD:
            rows[i, c, LASSO_SQUARES] += g * g
            move = move / sqrt(rows[i, c, LASSO_SQUARES]) if rows[i, c, LASSO_SQUARES] > 0.0 else 0.0
        grow = exp(min(max(move, -1.0), 1.0))
        size, lost = add_exactly(size, lost, -rows[i, c, PLUS])
        size, lost = add_exactly(size, lost, -rows[i, c, MINUS])
        rows[i, c, PLUS] = max(rows[i, c, PLUS] / grow, _SMALLEST)
        rows[i, c, MINUS] = max(rows[i, c, MINUS] * grow, _SMALLEST)
        size, lost = add_exactly(size, lost, rows[i, c, PLUS])
        size, lost = add_exactly(size, lost, rows[i, c, MINUS])
        old, new = rows[i, c, WEIGHT], rows[i, c, PLUS] - rows[i, c, MINUS]
        rows[i, c, WEIGHT] = new
        rows[i, c, OFFSET] -= (new - old) * numbers[SCALE_SUM, c]
    numbers[SIZE, c], numbers[SIZE_ERROR, c] = size, lost
    begin = 2.0 * rows.shape[0]
    if size * FOLD > begin:
        fold(model, c, begin / size, options.penalty)
    numbers[SCALE, c] = options.radius[c] / (numbers[SIZE, c] + numbers[SIZE_ERROR, c])


STEPS = {Options: ridge_step, OwnNormOptions: own_norm_step, LassoOptions: lasso_step, ShrunkOptions: shrunk_step}


def move(model, draws, options, point, slope, longest, c):
    """The step of output c that the type of the options asks for; kernels are compiled with no other."""
    STEPS[type(options)](model, draws, options, point, slope, longest, c)


@overload(move, jit_options=PIECE)
def _compiled_move(model, draws, options, point, slope, longest, c):
    return STEPS[options.instance_class]


@part
def step(model, draws, options, point, phi, weight):
    """Count this round's weights into the average, then move them, output by output: by ``weight`` times the gradient.

    Then let p follow them. No step is taken if the slope is unknown, or if the gradient is so large that its square
    would overflow.
    """
    if options.learn:
        model.counts[AVERAGED] += 1
        largest = largest_entry(draws, point)
        changed = draws.sizes[1]
        for c in range(phi.size):
            model.numbers[SCALE_SUM, c] += model.numbers[SCALE, c]
            phi[c] *= weight
            longest = abs(phi[c]) * largest
            if longest >= LARGEST:
                model.counts[SKIPPED] += 1
            elif isfinite(longest):
                move(model, draws, options, point, phi[c], longest, c)
                if model.numbers[SCALE_SUM, c] == 0.0:  # only ``fold`` makes it zero
                    changed = model.rows.shape[0]
        if shares_are_stale(model, options.penalty):
            fold(model, phi.size, 1.0, options.penalty)
            changed = model.rows.shape[0]
        renew(model, options.inner, draws.attributes, changed)


@part
def book(model, draws):
    """Count the round and what it bought."""
    model.counts[ROUND] += 1
    model.counts[EXAMPLES] += 1
    model.counts[CELLS] += draws.sizes[0]
    model.counts[DRAWS] += draws.point_weights.size + draws.sizes[2]


@part
def tell(model, seen, options, draws, values, y, weight, point, phi):
    """One round after its values are known: O(b log d)."""
    estimate(draws, values, y, seen, options, point, phi)
    step(model, draws, options, point, phi, weight)
    book(model, draws)
    if seen is not None and options.track:
        remember(seen, draws, values, y, weight, model.counts[EXAMPLES])
