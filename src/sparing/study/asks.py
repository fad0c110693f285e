"""The verbs of a study, each a function of its books: ask, tell, cancel, expire, correct, withdraw.

All may be repeated: a call that was already carried out changes nothing and gives the same answer.
"""

import json
from hashlib import sha256
from math import isfinite, isnan, nan
from struct import pack, unpack
from typing import Any

from sparing import checks
from sparing.buying.plan import Plan
from sparing.study.books import (
    AWAITED,
    NOT_BOUGHT,
    TOLD,
    UNAVAILABLE,
    AskRow,
    Books,
    EventRow,
    ExampleRow,
    json_of,
    now,
)
from sparing.study.errors import Conflict, Taken
from sparing.study.settings import Settings

WORDS = {UNAVAILABLE: "unavailable", NOT_BOUGHT: "not bought"}
CODES: dict[Any, int] = {word: code for code, word in WORDS.items()}
Values = dict[int, float | str]  # by the number of the attribute: a number or one of the words


def whole_numbers(stored: bytes) -> tuple[int, ...]:
    """Attributes, as they are stored."""
    return unpack(f"<{len(stored) // 4}i", stored)


def readings_of(stored: bytes) -> tuple[float, ...]:
    """Values, as they are stored."""
    return unpack(f"<{len(stored) // 8}d", stored)


def known_values(row: ExampleRow) -> dict[int, float | str | None]:
    """What is known of an example, by the number of the attribute: a number, a word, or None where it is awaited."""
    each = zip(whole_numbers(row.attributes), row.told, readings_of(row.readings), strict=True)
    return {attribute: reading if code == TOLD else WORDS.get(code) for attribute, code, reading in each}


def checked_values(settings: Settings, values) -> Values:
    """Values by number: finite numbers, or a word; None and NaN are unavailable."""
    read: Values = {}
    for name, value in dict(values).items():
        number = settings.numbers.get(name)
        if number is None:
            checks.column(name, len(settings.attributes), settings.attributes)
            raise ValueError(f"attributes are told by name; got {name!r}.")
        if type(value) is float and isfinite(value):  # as a rule
            read[number] = value
        elif isinstance(value, checks.NUMBER) and not isinstance(value, bool) and isfinite(value):
            read[number] = float(value)
        elif isinstance(value, str) and value in CODES:
            read[number] = value
        elif value is None or (isinstance(value, float) and isnan(value)):
            read[number] = WORDS[UNAVAILABLE]
        else:
            raise ValueError(
                f"{name} is {value!r}; tell a finite number, None (or 'unavailable') for a value that was paid for but "
                "is unavailable, or 'not bought'."
            )
    return read


# Asking ---------------------------------------------------------------------------------------------------------------


def ask(books: Books, settings: Settings, plan: Plan, name: str, who: str) -> AskRow:
    """What ``who`` shall buy of an example: the same ask again, a new one, or a refusal."""
    example = books.named(name)
    if example is None:
        return _first_ask(books, settings, plan, name, who)
    if example.state == "withdrawn":
        raise Conflict(f"{name!r} was withdrawn by event {example.event}; it is asked for no more.")
    latest = books.ask(example.ask)
    if latest.holder == who and (latest.state == "open" or example.state == "settled"):
        return latest
    if latest.state == "open" or example.state == "settled":
        does = "is working on" if latest.state == "open" else "has settled"
        raise Taken(f"{latest.holder!r} {does} {name!r}; ask for another example.")
    if latest.state == "lapsed" and latest.holder == who:
        latest.state, latest.until = "open", _until(settings)
        books.event("ask", who, {"until": latest.until}, example=example.number, ask=latest.number)
        books.touch(ask=latest)
    else:
        pairs = zip(whole_numbers(example.attributes), example.told, strict=True)
        latest = _new_ask(books, settings, example, [number for number, known in pairs if known == AWAITED], who)
    example.ask = latest.number
    example.state = "asked" if example.state == "free" else example.state
    books.touch(example=example)
    return latest


def _first_ask(books: Books, settings: Settings, plan: Plan, name: str, who: str) -> AskRow:
    """A new example: its number and the plan in force decide what is asked, for good."""
    number = books.examples
    query = plan.query(settings.seed, number).attributes.tolist()
    unknown = pack(f"<{len(query)}d", *[nan] * len(query))
    example = ExampleRow(
        study=books.study, number=number, name=name, plan=books.plan, attributes=pack(f"<{len(query)}i", *query),
        state="asked", told=bytes(len(query)), readings=unknown, y=None, ask=books.asks, settled=None,
        event=books.head + 1,
    )  # fmt: skip
    made = _new_ask(books, settings, example, query, who, name=name, plan=books.plan)
    books.add_example(example)
    return made


def _new_ask(books: Books, settings: Settings, example: ExampleRow, wanted: list[int], who: str, **first) -> AskRow:
    price, n = sum(settings.units[number] for number in wanted), len(wanted)
    books.reserve(price)
    until = _until(settings)
    made = AskRow(
        study=books.study, number=books.asks, example=example.number, holder=who, attributes=pack(f"<{n}i", *wanted),
        told=bytes(n), price=price, paid=0, released=0, state="open", until=until, events="",
    )  # fmt: skip
    body = {"attributes": wanted, "price": price, "until": until} | first
    books.event("ask", who, body, example=example.number, ask=made.number)
    books.add_ask(made)
    return made


def _until(settings: Settings) -> int | None:
    return None if settings.lease is None else now() + int(settings.lease * 1e6)


# Telling --------------------------------------------------------------------------------------------------------------


def tell(books: Books, settings: Settings, number: int, values: Values, y: float | None, who: str) -> int:
    """Book what was told of an ask; the number of the event, or of the earlier one that said the same."""
    row = books.ask(number)
    body = json_of({"values": values, "y": y})
    digest = sha256(f"{number}:{body}".encode()).digest()
    said = _said_before(books, row)
    for earlier in said:
        if earlier.digest == digest:
            return earlier.number
    if row.state == "cancelled":
        raise Conflict(f"ask {number} was cancelled and its money released; ask again: the query will be the same.")
    example = books.example(row.example)
    fresh, more_said = _new_of(settings, row, example, values, y, said)
    if not fresh and not more_said:
        if not said:
            raise ValueError("nothing was told; pass values of the attributes asked for, the target y, or both.")
        return said[-1].number
    event = books.event("tell", who, body, example=example.number, ask=number, digest=digest)
    row.events = f"{row.events},{event}" if row.events else str(event)
    _book(books, settings, row, fresh)
    if example.state != "withdrawn" and _learn(example, fresh, y):
        example.event = event
    _settle(books, example, event)
    if AWAITED not in row.told and (example.y is not None or example.state == "withdrawn"):
        row.state, row.until = "told", None
    books.touch(example=example, ask=row)
    return event


def _said_before(books: Books, row: AskRow) -> list[EventRow]:
    return books.events([int(number) for number in row.events.split(",")]) if row.events else []


def _new_of(settings: Settings, row: AskRow, example: ExampleRow, values: Values, y, said) -> tuple[Values, bool]:
    """Those values that this ask had not told, and whether it told a target for the first time; or a conflict."""
    attributes = whole_numbers(row.attributes)
    if strangers := values.keys() - set(attributes):
        asked = ", ".join(settings.attributes[attribute] for attribute in attributes)
        raise ValueError(f"{settings.attributes[min(strangers)]} is not in ask {row.number}, which is for {asked}.")
    if not said:
        return values, y is not None
    before: Values = {}
    targets = set()
    for event in said:
        body = json.loads(event.body)
        before |= {int(attribute): value for attribute, value in body["values"].items()}
        targets |= set() if body["y"] is None else {body["y"]}
    for attribute, value in values.items():
        if before.get(attribute, value) != value:
            raise Conflict(
                f"{settings.attributes[attribute]} of {example.name!r} was told as {before[attribute]} and is now "
                f"{value}; nothing was stored. If the first is wrong, correct it."
            )
    if y is not None and targets and y not in targets:
        raise Conflict(
            f"the target of {example.name!r} was told as {settings.label(targets.pop())!r} and is now "
            f"{settings.label(y)!r}; nothing was stored. If the first is wrong, correct it."
        )
    fresh = {attribute: value for attribute, value in values.items() if attribute not in before}
    return fresh, y is not None and not targets


def _book(books: Books, settings: Settings, row: AskRow, values: Values) -> None:
    """Money follows attempts: it is spent on what was told and on what was unavailable."""
    told, paid, released = bytearray(row.told), 0, 0
    units = settings.units
    for at, attribute in enumerate(whole_numbers(row.attributes)):
        if attribute in values:
            code = told[at] = CODES.get(values[attribute], TOLD)
            if code == NOT_BOUGHT:
                released += units[attribute]
            else:
                paid += units[attribute]
    row.told, row.paid, row.released = bytes(told), row.paid + paid, row.released + released
    books.pay(paid)
    books.release(released)


def _learn(example: ExampleRow, values: Values, y: float | None, *, replace: bool = False) -> bool:
    """Values follow examples: what came first stands, unless it is corrected. Whether anything is new."""
    told, readings, new = bytearray(example.told), list(readings_of(example.readings)), False
    for at, attribute in enumerate(whole_numbers(example.attributes)):
        if attribute in values and (replace or told[at] == AWAITED):
            value = values[attribute]
            told[at], readings[at] = CODES.get(value, TOLD), nan if isinstance(value, str) else value
            new = True
    if y is not None and (replace or example.y is None):
        example.y, new = y, True
    example.told, example.readings = bytes(told), pack(f"<{len(readings)}d", *readings)
    return new


def _settle(books: Books, example: ExampleRow, event: int) -> None:
    """An example enters the model once its target is known, and every value told or declared missing."""
    if example.state in ("settled", "withdrawn"):
        return
    if AWAITED not in example.told and example.y is not None:
        example.state, example.settled = "settled", event
        books.settled += 1
        books.changed = event
    elif any(example.told) or example.y is not None:
        example.state = "partial"


# Ending an attempt ----------------------------------------------------------------------------------------------------


def cancel(books: Books, number: int, who: str) -> None:
    """Release what was not told. Whoever asks again gets the same query."""
    row = books.ask(number)
    if row.state == "cancelled":
        return
    if row.state == "told":
        raise Conflict(f"ask {number} was told already; correct or withdraw its example instead.")
    left = row.price - row.paid - row.released
    row.state, row.until, row.released = "cancelled", None, row.released + left
    books.release(left)
    books.event("cancel", who, {}, example=row.example, ask=number)
    _free(books, row)


def expire(books: Books, number: int, who: str) -> None:
    """Let others take over; the reservation stays, since the answer may be on its way."""
    row = books.ask(number)
    row.state = "lapsed"
    books.event("expire", who, {}, example=row.example, ask=number)
    _free(books, row)


def _free(books: Books, row: AskRow) -> None:
    example = books.example(row.example)
    if example.ask == row.number and example.state == "asked":
        example.state = "free"
        books.touch(example=example)
    books.touch(ask=row)


# Changing what is known -----------------------------------------------------------------------------------------------


def correct(
    books: Books, settings: Settings, name: str, values: Values, y: float | None, expected: int, who: str, why: str
) -> int:
    """Replace what was told; money and earlier plans stay. The number of the event."""
    example = known_example(books, name)
    body: dict[str, Any] = {"values": values, "y": y, "why": why}
    digest = sha256(f"{name}:{expected}:{json_of(body)}".encode()).digest()
    if example.event != expected:
        last = books.events([example.event])
        if last and last[0].digest == digest:
            return example.event
        raise Conflict(f"the last event of {name!r} is {example.event}, not {expected}; look at it again.")
    if example.state == "withdrawn":
        raise Conflict(f"{name!r} was withdrawn by event {example.event}; it is corrected no more.")
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
    _learn(example, values, y, replace=True)
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


def known_example(books: Books, name: str) -> ExampleRow:
    """The example of this name; an error if nothing was ever asked of it."""
    example = books.named(name)
    if example is None:
        raise ValueError(f"there is no example {name!r} in this study; check its name.")
    return example
