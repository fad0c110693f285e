"""GenEst by enumeration: every draw of every order, so that expectations are sums and not averages."""

from itertools import product
from math import factorial, sqrt

import numpy as np
import pytest
from scipy.special import erf

from learner_cases import kernel_parts
from sparing.kernels import series as kernel
from sparing.kernels.ask import Draws
from sparing.kernels.state import new_seen
from sparing.learners import AERR, AESVR, hinge_loss, squared_loss, tube_loss

LEARNER = AERR(2, budget=2, radius=1.0, step_size=1.0)
LEARNER.begin()
*_, OPTIONS = kernel_parts(LEARNER)


def make_series(loss, *, repeats=1, nonzero=False, shared=False, most=64):
    a = loss.coefficients
    orders = np.flatnonzero(a) if nonzero else np.arange(a.size)
    shifts = np.array(loss.shifts)
    return kernel.new_series(a, orders[orders < most], repeats, shifts, loss.scale, loss.form == "margin", shared)


def outcomes(series, j, w, x, y):
    """Every value of the slope given that order j was drawn, and its probability."""
    n, repeats = int(series.orders[j]), int(series.repeats[j])
    p = w**2 / (w @ w)
    calls = series.shifts.size
    assert calls == 1 or series.shared
    terms = kernel.Terms(np.full(calls, n), np.full(calls, repeats), np.full(calls, series.weights[j]))
    phi, seen = np.empty(1), new_seen(w.size, 1)
    for places in product(range(w.size), repeat=n * repeats):
        at = np.array(places, dtype=np.int64)
        weights = (w[at] / p[at] / max(repeats, 1)).reshape(-1, 1)
        sizes = np.array([w.size, 0, at.size])
        draws = Draws(np.arange(w.size), at, np.empty(0), weights, sizes)
        kernel.series_slope(draws, x, np.array([y]), seen, OPTIONS, series, terms, phi)
        assert np.isfinite(phi[0])
        yield phi[0], np.prod(p[at])


def moments(series, w, x, y):
    """Mean and mean square of the slope, by enumeration of orders and draws."""
    first = second = 0.0
    for j, chance in enumerate(series.chances):
        for value, probability in outcomes(series, j, w, x, y):
            first += chance * probability * value
            second += chance * probability * value**2
    return first, second


TWO = (np.array([0.3, -0.2]), np.array([0.5, 0.7]), 0.02)
THREE = (np.array([0.2, -0.3, 0.1]), np.array([0.4, 0.2, -0.3]), 0.01)


@pytest.mark.parametrize(
    ("point", "options"),
    [
        (TWO, {}),
        (THREE, {}),
        (TWO, {"nonzero": True}),
        (TWO, {"repeats": 2}),
        (TWO, {"shared": True}),
        (THREE, {"nonzero": True, "shared": True}),
    ],
)
def test_the_slope_of_the_tube_loss_has_no_bias(point, options):
    """Orders from 9 on add less than 1e-15 where |theta| <= 0.04; the truth is erf itself, not the series."""
    w, x, y = point
    tube, accuracy = 0.01, 3.0
    loss = tube_loss(tube, accuracy)
    if not options.get("shared"):
        object.__setattr__(loss, "shifts", (tube,))
    most = 7 if options.get("repeats") else 9
    theta = max(abs(w @ x - y - tube), abs(w @ x - y + tube)) / accuracy
    assert loss.tail(most, theta) < 1e-15
    wanted = np.mean([erf((w @ x - y - shift) / accuracy) for shift in loss.shifts])
    assert abs(moments(make_series(loss, most=most, **options), w, x, y)[0] - wanted) < 1e-12


def test_the_squared_loss_gives_the_residual():
    """All orders, or only the one that counts: then it is the slope of AERR, whose mean square is known."""
    w, x, y = THREE
    residual, variance = w @ x - y, (w @ w) * (x @ x) - (w @ x) ** 2
    assert moments(make_series(squared_loss()), w, x, y)[0] == pytest.approx(residual, abs=1e-15)
    mean, square = moments(make_series(squared_loss(), nonzero=True), w, x, y)
    assert mean == pytest.approx(residual, abs=1e-15)
    assert square == pytest.approx(residual**2 + variance, abs=1e-15)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_slope_of_the_hinge_loss_has_no_bias(y):
    """Here theta is about -0.1, and orders from 11 on add less than 1e-13."""
    w, x, _ = TWO
    loss = hinge_loss(10.0)
    mean, _ = moments(make_series(loss, most=11), w, x, y)
    assert mean == pytest.approx(float(loss.slope(w @ x, y)), abs=1e-12)


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_mean_square_of_one_call(repeats):
    r"""E[phi^2] = sum 2^(n+1) a_n^2 (theta^2 + v/N_n)^n: N divides the variance of a factor, not its squared mean."""
    w, x, y = TWO
    loss = tube_loss(0.0, 1.0)
    object.__setattr__(loss, "shifts", (0.0,))
    series = make_series(loss, repeats=repeats, most=6)
    variance = (w @ w) * (x @ x) - (w @ x) ** 2
    wanted = 0.0
    for j, n in enumerate(series.orders):
        often = n <= 2 * np.log2(repeats)
        spread = variance / (1 if often else repeats)
        wanted += loss.coefficients[n] ** 2 / series.chances[j] * ((w @ x - y) ** 2 + spread) ** n
    assert moments(series, w, x, y)[1] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"orders": "nonzero"}, {"accuracy": 0.75}])
def test_a_learner_states_mean_and_mean_square_of_its_slope(options):
    """Two shifts with shared draws, by enumeration, against ``slope_moments``; the smaller accuracy averages draws."""
    settings = {"budget": 6, "radius": 1.0, "accuracy": 1.0, "shared": True, "max_looks": 11}
    learner = AESVR(6, **settings | options)
    assert learner.max_order >= 3
    w, x, y = TWO
    variance = (w @ w) * (x @ x) - (w @ x) ** 2
    assert learner.slope_moments(w @ x - y, variance) == pytest.approx(moments(learner.series, w, x, y), rel=1e-10)


def test_orders_come_with_halving_probability():
    """All words of 12 bits stand for all words; the last of six orders takes what is left."""
    series = make_series(squared_loss())._replace(orders=np.arange(6))
    places = [kernel.draw_order(series, np.uint64(bits)) for bits in range(1 << 12)]
    assert (np.bincount(places) / (1 << 12)).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 32]


@pytest.mark.parametrize("repeats", [1, 2, 5, 16, 100, 1000])
def test_expected_looks_of_a_series_without_gaps(repeats):
    """1 + (N - 1) 2^-r (r + 1) with r = floor(2 log2 N) + 1: never more than 1.75."""
    a = np.array([1.0 / factorial(n) for n in range(64)])
    series = kernel.new_series(a, np.arange(64), repeats, np.zeros(1), 1.0, False, False)
    r = int(np.floor(2 * np.log2(repeats))) + 1
    assert kernel.expected_looks(series) == pytest.approx(1 + (repeats - 1) * 2.0**-r * (r + 1), abs=1e-12)
    assert kernel.expected_looks(series) < 1.75 + 1e-12


def test_orders_of_coefficient_zero_cost_no_look():
    """Half of the tube loss's orders: sum of n 2^-(n+1) over odd n is 5/9, twice for the two shifts."""
    series = make_series(tube_loss(0.1, 1.0))
    assert kernel.expected_looks(series) == pytest.approx(10 / 9, abs=1e-12)
    assert series.weights[1] == pytest.approx(2.0**2 * 2.0 / sqrt(np.pi) / 2)
