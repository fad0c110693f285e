"""The parts of a figure: panels of runs, axes, styles, and the claims that it supports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from sparing.compare import ALGORITHMS
from sparing.experiments.claims import Claim

RATIO = "improvement ratio"  # stored as a run: the error of an algorithm of this name at spend 0


class Scale(NamedTuple):
    """The number of runs. Keeping learners are ``slow``: they take seconds where others take milliseconds.

    With a ``slow_stride`` of 2 they run at every other spend.
    """

    name: str
    points: int
    repetitions: int
    folds: int
    slow_repetitions: int
    slow_stride: int


QUICK = Scale("quick", points=5, repetitions=10, folds=5, slow_repetitions=3, slow_stride=2)
FULL = Scale("full", points=8, repetitions=100, folds=10, slow_repetitions=10, slow_stride=3)


class Task(NamedTuple):
    """One run to be made: an algorithm, a spend, and the number of the repetition."""

    algorithm: str
    spend: float
    repetition: int


Tuning = tuple[float, float]  # radius and strength of the steps


class Experiment(Protocol):
    """The measurements of a panel. Results depend on its seed and on the arguments alone."""

    def tasks(self, scale: Scale) -> list[Task]:
        """The runs to be made, the most important first and the longest first among those."""

    def choose(self, algorithm: str, spend: float) -> Tuning | None:
        """Settings by cross-validation; None if there is nothing to choose."""

    def measure(self, task: Task, setting: Tuning | None) -> tuple[float, float]:
        """The position on the horizontal axis, and the error there."""


def series_style(label: str, colour: str, marker: str) -> dict[str, Any]:
    """The style of a series with a solid line."""
    return {"label": label, "color": colour, "marker": marker, "linestyle": "-"}


class Axes(NamedTuple):
    """Labels, and whether the vertical axis is logarithmic; the horizontal one always is."""

    seen: str = "attributes seen (distinct values, log scale)"
    error: str = "test loss / loss of the zero predictor"
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper. Panels are made, and their data loaded, only when they run."""

    paper: str
    number: int
    shows: str
    panels: Mapping[str, Callable[[Scale, int], Experiment]]
    claims: tuple[Claim, ...]
    minutes: Mapping[str, float]  # on two cores, by the name of the scale; measured, see docs/reproduction.md
    kind: str = "figure"
    axes: Axes = field(default_factory=Axes)
    styles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of series that `compare` does not have
    lender: str = ""  # a figure with the same data in panels of the same titles, whose runs are reused

    def style(self, series: str) -> Mapping[str, Any]:
        """Label, colour, marker and line of a series."""
        return self.styles[series] if series in self.styles else ALGORITHMS[series].style

    @property
    def name(self) -> str:
        """The name of its files, without a suffix."""
        return f"{self.paper}-{self.kind}-{self.number}"

    @property
    def title(self) -> str:
        """The name for readers."""
        return f"{self.paper}, {self.kind} {self.number}"
