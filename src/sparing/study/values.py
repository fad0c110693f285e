"""Conversion of values between what people tell and what the tables store."""

from collections.abc import Iterator
from math import isfinite, isnan, nan
from struct import pack, unpack
from typing import Any

from sparing import checks
from sparing.study.rows import AWAITED, NOT_BOUGHT, TOLD, UNAVAILABLE, EventRow, ExampleRow
from sparing.study.settings import Settings

WORDS = {UNAVAILABLE: "unavailable", NOT_BOUGHT: "not bought"}
CODES: dict[Any, int] = {word: code for code, word in WORDS.items()}
Values = dict[int, float | str]  # by the number of the attribute: a number, the code of a category, or a word


# In the tables --------------------------------------------------------------------------------------------------------


def packed(attributes: list[int]) -> bytes:
    """Numbers of attributes as stored bytes."""
    return pack(f"<{len(attributes)}i", *attributes)


def whole_numbers(stored: bytes) -> tuple[int, ...]:
    """The numbers of attributes in stored bytes."""
    return unpack(f"<{len(stored) // 4}i", stored)


def unread(n: int) -> bytes:
    """The stored form of n values that are not known yet."""
    return pack(f"<{n}d", *[nan] * n)


def readings_of(row: ExampleRow) -> Iterator[tuple[int, int, float]]:
    """For each attribute that was asked for: its number, its status (TOLD, ...), and its value or NaN."""
    readings = unpack(f"<{len(row.told)}d", row.readings)
    return zip(whole_numbers(row.attributes), row.told, readings, strict=True)


def coded(attributes: bytes, values: Values) -> tuple[bytes, bytes]:
    """The status of each attribute of an ask after a tell (AWAITED if it was not told), and its value or NaN."""
    said = [values.get(attribute) for attribute in whole_numbers(attributes)]
    told = bytes([AWAITED if value is None else CODES.get(value, TOLD) for value in said])
    return told, pack(f"<{len(said)}d", *[value if isinstance(value, float) else nan for value in said])


def decoded(attributes: bytes, event: EventRow) -> Values:
    """The values of a tell that :func:`coded` stored."""
    told, readings = event.told or b"", event.readings or b""
    each = zip(whole_numbers(attributes), told, unpack(f"<{len(told)}d", readings), strict=True)
    return {attribute: WORDS.get(code, reading) for attribute, code, reading in each if code != AWAITED}


# As people see them ---------------------------------------------------------------------------------------------------


def known_values(settings: Settings, row: ExampleRow) -> dict[int, float | str | None]:
    """What is known of an example, by the number of the attribute.

    A number, the name of a category, a word for a missing value, or None if the answer is awaited.
    """
    return {
        attribute: settings.shown(attribute, reading) if code == TOLD else WORDS.get(code)
        for attribute, code, reading in readings_of(row)
    }


def shown_values(settings: Settings, row: ExampleRow) -> dict[str, float | str]:
    """The values that were told, by name."""
    told = [(attribute, reading) for attribute, code, reading in readings_of(row) if code == TOLD]
    return {settings.attributes[attribute]: settings.shown(attribute, reading) for attribute, reading in told}


def checked_values(settings: Settings, values) -> Values:
    """Values by attribute number: finite numbers, codes of categories, or words; None and NaN mean unavailable."""
    read: Values = {}
    numeric = settings.numeric
    for name, value in dict(values).items():
        number = numeric.get(name)
        if number is not None and type(value) is float and isfinite(value):  # the usual case, made fast
            read[number] = value
        else:
            read[_number(settings, name)] = _checked(settings, name, value)
    return read


def _number(settings: Settings, name) -> int:
    if name in settings.numbers:
        return settings.numbers[name]
    checks.column(name, len(settings.attributes), settings.attributes)
    raise ValueError(f"attributes are told by name; got {name!r}.")


def _checked(settings: Settings, name: str, value) -> float | str:
    if isinstance(value, str) and value in CODES:
        return value
    if value is None or (isinstance(value, float) and isnan(value)):
        return WORDS[UNAVAILABLE]
    categories, text = settings.codes.get(name), f"{value:g}" if isinstance(value, float) else str(value)
    if categories is not None and text in categories:
        return categories[text]
    if categories is None and isinstance(value, checks.NUMBER) and not isinstance(value, bool) and isfinite(value):
        return float(value)
    wanted = "a finite number" if categories is None else f"one of its categories ({', '.join(categories)})"
    raise ValueError(
        f"{name} is {value!r}; tell {wanted}, None (or 'unavailable') for a value that was paid for but is "
        "unavailable, or 'not bought'."
    )
