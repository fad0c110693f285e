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

    def reading(self) -> str:
        """The result in one sentence."""
        last = {name: curve[-1] for name in self.algorithms if (curve := self.curve(name))}
        few = sorted((n for n in last if not ALGORITHMS[n].whole_rows), key=lambda n: last[n].error)
        whole = sorted((n for n in last if ALGORITHMS[n].whole_rows), key=lambda n: last[n].error)
        parts = []
        if last and min(point.error for point in last.values()) > 0.98:
            return (
                "No algorithm did better than the zero predictor: there is nothing here to learn, or too little data."
            )
        amount = "a spend of {:,.0f}" if self.priced else "{:,.0f} attributes"
        if few and whole and last[whole[0]].error < last[few[0]].error:
            end = last[whole[0]]
            parts.append(
                f"whole rows, where they are available, were better here: {ALGORITHMS[whole[0]].label} came to "
                f"{end.error:.3g} of the zero predictor's error for {amount.format(end.cells)}"
            )
        if few:
            best, end = few[0], last[few[0]]
            looking = f"looking at {self.budget} of {self.n_attributes} attributes per example"
            parts.append(
                f"{f'spending {self.budget:g} per example' if self.priced else looking}, {ALGORITHMS[best].label} did "
                f"best, with {end.error:.3g} of the zero predictor's error for {amount.format(end.cells)}"
            )
            if len(few) > 1:
                labels = ALGORITHMS[best].label, ALGORITHMS[few[-1]].label
                parts.append(_against(self.curve(best), last[few[-1]], *labels, "less" if self.priced else "fewer"))
        if whole and (not few or last[whole[0]].error >= last[few[0]].error):
            parts.append(
                f"with whole rows, {ALGORITHMS[whole[0]].label} came to {last[whole[0]].error:.3g} for "
                f"{last[whole[0]].cells:,.0f}"
            )
        sentence = "; ".join(parts)
        return sentence[0].upper() + sentence[1:] + "."


def _against(curve: list[Point], other: Point, best: str, label: str, fewer: str) -> str:
    """How many fewer attributes, or how much less money, the best algorithm needed for the final error of another."""
    said = f"{label} ended at {other.error:.3g} for {other.cells:,.0f}"
    if curve[-1].error + curve[-1].deviation > other.error:
        return f"{said}, which is within one standard deviation"
    reached = next(point for point in curve if point.error <= other.error)
    times = other.cells / reached.cells
    return f"{said}, an error that {best} reached with {times:.2g} times {fewer}" if times > 1.05 else said
