"""Claims as data, and the code that judges them on measured numbers.

Every comparison turns the runs into pieces of :class:`Evidence`: an estimate, its 95 % interval, and the range in which
the claim says it lies. What to compare is in :mod:`sparing.experiments.comparisons`.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sparing.experiments.runs import Runs


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
        if self.low < first and last < self.high:
            return "yes"
        return "no" if last <= self.low or first >= self.high else "open"

    def __str__(self) -> str:
        return f"{self.where}: {self.estimate:+.3g} ± {self.margin:.2g} ({self.answer})"


class Comparison(Protocol):
    """What a claim comes down to."""

    def evidence(self, runs: Runs) -> list[Evidence]: ...


@dataclass(frozen=True)
class Claim:
    """What a paper says in our words, the comparison that decides it, and why it may fail."""

    words: str
    comparison: Comparison
    explanation: str = ""


class Judgement(NamedTuple):
    """A verdict ("reproduced", "partly" or "not") and the numbers that it rests on."""

    claim: Claim
    verdict: str
    evidence: list[Evidence]

    @property
    def explanation(self) -> str:
        """Why the claim does not hold in full; nothing if it does."""
        return "" if self.verdict == "reproduced" else self.claim.explanation

    @property
    def numbers(self) -> str:
        """How many comparisons hold, and the mean estimate."""
        answers = Counter(piece.answer for piece in self.evidence)
        parts = [f"holds in {answers['yes']} of {len(self.evidence)} comparisons, contradicted in {answers['no']}"]
        if self.evidence:
            parts.append(f"mean estimate {np.mean([piece.estimate for piece in self.evidence]):+.3g}")
        return "; ".join(parts)


def judge(claim: Claim, runs: Runs) -> Judgement:
    """Reproduced: holds in two thirds of the comparisons or more, and is contradicted in none. Partly: in some."""
    evidence = claim.comparison.evidence(runs)
    answers = Counter(piece.answer for piece in evidence)
    if not answers["yes"]:
        return Judgement(claim, "not", evidence)
    clearly = not answers["no"] and 3 * answers["yes"] >= 2 * len(evidence)
    return Judgement(claim, "reproduced" if clearly else "partly", evidence)
