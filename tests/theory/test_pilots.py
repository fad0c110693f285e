"""How long phase one must be: closed forms typed here anew, and pilots against trying them all."""

from math import ceil, log

import numpy as np
import pytest

from sparing.theory import confidence_width, pilot_size, risk_bound, smallest_paying_pilot

D, K = 40, 4
MOMENTS = np.arange(1, D + 1) ** -2.0 / 2  # sums to less than 1
HALF = np.sqrt(MOMENTS).sum() ** 2


def test_confidence_width():
    width = confidence_width(n_attributes=500, budget=5, n_pilot=1000, confidence=0.99)
    assert width == pytest.approx(500 * log(1000 / 0.01) / (5 * 1000), rel=1e-9)


def test_pilot_orders():
    per = D * log(2 * D / 0.1) / (K + 1)
    options = {"n_attributes": D, "budget": K + 1, "confidence": 0.9}
    known = options | {"half_norm": HALF}
    assert pilot_size("TwoPhasedDDAERR", **known) == ceil(HALF * per)
    assert pilot_size("TwoPhasedDDAERR", **options) == ceil(D * per)
    assert pilot_size("TwoPhasedDDAERR", **known, goal="match") == ceil(D**2 / HALF * per)
    guessed = options | {"second_moments": MOMENTS, "goal": "match"}
    assert pilot_size("TwoPhasedDDAERR", **guessed) == ceil(D**2 / HALF * per)
    assert pilot_size("TwoPhasedDDAELR", **options) == ceil(per)
    assert pilot_size("TwoPhasedDDAELR", **guessed) == ceil(D / MOMENTS.sum() * per)
    scaled = options | {"half_norm": 4 * HALF, "norm_bound": 2.0}
    assert pilot_size("TwoPhasedDDAERR", **scaled) == ceil(HALF * per)


@pytest.mark.parametrize(
    ("name", "rival", "moments"),
    [
        ("TwoPhasedDDAERR", "AERR", {"half_norm": 1.2}),
        ("TwoPhasedDDAERR", "AERR", {"second_moments": np.r_[0.9, np.full(199, 1e-9)]}),
        ("TwoPhasedDDAELR", "AELR", {"second_moments": np.r_[0.5, np.full(199, 1e-4)]}),
    ],
    ids=["known", "unknown", "lasso"],
)
@pytest.mark.parametrize("m", [6, 300, 2500, 20_000, 10**8])
def test_smallest_paying_pilot_against_trying_them_all(name, rival, moments, m):
    options = {"n_attributes": 200, "budget": 5}
    found = smallest_paying_pilot(name, n_examples=m, confidence=0.9, **options, **moments)
    least = 1 if name == "TwoPhasedDDAERR" else ceil(log(400))
    tried = range(1, m - least + 1)
    if m > 20_000:  # too many to try all: a grid, and all of those just below
        grid = {int(m1) for m1 in np.geomspace(1, m - least, 3000)}
        tried = sorted(grid | set(range(max(1, found - 2000), found + 1)))
    to_beat = risk_bound(rival, n_examples=m, radius=1.0, **options)

    def pays(m1):
        epsilon = confidence_width(n_pilot=m1, confidence=0.9, **options)
        two = {"n_examples": m - m1, "epsilon": epsilon, "foreseen": True}
        return risk_bound(name, radius=1.0, **options, **moments, **two) < to_beat

    assert found == next(filter(pays, tried), None)


def test_some_pilots_pay_and_some_do_not():
    options = {"n_attributes": 200, "budget": 5, "confidence": 0.9, "half_norm": 1.2}
    assert smallest_paying_pilot("TwoPhasedDDAERR", n_examples=300, **options) is None
    assert smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**7, **options) > 1
    flat = options | {"half_norm": 200.0}
    assert smallest_paying_pilot("TwoPhasedDDAERR", n_examples=10**9, **flat) is None


def test_small_integers_do_not_overflow():
    options = {"budget": 5, "confidence": 0.9, "goal": "match", "half_norm": 4.0}
    sizes = [pilot_size("TwoPhasedDDAERR", n_attributes=kind(100_000), **options) for kind in (int, np.int32)]
    assert sizes[0] == sizes[1]


def test_pilot_refusals():
    options = {"n_attributes": D, "budget": K + 1}
    with pytest.raises(ValueError, match="algorithm must be one of 'TwoPhasedDDAERR', 'TwoPhasedDDAELR'; got 'AERR'"):
        pilot_size("AERR", **options, confidence=0.9)
    with pytest.raises(ValueError, match="goal must be one of 'improve', 'match'; got 'win'"):
        pilot_size("TwoPhasedDDAERR", **options, confidence=0.9, goal="win")
    with pytest.raises(ValueError, match="TwoPhasedDDAELR needs second_moments"):
        pilot_size("TwoPhasedDDAELR", **options, confidence=0.9, goal="match")
    with pytest.raises(ValueError, match="algorithm must be one of 'TwoPhased"):
        smallest_paying_pilot("DDAERR", **options, n_examples=10, confidence=0.9)
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1; got 1"):
        confidence_width(**options, n_pilot=10, confidence=1)
    with pytest.raises(ValueError, match="n_pilot must be a whole number, 1 or more; got 0"):
        confidence_width(**options, n_pilot=0, confidence=0.9)
