"""Run figures of the papers, store each finished run on disk, and assess their claims."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sparing import __version__
from sparing.experiments import agarwal_gonen, compadagrad, hazan_koren, kukliansky_shamir
from sparing.experiments.claims import ClaimResult, assess
from sparing.experiments.figures import Experiment, Figure, Scale, Task
from sparing.experiments.journal import Choice, Journal, Run
from sparing.experiments.runs import Runs
from sparing.files import UNFINISHED, InputError, write_text

CATALOGUE: tuple[Figure, ...] = (
    *kukliansky_shamir.FIGURES,
    *hazan_koren.FIGURES,
    *compadagrad.FIGURES,
    *agarwal_gonen.FIGURES,
)
CHOOSING = 0.4  # approximate fraction of a panel's time that goes into choosing settings


def find_figures(paper: str, *, figures: Iterable[int] = (), tables: Iterable[int] = ()) -> list[Figure]:
    """The figures and tables of a paper, or of "all" papers; with numbers, only these.

    >>> [figure.title for figure in find_figures("compadagrad", tables=[1])]
    ['compadagrad, table 1']
    """
    papers = list(dict.fromkeys(figure.paper for figure in CATALOGUE))
    if paper not in (*papers, "all"):
        raise ValueError(f"there is no paper {paper!r}; choose from {', '.join(papers)}, or all.")
    mine = [figure for figure in CATALOGUE if paper in (figure.paper, "all")]
    wanted = [("figure", number) for number in figures] + [("table", number) for number in tables]
    known = [(figure.kind, figure.number) for figure in mine]
    if missing := [f"{kind} {number}" for kind, number in wanted if (kind, number) not in known]:
        there = ", ".join(f"{kind} {number}" for kind, number in dict.fromkeys(known))
        raise ValueError(f"{paper} has no {missing[0]}; it has {there}.")
    return [figure for figure in mine if not wanted or (figure.kind, figure.number) in wanted]


@dataclass(frozen=True)
class Reproduction:
    """A folder of runs that share one scale and one seed."""

    folder: Path
    scale: Scale
    seed: int

    def open(self) -> None:
        """Create the folder, or resume its runs; refuse a folder of other settings or other files."""
        mine = {"protocol": self.scale.name, "seed": self.seed, "version": __version__}
        file = self.folder / "settings.json"
        if file.exists():
            theirs = _settings(file)
            if different := [name for name in mine if theirs[name] != mine[name]]:
                name = different[0]
                raise InputError(
                    f"the folder {str(self.folder)!r} holds runs with {name} {theirs[name]!r}, not {mine[name]!r}",
                    "ask for the same, or choose a new folder with {folder}",
                    {"folder": None},
                )
            return
        if self.folder.is_dir() and any(path.suffix != UNFINISHED for path in self.folder.iterdir()):
            raise _not_ours(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(mine, indent=1) + "\n")

    def run(self, figures: Sequence[Figure], *, jobs: int = 1, progress: Callable[[float], None] | None = None) -> None:
        """Make the missing runs. ``progress`` is called with the fraction of all work that was just done."""
        report = progress or (lambda part: None)
        minutes = sum(figure.minutes[self.scale.name] for figure in figures)
        for figure in figures:
            for part in self._run_figure(figure, jobs):
                report(part * figure.minutes[self.scale.name] / minutes)

    def _run_figure(self, figure: Figure, jobs: int) -> Iterator[float]:
        """Fractions of the figure as they are done."""
        if self._mark(figure).exists():  # so that its data need not be loaded
            yield 1.0
            return
        runs, choices = self._journal(figure.name, Run), self._journal(figure.name, Choice)
        for title, make in figure.panels.items():
            panel = _Panel(title, make(self.scale, self.seed), runs, choices)
            tasks = panel.experiment.tasks(self.scale)
            settings = list(dict.fromkeys((task.algorithm, task.spend) for task in tasks))
            if figure.lender and self._path(figure.lender, Run).exists():
                self._borrow(figure.lender, choices, [(title, *setting) for setting in settings])
                self._borrow(figure.lender, runs, [(title, *task) for task in tasks])
            stages = (panel.choose, settings, CHOOSING), (panel.measure, tasks, 1 - CHOOSING)
            for work, items, share in stages:
                for _ in _each(work, items, jobs):
                    yield share / len(items) / len(figure.panels)
        self._mark(figure).touch()

    def _borrow(self, lender: str, journal: Journal, keys: Iterable[tuple]) -> None:
        """Copy the rows that another figure has."""
        theirs = self._journal(lender, journal.kind).rows
        for key in keys:
            if key in theirs and key not in journal.rows:
                journal.add(theirs[key])

    def finished(self) -> list[Figure]:
        """The figures whose runs are complete."""
        return [figure for figure in CATALOGUE if self._mark(figure).exists()]

    def runs(self, figure: Figure) -> list[Run]:
        """The runs made so far."""
        return list(self._journal(figure.name, Run).rows.values())

    def assess(self, figure: Figure) -> list[ClaimResult]:
        """The result of every claim of a figure."""
        runs = Runs(self.runs(figure))
        return [assess(claim, runs) for claim in figure.claims]

    def _mark(self, figure: Figure) -> Path:
        return self.folder / f"{figure.name}.done"

    def _path(self, name: str, kind) -> Path:
        return self.folder / f"{name}{'-choices' if kind is Choice else ''}.csv"

    def _journal(self, name: str, kind) -> Journal:
        return Journal(self._path(name, kind), kind)


def _settings(file: Path) -> dict[str, Any]:
    """Protocol, seed and version of the runs in a folder. Only a folder with these is ours to write to."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        settings = None
    if not isinstance(settings, dict) or not {"protocol", "seed", "version"} <= set(settings):
        raise _not_ours(file.parent)
    return settings


def _not_ours(folder: Path) -> InputError:
    return InputError(
        f"the folder {str(folder)!r} holds other files", "choose a new folder with {folder}", {"folder": None}
    )


@dataclass(frozen=True)
class _Panel:
    """An experiment and the journals of its finished runs."""

    title: str
    experiment: Experiment
    runs: Journal
    choices: Journal

    def choose(self, algorithm: str, spend: float) -> None:
        if (key := (self.title, algorithm, spend)) not in self.choices.rows:
            start = perf_counter()
            if (setting := self.experiment.choose(algorithm, spend)) is not None:
                self.choices.add(Choice(*key, *setting, round(perf_counter() - start, 3)))

    def measure(self, *values) -> None:
        task = Task(*values)
        if (key := (self.title, *task)) not in self.runs.rows:
            choice = self.choices.rows.get((self.title, task.algorithm, task.spend))
            start = perf_counter()
            seen, error = self.experiment.measure(task, choice and (choice.radius, choice.strength))
            self.runs.add(Run(*key, seen, error, round(perf_counter() - start, 3)))


def _each(work: Callable[..., None], items: Sequence[tuple], jobs: int) -> Iterator[None]:
    """Yield after each item. Compiled loops run in parallel threads, so BLAS gets one thread each."""
    with threadpool_limits(1):
        yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")(
            delayed(work)(*item) for item in items
        )
