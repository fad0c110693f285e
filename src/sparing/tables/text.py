"""Reading text tables: decompression, separator and header."""

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

SEPARATORS = ",;\t"
LONGEST_HEADER = 64_000_000  # characters


class Header(NamedTuple):
    """Names of the columns, their separator, and the number of lines of the header."""

    names: list[str]
    separator: str
    n_lines: int


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The text of a file, decompressed if its name ends in .gz; a byte-order mark is skipped."""
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield file


def read_header(file: IO[str]) -> Header:
    """Read the header and leave the file at the line below it. The separator is the most frequent one in it.

    Blank lines above the header are skipped. A file with only blank lines has an empty header.
    """
    n_lines = 0
    while True:
        line = file.readline(LONGEST_HEADER)
        if not line:
            return Header([], ",", n_lines)
        n_lines += 1
        if line.strip():
            break
    separator = max(SEPARATORS, key=line.count)
    lines = _continued(line, file)
    reader = csv.reader(lines, delimiter=separator)
    names = next(reader)
    return Header(names, separator, n_lines - 1 + reader.line_num)


def _continued(line: str, file: IO[str]) -> Iterator[str]:
    """The line and those after it, since a quoted name may contain a line break."""
    while line:
        yield line
        line = file.readline(LONGEST_HEADER)
