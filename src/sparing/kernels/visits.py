r"""Visits of many cases at once: what is known after each look; ``visit_choices.py`` says what is bought next.

Letters: :math:`r_t` is the row of look t and :math:`o_t` that of the outputs, as ``prediction/knowledge.py`` explains;
A is :math:`(P - G)^{-1}` of ``models/classes.py``. What decides between purchases is computed in the order of the
operations there, so visits one by one buy the same. A *stage* is what cases that bought the same have in common.
"""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from sparing.kernels.compiling import entry, piece


class Offered(NamedTuple):
    """What is for sale, and the Gaussian that says what it is worth."""

    covariance: np.ndarray  # (d, d), or (0, 0) if there are factors
    loadings: np.ndarray  # (r, d)
    noise: np.ndarray  # (d,)
    least: np.ndarray  # (d,): variances below which a variable is determined by others
    members: np.ndarray  # columns, item by item
    starts: np.ndarray  # where those of each item start
    variables: np.ndarray  # where the variables of each column start
    prices: np.ndarray  # of the columns, in units of money
    weights: np.ndarray  # (m,): of the outputs' explained variances


class Stages(NamedTuple):
    """What is known, asked for and spent, stage by stage."""

    n_looks: np.ndarray
    looks: np.ndarray  # (n_stages, room): variables
    rows: np.ndarray  # (n_stages, room, d)
    outputs: np.ndarray  # (n_stages, room, m)
    variances: np.ndarray  # (n_stages, d)
    with_outputs: np.ndarray  # (n_stages, m, d)
    inverses: np.ndarray  # (n_stages, K, K): A; with two classes or a target, K is zero
    taken: np.ndarray  # (n_stages, columns)
    spent: np.ndarray  # units of money


class Rule(NamedTuple):
    """When to stop, and what an error is."""

    kind: int
    price_of_error: float  # zero: buy whatever adds to the prediction
    unit: float  # units of money in one
    money: float  # units that a case may cost
    horizon: int  # purchases to look ahead
    factor: float  # ``Classes.belief``
    slope: float
    floor: float  # smallest unexplained part of a contrast between classes
    priors: np.ndarray
    total: np.ndarray  # (m,): variances of the targets
    least: np.ndarray  # (m,): smallest variances that may be left of them
    share: float
    least_worth: float  # what is worth less is not bought
    draws: np.ndarray  # (n, K): standard normal
    nodes: np.ndarray  # (n, K): quantiles in their place where one variable moves all classes
    fraction: float  # of what was spent: truths whose errors cost less are not simulated
    tolerance: float  # relative to the error: smaller gains are rounding errors


class Room(NamedTuple):
    """Scratch space for one item, and for changes of log-posteriors."""

    own: np.ndarray  # variables of an item
    block: np.ndarray  # their covariances
    cross: np.ndarray  # their covariances with the outputs
    inverse: np.ndarray  # (K, K)
    before: np.ndarray  # (K, K): A where the stage begins
    left: np.ndarray  # (K, K)
    root: np.ndarray  # (K, K)
    a: np.ndarray  # (m,)
    b: np.ndarray  # (m,)
    noise: np.ndarray  # like the draws
    error: np.ndarray  # to expect of each case as it is
    unavailable: np.ndarray  # (1, columns): none of an item, for looks ahead


@piece(rare=True)
def copy_stage(stages, stage, to, at):
    """Copy all that is known at a stage."""
    n, d = stages.n_looks[stage], stages.variances.shape[1]
    to.n_looks[at], to.spent[at] = n, stages.spent[stage]
    for t in range(n):
        to.looks[at, t] = stages.looks[stage, t]
        for i in range(d):
            to.rows[at, t, i] = stages.rows[stage, t, i]
        for k in range(stages.outputs.shape[2]):
            to.outputs[at, t, k] = stages.outputs[stage, t, k]
    for i in range(d):
        to.variances[at, i] = stages.variances[stage, i]
    for k in range(stages.outputs.shape[2]):
        for i in range(d):
            to.with_outputs[at, k, i] = stages.with_outputs[stage, k, i]
    for k in range(stages.inverses.shape[1]):
        for other in range(stages.inverses.shape[1]):
            to.inverses[at, k, other] = stages.inverses[stage, k, other]
    for column in range(stages.taken.shape[1]):
        to.taken[at, column] = stages.taken[stage, column]


@piece
def covariance_of(offered, i, j):
    """The covariance of two variables."""
    if offered.covariance.shape[0]:
        return offered.covariance[i, j]
    found = 0.0
    for k in range(offered.loadings.shape[0]):
        found += offered.loadings[k, i] * offered.loadings[k, j]
    return found + offered.noise[i] if i == j else found


@piece
def towards(inverse, factor, output, a, b):
    r"""a, the part of a look's output that is believed, and :math:`b = A a`; returns :math:`a^T b`."""
    for k in range(inverse.shape[0]):
        a[k] = factor * output[k]
    product = 0.0
    for k in range(inverse.shape[0]):
        s = 0.0
        for other in range(inverse.shape[0]):
            s += inverse[k, other] * a[other]
        b[k] = s
        product += a[k] * s
    return product


@piece(rare=True)
def after_look(inverse, at, rule, room):
    """``Classes.after_look``: A after a look whose outputs are in ``room.cross[0]``."""
    K = rule.priors.size
    for k in range(K):
        for other in range(K):
            room.inverse[k, other] = inverse[at, k, other]
    product = towards(room.inverse, rule.factor, room.cross[0], room.a, room.b)
    length, claimed = 0.0, 0.0
    for k in range(K):
        s = 0.0
        for other in range(K):
            s += room.inverse[k, other] * (rule.priors[other] * room.b[other])
        length += rule.priors[k] * room.b[k] * room.b[k]
        claimed += rule.priors[k] * room.b[k] * s
    left = 1.0 - product
    step = 1.0 / (left if left > rule.floor else rule.floor)
    if length > 0.0:
        most = (1.0 / rule.floor - claimed / length) / length
        most = most if most > 0.0 else 0.0
        step = most if most < step else step
    for k in range(K):
        for other in range(K):
            inverse[at, k, other] += step * room.b[k] * room.b[other]


@piece(rare=True)
def look(offered, rule, stages, stage, j, room):
    """``Knowledge._look``: everything after a look at variable j."""
    n, d = stages.n_looks[stage], stages.variances.shape[1]
    spread = sqrt(stages.variances[stage, j]) if stages.variances[stage, j] > offered.least[j] else inf
    for i in range(d):
        stages.rows[stage, n, i] = 0.0
    for t in range(n):
        factor = stages.rows[stage, t, j]
        for i in range(d):
            stages.rows[stage, n, i] += factor * stages.rows[stage, t, i]
    for i in range(d):
        stages.rows[stage, n, i] = (covariance_of(offered, j, i) - stages.rows[stage, n, i]) / spread
    for k in range(stages.outputs.shape[2]):
        output = stages.with_outputs[stage, k, j] / spread
        stages.outputs[stage, n, k] = output
        room.cross[0, k] = output
        for i in range(d):
            stages.with_outputs[stage, k, i] -= stages.rows[stage, n, i] * output
    for i in range(d):
        left = stages.variances[stage, i] - stages.rows[stage, n, i] * stages.rows[stage, n, i]
        stages.variances[stage, i] = left if left > 0.0 else 0.0
    stages.looks[stage, n] = j
    stages.n_looks[stage] = n + 1
    if stages.inverses.shape[1]:
        after_look(stages.inverses, stage, rule, room)


@piece
def load_item(offered, stages, stage, item, room):
    """Write the variables of an item that are left to ``room.own``; returns how many, and their price."""
    k, price = 0, 0
    for at in range(offered.starts[item], offered.starts[item + 1]):
        column = offered.members[at]
        if not stages.taken[stage, column]:
            price += offered.prices[column]
            for variable in range(offered.variables[column], offered.variables[column + 1]):
                room.own[k] = variable
                k += 1
    return k, price


@piece(rare=True)
def make_purchase(offered, rule, stages, stage, item, unavailable, at, room):
    """Look at what is left of an item, but for unavailable columns; all are taken and paid for."""
    place = 0
    for member in range(offered.starts[item], offered.starts[item + 1]):
        column = offered.members[member]
        if not stages.taken[stage, column]:
            if not unavailable[at, place]:
                for variable in range(offered.variables[column], offered.variables[column + 1]):
                    look(offered, rule, stages, stage, variable, room)
            stages.taken[stage, column] = True
            stages.spent[stage] += offered.prices[column]
            place += 1


@entry
def advance(offered, rule, stages, parents, items, unavailable, following, room):
    """The stages after purchases of which some columns were unavailable."""
    for stage in range(parents.size):
        copy_stage(stages, parents[stage], following, stage)
        make_purchase(offered, rule, following, stage, items[stage], unavailable, stage, room)


@entry
def follow(stages, of_cases, known, means, values, distances):
    """``Knowledge.distances``: those of the looks after the first ``known`` of each case."""
    for case in range(of_cases.size):
        stage = of_cases[case]
        for t in range(known[case], stages.n_looks[stage]):
            j, s = stages.looks[stage, t], 0.0
            for u in range(t):
                s += distances[case, u] * stages.rows[stage, u, j]
            away = values[case, t - known[case]] - means[j] - s
            distances[case, t] = away / stages.rows[stage, t, j] if stages.rows[stage, t, j] > 0.0 else 0.0
