"""Corrections, and withdrawals of examples from the model."""

from hashlib import sha256
from typing import Any

from sparing.study.asks import known_example
from sparing.study.books import Books, json_of
from sparing.study.errors import Conflict
from sparing.study.rows import AWAITED, NOT_BOUGHT
from sparing.study.settings import Settings
from sparing.study.tells import learn
from sparing.study.values import WORDS, Values, whole_numbers


def correct(
    books: Books, settings: Settings, name: str, values: Values, y: float | None, expected: int, who: str, why: str
) -> int:
    """Replace told values or a target, and return the number of the event; money and earlier plans do not change."""
    example = known_example(books, name)
    body: dict[str, Any] = {"values": values, "y": y, "why": why}
    digest = sha256(f"{name}:{expected}:{json_of(body)}".encode()).digest()
    if example.event != expected:
        last = books.events([example.event])
        if last and last[0].digest == digest:
            return example.event
        raise Conflict(f"the last event of {name!r} is {example.event}, not {expected}; look at it again.")
    if example.state == "withdrawn":
        raise Conflict(f"{name!r} was withdrawn by event {example.event}; it can no longer be corrected.")
    told = dict(zip(whole_numbers(example.attributes), example.told, strict=True))
    for attribute, value in values.items():
        if told.get(attribute, AWAITED) == AWAITED:
            raise Conflict(f"{settings.attributes[attribute]} of {name!r} was not told yet; tell it first.")
        if value == WORDS[NOT_BOUGHT]:
            raise ValueError("a correction moves no money; correct a value to a number, or to None for unavailable.")
    if (not values and y is None) or (y is not None and example.y is None):
        raise Conflict(f"there is nothing to correct of {name!r}, or its target was not told yet.")
    body["was"] = {"told": example.told.hex(), "readings": example.readings.hex(), "y": example.y}
    event = books.event("correct", who, body, example=example.number, digest=digest)
    learn(example, values, y, replace=True)
    example.event = event
    if example.settled is not None:
        books.changed = event
    books.touch(example=example)
    return event


def withdraw(books: Books, name: str, who: str, why: str) -> int:
    """Keep an example out of the model and of all later plans; an open ask may still be told or cancelled."""
    example = known_example(books, name)
    if example.state == "withdrawn":
        return example.event
    example.state = "withdrawn"
    example.event = books.event("withdraw", who, {"why": why}, example=example.number)
    if example.settled is not None:
        books.changed = example.event
    books.touch(example=example)
    return example.event
