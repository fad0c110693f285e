"""What a claim can come down to: each comparison says what to estimate from the runs, and in which range it should lie.

Differences are taken run by run, between algorithms that saw the same examples in the same order.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, inf, log, sqrt

import numpy as np
from scipy import stats

from sparing.experiments.claims import Comparison, Evidence
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
        return [
            Evidence(f"{where}: {what}", *_mean((first - second) / second.mean()), low, self.within)
            for where, first, second in runs.matches(self.first, self.second, part=self.part, panels=self.panels)
        ]


@dataclass(frozen=True)
class Both:
    """Two comparisons at once, such as: below the one, above the other."""

    one: Comparison
    other: Comparison

    def evidence(self, runs: Runs) -> list[Evidence]:
        return [*self.one.evidence(runs), *self.other.evidence(runs)]


@dataclass(frozen=True)
class Narrows:
    """The gap between two algorithms is smaller over the upper half of the spends than over the lower half."""

    first: str
    second: str

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel in runs.panels:
            spends = runs.shared(panel, self.first, self.second)
            gaps = [np.subtract(*runs.pairs(panel, self.first, self.second, spend)) for spend in spends]
            half = len(spends) // 2
            change = np.mean(gaps[-half:], axis=0) - np.mean(gaps[:half], axis=0)
            what = f"change of {self.first} − {self.second} from the lower to the upper half of the spends"
            found.append(Evidence(f"{panel}: {what}", *_mean(change), -inf, 0.0))
        return found


@dataclass(frozen=True)
class GrowsAcross:
    """The relative gain of the first algorithm over the second, over all spends, is larger in each next panel."""

    first: str
    second: str

    def evidence(self, runs: Runs) -> list[Evidence]:
        gains = []
        for panel in runs.panels:
            spends = runs.shared(panel, self.first, self.second)
            first, second = np.mean([runs.pairs(panel, self.first, self.second, s) for s in spends], axis=0)
            gains.append(_mean(1 - first / second.mean()))
        found = []
        for (before, start), (after, end) in pairwise(zip(runs.panels, gains, strict=True)):
            margin = hypot(start[1], end[1])  # other panels are other data
            found.append(Evidence(f"gain at {after} − gain at {before}", end[0] - start[0], margin, 0.0, inf))
        return found


@dataclass(frozen=True)
class Steadier:
    """The errors of the first algorithm have the smaller standard deviation, by the normal law of its logarithm."""

    first: str
    second: str
    part: str = "all"

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for where, first, second in runs.matches(self.first, self.second, part=self.part):
            ratio, freedom = first.std(ddof=1) / second.std(ddof=1), len(first) - 1
            margin = stats.norm.ppf((1 + CONFIDENCE) / 2) / sqrt(freedom)  # two terms of 1/(2 freedom) each
            what = f"log of the ratio of deviations, {self.first} over {self.second}"
            found.append(Evidence(f"{where}: {what}", log(ratio), float(margin), -inf, 0.0))
        return found


@dataclass(frozen=True)
class Falls:
    """The error of one algorithm is smaller at each next spend: of all, or of the "small" third, two at least."""

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
    """On logarithmic scales the error rises with what was seen by a power between two numbers."""

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
    """A number that the paper prints for each panel, and how far ours may be from it."""

    algorithm: str
    values: tuple[float, ...]
    within: tuple[float, ...]

    def evidence(self, runs: Runs) -> list[Evidence]:
        found = []
        for panel, value, within in zip(runs.panels, self.values, self.within, strict=True):
            measured = float(np.mean(list(runs.errors(panel, self.algorithm, 0.0).values())))
            found.append(Evidence(f"{panel}: {self.algorithm} less {value:g}", measured - value, 0.0, -within, within))
        return found


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of Student's confidence interval; two runs at least, or nothing can be said."""
    if len(values) < 2:
        return float(np.mean(values)), inf
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return float(np.mean(values)), float(quantile * np.std(values, ddof=1) / sqrt(len(values)))
