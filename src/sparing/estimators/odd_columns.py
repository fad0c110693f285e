"""Warnings about columns from which little or nothing can be learnt as they are written."""

import re
from collections import Counter

import numpy as np

from sparing.models.bases import MOST_LEVELS
from sparing.models.summary import LOOKS_FOR_A_SCALE

WITH_UNIT = re.compile(r"[+\-−]?\d[\d.,]*\s*(?P<unit>[^\W\d_]\D*|[%‰°$€£¥]\D*)")


def constant(column, name, consequence: str) -> str:
    """A warning about a column that has one value only."""
    value = column.dropna().iloc[0]
    shown = str(value) if isinstance(value, int | float | np.number | np.bool_) else repr(str(value))
    return (
        f"column {name!r} is {shown} wherever it is known, so nothing can be learnt from it, and {consequence}; "
        "leave it out."
    )


def distinct_text(column, name) -> str:
    """A warning about text that differs in every row: an identifier, or numbers that were read as text."""
    texts, said = column.dropna(), f"column {name!r} is text that differs in every row, like an identifier"
    if _reads_as_numbers(texts).all():
        return f"{said}, and is never bought; turn it into numbers."
    meant = _meant_as_numbers(texts.value_counts(), f"column {name!r} is text, and never bought")
    return meant or f"{said}, and is never bought; leave it out."


def odd_text(column, name, consequence: str) -> tuple[str, bool]:
    """A warning about text that is probably meant as numbers, or in which no value is frequent enough to learn from.

    The second value is whether nothing can be learnt from it.
    """
    counts = column.value_counts()
    if meant := _meant_as_numbers(counts, f"column {name!r} is text, and each value a category"):
        return meant, False
    if len(counts) > MOST_LEVELS and counts.iloc[0] < LOOKS_FOR_A_SCALE:
        return (
            f"column {name!r} is text with {len(counts):,} distinct values, each in fewer than {LOOKS_FOR_A_SCALE} "
            f"rows, so nothing can be learnt from it, and {consequence}; leave it out, or write numbers as 1234.5 and "
            "dates as 2024-05-31."
        ), True
    return "", False


def _meant_as_numbers(counts, consequence: str) -> str:
    """A warning if most values are numbers, or numbers of one unit, and too many to be codes; "" otherwise."""
    n = int(counts.sum())
    numbers = _reads_as_numbers(counts.index)
    if 2 * counts[numbers].sum() > n and numbers.sum() > MOST_LEVELS:
        other = "" if numbers.all() else f", but not {str(counts.index[~numbers][0])!r}"
        return (
            f"{consequence}, though {counts[numbers].sum():,} of {n:,} values are numbers{other}; make them numbers, "
            "and any others missing values, if that is what they are."
        )
    unit, rows, texts = _most_common_unit(counts)
    if 2 * rows > n and len(texts) > MOST_LEVELS:
        return (
            f"{consequence}, though {rows:,} of {n:,} values are numbers with the unit {unit!r}, such as {texts[0]!r}; "
            "write the numbers without it."
        )
    return ""


def _most_common_unit(counts) -> tuple[str, int, list[str]]:
    """The word that follows most numbers, the number of rows that have it, and their distinct texts."""
    rows: Counter[str] = Counter()
    texts: dict[str, list[str]] = {}
    for text, n in counts.items():
        if written := WITH_UNIT.fullmatch(str(text).strip()):
            unit = written["unit"].strip()
            rows[unit] += int(n)
            texts.setdefault(unit, []).append(str(text))
    unit = max(rows, key=rows.__getitem__, default="")
    return unit, rows[unit], texts.get(unit, [])


def _reads_as_numbers(texts) -> np.ndarray:
    """Which texts are numbers."""
    from pandas import to_numeric

    return ~np.isnan(to_numeric(texts.astype(str), errors="coerce").to_numpy(np.float64))
