"""GenEst: an unbiased estimate of f'(w.x - y) for an entire f', from a random number of looks.

Hazan & Koren 2012, Procedure 3. With f'(z) the mean over shifts s of h((z - s) / scale) and h(u) = sum a_n u^n, one
call per shift draws an order n, forms n independent estimates theta_r of (z - s) / scale, each the mean of N
inner-product draws, and returns (a_n / Pr[n]) theta_1 ... theta_n. For AESVR (Algorithm 4) h is erf, the shifts are
+-delta and the scale is epsilon.

Asking and telling are compiled once and called by the loops: these rounds are too few to be worth inlining.
"""

from typing import NamedTuple

import numpy as np

from sparing.kernels.ask import aim, draw_inner, draw_point, weigh_inner
from sparing.kernels.compiling import entry, part
from sparing.kernels.gather import gather
from sparing.kernels.random import round_key, word
from sparing.kernels.sampling import tree_total
from sparing.kernels.state import EXAMPLES, ROUND
from sparing.kernels.tell import as_learnt, book, estimate_point, remember, step, target_as_learnt

MOST_ORDERS = 64  # an order is the number of trailing zeros of a random word: order 64 would come once in 2^64 calls
_ORDER_SLOTS = 1 << 62  # slots of a round that no draw of an attribute reaches


class Series(NamedTuple):
    """The loss, and with which probability each of its orders is drawn."""

    orders: np.ndarray  # (J,): n, rising
    chances: np.ndarray  # (J,): Pr[n] = 2^-(j+1), the last one what is left
    weights: np.ndarray  # (J,): a_n / Pr[n], over the number of shifts
    repeats: np.ndarray  # (J,): N, draws averaged in a factor; 0 where a_n = 0, for the product is then 0 anyway
    shifts: np.ndarray  # (S,)
    scale: float
    margin: bool  # f'(y w.x) y in place of f'(w.x - y)
    shared: bool  # one order and one set of draws for all shifts


def new_series(coefficients, orders, repeats, shifts, scale, margin, shared) -> Series:
    """The j-th of ``orders`` comes with probability 2^-(j+1), the last with what the others leave.

    Orders that come with a probability below N^-2 / 2 average N = ``repeats`` draws in a factor. A last order of
    coefficient zero is left out.
    """
    orders = orders[:MOST_ORDERS]
    orders = orders[: np.flatnonzero(coefficients[orders])[-1] + 1]
    places = np.arange(orders.size)
    chances = 0.5 ** (places + 1.0)
    chances[-1] *= 2.0
    a = coefficients[orders]
    averaged = np.where(places <= 2.0 * np.log2(repeats), 1, repeats)
    repeated = np.where(a == 0.0, 0, averaged).astype(np.int64)
    return Series(orders.astype(np.int64), chances, a / chances / shifts.size, repeated, shifts, scale, margin, shared)


def looks_needed(series) -> np.ndarray:
    """Inner-product draws, for each order, of a round whose shifts all draw that order."""
    return series.orders * series.repeats * (1 if series.shared else series.shifts.size)


def expected_looks(series) -> float:
    """Inner-product draws on average."""
    return float(series.chances @ looks_needed(series))


class Terms(NamedTuple):
    """The orders drawn in one round: one entry per shift."""

    orders: np.ndarray
    repeats: np.ndarray
    weights: np.ndarray


def new_terms(series) -> Terms:
    """Room for the orders of one round."""
    calls = series.shifts.size
    return Terms(np.zeros(calls, np.int64), np.zeros(calls, np.int64), np.zeros(calls))


@part
def draw_order(series, bits):
    """The place j in ``series.orders`` with probability 2^-(j+1), from one random word."""
    last, j = series.orders.size - 1, 0
    while j < last and bits & np.uint64(1) == 0:
        bits >>= np.uint64(1)
        j += 1
    return j


@part
def draw_terms(series, key, terms):
    """Draw the order of each shift; returns how many inner-product draws they need together."""
    looks = 0
    for call in range(series.shifts.size):
        j = draw_order(series, word(key, _ORDER_SLOTS if series.shared else _ORDER_SLOTS + call))
        terms.orders[call] = series.orders[j]
        terms.repeats[call] = series.repeats[j]
        terms.weights[call] = series.weights[j]
        if call == 0 or not series.shared:
            looks += series.orders[j] * series.repeats[j]
    return looks


@entry(short_loops=True)
def ask_series(model, cells, options, series, draws, scratch, terms):
    """The looks of the next round; false, and none for the inner product, where w = 0 makes it known exactly."""
    n_point = options.n_point
    key = round_key(options.seed, model.counts[ROUND])
    total = tree_total(model.tree, model.starts)
    known = not total > 0.0
    looks = 0 if known else draw_terms(series, key, terms)
    size = 2
    while size < 2 * (n_point + looks):  # a table as large as this round needs: few rounds need a large one
        size *= 2
    aim(cells, key, scratch.aims)
    n, at = draw_point(cells, draws, scratch.lookup, scratch.aims, size), 0
    for call in range(0 if known else (1 if series.shared else series.shifts.size)):
        last = at + terms.orders[call] * terms.repeats[call]
        n = draw_inner(model, key, draws, scratch, size, at, last, total, n)
        weigh_inner(model, draws, at, last, total, terms.repeats[call], False)
        at = last
    draws.sizes[0] = n
    draws.sizes[2] = at
    return not known


@part
def series_slope(draws, values, y, seen, options, series, terms, phi):
    """Fill ``phi`` (one per output) by the products of GenEst, line 14."""
    n_point = draws.point_weights.size
    for c in range(phi.size):
        target = target_as_learnt(y, c, seen, options)
        slope, first = 0.0, 0
        for call in range(series.shifts.size):
            product, at = terms.weights[call], first
            for _ in range(terms.orders[call]):
                inner = 0.0
                for _ in range(terms.repeats[call]):
                    a = draws.place[n_point + at]
                    x = as_learnt(values[a], draws.attributes[a], seen, options)
                    inner += draws.inner_weights[at, c] * x
                    at += 1
                residual = target * inner if series.margin else inner - target
                product *= (residual - series.shifts[call]) / series.scale
            slope += product
            first = 0 if series.shared else at
        phi[c] = target * slope if series.margin else slope


@entry(short_loops=True)
def tell_slope(model, seen, options, draws, values, y, weight, point, phi):
    """One round whose slope is known, as it is exactly for w = 0. Without a finite one there is no step."""
    estimate_point(draws, values, seen, options, point)
    step(model, draws, options, point, phi, weight)
    book(model, draws)
    if seen is not None and options.track:
        remember(seen, draws, values, y, weight, model.counts[EXAMPLES])


@entry(short_loops=True)
def tell_series(model, seen, options, series, draws, terms, values, y, weight, point, phi):
    """One round after its values are known."""
    series_slope(draws, values, y, seen, options, series, terms, phi)
    tell_slope(model, seen, options, draws, values, y, weight, point, phi)


@entry(short_loops=True)
def run_series(
    model, cells, seen, options, series, draws, scratch, terms, values, point, phi, rows, y, weights, first, last
):  # fmt: skip
    """Rounds over rows first..last of a matrix; returns the row before which it stopped.

    That is because w = 0, or because the value of an attribute, which is returned too, is infinite; otherwise it is -1.
    """
    for row in range(first, last):
        if not ask_series(model, cells, options, series, draws, scratch, terms):
            return row, -1
        infinite = gather(rows, row, draws.attributes, draws.sizes[0], values)
        if infinite >= 0:
            return row, infinite
        weight = weights[row] if weights.size else 1.0
        tell_series(model, seen, options, series, draws, terms, values, y[row], weight, point, phi)
    return last, -1
