"""Checks of paths, the rule for replacing files, and files that are written whole or not at all."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

OWN = "sparing-"  # prefix of the names that commands choose by default
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet", ".npz")  # files that can be read as tables
SHEETS = (".xlsx", ".xls", ".ods")
UNFINISHED = ".part"  # suffix of temporary files; a killed process may leave one behind


class InputError(ValueError):
    """Refused input: the problem, and advice that names arguments.

    The advice is a template. Here its placeholders become Python arguments; the command line spells them as options.

    Examples
    --------
    >>> error = InputError("column 'sex' is not numeric", "leave it out with {drop}", {"drop": ["sex"]})
    >>> print(error)
    column 'sex' is not numeric; leave it out with drop=['sex'].
    >>> print(error.spelled(lambda name, value: f"--{name} {','.join(value)}"))
    column 'sex' is not numeric; leave it out with --drop sex.
    """

    def __init__(self, problem: str, advice: str, arguments: Mapping[str, Any] | None = None):
        super().__init__(problem, advice, arguments)
        self.problem, self.advice, self.arguments = problem, advice, dict(arguments or {})

    def __str__(self) -> str:
        return self.spelled(lambda name, value: name if value is None else f"{name}={value!r}")

    def spelled(self, spell: Callable[[str, Any], str]) -> str:
        """The message with each argument as ``spell(name, value)`` writes it; a value of None is the bare name."""
        named = {name: spell(name, value) for name, value in self.arguments.items()}
        advice = self.advice.format(**named)
        return f"{self.problem}; {advice}{'' if advice.endswith('?') else '.'}"


# Reading ------------------------------------------------------------------------------------------------------------


def refuse_missing_file(path) -> None:
    """Raise unless the file exists."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")


def refuse_data_path(path) -> None:
    """Raise unless this is an existing file that can be read as a table."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder", f"name a file in it that ends in one of {', '.join(SUFFIXES)}")
    if not path.name.lower().endswith(SUFFIXES):
        sheet = "save the sheet as CSV: " if path.suffix.lower() in SHEETS else ""
        hint = f"{sheet}its name must end in one of {', '.join(SUFFIXES)}"
        raise InputError(f"{path.name} is of an unknown kind", hint)
    refuse_missing_file(path)


# Replacing ----------------------------------------------------------------------------------------------------------


def refuse_to_replace(path, *, inputs: Iterable = (), force: bool = False) -> None:
    """Raise unless ``path`` can be written without harm: this is the only rule on replacing files.

    A file among ``inputs`` is never replaced, and neither is a folder or a device. Any other existing file is replaced
    only with ``force``, or if its name has the prefix that commands choose by default, so that they can run twice.
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise InputError(f"{str(path)!r} is a folder", "name a file with {output}", {"output": None})
    refuse_missing_folder(path)
    if not os.path.lexists(path):
        return
    if any(os.path.exists(other) and path.exists() and os.path.samefile(path, other) for other in inputs):
        raise InputError(
            f"{str(path)!r} is an input and would be replaced", "choose another name with {output}", {"output": None}
        )
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise InputError(f"{str(path)!r} is {kind}", "choose another name with {output}", {"output": None})
    if not force and not path.name.startswith(OWN):
        raise InputError(
            f"{str(path)!r} already exists",
            "choose another name with {output}, or allow replacing it with {force}",
            {"output": None, "force": True},
        )


def refuse_missing_folder(path) -> None:
    """Raise unless the folder that ``path`` lies in exists."""
    if not (folder := Path(path).parent).is_dir():
        raise InputError(
            f"there is no folder {str(folder)!r} to write to", "create it, or change {output}", {"output": None}
        )


# Writing ------------------------------------------------------------------------------------------------------------


@contextmanager
def written_whole(path) -> Iterator[IO[bytes]]:
    """Open a binary file that takes the place of ``path`` when the block ends without an exception.

    The bytes go to a temporary file in the same folder, are flushed to disk, and the file is renamed. Whatever
    happens before that leaves ``path`` as it was; only a killed process leaves its temporary file behind.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    if not path.parent.is_dir():  # otherwise the error names a temporary file that nobody asked for
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to; create it first.")
    beside = path.with_name(f".sparing-{token_hex(8)}{UNFINISHED}")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the rename itself; not every file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with written_whole(path) as file:
        file.write(text.encode("utf-8"))


def write_csv(path, header: Iterable[str], rows: Iterable[Iterable]) -> None:
    """Write a CSV file with one line per row, whole or not at all."""
    with written_whole(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(rows)
        text.flush()
        text.detach()
