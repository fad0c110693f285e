"""Criteria for claims: each estimates a quantity from the runs and states the range that the claim allows.

Algorithms are compared run by run, on the same examples in the same order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, inf, sqrt

import numpy as np
from scipy import stats

from sparing.experiments.claims import Evidence
from sparing.experiments.runs import Runs

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Lower:
    """The first algorithm has the smaller error, by a factor if one is given."""

    first: str
    second: str
    part: str = "all"
    panels: tuple[str, ...] = ()
    factor: float = 1.0

    def evidence(self, runs: Runs) -> list[Evidence]:
        what = f"{self.first} − {self.second}" + (f"/{self.factor:g}" if self.factor != 1 else "")
        return [
            Evidence(f"{where}: {what}", *_mean(first - second / self.factor), -inf, 0.0)
            for where, first, second in runs.matches(self.first, self.second, part=self.part, panels=self.panels)
        ]


@dataclass(frozen=True)
class Alike:
    """The errors differ by less than ``within`` of the second algorithm's; ``or_better`` allows any gain."""

    first: str
    second: str
    within: float
    part: str = "all"
    panels: tuple[str, ...] = ()
    or_better: bool = False

    def evidence(self, runs: Runs) -> list[Evidence]:
        low, what = -inf if self.or_better else -self.within, f"{self.first}/{self.second} − 1"
        found = []
        for where, first, second in runs.matches(self.first, self.second, part=self.part, panels=self.panels):
            ratio, margin = _ratio(first, second)
            found.append(Evidence(f"{where}: {what}", ratio - 1, margin, low, self.within))
        return found


@dataclass(frozen=True)
class Narrows:
    """The gap between two algorithms is smaller over the upper half of the spends than over the lower half.

    The absolute value of the gap counts: overtaking the other algorithm and moving away from it is not narrowing.
    """

    first: str
    second: str

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel in runs.panels:
            spends = runs.shared(panel, self.first, self.second)
            if not (half := len(spends) // 2):
                continue  # a single spend has no halves
            gaps = [np.subtract(*runs.pairs(panel, self.first, self.second, spend)) for spend in spends]
            halves = np.column_stack([np.mean(gaps[:half], axis=0), np.mean(gaps[-half:], axis=0)])
            what = f"change of |{self.first} − {self.second}| from the lower to the upper half of the spends"
            found.append(Evidence(f"{panel}: {what}", *_jackknife(_change_of_size, halves), -inf, 0.0))
        return found


@dataclass(frozen=True)
class GrowsAcross:
    """The relative gain of the first algorithm over the second, over all spends, increases from panel to panel."""

    first: str
    second: str

    def evidence(self, runs: Runs) -> list[Evidence]:
        gains = []
        for panel in runs.panels:
            spends = runs.shared(panel, self.first, self.second)
            first, second = np.mean([runs.pairs(panel, self.first, self.second, s) for s in spends], axis=0)
            ratio, margin = _ratio(first, second)
            gains.append((1 - ratio, margin))
        found = []
        for (before, start), (after, end) in pairwise(zip(runs.panels, gains, strict=True)):
            margin = hypot(start[1], end[1])  # panels are independent data
            found.append(Evidence(f"gain at {after} − gain at {before}", end[0] - start[0], margin, 0.0, inf))
        return found


@dataclass(frozen=True)
class Steadier:
    """The errors of the first algorithm have the smaller standard deviation, compared on a log scale."""

    first: str
    second: str
    part: str = "all"

    def evidence(self, runs: Runs) -> list[Evidence]:
        what = f"log of the ratio of deviations, {self.first} over {self.second}"
        return [
            Evidence(f"{where}: {what}", *_log_spreads(first, second), -inf, 0.0)
            for where, first, second in runs.matches(self.first, self.second, part=self.part)
        ]


@dataclass(frozen=True)
class Falls:
    """The error of one algorithm decreases from spend to spend: over all, or the "small" third (at least two)."""

    algorithm: str
    part: str = "all"
    panels: tuple[str, ...] = ()

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel in self.panels or runs.panels:
            spends = runs.spends(panel, self.algorithm)
            spends = spends[: max(2, len(spends) // 3)] if self.part == "small" else spends
            for before, after in pairwise(spends):
                one, other = (runs.errors(panel, self.algorithm, spend) for spend in (before, after))
                change = np.array([other[r] - one[r] for r in sorted(one.keys() & other.keys())])
                where = f"{runs.where(panel, after)}: change since {before:,g}"
                found.append(Evidence(where, *_mean(change), -inf, 0.0))
        return found


@dataclass(frozen=True)
class Slope:
    """The error is a power of the position on the horizontal axis, with an exponent between two numbers."""

    algorithm: str
    low: float
    high: float
    panels: tuple[str, ...] = ()

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel in self.panels or runs.panels:
            spends = runs.spends(panel, self.algorithm)
            seen = np.log([runs.seen(panel, self.algorithm, spend) for spend in spends])
            errors = [runs.errors(panel, self.algorithm, spend) for spend in spends]
            slopes = [np.polyfit(seen, np.log([e[r] for e in errors]), 1)[0] for r in sorted(errors[0])]
            where = f"{panel}: power of {self.algorithm}"
            found.append(Evidence(where, *_mean(np.array(slopes)), self.low, self.high))
        return found


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints for each panel, and the deviation allowed from it.

    A single run is exact: an improvement ratio involves no randomness.
    """

    algorithm: str
    values: tuple[float, ...]
    within: tuple[float, ...]

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel, value, within in zip(runs.panels, self.values, self.within, strict=True):
            measured = np.array(list(runs.errors(panel, self.algorithm, 0.0).values()))
            mean, margin = _mean(measured) if len(measured) > 1 else (float(measured[0]), 0.0)
            found.append(Evidence(f"{panel}: {self.algorithm} less {value:g}", mean - value, margin, -within, within))
        return found


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of Student's confidence interval, which is infinite for a single run."""
    if len(values) < 2:
        return float(np.mean(values)), inf
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return float(np.mean(values)), float(quantile * np.std(values, ddof=1) / sqrt(len(values)))


def _ratio(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Ratio of the means and its margin by the delta method; paired, so that common variation cancels."""
    ratio = first.mean() / second.mean()
    return float(ratio), _mean((first - ratio * second) / second.mean())[1]


def _log_spreads(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Logarithm of the ratio of standard deviations; infinite if one of them is zero, undecided if both are."""
    if len(first) < 2 or not (np.ptp(first) or np.ptp(second)):
        return 0.0, inf
    if not (np.ptp(first) and np.ptp(second)):
        return (inf, 0.0) if np.ptp(first) else (-inf, 0.0)
    return _jackknife(_log_ratio_of_deviations, np.column_stack([first, second]))


def _log_ratio_of_deviations(columns: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):  # without one run the others may be equal
        return float(np.subtract(*np.log(columns.std(axis=0, ddof=1))))


def _change_of_size(columns: np.ndarray) -> float:
    before, after = np.abs(columns.mean(axis=0))
    return float(after - before)


def _jackknife(statistic: Callable[[np.ndarray], float], rows: np.ndarray) -> tuple[float, float]:
    """A statistic of runs, one per row, and its margin by the jackknife; infinite below three runs.

    The jackknife keeps the pairing within a row and does not assume normal errors.
    """
    count, estimate = len(rows), statistic(rows)
    if count < 3:
        return estimate, inf
    without = np.array([statistic(np.delete(rows, row, axis=0)) for row in range(count)])
    margin = _mean((count - 1) * without)[1] if np.isfinite(without).all() else inf
    return estimate, margin
