"""Run figures of the papers, one finished cell after the other on disk, and judge their claims."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sparing import __version__
from sparing.experiments import compadagrad, effective_dimension, hazan_koren, kukliansky_shamir
from sparing.experiments.claims import Judgement, judge
from sparing.experiments.figures import Experiment, Figure, Scale, Task
from sparing.experiments.journal import UNFINISHED, Cell, Choice, Journal, write_whole
from sparing.experiments.runs import Runs

CATALOGUE: tuple[Figure, ...] = (
    *kukliansky_shamir.FIGURES,
    *hazan_koren.FIGURES,
    *compadagrad.FIGURES,
    *effective_dimension.FIGURES,
)
CHOOSING = 0.4  # of a panel's time, roughly, goes into choosing settings


def find_figures(paper: str, *, figures: Iterable[int] = (), tables: Iterable[int] = ()) -> list[Figure]:
    """Those of a paper, or of "all"; with numbers, only these.

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
    """A folder of runs, all made at one scale and from one seed."""

    folder: Path
    scale: Scale
    seed: int

    def open(self) -> None:
        """Make the folder, or refuse one with runs of other settings."""
        mine = {"protocol": self.scale.name, "seed": self.seed, "version": __version__}
        file = self.folder / "settings.json"
        if file.exists():
            theirs = json.loads(file.read_text(encoding="utf-8"))
            if different := [name for name in mine if theirs.get(name) != mine[name]]:
                name = different[0]
                raise ValueError(
                    f"the folder {str(self.folder)!r} holds runs with {name} {theirs.get(name)!r}, not {mine[name]!r}; "
                    "ask for the same, or change --output."
                )
            return
        if self.folder.is_dir() and any(path.suffix != UNFINISHED for path in self.folder.iterdir()):
            raise ValueError(f"the folder {str(self.folder)!r} holds other files; change --output to a new folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(mine, indent=1) + "\n")

    def run(self, figures: Sequence[Figure], *, jobs: int = 1, progress: Callable[[float], None] | None = None) -> None:
        """Make the runs that are missing. ``progress`` is told the part of all the work that was just done."""
        report = progress or (lambda part: None)
        minutes = sum(figure.minutes[self.scale.name] for figure in figures)
        for figure in figures:
            for part in self._run_figure(figure, jobs):
                report(part * figure.minutes[self.scale.name] / minutes)

    def _run_figure(self, figure: Figure, jobs: int) -> Iterator[float]:
        """Parts of the figure, as they are done."""
        if self._mark(figure).exists():  # no need to load its data
            yield 1.0
            return
        cells, choices = self._journal(figure, Cell), self._journal(figure, Choice)
        for title, make in figure.panels.items():
            panel = _Panel(title, make(self.scale, self.seed), cells, choices)
            tasks = panel.experiment.tasks(self.scale)
            settings = list(dict.fromkeys((task.algorithm, task.spend) for task in tasks))
            stages = (panel.choose, settings, CHOOSING), (panel.measure, tasks, 1 - CHOOSING)
            for work, items, share in stages:
                for _ in _each(work, items, jobs):
                    yield share / len(items) / len(figure.panels)
        self._mark(figure).touch()

    def finished(self) -> list[Figure]:
        """The figures of which every run is there."""
        return [figure for figure in CATALOGUE if self._mark(figure).exists()]

    def cells(self, figure: Figure) -> list[Cell]:
        """The runs that are there."""
        return list(self._journal(figure, Cell).rows.values())

    def judge(self, figure: Figure) -> list[Judgement]:
        """Every claim of the figure, by its runs."""
        runs = Runs(self.cells(figure))
        return [judge(claim, runs) for claim in figure.claims]

    def _mark(self, figure: Figure) -> Path:
        return self.folder / f"{figure.name}.done"

    def _journal(self, figure: Figure, kind) -> Journal:
        return Journal(self.folder / f"{figure.name}{'-choices' if kind is Choice else ''}.csv", kind)


@dataclass(frozen=True)
class _Panel:
    """An experiment and the journals of what it has done so far."""

    title: str
    experiment: Experiment
    cells: Journal
    choices: Journal

    def choose(self, algorithm: str, spend: float) -> None:
        if (key := (self.title, algorithm, spend)) not in self.choices.rows:
            start = perf_counter()
            if (setting := self.experiment.choose(algorithm, spend)) is not None:
                self.choices.add(Choice(*key, *setting, round(perf_counter() - start, 3)))

    def measure(self, *values) -> None:
        task = Task(*values)
        if (key := (self.title, *task)) not in self.cells.rows:
            choice = self.choices.rows.get((self.title, task.algorithm, task.spend))
            start = perf_counter()
            seen, error = self.experiment.measure(task, choice and (choice.radius, choice.strength))
            self.cells.add(Cell(*key, seen, error, round(perf_counter() - start, 3)))


def _each(work: Callable[..., None], items: Sequence[tuple], jobs: int) -> Iterator[None]:
    """As they come; in threads, since compiled loops run beside each other in those, with one of BLAS for each."""
    with threadpool_limits(1):
        yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")(
            delayed(work)(*item) for item in items
        )
