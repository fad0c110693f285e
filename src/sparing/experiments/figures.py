"""What a figure is: panels of runs, axes, and the claims that it is to show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sparing.experiments.claims import Claim

RATIO = "improvement ratio"  # kept among the runs, as the error of an algorithm of that name at no spend


class Scale(NamedTuple):
    """How much is run. Learners that keep all they buy take seconds where others take milliseconds: they are ``slow``.

    With a ``slow_stride`` of 2 they run at every other spend.
    """

    name: str
    points: int
    repetitions: int
    folds: int
    slow_repetitions: int
    slow_stride: int


QUICK = Scale("quick", points=5, repetitions=10, folds=5, slow_repetitions=3, slow_stride=2)
FULL = Scale("full", points=8, repetitions=100, folds=10, slow_repetitions=10, slow_stride=1)


class Task(NamedTuple):
    """One run to be made: an algorithm, at a spend, the so-manieth time."""

    algorithm: str
    spend: float
    repetition: int


Setting = tuple[float, float]  # radius and strength of the steps


class Experiment(Protocol):
    """What a panel measures. Everything it does is a function of its seed and of what it is asked."""

    def tasks(self, scale: Scale) -> list[Task]:
        """The runs to be made, the longest first."""

    def choose(self, algorithm: str, spend: float) -> Setting | None:
        """Settings by cross-validation; None if there is nothing to choose."""

    def measure(self, task: Task, setting: Setting | None) -> tuple[float, float]:
        """What was seen and what error it gave."""


class Axes(NamedTuple):
    """Labels, and whether the vertical axis is logarithmic; the horizontal one always is."""

    seen: str = "attributes seen (distinct values, log scale)"
    error: str = "test loss / loss of the zero predictor"
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper. Panels are made, and their data loaded, when it is their turn."""

    paper: str
    number: int
    shows: str
    panels: Mapping[str, Callable[[Scale, int], Experiment]]
    claims: tuple[Claim, ...]
    minutes: Mapping[str, float]  # on two cores, by the name of the scale; measured, see docs/reproduction.md
    kind: str = "figure"
    axes: Axes = field(default_factory=Axes)

    @property
    def name(self) -> str:
        """As the files are called."""
        return f"{self.paper}-{self.kind}-{self.number}"

    @property
    def title(self) -> str:
        """As people call it."""
        return f"{self.paper}, {self.kind} {self.number}"
