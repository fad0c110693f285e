"""Progress of long computations: a callable that receives fractions of the work, and a bar that shows them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer

Progress = Callable[[float], None]  # called with the fraction of the work just done; fractions add up to one

SHOWN_AFTER = 2.0  # seconds


def unnoticed(part: float) -> None:
    """Ignore progress."""


class Stages:
    """Work in stages of estimated cost, each of several steps of about equal cost.

    Parameters
    ----------
    progress : callable
        Called with fractions of the work, which add up to one once :meth:`finish` was called.
    seconds : mapping
        The estimated cost of each stage.

    Examples
    --------
    >>> done = []
    >>> stages = Stages(done.append, {"judge": 3.0, "fit": 1.0})
    >>> step = stages.steps("judge", 3)
    >>> step(), step()
    (None, None)
    >>> stages.finish()  # whatever was left out
    >>> done
    [0.25, 0.25, 0.5]
    """

    def __init__(self, progress: Progress, seconds: Mapping[str, float]):
        self.progress, self.left = progress, 1.0
        total = sum(seconds.values()) or 1.0
        self.shares = {stage: cost / total for stage, cost in seconds.items()}

    def steps(self, stage: str, number: int) -> Callable[[], None]:
        """A function to call after each of the ``number`` steps of a stage."""
        return lambda: self.advance(self.shares[stage] / number)

    def advance(self, part: float) -> None:
        """Report that this fraction of the work is done."""
        part = min(part, self.left)
        self.left -= part
        self.progress(part)

    def finish(self) -> None:
        """Report all that is left as done, including steps that were not needed."""
        self.advance(self.left)


@contextmanager
def noticed(verbose: bool | Progress, doing: str) -> Iterator[Progress]:
    """A callable that receives progress: ``verbose`` itself, a bar if it is true, or one that does nothing."""
    if callable(verbose):
        yield verbose
    else:
        with progress_bar(bool(verbose), doing) as report:
            yield report


@contextmanager
def progress_bar(shown: bool, doing: str) -> Iterator[Progress]:
    """A bar with the time left, shown after two seconds, on the error stream if that is a terminal or notebook."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    if not shown or not (console.is_terminal or console.is_jupyter):
        yield unnoticed
        return
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TaskProgressColumn(),
               progress.TimeElapsedColumn(), progress.TextColumn("left:"), progress.TimeRemainingColumn())  # fmt: skip
    bar = progress.Progress(*columns, console=console, transient=True)
    task = bar.add_task("starting (the first run compiles for half a minute)", total=1.0)
    timer = Timer(SHOWN_AFTER, bar.start)
    timer.start()
    try:
        yield lambda part: bar.update(task, advance=part, description=doing)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
