"""What all commands share: the application, common options, progress, tables, and errors in one line."""

import csv
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from shlex import quote
from typing import Annotated, Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sparing import progress
from sparing.files import InputError
from sparing.progress import Progress

app = typer.Typer(
    help="Train linear models without paying for everything.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Seeds = Annotated[int, typer.Option(min=1, help="Repetitions, each with a new split of the rows and new draws.")]
Points = Annotated[int, typer.Option(min=1, help="How many allowances of attributes to try.")]
Jobs = Annotated[int, typer.Option(help="Threads to use; -1 is one per core. The result does not depend on it.")]
RandomState = Annotated[int, typer.Option(min=0, help="Same number, same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only name the files written.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist; never the input.")]
OPTIONS = {"folder": "output"}  # arguments whose options have another name
UNFOLDED = 10_000  # width in characters that no table reaches
INTERRUPTED, PATIENCE = 130, 1.0  # exit code, and seconds that an interrupted command has to end by itself
SHOW_CURSOR = "\033[?25h"  # a progress bar hides the cursor


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


def progress_bar(quiet: bool, *, doing: str = "comparing") -> AbstractContextManager[Progress]:
    """A progress bar with the remaining time, unless the command is quiet."""
    return progress.progress_bar(not quiet, doing)


# Tables -------------------------------------------------------------------------------------------------------------


def table_of(title: str, columns: Iterable[str], *, words: Collection[str]) -> Table:
    """An empty table. Columns of words may be folded, columns of numbers may not."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        made.add_column(name, justify="left" if name in words else "right", no_wrap=name not in words)
    return made


def show(table: Table, lines: Iterable[str] = ()) -> None:
    """Print a table and lines about it: folded to fit a terminal, unfolded in a pipe or a file.

    Nothing is cut off: a table that cannot be folded enough is left for the terminal to wrap. Names are printed
    literally, brackets included.
    """
    console = Console(markup=False, emoji=False, highlight=False)
    room, console.width = console.width if console.is_terminal else UNFOLDED, UNFOLDED
    console.width = max(room, console.measure(table).minimum)
    console.print(table)
    console.line()
    console.width = room
    for line in lines:
        console.print(line)


# Errors -------------------------------------------------------------------------------------------------------------


@contextmanager
def one_line_errors(stopped: str = "nothing is left half-written") -> Iterator[None]:
    """Errors as one line (what was got, what was expected, what to do) with exit code 2; warnings as one line each.

    Ctrl-C is answered at once by a line that ends in ``stopped``, with exit code 130.
    """
    with warnings.catch_warnings(), _answered_interrupts(stopped):
        warnings.showwarning = lambda message, *_: print(f"sparing: warning: {message}", file=sys.stderr)
        try:
            yield
        except InputError as error:
            _stop(error.spelled(option))
        except BrokenPipeError:  # nobody reads the output any more, as behind `| head`: the caller ends quietly
            raise
        except (ValueError, ImportError, OSError) as error:
            _stop(str(error))


@contextmanager
def _answered_interrupts(stopped: str) -> Iterator[None]:
    """On Ctrl-C print a message at once, and end the process after ``PATIENCE`` seconds if it has not ended by itself.

    Python's own handler waits until the main thread returns from a compiled function. So another thread waits for the
    signal, too: it prints the message, and ends the process if necessary. Files are written whole or not at all, so
    nothing is lost. After an interrupt the process ends without freeing its memory, which may take seconds.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return

    def answer() -> None:
        with receiver:
            while number := receiver.recv(1):  # none once the sender is closed
                if number[0] == signal.SIGINT:
                    print(f"sparing: stopped; {stopped}.", file=sys.stderr, flush=True)
                    answered.set()
                    time.sleep(PATIENCE)
                    print(SHOW_CURSOR if sys.stderr.isatty() else "", end="", file=sys.stderr, flush=True)
                    os._exit(INTERRUPTED)

    def stop(*_) -> NoReturn:
        answered.wait(PATIENCE)
        raise KeyboardInterrupt

    answered, (receiver, sender) = threading.Event(), socket.socketpair()
    sender.setblocking(False)
    threading.Thread(target=answer, daemon=True).start()
    before = signal.signal(signal.SIGINT, stop), signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        yield
    except KeyboardInterrupt:
        if answered.is_set():
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.set_wakeup_fd(before[1])
        sender.close()


def _stop(message: str) -> NoReturn:
    print(f"sparing: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(2) from None


def option(argument: str, value: Any) -> str:
    """An argument of a public function as its option on the command line.

    >>> option("drop_missing", True), option("drop", ["id", "name"]), option("folder", None)
    ('--drop-missing', '--drop id,name', '--output')
    >>> print(option("drop", ["id", "height, cm"]))
    --drop 'id,"height, cm"'
    """
    name = f"--{OPTIONS.get(argument, argument).replace('_', '-')}"
    if value is None or isinstance(value, bool):
        return name
    if isinstance(value, list):
        value = ",".join(f'"{each}"' if "," in str(each) else str(each) for each in value)
    return f"{name} {quote(str(value))}"


def names_in(text: str) -> list[str]:
    """The names between commas; a name with a comma stands in double quotes, as in a CSV file.

    >>> names_in('id, "height, cm"')
    ['id', 'height, cm']
    """
    (names,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True) if text.strip() else [[]]
    return [name.strip() for name in names if name.strip()]
