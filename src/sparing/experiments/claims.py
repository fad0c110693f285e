"""Claims as data, and the code that judges them on measured numbers.

Every comparison turns the runs into pieces of :class:`Evidence`: an estimate, its 95 % interval, and the range in which
the claim says it lies. What to compare is in :mod:`sparing.experiments.comparisons`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite
from typing import NamedTuple, Protocol

import numpy as np

from sparing.experiments.runs import Runs

VERDICTS = "reproduced", "partly", "not"  # from the best to the worst


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


class Comparison(Protocol):
    """What a claim, or one side of it, comes down to."""

    def evidence(self, runs: Runs) -> list[Evidence]: ...


@dataclass(frozen=True)
class Claim:
    """What a paper says in our words, the comparison that decides it, and why it may fail.

    Several comparisons are the sides of one claim, such as: below the one, above the other. It needs all of them.
    """

    words: str
    comparison: Comparison | tuple[Comparison, ...]
    explanation: str = ""

    @property
    def sides(self) -> tuple[Comparison, ...]:
        """The comparisons, be it one."""
        return self.comparison if isinstance(self.comparison, tuple) else (self.comparison,)


class Judgement(NamedTuple):
    """A verdict ("reproduced", "partly" or "not") and the numbers that it rests on, for each side of the claim."""

    claim: Claim
    verdict: str
    sides: list[list[Evidence]]

    @property
    def evidence(self) -> list[Evidence]:
        """That of all sides."""
        return list(chain(*self.sides))

    @property
    def explanation(self) -> str:
        """Why the claim does not hold in full; nothing if it does."""
        return "" if self.verdict == "reproduced" else self.claim.explanation

    @property
    def numbers(self) -> str:
        """How many comparisons hold, and the mean estimate; side by side."""
        answers = [Counter(piece.answer for piece in side) for side in self.sides]
        held = _series(f"{count['yes']} of {count.total()}" for count in answers)
        parts = [f"holds in {held} comparisons, contradicted in {_series(str(count['no']) for count in answers)}"]
        finite = [[piece.estimate for piece in side if isfinite(piece.estimate)] for side in self.sides]
        if all(finite):
            parts.append(f"mean estimate {_series(f'{np.mean(estimates):+.3g}' for estimates in finite)}")
        return "; ".join(parts)


def judge(claim: Claim, runs: Runs) -> Judgement:
    """A claim is worth what the weakest of its sides is: many runs of the one must not make up for the other."""
    sides = [comparison.evidence(runs) for comparison in claim.sides]
    return Judgement(claim, max((_verdict(side) for side in sides), key=VERDICTS.index), sides)


def _verdict(evidence: list[Evidence]) -> str:
    """Reproduced: holds in two thirds of the comparisons or more, and is contradicted in none. Partly: in some."""
    answers = Counter(piece.answer for piece in evidence)
    if not answers["yes"]:
        return "not"
    clearly = not answers["no"] and 3 * answers["yes"] >= 2 * len(evidence)
    return "reproduced" if clearly else "partly"


def _series(values: Iterable[str]) -> str:
    """As one would say it.

    >>> _series(["1", "2", "3"])
    '1, 2 and 3'
    """
    *most, last = values
    return f"{', '.join(most)} and {last}" if most else last
