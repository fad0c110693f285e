"""Reading text tables: decompression, encoding, separator and header."""

import codecs
import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from sparing.files import InputError

SEPARATORS = ",;\t|"
DECLARED = re.compile(rf'"?sep=([{SEPARATORS}])"?', re.IGNORECASE)  # a line that spreadsheets write above the header
LONGEST_HEADER = 64_000_000  # characters


class Header(NamedTuple):
    """Names of the columns, their separator, and the number of lines of the header."""

    names: list[str]
    separator: str
    n_lines: int


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The text of a file, decompressed if its name ends in .gz; it is UTF-8, unless a byte-order mark says UTF-16."""
    open_file = gzip.open if path.suffix.lower() == ".gz" else open
    with open_file(path, "rb") as file:
        encoding = "UTF-16" if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "UTF-8"
    try:
        with open_file(path, "rt", encoding=encoding.replace("8", "8-sig"), newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name} cannot be read as {encoding} text, because of the byte {error.object[error.start]:#04x}",
            "save it as UTF-8, in a spreadsheet as 'CSV UTF-8'",
        ) from error


def read_header(file: IO[str]) -> Header:
    """Read the header and leave the file at the line below it. The separator is the most frequent one in it.

    Blank lines above the header are skipped, and so is a line ``sep=;``, which says what separates. A file with only
    blank lines has an empty header.
    """
    n_lines, declared = 0, ""
    while True:
        line = file.readline(LONGEST_HEADER)
        if not line:
            return Header([], ",", n_lines)
        n_lines += 1
        if not declared and (found := DECLARED.fullmatch(line.rstrip("\r\n"))):
            declared = found[1]
        elif line.strip():
            break
    separator = declared or max(SEPARATORS, key=line.count)
    lines = _continued(line, file)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    names = [name.strip() for name in next(reader)]
    return Header(names, separator, n_lines - 1 + reader.line_num)


def _continued(line: str, file: IO[str]) -> Iterator[str]:
    """The line and those after it, since a quoted name may contain a line break."""
    while line:
        yield line
        line = file.readline(LONGEST_HEADER)
