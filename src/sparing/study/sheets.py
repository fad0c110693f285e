"""Sheets for a laboratory: CSV files of asks that come back filled in, in any order, partly or twice."""

import csv
from collections.abc import Iterable
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

from sparing.files import InputError, write_csv
from sparing.study.rows import NOT_BOUGHT, UNAVAILABLE
from sparing.study.settings import Settings
from sparing.study.values import WORDS
from sparing.study.views import Ask
from sparing.tables.names import first_line, refuse_repeated, refuse_unknown
from sparing.tables.text import opened, read_header

OWN = ("key", "example", "price", "target")  # columns that are not attributes
IGNORED = ("note", "notes", "comment", "comments")
NOT_ASKED = "-"
SPELLINGS = {  # words for values that are not numbers, in lower case
    WORDS[UNAVAILABLE]: WORDS[UNAVAILABLE],  # no "n/a": it does not say whether the value was paid for
    **dict.fromkeys(("not bought", "not done"), WORDS[NOT_BOUGHT]),
}


def write_sheet(study, asks: Iterable[Ask], path) -> None:
    """Write one line per ask and one column per attribute: empty if the value is wanted, "-" if not.

    Values that were told are filled in, so a sheet that is sent back twice changes nothing.
    """
    names = study.settings.attributes
    lines = []
    for ask in asks:
        example = study.example(ask.example)
        known = {name: example.values[name] for name in ask.told}
        cells = [_shown(known.get(name)) if name in ask.names else NOT_ASKED for name in names]
        lines.append([ask.key, ask.example, ask.price, _shown(example.y), *cells])
    write_csv(path, [*OWN, *names], lines)


def _shown(value) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


class Answer(NamedTuple):
    """A line with values: its place in the file, key and example of its ask, values by attribute, target or None."""

    place: str
    key: str
    example: str  # "" if the sheet does not say
    values: dict[str, Any]
    target: Any


def read_sheet(study, path) -> list[Answer]:
    """The lines of a sheet that hold a value or a target."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check the path.")
    try:
        return _read(study, path)
    except InputError:
        raise
    except (csv.Error, UnicodeError, EOFError) as error:
        raise InputError(f"{path.name} cannot be read as a sheet: {first_line(error)}", "save it as CSV") from error


def _read(study, path: Path) -> list[Answer]:
    answers = []
    with opened(path) as file:
        header, separator, above = read_header(file)
        header = [name.strip() for name in header]
        if not header:
            raise InputError(f"{path.name} is empty", "give a sheet that `sparing study ask` wrote")
        refuse_repeated(header, path.name)
        refuse_unknown(["key"], header, "column", path.name)
        known = {*OWN, *IGNORED, *study.settings.attributes}
        if strangers := [name for name in header if name.lower() not in IGNORED and name not in known]:
            raise InputError(f"{path.name} has a column {strangers[0]!r}, which is no attribute", "rename or delete it")
        reader = csv.reader(file, delimiter=separator)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            line = f"line {reader.line_num + above} of {path.name}"
            if len(cells) != len(header):
                raise InputError(f"{line} has {len(cells)} cells for {len(header)} columns", "keep all columns")
            row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
            comma = separator != ","  # then numbers may have decimal commas
            filled = {name: row[name] for name in study.settings.attributes if row.get(name, "") not in ("", NOT_ASKED)}
            values = {name: _value(study.settings, name, text, line, comma) for name, text in filled.items()}
            target = _target(study, row.get("target", ""), line, comma)
            if values or target is not None:
                answers.append(Answer(line, row["key"], row.get("example", ""), values, target))
    return answers


def _value(settings: Settings, name: str, text: str, line: str, comma: bool) -> float | str:
    if text.lower() in SPELLINGS or name in settings.codes:
        return SPELLINGS.get(text.lower(), text)
    others = "'unavailable' if it was paid for, 'not bought' if it was not, or leave it empty until it is known"
    return _number(text, comma, f"{line}: {name} is {text!r}", f", {others}")


def _target(study, text: str, line: str, comma: bool):
    """The target: a number, or the label with this spelling."""
    if not text:
        return None
    classes = study.settings.classes
    if classes is None:
        return _number(text, comma, f"{line}: the target is {text!r}")
    labels = {str(label): label for label in classes}
    if text not in labels:
        raise InputError(f"{line}: the target is {text!r}", f"give one of {', '.join(labels)}")
    return labels[text]


def _number(text: str, comma: bool, problem: str, others: str = "") -> float:
    try:
        number = float(text.replace(",", ".") if comma else text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise InputError(problem, f"give a number with a decimal point{others}")
    return number
