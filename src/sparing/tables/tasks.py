"""Whether a target is a number or a class: one rule, which commands say aloud and `--task` overrides."""

import numpy as np

from sparing.files import InputError

TASKS = ("auto", "regression", "classification")
FEW_NUMBERS = 10  # distinct whole numbers, up to which they are taken for classes
ROWS_PER_NUMBER = 20  # that they need on average: few rows have few numbers by chance
MOST_CLASSES = 100


def labels_of(values: list, target: str, task: str) -> tuple[np.ndarray | None, str]:
    """The labels of a classification, or None for a regression; and why, in words.

    Text, truth values and two distinct values of any kind are classes, and so are whole numbers of which there are few.
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
        why = "its values are no numbers"
    elif distinct == 2:
        why = "it has two distinct values"
    else:
        why = f"it has {distinct:,} distinct {'whole numbers' if whole else 'values'}"
        few = whole and distinct <= FEW_NUMBERS and ROWS_PER_NUMBER * distinct <= len(values)
        task = "classification" if few else "regression"
    if task == "regression":
        return None, why
    if distinct > MOST_CLASSES:
        raise InputError(
            f"the target {target!r} has {distinct:,} classes, over {MOST_CLASSES}", "choose another, or merge classes"
        )
    if whole:
        values = [int(value) for value in values]
    elif numbers or len({type(value) for value in values}) > 1:
        values = [str(value) for value in values]
    return np.array(values), why
