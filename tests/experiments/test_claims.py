"""Every comparison comes to each of the four verdicts, on runs whose answer is known."""

from itertools import chain

import numpy as np
import pytest

from sparing.experiments.claims import Claim, Evidence, assess
from sparing.experiments.comparisons import Alike, Falls, GrowsAcross, Lower, Narrows, Printed, Slope, Steadier
from sparing.experiments.journal import Run
from sparing.experiments.runs import Runs

SPENDS = (10.0, 20.0, 40.0)
NOISE = 0.01 * np.array([-1.0, 0.5, 1.0, -0.5, 0.0])  # five repetitions, of mean zero


def runs(**means):
    """One panel: an algorithm's mean at each spend, with the same small noise for all."""
    return Runs(measured_runs("panel", **means))


def measured_runs(panel, *, spread=1.0, **means):
    return [
        Run(panel, name, spend, repetition, spend, mean + spread * noise, 0.0)
        for name, values in means.items()
        for spend, mean in zip(SPENDS, values, strict=False)
        for repetition, noise in enumerate(np.roll(NOISE, len(name)))
    ]


def each_run(panel, spend=10.0, **errors):
    """Algorithms by their errors in each repetition."""
    return [
        Run(panel, name, spend, repetition, spend, error, 0.0)
        for name, values in errors.items()
        for repetition, error in enumerate(values)
    ]


def verdict(comparison, measured):
    return assess(Claim("", comparison), measured).verdict


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([0.5, 0.4, 0.3], "reproduced"),
        ([0.5, 0.4, 0.503], "reproduced"),  # open at one spend of three, contradicted at none
        ([0.5, 0.4, 0.6], "partly"),
        ([0.5, 0.601, 0.501], "partly"),  # it holds at one spend, the others are open
        ([0.9, 0.8, 0.6], "not reproduced"),
        ([0.701, 0.601, 0.501], "inconclusive"),  # statistically indistinguishable
    ],
)
def test_lower(first, expected):
    assert verdict(Lower("a", "bb"), runs(a=first, bb=[0.7, 0.6, 0.5])) == expected


def test_lower_by_a_factor_and_in_a_part():
    measured = runs(a=[0.5, 0.2, 0.1], bb=[0.6, 0.6, 0.6])
    assert verdict(Lower("a", "bb", factor=2.0), measured) == "partly"
    assert verdict(Lower("a", "bb", factor=2.0, part="large"), measured) == "reproduced"
    assert verdict(Lower("a", "bb", factor=2.0, part="small"), measured) == "not reproduced"


@pytest.mark.parametrize(
    ("first", "or_better", "expected"),
    [
        ([0.7, 0.6, 0.5], False, "reproduced"),
        ([0.7, 0.6, 0.9], False, "partly"),
        ([0.4, 0.3, 0.2], False, "not reproduced"),
        ([0.4, 0.3, 0.2], True, "reproduced"),
    ],
)
def test_alike(first, or_better, expected):
    measured = runs(a=first, bb=[0.7, 0.6, 0.5])
    assert verdict(Alike("a", "bb", within=0.1, or_better=or_better), measured) == expected


@pytest.mark.parametrize(
    ("high", "expected"),
    [
        ([0.3, 0.3, 0.3], "reproduced"),
        ([0.3, 0.3, 0.201], "reproduced"),
        ([0.3, 0.201, 0.201], "partly"),  # four of six hold, but one of three on this side
        ([0.3, 0.3, 0.15], "partly"),
        ([0.201, 0.201, 0.201], "inconclusive"),
        ([0.1, 0.1, 0.1], "not reproduced"),
    ],
)
def test_the_weaker_side_decides(high, expected):
    measured = runs(low=[0.1, 0.1, 0.1], middle=[0.2, 0.2, 0.2], high=high)
    sides = Lower("low", "middle"), Lower("middle", "high")
    assert verdict(sides, measured) == verdict(sides[::-1], measured) == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([0.9, 0.7, 0.5], "reproduced"),
        ([0.1, 0.2, 0.3], "reproduced"),  # from below
        ([0.5, 0.7, 0.9], "not reproduced"),
        ([0.7, 0.6, 0.701], "not reproduced"),  # it moves away, if only a little
        ([0.5, 0.3, 0.1], "not reproduced"),  # it passes by and draws away
    ],
)
def test_narrows(first, expected):
    assert verdict(Narrows("a", "bb"), runs(a=first, bb=[0.4, 0.4, 0.4])) == expected


def test_narrows_in_some_panels_of_two_spends_at_least():
    far_and_near = (
        measured_runs("one", a=[0.9, 0.7, 0.5], bb=[0.4] * 3),
        measured_runs("two", a=[0.5, 0.7, 0.9], bb=[0.4] * 3),
    )
    assert verdict(Narrows("a", "bb"), Runs(chain(*far_and_near))) == "partly"
    assert Narrows("a", "bb").evidence(runs(a=[0.9], bb=[0.4])) == []


def test_gains_across_panels():
    def panels(*gains):
        return Runs(chain(*(measured_runs(f"panel {i}", a=[0.5 - gain], bb=[0.5]) for i, gain in enumerate(gains))))

    assert verdict(GrowsAcross("a", "bb"), panels(0.0, 0.1, 0.2)) == "reproduced"
    assert verdict(GrowsAcross("a", "bb"), panels(0.0, 0.2, 0.1)) == "partly"
    assert verdict(GrowsAcross("a", "bb"), panels(0.2, 0.1, 0.0)) == "not reproduced"


def test_what_both_share_cancels_in_a_ratio():
    """Hard orders cost both algorithms in proportion: the ratio is the same in every run, so it is known exactly."""
    hard = np.array([0.5, 1.0, 2.0, 4.0])
    (evidence,) = Alike("a", "bb", within=0.1).evidence(Runs(each_run("panel", a=0.95 * hard, bb=hard)))
    assert evidence.estimate == pytest.approx(-0.05)
    assert evidence.margin == pytest.approx(0.0, abs=1e-12)
    alone = Alike("a", "bb", within=0.1).evidence(Runs(each_run("panel", a=0.95 * hard, bb=hard[::-1])))
    assert alone[0].answer == "open"


def test_the_spread_of_the_second_algorithm_counts():
    """Gains of an algorithm without spread over one with spread are as uncertain as that one."""
    noisy = np.array([0.2, 0.5, 0.8, 0.4, 0.6])
    panels = each_run("one", a=np.full(5, 0.45), bb=noisy), each_run("two", a=np.full(5, 0.4), bb=noisy[::-1])
    assert GrowsAcross("a", "bb").evidence(Runs(chain(*panels)))[0].answer == "open"


def test_steadier():
    def spreads(*factors):
        wild = (measured_runs("panel", spread=factor, bb=[0.5] * 3) for factor in factors)
        by_spend = [[run for run in some if run.spend == spend] for some, spend in zip(wild, SPENDS, strict=True)]
        return Runs(chain(measured_runs("panel", a=[0.5] * 3), *by_spend))

    assert verdict(Steadier("a", "bb"), spreads(20, 20, 20)) == "reproduced"
    assert verdict(Steadier("a", "bb"), spreads(20, 20, 0.05)) == "partly"
    assert verdict(Steadier("a", "bb"), spreads(1.5, 1.5, 1.5)) == "inconclusive"  # five runs cannot tell
    assert verdict(Steadier("a", "bb"), spreads(0.05, 0.05, 0.05)) == "not reproduced"


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ([0.1, 0.1, 0.1], [0.1, 0.2, 0.4], "yes"),
        ([0.1, 0.2, 0.4], [0.1, 0.1, 0.1], "no"),
        ([0.1, 0.1, 0.1], [0.3, 0.3, 0.3], "open"),
        ([0.1, 0.1, 0.2, 0.1], [0.1, 0.2, 0.4, 0.3], "open"),  # without one run there is no spread
        ([0.1, 0.2], [0.1, 0.4], "open"),
        ([0.1], [0.4], "open"),
    ],
)
def test_steadier_without_spread_or_runs(first, second, answer):
    measured = Runs(each_run("panel", a=first, bb=second))
    assert [piece.answer for piece in Steadier("a", "bb").evidence(measured)] == [answer]
    assert "holds in" in assess(Claim("", Steadier("a", "bb")), measured).numbers


def null_ratio(rng):
    """Gains that are equal, one algorithm with ten times the spread of the other, both with what an order costs."""
    for panel in "pq":
        order = rng.normal(0, 0.05, 10)
        yield from each_run(panel, a=0.8 + order + rng.normal(0, 0.01, 10), bb=1.0 + order + rng.normal(0, 0.1, 10))


def null_spread(rng):
    """Equal spreads, with long tails and part of the error in common."""
    order = rng.laplace(0, 0.05, 10)
    yield from each_run("p", a=0.5 + order + rng.laplace(0, 0.1, 10), bb=0.5 + order + rng.laplace(0, 0.1, 10))


def null_gap(rng):
    """Equal gaps, of which the one at the larger spend is known ten times less well."""
    for spend, spread in ((10.0, 0.01), (20.0, 0.1)):
        yield from each_run("p", spend, a=0.5 + rng.normal(0, spread, 10), bb=np.full(10, 0.4))


def null_edge(rng):
    """A ratio at the very edge of what counts as alike, by a noisy second algorithm."""
    yield from each_run("p", a=1.1 + rng.normal(0, 0.01, 10), bb=1.0 + rng.normal(0, 0.1, 10))


@pytest.mark.parametrize(
    ("comparison", "null"),
    [
        (GrowsAcross("a", "bb"), null_ratio),
        (Steadier("a", "bb"), null_spread),
        (Narrows("a", "bb"), null_gap),
        (Alike("a", "bb", within=0.1, or_better=True), null_edge),
    ],
)
def test_where_there_is_nothing_few_experiments_say_otherwise(comparison, null):
    """The intervals claim 5 %; twice as many are allowed to those of ten runs with long tails."""
    rng = np.random.default_rng(0)
    answers = [comparison.evidence(Runs(null(rng)))[0].answer for _ in range(500)]
    assert np.mean([answer != "open" for answer in answers]) < 0.1


def test_falls():
    for values, expected in (
        ([0.9, 0.6, 0.3], "reproduced"),
        ([0.9, 0.3, 0.6], "partly"),
        ([0.3, 0.6, 0.9], "not reproduced"),
    ):
        assert verdict(Falls("a"), runs(a=values)) == expected
    assert verdict(Falls("a", part="small"), runs(a=[0.9, 0.3, 0.6])) == "reproduced"


def test_slope_is_that_of_a_power_law():
    measured = Runs(measured_runs("panel", spread=0.01, a=[3 * spend**0.5 for spend in SPENDS]))
    (evidence,) = Slope("a", 0.4, 0.6).evidence(measured)
    assert evidence.estimate == pytest.approx(0.5, abs=1e-3)
    assert verdict(Slope("a", 0.4, 0.6), measured) == "reproduced"
    assert verdict(Slope("a", 0.8, 1.2), measured) == "not reproduced"
    steep = measured_runs("steep", spread=0.01, a=[3 * spend for spend in SPENDS])
    flat = measured_runs("flat", spread=0.01, a=[3 * spend**0.5 for spend in SPENDS])
    assert verdict(Slope("a", 0.4, 0.6), Runs([*steep, *flat])) == "partly"


def test_printed_numbers():
    measured = Runs([Run(panel, "ratio", 0.0, 0, 0.0, value, 0.0) for panel, value in (("p", 0.45), ("q", 0.2))])
    for values, expected in (((0.45, 0.2), "reproduced"), ((0.45, 0.9), "partly"), ((0.9, 0.9), "not reproduced")):
        assert verdict(Printed("ratio", values, (0.01, 0.01)), measured) == expected


def test_printed_numbers_of_several_runs_have_a_margin():
    near, far = (Runs(each_run("p", 0.0, a=[0.44, 0.46, 0.45 + noise])) for noise in (0.0, 0.3))
    assert verdict(Printed("a", (0.45,), (0.05,)), near) == "reproduced"
    (evidence,) = Printed("a", (0.45,), (0.05,)).evidence(far)
    assert (evidence.margin > 0.1, evidence.answer) == (True, "open")


def test_a_level_meets_a_curve_at_all_its_spends():
    measured = Runs([*measured_runs("panel", curve=[0.3, 0.2, 0.1]), *measured_runs("panel", level=[0.25])])
    assert [piece.answer for piece in Lower("curve", "level").evidence(measured)] == ["no", "yes", "yes"]
    assert [piece.answer for piece in Lower("level", "curve").evidence(measured)] == ["yes", "no", "no"]


def test_only_shared_repetitions_and_spends_count():
    few = [run for run in measured_runs("panel", a=[0.1, 0.1, 0.1]) if run.repetition < 2 and run.spend > 10]
    (first, second) = Lower("a", "bb").evidence(Runs([*few, *measured_runs("panel", bb=[0.5, 0.5, 0.5])]))
    assert (first.where, second.where) == ("20: a − bb", "40: a − bb")
    single = Lower("a", "bb").evidence(
        Runs([run for run in measured_runs("panel", a=[0.1], bb=[0.5]) if not run.repetition])
    )
    assert single[0].margin == np.inf
    assert single[0].answer == "open"


def test_numbers_and_explanations():
    claim = Claim("a is lower", Lower("a", "bb"), "because")
    held, failed = (assess(claim, runs(a=[a], bb=[0.5])) for a in (0.1, 0.9))
    assert (held.explanation, failed.explanation) == ("", "because")
    assert held.numbers == "holds in 1 of 1 comparisons, contradicted in 0; mean estimate -0.4 ± 0.015"
    between = Claim("", (Lower("a", "bb"), Lower("bb", "ccc")))
    numbers = assess(between, runs(a=[0.1, 0.1], bb=[0.5, 0.5], ccc=[0.9, 0.1])).numbers
    words = "holds in 2 of 2 and 1 of 2 comparisons, contradicted in 0 and 1; mean estimate -0.4 ± "
    assert numbers.startswith(words)
    assert " and +0 ± " in numbers
    assert str(Evidence("20", -0.4, 0.01, -1.0, 0.0)) == "20: -0.4 ± 0.01 (yes)"
