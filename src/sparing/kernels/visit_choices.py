"""What each of many cases buys next, or whether it stops: ``prediction/policy.py``, compiled."""

from math import erfc, exp, inf, sqrt

from sparing.kernels.compiling import entry, piece
from sparing.kernels.visits import copy_stage, covariance_of, load_item, make_purchase, towards

REGRESSION, TWO_CLASSES, MORE_CLASSES = range(3)
STOP = -1  # in place of an item
LEAST_DISTANCE = 1e-12  # between classes, below which nothing is gained
LEAST_PIVOT = 1e-10  # as in models/classes.py
LEAST_LOG = -25.0  # of a probability over the largest one, below which it is zero


@piece
def worth_of(offered, rule, stages, stage, chances, at, k, room):
    """``Offers.worth`` of an item of k variables: what a look at all of them explains, of a target or of classes."""
    n, m, K = stages.n_looks[stage], stages.outputs.shape[2], stages.inverses.shape[1]
    for i in range(k):
        own = room.own[i]
        for output in range(m):
            room.cross[i, output] = stages.with_outputs[stage, output, own]
        if k == 1:
            room.block[0, 0] = stages.variances[stage, own]
        else:
            for j in range(i + 1):
                s = 0.0
                for t in range(n):
                    s += stages.rows[stage, t, own] * stages.rows[stage, t, room.own[j]]
                room.block[i, j] = covariance_of(offered, own, room.own[j]) - s
    for i in range(K):
        for j in range(K):
            room.inverse[i, j] = stages.inverses[stage, i, j]
    worth = 0.0
    for i in range(k):
        spread = sqrt(room.block[i, i]) if room.block[i, i] > offered.least[room.own[i]] else inf
        for output in range(m):
            room.cross[i, output] /= spread
        for o in range(i + 1, k):
            room.block[o, i] /= spread
            for output in range(m):
                room.cross[o, output] -= room.block[o, i] * room.cross[i, output]
        for o in range(i + 1, k):
            for j in range(i + 1, o + 1):
                room.block[o, j] -= room.block[o, i] * room.block[j, i]
        if rule.kind != MORE_CLASSES:
            s = 0.0
            for output in range(m):
                s += room.cross[i, output] * room.cross[i, output] * offered.weights[output]
            worth += s
            continue
        left = 1.0 - towards(room.inverse, rule.factor, room.cross[i], room.a, room.b)
        left = left if left > rule.floor else rule.floor
        first, second = 0.0, 0.0
        for c in range(K):
            first += chances[at, c] * room.b[c] * room.b[c]
            second += chances[at, c] * room.b[c]
        worth += rule.slope * (first - second * second) / left
        if i + 1 < k:
            for c in range(K):
                for other in range(K):
                    room.inverse[c, other] += room.b[c] * room.b[other] / left
    return worth


@piece(rare=True)
def best_item(offered, rule, ahead, chances, at, room):
    """``Offers.best``: the item that is worth most per price; ``STOP`` if none is worth anything."""
    best, most = STOP, 0.0
    for item in range(offered.starts.size - 1):
        k, price = load_item(offered, ahead, 0, item, room)
        if k and ahead.spent[0] + price <= rule.money:
            worth = worth_of(offered, rule, ahead, 0, chances, at, k, room)
            if worth > rule.least_worth:
                ratio = worth / price if price else inf
                if best == STOP or ratio > most:
                    best, most = item, ratio
    return best


@piece
def normal_tail(x):
    """The probability that a standard normal variable is below x."""
    return 0.5 * erfc(-x / 1.4142135623730951)


@piece
def distance_of(rule, stages, stage):
    """Between two classes, in standard deviations, squared."""
    explained = 0.0
    for t in range(stages.n_looks[stage]):
        explained += stages.outputs[stage, t, 0] * stages.outputs[stage, t, 0]
    scale = rule.priors[0] * rule.priors[1]
    part = rule.factor * rule.factor * explained / scale
    most = 1.0 - rule.floor
    part = part if part < most else most
    return rule.slope * part / (1.0 - part) / scale


@piece
def error_of_two(log_odds, distance):
    """``_error_of_two`` of ``models/classes.py``."""
    p = 1.0 / (1.0 + exp(-log_odds))
    if distance < LEAST_DISTANCE:
        return p if p < 1.0 - p else 1.0 - p
    root, half = sqrt(distance), 0.5 * distance
    return p * normal_tail(-(log_odds + half) / root) + (1.0 - p) * normal_tail((log_odds - half) / root)


@piece
def squared_error(rule, stages, stage):
    """``Calibration.variances``, summed over the outputs."""
    error = 0.0
    for k in range(rule.total.size):
        explained = 0.0
        for t in range(stages.n_looks[stage]):
            explained += stages.outputs[stage, t, k] * stages.outputs[stage, t, k]
        explained = explained / rule.total[k] if rule.total[k] > 0.0 else 0.0
        if rule.share <= 1.0:
            left = 1.0 - rule.share * explained
        else:
            left = (1.0 - (explained if explained < 1.0 else 1.0)) ** rule.share
        left *= rule.total[k]
        error += left if left > rule.least[k] else rule.least[k]
    return error


@piece(rare=True)
def error_of_more(rule, logs, case, after, least, room):
    """``Classes.expected_errors``, with three or more classes."""
    K, rank, largest = rule.priors.size, 0, 0.0
    for i in range(K):
        for j in range(K):
            room.inverse[i, j] = rule.slope * (after[0, i, j] - room.before[i, j])
            room.left[i, j] = room.inverse[i, j]
            room.root[i, j] = 0.0
        largest = room.left[i, i] if room.left[i, i] > largest else largest
    for j in range(K):
        if room.left[j, j] > LEAST_PIVOT * largest:
            rank += 1
            spread = sqrt(room.left[j, j])
            for i in range(j, K):
                room.root[i, j] = room.left[i, j] / spread
            for i in range(j + 1, K):
                for o in range(j + 1, i + 1):
                    room.left[i, o] -= room.root[i, j] * room.root[o, j]
    n = rule.draws.shape[0] if rank > 1 else rule.nodes.shape[0]
    for draw in range(n):
        for k in range(K):
            s = 0.0
            for other in range(k + 1):
                s += room.root[k, other] * (rule.draws[draw, other] if rank > 1 else rule.nodes[draw, other])
            room.noise[draw, k] = s
    right = 0.0
    for truth in range(K):
        chance = exp(logs[case, truth])
        if chance < least:
            continue
        for k in range(K):
            room.a[k] = logs[case, k] + room.inverse[k, truth] - 0.5 * room.inverse[k, k]
        sum_of_largest = 0.0
        for draw in range(n):
            most = -inf
            for k in range(K):
                moved = room.a[k] + room.noise[draw, k]
                room.b[k] = moved
                most = moved if moved > most else most
            s = 0.0
            for k in range(K):
                if room.b[k] - most > LEAST_LOG:
                    s += exp(room.b[k] - most)
            sum_of_largest += 1.0 / s
        right += chance * sum_of_largest / n
    return 1.0 - right


@piece(rare=True)
def decide_now(rule, ahead, logs, cases, price, now, chosen, item, room):
    """Choose an item for the cases to which the purchases ahead are worth their price; returns how many have none."""
    undecided, error, distance = 0, 0.0, 0.0
    if rule.kind == REGRESSION:
        error = squared_error(rule, ahead, 0)
    elif rule.kind == TWO_CLASSES:
        distance = distance_of(rule, ahead, 0) - now
    for case in range(cases[0], cases[1]):
        if chosen[case] == STOP:
            before = room.error[case]
            if price <= rule.price_of_error * before:  # otherwise not even certainty is worth that
                after = error
                if rule.kind == TWO_CLASSES:
                    after = error_of_two(logs[case, 1] - logs[case, 0], distance)
                elif rule.kind == MORE_CLASSES:
                    least = rule.fraction * price / rule.price_of_error
                    after = error_of_more(rule, logs, case, ahead.inverses, least, room)
                if rule.price_of_error * (before - after) - price > rule.tolerance * rule.price_of_error * before:
                    chosen[case] = item
                else:
                    undecided += 1
    return undecided


@entry
def choose(offered, rule, stages, of_groups, starts, logs, chances, first, ahead, room, chosen):
    """What each case buys next; returns the first group for which room is lacking.

    A group is the cases at a stage; with three or more classes it is one case, since chances decide, too.
    ``room.error`` holds the error to expect of each case as it is.
    """
    for group in range(first, of_groups.size):
        stage, cases = of_groups[group], (starts[group], starts[group + 1])
        for case in range(cases[0], cases[1]):
            chosen[case] = STOP
        copy_stage(stages, stage, ahead, 0)
        for k in range(room.before.shape[0]):
            for other in range(room.before.shape[0]):
                room.before[k, other] = stages.inverses[stage, k, other]
        now = distance_of(rule, stages, stage) if rule.kind == TWO_CLASSES else 0.0
        next_item = STOP
        for length in range(1, rule.horizon + 1):
            item = best_item(offered, rule, ahead, chances, cases[0], room)
            if item == STOP:
                break
            next_item = item if length == 1 else next_item
            if rule.price_of_error == 0.0:
                for case in range(cases[0], cases[1]):
                    chosen[case] = item
                break
            k, price = load_item(offered, ahead, 0, item, room)
            if ahead.n_looks[0] + k > ahead.rows.shape[1]:
                return group
            make_purchase(offered, rule, ahead, 0, item, room.unavailable, 0, room)
            price = (ahead.spent[0] - stages.spent[stage]) / rule.unit
            if rule.kind == MORE_CLASSES and length & (length - 1):
                if price > rule.price_of_error * room.error[cases[0]]:
                    break
            elif not decide_now(rule, ahead, logs, cases, price, now, chosen, next_item, room):
                break
    return of_groups.size
