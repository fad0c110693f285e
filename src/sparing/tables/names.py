"""Names of columns and arrays: found, refused with suggestions, and listed in messages."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from sparing.files import InputError

LISTED = 8  # names in a message


def refuse_unknown(wanted: Iterable[str], known: Collection[str], kind: str, file: str) -> None:
    """Refuse a name that the file does not have, with the closest ones that it has."""
    there = set(known)
    for name in wanted:
        if name not in there:
            near = get_close_matches(name, list(known)[:10_000], n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"{some(known)}."
            if any("," in each for each in near):
                hint += " A name with a comma stands in double quotes."
            raise ValueError(f"{file} has no {kind} {name!r}; {hint}")


def refuse_repeated(names: Collection[str], file: str) -> None:
    """Refuse a name that two columns share, since it is ambiguous."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise InputError(f"{file} has two columns named {twice!r}", "rename one of them")


def some(names: Iterable) -> str:
    """The first few names, and how many more there are."""
    names = list(map(str, names))
    return f"it has {', '.join(names[:LISTED])}{f' and {len(names) - LISTED} more' if len(names) > LISTED else ''}"


def these(names: list[str], kind: str) -> str:
    """The names as the subject of a sentence.

    >>> these(["age", "dose"], "column")
    "columns 'age', 'dose' are"
    """
    listed = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{kind}{'s' if len(names) > 1 else ''} {listed} {'are' if len(names) > 1 else 'is'}"


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, or its type if the message is empty."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".;") if lines else type(error).__name__
