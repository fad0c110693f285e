"""Every comparison comes to each of the three verdicts, on runs whose answer is known."""

from itertools import chain

import numpy as np
import pytest

from sparing.experiments.claims import Claim, Evidence, judge
from sparing.experiments.comparisons import Alike, Both, Falls, GrowsAcross, Lower, Narrows, Printed, Slope, Steadier
from sparing.experiments.journal import Cell
from sparing.experiments.runs import Runs

SPENDS = (10.0, 20.0, 40.0)
NOISE = 0.01 * np.array([-1.0, 0.5, 1.0, -0.5, 0.0])  # five repetitions, of mean zero


def runs(**means):
    """One panel: an algorithm's mean at each spend, with the same small noise for all."""
    return Runs(cells("panel", **means))


def cells(panel, *, spread=1.0, **means):
    return [
        Cell(panel, name, spend, repetition, spend, mean + spread * noise, 0.0)
        for name, values in means.items()
        for spend, mean in zip(SPENDS, values, strict=False)
        for repetition, noise in enumerate(np.roll(NOISE, len(name)))
    ]


def verdict(comparison, measured):
    return judge(Claim("", comparison), measured).verdict


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([0.5, 0.4, 0.3], "reproduced"),
        ([0.5, 0.4, 0.503], "reproduced"),  # open at one spend of three, contradicted at none
        ([0.5, 0.4, 0.6], "partly"),
        ([0.5, 0.601, 0.501], "partly"),  # it holds at one spend, the others are open
        ([0.9, 0.8, 0.6], "not"),
        ([0.701, 0.601, 0.501], "not"),  # cannot be told apart
    ],
)
def test_lower(first, expected):
    assert verdict(Lower("a", "bb"), runs(a=first, bb=[0.7, 0.6, 0.5])) == expected


def test_lower_by_a_factor_and_in_a_part():
    measured = runs(a=[0.5, 0.2, 0.1], bb=[0.6, 0.6, 0.6])
    assert verdict(Lower("a", "bb", factor=2.0), measured) == "partly"
    assert verdict(Lower("a", "bb", factor=2.0, part="large"), measured) == "reproduced"
    assert verdict(Lower("a", "bb", factor=2.0, part="small"), measured) == "not"


@pytest.mark.parametrize(
    ("first", "or_better", "expected"),
    [
        ([0.7, 0.6, 0.5], False, "reproduced"),
        ([0.7, 0.6, 0.9], False, "partly"),
        ([0.4, 0.3, 0.2], False, "not"),
        ([0.4, 0.3, 0.2], True, "reproduced"),
    ],
)
def test_alike(first, or_better, expected):
    measured = runs(a=first, bb=[0.7, 0.6, 0.5])
    assert verdict(Alike("a", "bb", within=0.1, or_better=or_better), measured) == expected


def test_both_needs_both():
    measured = runs(low=[0.1, 0.1, 0.1], middle=[0.2, 0.2, 0.2], high=[0.3, 0.3, 0.15])
    between = Both(Lower("low", "middle"), Lower("middle", "high"))
    assert verdict(between, measured) == "partly"
    assert verdict(between, runs(low=[0.1], middle=[0.2], high=[0.3])) == "reproduced"
    assert verdict(between, runs(low=[0.3], middle=[0.2], high=[0.1])) == "not"


def test_narrows():
    for first, expected in (([0.9, 0.7, 0.5], "reproduced"), ([0.5, 0.7, 0.9], "not"), ([0.7, 0.6, 0.701], "not")):
        assert verdict(Narrows("a", "bb"), runs(a=first, bb=[0.4, 0.4, 0.4])) == expected


def test_gains_across_panels():
    def panels(*gains):
        return Runs(chain(*(cells(f"panel {i}", a=[0.5 - gain], bb=[0.5]) for i, gain in enumerate(gains))))

    assert verdict(GrowsAcross("a", "bb"), panels(0.0, 0.1, 0.2)) == "reproduced"
    assert verdict(GrowsAcross("a", "bb"), panels(0.0, 0.2, 0.1)) == "partly"
    assert verdict(GrowsAcross("a", "bb"), panels(0.2, 0.1, 0.0)) == "not"


def test_steadier():
    def spreads(*factors):
        wild = (cells("panel", spread=factor, bb=[0.5] * 3) for factor in factors)
        by_spend = [[cell for cell in some if cell.spend == spend] for some, spend in zip(wild, SPENDS, strict=True)]
        return Runs(chain(cells("panel", a=[0.5] * 3), *by_spend))

    assert verdict(Steadier("a", "bb"), spreads(20, 20, 20)) == "reproduced"
    assert verdict(Steadier("a", "bb"), spreads(20, 20, 0.05)) == "partly"
    assert verdict(Steadier("a", "bb"), spreads(1.5, 1.5, 1.5)) == "not"  # five runs cannot tell


def test_falls():
    for values, expected in (([0.9, 0.6, 0.3], "reproduced"), ([0.9, 0.3, 0.6], "partly"), ([0.3, 0.6, 0.9], "not")):
        assert verdict(Falls("a"), runs(a=values)) == expected
    assert verdict(Falls("a", part="small"), runs(a=[0.9, 0.3, 0.6])) == "reproduced"


def test_slope_is_that_of_a_power_law():
    measured = Runs(cells("panel", spread=0.01, a=[3 * spend**0.5 for spend in SPENDS]))
    (evidence,) = Slope("a", 0.4, 0.6).evidence(measured)
    assert evidence.estimate == pytest.approx(0.5, abs=1e-3)
    assert verdict(Slope("a", 0.4, 0.6), measured) == "reproduced"
    assert verdict(Slope("a", 0.8, 1.2), measured) == "not"


def test_printed_numbers():
    measured = Runs([Cell(panel, "ratio", 0.0, 0, 0.0, value, 0.0) for panel, value in (("p", 0.45), ("q", 0.2))])
    for values, expected in (((0.45, 0.2), "reproduced"), ((0.45, 0.9), "partly"), ((0.9, 0.9), "not")):
        assert verdict(Printed("ratio", values, (0.01, 0.01)), measured) == expected


def test_a_level_meets_a_curve_at_all_its_spends():
    measured = Runs([*cells("panel", curve=[0.3, 0.2, 0.1]), *cells("panel", level=[0.25])])
    assert [piece.answer for piece in Lower("curve", "level").evidence(measured)] == ["no", "yes", "yes"]
    assert [piece.answer for piece in Lower("level", "curve").evidence(measured)] == ["yes", "no", "no"]


def test_only_shared_repetitions_and_spends_count():
    few = [cell for cell in cells("panel", a=[0.1, 0.1, 0.1]) if cell.repetition < 2 and cell.spend > 10]
    (first, second) = Lower("a", "bb").evidence(Runs([*few, *cells("panel", bb=[0.5, 0.5, 0.5])]))
    assert (first.where, second.where) == ("20: a − bb", "40: a − bb")
    single = Lower("a", "bb").evidence(
        Runs([cell for cell in cells("panel", a=[0.1], bb=[0.5]) if not cell.repetition])
    )
    assert single[0].margin == np.inf
    assert single[0].answer == "open"


def test_numbers_and_explanations():
    claim = Claim("a is lower", Lower("a", "bb"), "because")
    held, failed = (judge(claim, runs(a=[a], bb=[0.5])) for a in (0.1, 0.9))
    assert (held.explanation, failed.explanation) == ("", "because")
    assert held.numbers == "holds in 1 of 1 comparisons, contradicted in 0; mean estimate -0.4"
    assert str(Evidence("20", -0.4, 0.01, -1.0, 0.0)) == "20: -0.4 ± 0.01 (yes)"
