"""What a learner is made of: named tuples of arrays, changed in place by the kernels.

Weights are stored as w = scale * v, with a scale for each output. A projection or a normalisation changes ``scale``
alone, a gradient step changes only the entries of v that were looked at, so no round passes over all d attributes.

Outputs share the looks and nothing else: each has its own ball, step size and norm, so the units of one do not matter
to another. In p each counts relative to the size that its weights had when p was last rebuilt.
"""

from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import part, piece
from sparing.kernels.lines import in_lines
from sparing.kernels.sampling import FAN, tree_levels, tree_refresh

RIDGE, LASSO, SHRUNK = 0, 1, 2
"""Penalties: gradient steps projected on an L2 ball, exponentiated gradient on an L1 ball, and the steps of AER."""

SQUARE, ABSOLUTE, MOMENT = 0, 1, 2
"""Inner-product draws p_j proportional to w_j^2, to |w_j|, or to |w_j| sqrt(E[x_j^2])."""

FIXED, ADAPTIVE, ADAGRAD = 0, 1, 2
"""Step sizes: a constant, one that falls with the gradients seen, one like it per attribute."""

# columns of Model.rows: v; what SCALE_SUM * v lacks of the sum of all w so far; for lasso z+ and z- of the
# exponentiated gradient; last, and only where the step size needs them, the sums of squared gradient entries
WEIGHT, OFFSET, PLUS, MINUS = range(4)
SQUARES = {RIDGE: 2, LASSO: 4, SHRUNK: 2}

# columns of Seen.attributes
LOOKS, MEAN, VARIANCE, UNIT = range(4)

# rows of Model.numbers, which has a column per output
SCALE, SCALE_SUM, SIZE, SIZE_ERROR, GRADIENTS, SHARE = range(6)
# entries of Model.counts
ROUND, AVERAGED, CELLS, DRAWS, EXAMPLES, SKIPPED = range(6)

FOLD = 2.0**-20
"""How far ``scale`` may fall before it is multiplied out. Each halving costs the average one bit of its 53."""

STALE = 2.0
"""How far the norm of an output may move, up or down, before its share of p is set anew: O(d), but ever more seldom."""


class Model(NamedTuple):
    """Weights, their average, and the distribution p that follows them; d attributes, c outputs."""

    rows: np.ndarray  # (d, c, columns): one line of the cache per attribute; see the columns below
    importance: np.ndarray  # (d,): sqrt(E[x_j^2]) for MOMENT draws; or (0,)
    tree: np.ndarray  # sum tree over the masses of p
    starts: np.ndarray  # where its levels start
    numbers: np.ndarray
    counts: np.ndarray


class Seen(NamedTuple):
    """Running moments of the cells bought so far, and the units in which the model sees attributes."""

    attributes: np.ndarray  # (d, 4): looks, mean, variance; and what a value is multiplied by
    targets: np.ndarray  # (c,): the mean of each target


class Options(NamedTuple):
    """Everything about a round that does not change from round to round."""

    seed: int
    n_point: int
    n_inner: int
    everything: bool  # full information: no draws, whole rows
    penalty: int
    inner: int
    step_kind: int
    step: np.ndarray  # (c,)
    radius: np.ndarray  # (c,)
    center: bool  # subtract running means from attributes and targets
    scaled: bool  # multiply attributes by their units
    track: bool  # keep the running moments
    learn: bool  # false: only look, as phase one of the two-phased algorithms does in theory
    tube: float  # half-width of the insensitive tube; the squared loss has none, and says so by a negative width
    accuracy: float  # how closely the smooth tube loss follows the true one
    own_norm: bool = False  # AdaGrad's projection: in the norm of the step's matrix, not the Euclidean one


class LassoOptions(Options):
    """Of exponentiated gradient. A penalty is a type, so that a kernel is compiled with the steps of one alone."""


class ShrunkOptions(Options):
    """Of AER."""


class OwnNormOptions(Options):
    """Of gradient steps with AdaGrad's projection."""


def new_options(**fields) -> Options:
    """Options, of the type of their penalty."""
    kinds = {RIDGE: OwnNormOptions if fields.get("own_norm") else Options, LASSO: LassoOptions, SHRUNK: ShrunkOptions}
    return kinds[fields["penalty"]](**fields)


def new_model(n_attributes, n_outputs, options, importance=None) -> Model:
    """A model whose weights are all zero."""
    squares = options.step_kind == ADAGRAD or (options.penalty == LASSO and options.step_kind == ADAPTIVE)
    starts = tree_levels(n_attributes)
    model = Model(
        rows=in_lines(np.zeros((n_attributes, n_outputs, SQUARES[options.penalty] + squares))),
        importance=np.zeros(0) if importance is None else np.ascontiguousarray(importance, dtype=np.float64),
        tree=in_lines(np.zeros(starts[-1])),
        starts=starts,
        numbers=np.zeros((6, n_outputs)),
        counts=np.zeros(6, np.int64),
    )
    restart(model, np.zeros((n_attributes, n_outputs)), options)
    return model


def new_seen(n_attributes, n_outputs, scale=None) -> Seen:
    """Nothing seen yet; attributes will be divided by ``scale``."""
    seen = Seen(np.zeros((n_attributes, 4)), np.zeros(n_outputs))
    seen.attributes[:, UNIT] = 1.0 if scale is None else 1.0 / scale
    return seen


@part
def mass(model, inner, i):
    """The mass of attribute i in p, up to a factor common to all attributes."""
    total = 0.0
    for c in range(model.rows.shape[1]):
        v = model.rows[i, c, WEIGHT]
        v *= model.numbers[SHARE, c]
        total += abs(v) if inner == ABSOLUTE else v * v
    return sqrt(total) * model.importance[i] if inner == MOMENT else total


@piece
def renew(model, inner, attributes, n):
    """Take the masses of the first n of ``attributes`` anew, and all sums above them; n = d means all attributes."""
    tree, d = model.tree, model.rows.shape[0]
    for a in range(n):
        i = attributes[a] if n < d else a
        tree[i] = mass(model, inner, i)
    tree_refresh(tree, model.starts, attributes, n)


@np.errstate(over="ignore", invalid="ignore")
def rebuild(model, inner) -> None:
    """Take all masses and sums of p anew, as ``renew`` does, where Python has changed what they depend on.

    The order of sums is that of ``renew``, so the result is the same; a kernel would be compiled for a few calls.
    """
    tree, starts, weights = model.tree, model.starts, model.rows[:, :, WEIGHT] * model.numbers[SHARE]
    masses = sum((np.abs(weights) if inner == ABSOLUTE else weights * weights).T)
    tree[: len(weights)] = np.sqrt(masses) * model.importance if inner == MOMENT else masses
    for below, above in pairwise(starts[:-1]):
        children = tree[below:above].reshape(-1, FAN).T
        sums = sum(children[: FAN // 2]) + sum(children[FAN // 2 :])
        tree[above : above + sums.size] = sums


@np.errstate(over="ignore", invalid="ignore")
def share_evenly(model, penalty, inner) -> None:
    """Give every output whose weights are not zero the same share of p. O(d)."""
    sizes = np.maximum(model.numbers[SIZE] + model.numbers[SIZE_ERROR], 0.0)
    lengths = np.sqrt(sizes) if penalty == RIDGE else sizes
    shares = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    model.numbers[SHARE] = 1.0 if lengths.size == 1 else shares
    rebuild(model, inner)


@part
def add_exactly(total, error, term):
    """total + error + term in double-double arithmetic: what rounding takes away is kept, so sums do not drift."""
    after = total + term
    taken = after - total
    return after, error + ((total - (after - taken)) + (term - taken))


@piece(rare=True)
def fold(model, c, factor, penalty):
    """Multiply v, z+ and z- of output c by ``factor``, and write the sum of its w out: SCALE_SUM starts at zero.

    Then give every output whose weights are not zero the same share of p; if there is no output c, do that alone. O(d).
    The masses of p are not renewed: see ``renew``.
    Loops, here as in all kernels: array expressions take Numba many times as long to compile.
    """
    rows, numbers = model.rows, model.numbers
    if c < numbers.shape[1]:
        summed, size = numbers[SCALE_SUM, c], 0.0
        for i in range(rows.shape[0]):
            v = rows[i, c, WEIGHT]
            rows[i, c, OFFSET] += summed * v
            v *= factor
            rows[i, c, WEIGHT] = v
            if penalty == LASSO:
                rows[i, c, PLUS] *= factor
                rows[i, c, MINUS] *= factor
                size += rows[i, c, PLUS] + rows[i, c, MINUS]
            else:
                size += abs(v) if penalty == SHRUNK else v * v
        numbers[SCALE_SUM, c] = 0.0
        numbers[SIZE, c] = size
        numbers[SIZE_ERROR, c] = 0.0
    for output in range(numbers.shape[1]):
        length = norm(model, output, penalty)
        numbers[SHARE, output] = 1.0 if numbers.shape[1] == 1 else (1.0 / length if length > 0.0 else 0.0)


@part
def norm(model, c, penalty):
    """The norm of v of output c: in the units of its weights, whatever SIZE is."""
    size = model.numbers[SIZE, c] + model.numbers[SIZE_ERROR, c]
    size = 0.0 if size < 0.0 else size
    return sqrt(size) if penalty == RIDGE else size


@part
def shares_are_stale(model, penalty):
    """Whether the norm of an output has moved far from what its share of p stands for."""
    numbers, stale = model.numbers, False
    if numbers.shape[1] > 1:
        for c in range(numbers.shape[1]):
            length = norm(model, c, penalty)
            moved = length * numbers[SHARE, c]
            stale = stale or (length > 0.0 and not (1.0 / STALE < moved < STALE))
    return stale


def weights(model) -> np.ndarray:
    """The current weights w, (d, c)."""
    return model.numbers[SCALE] * model.rows[:, :, WEIGHT]


def restored(model, penalty, inner) -> Model:
    """A model as it was saved. Version 0.1.0 had one ball for all outputs; from here on each has its own."""
    model = model._replace(counts=np.pad(model.counts, (0, SKIPPED + 1 - model.counts.size)))
    if model.numbers.ndim == 2:
        return model
    n_outputs = model.rows.shape[1]
    model = model._replace(numbers=np.vstack([np.tile(model.numbers[:, None], n_outputs), np.ones(n_outputs)]))
    if n_outputs > 1:
        v = model.rows[:, :, WEIGHT]
        sizes = np.abs(v) if penalty == SHRUNK else v * v
        if penalty == LASSO:
            sizes = model.rows[:, :, PLUS] + model.rows[:, :, MINUS]
        model.numbers[SIZE], model.numbers[SIZE_ERROR] = np.add.accumulate(sizes)[-1], 0.0  # added up as in ``fold``
        share_evenly(model, penalty, inner)
    return model


def restored_options(saved, n_outputs) -> Options:
    """Options as they were saved; version 0.1.0 had one step size and one radius for all outputs."""
    each = {name: np.array(np.broadcast_to(saved[name], n_outputs), np.float64) for name in ("step", "radius")}
    return new_options(**{name: each[name] if name in each else value.item() for name, value in saved.items()})


def average(model) -> np.ndarray:
    """The average of the weights over all rounds told, (d, c); before the first, the weights to start from."""
    rounds = int(model.counts[AVERAGED])
    if rounds == 0:
        return weights(model)
    return (model.numbers[SCALE_SUM] * model.rows[:, :, WEIGHT] + model.rows[:, :, OFFSET]) / rounds


def restart(model, start, options) -> None:
    """Begin anew at the weights ``start``, (d, c), with nothing averaged; rounds and cells counted so far stay.

    For lasso z+ and z- are those of ``start`` with the unused radius spread evenly: the weights they stand for are
    ``start`` (to a millionth of the radius), and every attribute can still move.
    """
    rows, numbers = model.rows, model.numbers
    rows[:] = 0.0
    numbers[:] = 0.0
    model.counts[AVERAGED] = 0
    if options.penalty == LASSO:
        d = start.shape[0]
        spare = np.maximum(options.radius - np.abs(start).sum(axis=0), 1e-6 * options.radius) / (2 * d)
        unit = options.radius / (2 * d)  # z+ = z- = 1 where start is 0 everywhere
        rows[:, :, PLUS] = (np.maximum(start, 0.0) + spare) / unit
        rows[:, :, MINUS] = (np.maximum(-start, 0.0) + spare) / unit
        rows[:, :, WEIGHT] = rows[:, :, PLUS] - rows[:, :, MINUS]
        numbers[SIZE] = rows[:, :, PLUS].sum(axis=0) + rows[:, :, MINUS].sum(axis=0)
        numbers[SCALE] = options.radius / numbers[SIZE]
    else:
        rows[:, :, WEIGHT] = start
        numbers[SIZE] = (np.abs(start) if options.penalty == SHRUNK else np.square(start)).sum(axis=0)
        numbers[SCALE] = 1.0
    share_evenly(model, options.penalty, options.inner)
