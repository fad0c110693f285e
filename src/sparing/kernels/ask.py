"""Which attributes to look at: the draws of one round, and their distinct attributes."""

from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import part, piece
from sparing.kernels.prefetch import prefetch
from sparing.kernels.random import round_key, uniform
from sparing.kernels.sampling import FAN, FAN_BITS, draw_alias, tree_draw, tree_total
from sparing.kernels.state import ROUND, SCALE, WEIGHT


class Draws(NamedTuple):
    """One round's looks, in arrays that are used again for the next round.

    The distinct attributes stand in ``attributes[:n]`` in the order first drawn, those of the point first;
    ``place[s]`` says which of them draw s hit. n, and how many inner-product draws there were, are in ``sizes``.
    """

    attributes: np.ndarray  # (b,)
    place: np.ndarray  # (b,)
    point_weights: np.ndarray  # (n_point,): 1 / (n_point q_i)
    inner_weights: np.ndarray  # (n_inner, c): w_j / (n_inner p_j)
    sizes: np.ndarray  # (3,): distinct attributes, those of the point draws, inner-product draws


class Scratch(NamedTuple):
    """What is needed while drawing."""

    lookup: np.ndarray  # hash table from attribute to place
    aims: np.ndarray  # (n_point,): the uniform numbers from which the point will be drawn
    ends: np.ndarray  # running sums of a block of the tree


def new_draws(n_point, n_inner, n_outputs, *, everything=False) -> Draws:
    """Room for the looks of one round; with full information, the looks of all rounds: all attributes, twice."""
    looks = n_point + n_inner
    draws = Draws(
        attributes=np.empty(looks, np.int64),
        place=np.empty(looks, np.int64),
        point_weights=np.empty(n_point),
        inner_weights=np.empty((n_inner, n_outputs)),
        sizes=np.zeros(3, np.int64),
    )
    if everything:
        draws.attributes[:n_point] = np.arange(n_point)
        draws.place[:] = np.arange(looks) % n_point
        draws.point_weights[:] = 1.0
        draws.sizes[:] = n_point
    return draws


def new_scratch(draws) -> Scratch:
    """Scratch space to fill ``draws``."""
    looks = draws.attributes.size
    return Scratch(np.empty(1 << (4 * looks).bit_length(), np.int32), np.empty(draws.point_weights.size), np.empty(FAN))


def new_room(draws, n_outputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for the values of one round and for its estimates of point and slope."""
    looks = draws.attributes.size
    return np.empty(looks), np.empty(looks), np.empty(n_outputs)


@part
def _note(lookup, mask, attributes, place, draw, attribute, n):
    """Enter one draw; a repeated attribute is the same purchase. Returns how many are distinct so far."""
    slot = (attribute * 0x9E3779B1) & mask
    while lookup[slot] >= 0:
        if attributes[lookup[slot]] == attribute:
            place[draw] = lookup[slot]
            return n
        slot = (slot + 1) & mask
    lookup[slot] = n
    attributes[n] = attribute
    place[draw] = n
    return n + 1


@part
def aim(cells, key, aims):
    """Take the uniform numbers of the point's draws, and have the cells of the table fetched that they fall in."""
    d, width = cells.shape
    for r in range(aims.size):
        aims[r] = uniform(key, r)
        prefetch(cells, np.int64(aims[r] * d) * width)


@part
def draw_point(cells, draws, lookup, aims, size):
    """Draw the point's attributes where ``aim`` said; a hash table of ``size`` slots finds repeated ones.

    Returns how many are distinct.
    """
    place, weights = draws.place, draws.point_weights
    for slot in range(size):
        lookup[slot] = -1
    n_point, n = weights.size, 0
    share = 1.0 / n_point
    for r in range(n_point):
        place[r], weights[r] = draw_alias(cells, aims[r])
    for r in range(n_point):
        weights[r] *= share
        n = _note(lookup, size - 1, draws.attributes, place, r, place[r], n)
    draws.sizes[1] = n
    return n


@part
def draw_inner(model, key, draws, scratch, size, first, last, total, n):
    """Draws first..last of the inner product, from p. Returns how many attributes are distinct so far."""
    n_point, width = draws.point_weights.size, model.rows.shape[1] * model.rows.shape[2]
    for s in range(n_point + first, n_point + last):
        j = tree_draw(model.tree, model.starts, uniform(key, s) * total, scratch.ends)
        prefetch(model.rows, j * width)
        n = _note(scratch.lookup, size - 1, draws.attributes, draws.place, s, j, n)
    return n


@part
def weigh_inner(model, draws, first, last, total, repeats, everything):
    """The weights w_j / (p_j repeats) of draws first..last of the inner product; w_j alone for ``everything``."""
    for s in range(first, last):
        j = draws.attributes[draws.place[draws.point_weights.size + s]]
        for c in range(model.rows.shape[1]):
            over_p = model.numbers[SCALE, c]
            if not everything:
                over_p = over_p * total / (model.tree[j] * repeats)
            draws.inner_weights[s, c] = model.rows[j, c, WEIGHT] * over_p


@part
def aim_point(cells, options, aims, round):
    """Find out where to look in the table of q, so early that its cells are there when ``ask_point`` reads them."""
    if not options.everything:
        aim(cells, round_key(options.seed, round), aims)


@piece
def ask_point(cells, options, draws, lookup, aims):
    """GAERR and GAELR, lines 4-7: k attributes from q for the point. With full information there is nothing to draw.

    Nothing that was told is needed for this, so it can be done while the round before is still under way.
    """
    if not options.everything:
        draw_point(cells, draws, lookup, aims, lookup.size)


@piece
def ask_inner(model, options, draws, scratch):
    """Line 8: other attributes, from p, for the inner product; returns the sum of all masses, for ``weigh``.

    With full information there is nothing to draw. With w = 0 the inner product is exactly 0, and no look is needed.
    """
    total = 0.0
    if not options.everything:
        if options.n_inner > 0:
            total = tree_total(model.tree, model.starts)
        key, size = round_key(options.seed, model.counts[ROUND]), scratch.lookup.size
        draws.sizes[2] = options.n_inner if total > 0.0 else 0
        draws.sizes[0] = draw_inner(model, key, draws, scratch, size, 0, draws.sizes[2], total, draws.sizes[1])
    return total


@piece
def weigh(model, options, draws, total):
    """The weight of each value of the inner product; separate from the draws, whose memory is prefetched meanwhile."""
    weigh_inner(model, draws, 0, draws.sizes[2], total, draws.sizes[2], options.everything)


@part
def fetch_model(model, draws):
    """Have those entries fetched that ``tell`` will change for the point draws: of the tree, the two lowest levels."""
    width, second = model.rows.shape[1] * model.rows.shape[2], model.starts[1]
    for a in range(draws.sizes[1]):
        prefetch(model.rows, draws.attributes[a] * width)
        prefetch(model.tree, draws.attributes[a])
        prefetch(model.tree, second + (draws.attributes[a] >> FAN_BITS))
