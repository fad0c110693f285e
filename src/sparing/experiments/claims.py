"""Claims as data, and the code that assesses them on measured numbers.

Every criterion turns the runs into pieces of :class:`Evidence`: an estimate, its 95 % interval, and the range in which
the claim says it lies. The criteria are in :mod:`sparing.experiments.comparisons`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite
from typing import NamedTuple, Protocol

import numpy as np

from sparing.experiments.runs import Runs

VERDICTS = "reproduced", "partly", "inconclusive", "not reproduced"  # from the best to the worst


class Evidence(NamedTuple):
    """One estimate, half the width of its confidence interval, and the open range that the claim allows."""

    where: str
    estimate: float
    margin: float
    low: float
    high: float

    @property
    def answer(self) -> str:
        """Whether the interval lies inside the range, outside, or across its end.

        >>> [Evidence("", estimate, 0.1, -1.0, 0.0).answer for estimate in (-0.2, 0.2, 0.05)]
        ['yes', 'no', 'open']
        """
        first, last = self.estimate - self.margin, self.estimate + self.margin
        if (self.low < first or self.low == -inf) and last < self.high:
            return "yes"
        return "no" if last <= self.low or first >= self.high else "open"

    def __str__(self) -> str:
        return f"{self.where}: {self.estimate:+.3g} ± {self.margin:.2g} ({self.answer})"


class Criterion(Protocol):
    """The measurable form of a claim, or of one side of it."""

    def evidence(self, runs: Runs) -> list[Evidence]: ...


@dataclass(frozen=True)
class Claim:
    """A statement of a paper in our words, the criterion that decides it, and why it may fail.

    Several criteria are the sides of one claim, which needs all of them: below one algorithm and above another.
    """

    words: str
    comparison: Criterion | tuple[Criterion, ...]
    explanation: str = ""

    @property
    def sides(self) -> tuple[Criterion, ...]:
        """The criteria, as a tuple."""
        return self.comparison if isinstance(self.comparison, tuple) else (self.comparison,)


class ClaimResult(NamedTuple):
    """A verdict, one of ``VERDICTS``, and its evidence for each side of the claim."""

    claim: Claim
    verdict: str
    sides: list[list[Evidence]]

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of all sides."""
        return list(chain(*self.sides))

    @property
    def explanation(self) -> str:
        """Why the claim does not hold in full; empty if it does, and if it was not run."""
        return "" if self.verdict == "reproduced" or not all(self.sides) else self.claim.explanation

    @property
    def numbers(self) -> str:
        """For each side, how many comparisons hold, and means of the estimates and of half their intervals' widths."""
        if not all(self.sides):
            return "not run"
        answers = [Counter(piece.answer for piece in side) for side in self.sides]
        held = _series(f"{count['yes']} of {count.total()}" for count in answers)
        parts = [f"holds in {held} comparisons, contradicted in {_series(str(count['no']) for count in answers)}"]
        finite = [[piece[1:3] for piece in side if isfinite(piece.estimate + piece.margin)] for side in self.sides]
        if all(finite):
            means = [np.mean(pairs, axis=0) for pairs in finite]
            parts.append(f"mean estimate {_series(f'{estimate:+.3g} ± {margin:.2g}' for estimate, margin in means)}")
        return "; ".join(parts)


def assess(claim: Claim, runs: Runs) -> ClaimResult:
    """Assess a claim by its weakest side: many runs of one side must not outweigh another."""
    sides = [comparison.evidence(runs) for comparison in claim.sides]
    return ClaimResult(claim, max((_verdict(side) for side in sides), key=VERDICTS.index), sides)


def _verdict(evidence: list[Evidence]) -> str:
    """The verdict: "reproduced" if two thirds of the comparisons hold and none contradicts, "partly" if some hold.

    If none holds, it is "not reproduced" if some comparison contradicts the claim, and otherwise "inconclusive".
    """
    answers = Counter(piece.answer for piece in evidence)
    if not answers["yes"]:
        return "not reproduced" if answers["no"] else "inconclusive"
    clearly = not answers["no"] and 3 * answers["yes"] >= 2 * len(evidence)
    return "reproduced" if clearly else "partly"


def _series(values: Iterable[str]) -> str:
    """The values as a list in a sentence.

    >>> _series(["1", "2", "3"])
    '1, 2 and 3'
    """
    *most, last = values
    return f"{', '.join(most)} and {last}" if most else last
