"""The runs of one figure, paired by repetition."""

from collections.abc import Iterable, Iterator

import numpy as np

from sparing.experiments.journal import Run


class Runs:
    """The measured runs of one figure, by panel, algorithm, spend and repetition."""

    def __init__(self, runs: Iterable[Run]):
        self._errors: dict[tuple[str, str], dict[float, dict[int, float]]] = {}
        self._seen: dict[tuple[str, str, float], list[float]] = {}
        for run in runs:
            by_spend = self._errors.setdefault((run.panel, run.algorithm), {})
            by_spend.setdefault(run.spend, {})[run.repetition] = run.error
            self._seen.setdefault((run.panel, run.algorithm, run.spend), []).append(run.seen)
        self.panels = list(dict.fromkeys(panel for panel, _ in self._errors))

    def algorithms(self, panel: str) -> list[str]:
        """Algorithms of a panel in alphabetical order: threads finish in any order."""
        return sorted(algorithm for where, algorithm in self._errors if where == panel)

    def spends(self, panel: str, algorithm: str) -> list[float]:
        """Spends at which an algorithm ran, in increasing order."""
        return sorted(self._errors.get((panel, algorithm), ()))

    def errors(self, panel: str, algorithm: str, spend: float) -> dict[int, float]:
        """Errors by repetition. An algorithm that ran at one spend only is a reference for every spend."""
        by_spend = self._errors[panel, algorithm]
        return by_spend[spend if spend in by_spend or len(by_spend) > 1 else next(iter(by_spend))]

    def seen(self, panel: str, algorithm: str, spend: float) -> float:
        """Mean position on the horizontal axis: in most figures, the attributes bought."""
        return float(np.mean(self._seen[panel, algorithm, spend]))

    def shared(self, panel: str, first: str, second: str, part: str = "all") -> list[float]:
        """Spends at which both ran: all of them, or the "small" or "large" third."""
        one, other = self.spends(panel, first), self.spends(panel, second)
        if len(one) == 1 or len(other) == 1:
            spends = max(one, other, key=len)
        else:
            spends = [spend for spend in one if spend in other]
        third = max(1, len(spends) // 3)
        return {"all": spends, "small": spends[:third], "large": spends[-third:]}[part]

    def pairs(self, panel: str, first: str, second: str, spend: float) -> tuple[np.ndarray, np.ndarray]:
        """Errors of two algorithms in the repetitions that they share."""
        one, other = self.errors(panel, first, spend), self.errors(panel, second, spend)
        both = sorted(one.keys() & other.keys())
        return np.array([one[r] for r in both]), np.array([other[r] for r in both])

    def matches(
        self, first: str, second: str, *, part: str = "all", panels: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Errors of two algorithms at each panel and spend where both ran, with a description of the place."""
        for panel in panels or self.panels:
            for spend in self.shared(panel, first, second, part):
                yield self.where(panel, spend), *self.pairs(panel, first, second, spend)

    def where(self, panel: str, spend: float) -> str:
        """Panel and spend in words."""
        return f"{panel}, {spend:,.6g}" if len(self.panels) > 1 else f"{spend:,.6g}"
