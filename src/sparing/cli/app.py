"""What all commands share: the application, common options, progress, tables, files, and errors in one line."""

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

app = typer.Typer(
    help="Train linear models without paying for everything.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Seeds = Annotated[int, typer.Option(min=1, help="Repetitions, each with a new order of the rows and new draws.")]
Points = Annotated[int, typer.Option(min=1, help="How many allowances of attributes to try.")]
Jobs = Annotated[int, typer.Option(help="Threads to use; -1 is one per core. The result does not depend on it.")]
RandomState = Annotated[int, typer.Option(min=0, help="Same number, same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only name the files written.")]
UNFOLDED = 10_000  # columns: as wide as anything needs


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Train linear models without paying for everything."""
    if version:
        from sparing import __version__

        print(__version__)
        raise typer.Exit


@contextmanager
def progress_bar(quiet: bool, *, doing: str = "comparing") -> Iterator[Callable[[float], None]]:
    """A bar with the time left, on the error stream."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
               TextColumn("left:"), TimeRemainingColumn())  # fmt: skip
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        task = bar.add_task("starting (the first run compiles for half a minute)", total=1.0)
        yield lambda part: bar.update(task, advance=part, description=doing)


# What is shown, and what is written ---------------------------------------------------------------------------------


def table_of(title: str, columns: Iterable[str], *, words: Collection[str]) -> Table:
    """An empty table. Columns of words may be folded; those of numbers stay whole."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        made.add_column(name, justify="left" if name in words else "right", no_wrap=name not in words)
    return made


def show(table: Table, lines: Iterable[str] = ()) -> None:
    """Print a table and what there is to say of it: folded to fit a terminal, whole in a pipe or a file.

    A table that no folding makes fit is for the terminal to break: nothing is cut off. Names are printed as they are,
    brackets and all.
    """
    console = Console(markup=False, emoji=False, highlight=False)
    room, console.width = console.width if console.is_terminal else UNFOLDED, UNFOLDED
    console.width = max(room, console.measure(table).minimum)
    console.print(table)
    console.line()
    console.width = room
    for line in lines:
        console.print(line)


def written(what: str, path: Path, write: Callable[[Path], object]) -> None:
    """Write a file and name it; say so if it takes the place of an older one."""
    instead = ", in place of the one that was there" if path.exists() else ""
    write(path)
    print(f"{what}: {path}{instead}")


def drawn(path: Path, draw: Callable[[Path], object]) -> None:
    """Write a picture and name it; without matplotlib say what to install."""
    try:
        written("picture", path, draw)
    except ImportError as error:
        print(f"no picture: {error}")


# What goes wrong ----------------------------------------------------------------------------------------------------


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What was got, what was expected, what to do; without a traceback, and with exit code 2. So too warnings."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"sparing: warning: {message}", file=sys.stderr)
        try:
            yield
        except (ValueError, ImportError, OSError) as error:
            print(f"sparing: {error}", file=sys.stderr)
            raise typer.Exit(2) from None


def refuse_output(output: Path) -> None:
    """Refuse a folder that is not there before anything is computed."""
    if not output.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(output.parent)!r} to write to; make it, or change --output.")


def names_in(text: str) -> list[str]:
    """The names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
