"""Which attributes to look at: the draws of one round, and their distinct attributes."""

from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import part
from sparing.kernels.random import round_key, uniform
from sparing.kernels.sampling import draw_alias, tree_draw, tree_total
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
    lookup: np.ndarray  # scratch: hash table from attribute to place
    sizes: np.ndarray  # (3,): distinct attributes, those of the point draws, inner-product draws


def new_draws(n_point, n_inner, n_outputs) -> Draws:
    """Room for the looks of one round."""
    looks = n_point + n_inner
    return Draws(
        attributes=np.empty(looks, np.int64),
        place=np.empty(looks, np.int64),
        point_weights=np.empty(n_point),
        inner_weights=np.empty((n_inner, n_outputs)),
        lookup=np.empty(1 << (2 * looks).bit_length(), np.int64),
        sizes=np.zeros(3, np.int64),
    )


@part
def _note(draws, draw, attribute, n):
    """Enter one draw; a repeated attribute is the same purchase. Returns how many are distinct so far."""
    mask = draws.lookup.size - 1
    slot = (attribute * 0x9E3779B1) & mask
    while draws.lookup[slot] >= 0:
        if draws.attributes[draws.lookup[slot]] == attribute:
            draws.place[draw] = draws.lookup[slot]
            return n
        slot = (slot + 1) & mask
    draws.lookup[slot] = n
    draws.attributes[n] = attribute
    draws.place[draw] = n
    return n + 1


@part
def _ask_few(model, table, options, draws):
    """GAERR and GAELR, lines 4-8: k attributes from q for the point, others from p for the inner product.

    With w = 0 there is no p and no need of one: the inner product is 0 exactly, and nothing is looked at for it.
    """
    n_point, n_inner = options.n_point, options.n_inner
    key = round_key(options.seed, model.counts[ROUND])
    for slot in range(draws.lookup.size):
        draws.lookup[slot] = -1
    n = 0
    for r in range(n_point):
        i = draw_alias(table, uniform(key, r))
        draws.point_weights[r] = 1.0 / (n_point * table.probability[i])
        n = _note(draws, r, i, n)
    draws.sizes[1] = n
    total = tree_total(model.tree, model.starts) if n_inner > 0 else 0.0
    drawn = n_inner if total > 0.0 else 0
    scale = model.numbers[SCALE]
    for s in range(drawn):
        j = tree_draw(model.tree, model.starts, uniform(key, n_point + s) * total)
        over_p = total / (model.tree[j] * n_inner)
        for c in range(model.rows.shape[1]):
            draws.inner_weights[s, c] = scale * model.rows[j, c, WEIGHT] * over_p
        n = _note(draws, n_point + s, j, n)
    draws.sizes[0] = n
    draws.sizes[2] = drawn


@part
def _ask_all(model, draws):
    """Full information: every attribute once, for the point and for the inner product."""
    d, scale = model.rows.shape[0], model.numbers[SCALE]
    for i in range(d):
        draws.attributes[i] = draws.place[i] = draws.place[d + i] = i
        draws.point_weights[i] = 1.0
        for c in range(model.rows.shape[1]):
            draws.inner_weights[i, c] = scale * model.rows[i, c, WEIGHT]
    draws.sizes[:] = d


@part
def ask(model, table, options, draws):
    """The looks of the next round."""
    if options.everything:
        _ask_all(model, draws)
    else:
        _ask_few(model, table, options, draws)
