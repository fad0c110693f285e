"""The result of a comparison: every run, curves, and a summary in one sentence."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparing.compare.algorithms import ALGORITHMS


class Row(NamedTuple):
    """One run: what it was allowed to buy, what it bought, and its test loss over that of the zero predictor."""

    algorithm: str
    allowance: float
    repetition: int
    examples: int
    cells: int
    draws: int
    error: float
    radius: float
    strength: float
    spent: float = np.nan  # money; the number of cells if attributes have no prices


class Point(NamedTuple):
    """The runs of one algorithm at one allowance: mean spend, mean and standard deviation of the error."""

    allowance: float
    cells: float  # bought on average; if attributes have prices, the money spent
    error: float
    deviation: float


@dataclass(frozen=True)
class Comparison:
    """All runs and the data they ran on. An ``improvement_ratio`` of 1 means that second moments do not help."""

    rows: list[Row]
    algorithms: list[str]
    n_train: int
    n_test: int
    n_attributes: int
    budget: float
    improvement_ratio: float
    priced: bool = False  # whether allowances are money

    def curve(self, algorithm: str) -> list[Point]:
        """The points of an algorithm by increasing allowance."""
        mine = [row for row in self.rows if row.algorithm == algorithm]
        points = []
        for allowance in sorted({row.allowance for row in mine}):
            runs = [row for row in mine if row.allowance == allowance]
            errors = np.array([row.error for row in runs])
            deviation = float(errors.std(ddof=1)) if len(runs) > 1 else 0.0
            cells = float(np.mean([row.spent if self.priced else row.cells for row in runs]))
            points.append(Point(allowance, cells, float(errors.mean()), deviation))
        return points

    @staticmethod
    def style(algorithm: str) -> dict[str, Any]:
        """The style of an algorithm in all pictures."""
        return ALGORITHMS[algorithm].style

    @property
    def unit(self) -> str:
        """The unit of allowances."""
        return "money" if self.priced else "attributes"

    @property
    def looks(self) -> str:
        """The budget in words."""
        return f"{'a budget of ' * self.priced}{self.budget:g}{'' if self.priced else ' looks'} per example"

    def notes(self) -> list[str]:
        """The data and the information that the numbers depend on."""
        attributes, penalty = self.n_attributes, ALGORITHMS[self.algorithms[0]].penalty
        said = [
            f"{self.n_train:,} training and {self.n_test:,} test rows, {attributes:,} attributes, {self.looks}; "
            f"improvement ratio for {penalty} {self.improvement_ratio:.2g} (1: moments do not help)."
        ]
        told = [name for name in self.algorithms if name in ("DDAERR", "DDAELR")]
        if told:
            said.append(
                f"{' and '.join(told)} is given the exact second moments of the training data, which do not count as "
                "bought; a two-phased algorithm estimates them, and that counts."
            )
        return said

    def indistinguishable(self, one: str, other: str) -> bool:
        """Whether the errors at the largest spend differ by no more than the standard error of their difference.

        Differences are paired: each is of two runs on the same split. Training rows of different splits overlap, so
        the variance is that of Nadeau & Bengio (2003). A single split has no standard error and tells nothing apart.
        """
        last = [self.curve(name)[-1].allowance for name in (one, other)]
        errors = [
            np.array([row.error for row in self.rows if (row.algorithm, row.allowance) == of])
            for of in zip((one, other), last, strict=True)
        ]
        differences = errors[0] - errors[1]
        if len(differences) < 2:
            return True
        variance = differences.var(ddof=1) * (1 / len(differences) + self.n_test / self.n_train)
        return bool(abs(differences.mean()) <= np.sqrt(variance))

    def reading(self) -> str:
        """The result in a few sentences, all of them about the largest spend."""
        last = {name: curve[-1] for name in self.algorithms if (curve := self.curve(name))}
        if last and min(point.error for point in last.values()) > 0.98:
            return (
                "At the largest spend, no algorithm did better than the zero predictor: there is nothing here to "
                "learn, or too little data."
            )
        order = sorted(last, key=lambda name: last[name].error)
        few = [name for name in order if not ALGORITHMS[name].whole_rows]
        whole = [name for name in order if ALGORITHMS[name].whole_rows]
        parts = []
        if few and whole and self.indistinguishable(few[0], whole[0]):
            parts.append("whether a few values of many rows or whole rows are better is not decided")
        elif few and whole and whole[0] == order[0]:
            parts.append("whole rows, where they are available, were better here")
        parts += [
            self._ranking(names, last) for names in sorted(filter(None, (few, whole)), key=lambda of: of != whole)
        ]
        return f"At the largest spend, {'; '.join(parts)}."

    def _ranking(self, names: list[str], last: dict[str, Point]) -> str:
        """What the best of these algorithms came to, which ones it is indistinguishable from, and the worst."""
        best, *others = names
        end, labels = last[best], {name: ALGORITHMS[name].label for name in names}
        amount = "a spend of {:,.0f}" if self.priced else "{:,.0f} attributes"
        if ALGORITHMS[best].whole_rows:
            way = "with whole rows"
        elif self.priced:
            way = f"spending {self.budget:g} per example"
        else:
            way = f"looking at {self.budget} of {self.n_attributes} attributes per example"
        rivals = [labels[name] for name in others if self.indistinguishable(best, name)]
        did = f"{labels[best]} came to {end.error:.3g} of the zero predictor's error for {amount.format(end.cells)}"
        said = f"{way}, {did}"
        if rivals:
            said += f", and whether it is better than {_or(rivals)} is not decided"
        elif others:
            said += ", the best of these"
        if others and len(rivals) < len(others) and not ALGORITHMS[best].whole_rows:
            less = "less" if self.priced else "fewer"
            said += "; " + _against(self.curve(best), last[others[-1]], labels[best], labels[others[-1]], less)
        return said


def _or(names: list[str]) -> str:
    """
    >>> _or(["AERR", "DDAERR", "AER"])
    'AERR, DDAERR or AER'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _against(curve: list[Point], other: Point, best: str, label: str, fewer: str) -> str:
    """How many fewer attributes, or how much less money, the best algorithm needed for the final error of another."""
    said = f"{label} ended at {other.error:.3g} for {other.cells:,.0f}"
    reached = next(point for point in curve if point.error <= other.error)
    times = other.cells / reached.cells
    return f"{said}, an error that {best} reached with {times:.2g} times {fewer}" if times > 1.05 else said
