"""The rule that decides whether a target is a number or a class, unless the user does."""

from datetime import date
from itertools import chain

import numpy as np

from sparing.files import InputError
from sparing.tables.numbers import words_among_numbers

TASKS = ("auto", "regression", "classification")
FEW_NUMBERS = 10  # distinct whole numbers up to which they are classes
ROWS_PER_NUMBER = 20  # rows per distinct number that are needed for that, since few rows have few numbers by chance
MOST_CLASSES = 100
LISTED = 5  # words and rows in a message
LARGEST_INTEGER = 2**63  # whole numbers from here on do not fit into NumPy's integers


def labels_of(values: list, target: str, task: str) -> tuple[np.ndarray | None, str]:
    """The labels of a classification, or None for a regression, and the reason in words.

    Text, booleans and any two distinct values are classes, and so are few distinct whole numbers.
    """
    distinct = len(set(values))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    whole = numbers and all(float(value).is_integer() for value in values)
    if task == "regression" and not numbers:
        raise InputError(
            f"the target {target!r} has values like {str(values[0])[:40]!r}, no numbers to regress on",
            "leave out {task}",
            {"task": task},
        )
    if task != "auto":
        why = "as asked for"
    elif not numbers:
        why = "its values are not numbers"
    elif distinct == 2:
        why = "it has two distinct values"
    else:
        why = f"it has {distinct:,} distinct {'whole numbers' if whole else 'values'}"
        few = whole and distinct <= FEW_NUMBERS and ROWS_PER_NUMBER * distinct <= len(values)
        task = "classification" if few else "regression"
    if task == "regression":
        return None, why
    if distinct > MOST_CLASSES and isinstance(values[0], date):
        raise InputError(
            f"the target {target!r} holds dates",
            "choose another, or turn it into numbers, such as days since the first date",
        )
    if distinct > MOST_CLASSES:
        raise InputError(
            f"the target {target!r} has {distinct:,} classes, over {MOST_CLASSES}", "choose another, or merge classes"
        )
    if whole and max(abs(value) for value in values) < LARGEST_INTEGER:
        values = [int(value) for value in values]
    elif numbers or len({type(value) for value in values}) > 1:
        values = [str(value) for value in values]
    return np.array(values), why


def refuse_words_among_numbers(values: list, target: str, task: str | None) -> None:
    """Refuse a target that is a number but for a few words, unless its numbers are classes by request."""
    if task == "classification" or not (words := words_among_numbers(values)):
        return
    rows = [1 + place for place in sorted(chain.from_iterable(words.values()))]
    known = sum(value is not None for value in values)
    advice = "leave these fields empty, and their rows are left out"
    raise InputError(
        f"the target {target!r} is a number in {known - len(rows):,} of {known:,} rows, but "
        f"{_some(list(map(repr, words)))} in row{'s' if len(rows) > 1 else ''} {_some(list(map(str, rows)))}",
        f"{advice}, or pass {{task}} if the numbers are classes" if task == "auto" else advice,
        {"task": "classification"},
    )


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - LISTED:,} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more
