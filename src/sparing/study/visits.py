"""Visits in the books: cases whose next purchase depends on what is known of them."""

import json
from typing import Any

from sparing.study.asks import ask_for_rest, new_ask
from sparing.study.books import Books, json_of
from sparing.study.errors import Conflict
from sparing.study.rows import AWAITED, AskRow, ExampleRow, VisitRow
from sparing.study.settings import Settings
from sparing.study.tells import learn
from sparing.study.values import Values, packed, unread, whole_numbers


def begin(books: Books, name: str, known: Values, options: dict[str, Any], model: int, who: str) -> ExampleRow:
    """A new visit, or the one that was begun with the same options."""
    example = books.named(name)
    if example is not None:
        return resumed(books, example, known, options)
    number, attributes = -books.visits - 1, sorted(known)
    event = books.head + 1
    made = ExampleRow(
        study=books.study, number=number, name=name, plan=-1, attributes=packed(attributes), state="visiting",
        told=bytes(len(known)), readings=unread(len(known)), y=None, ask=-1, settled=None, event=event,
    )  # fmt: skip
    learn(made, known, None)
    pinned = options | {"known": {str(attribute): value for attribute, value in known.items()}}
    books.event("visit", who, {"name": name, "model": model, "options": pinned}, example=number)
    books.add_example(made)
    books.add_visit(VisitRow(books.study, number, model, json_of(pinned), None))
    return made


def resumed(books: Books, example: ExampleRow, known: Values, options: dict[str, Any]) -> ExampleRow:
    """A visit that was begun before; known values and options must not contradict those of its beginning."""
    if not example.is_visit:
        raise Conflict(
            f"{example.name!r} was drawn by a plan, for training; visit it under another name, and pass what is known "
            "of it."
        )
    before = json.loads(books.visit(example.number).options)
    now = {option: value for option, value in options.items() if value is not None}
    now |= {"known": {str(attribute): value for attribute, value in known.items()}} if known else {}
    if differing := [option for option, value in now.items() if before[option] != value]:
        raise Conflict(
            f"{example.name!r} was begun with another {differing[0]}=: {before[differing[0]]}. Leave it out to go on."
        )
    return example


def is_awaited(example: ExampleRow) -> bool:
    """Whether a purchase has not been told, or was given up."""
    return AWAITED in example.told


def _is_open(books: Books, example: ExampleRow) -> bool:
    return example.ask >= 0 and books.ask(example.ask).state == "open"


def ask_next(books: Books, settings: Settings, example: ExampleRow, wanted: list[int], who: str) -> AskRow:
    """The ask for what is still awaited of a visit, or else for the next purchase that its model wants.

    An ask may be open although nothing is awaited: it took over a lapsed one, whose answer came late.
    """
    if is_awaited(example) or example.state == "withdrawn" or _is_open(books, example):
        return ask_for_rest(books, settings, example, who)
    made = new_ask(books, settings, example, wanted, who)
    example.attributes = packed([*whole_numbers(example.attributes), *wanted])
    example.told += bytes(len(wanted))
    example.readings += unread(len(wanted))
    example.ask, example.state = made.number, "visiting"
    visit = books.visit(example.number)
    visit.said = None
    books.touch(example=example, visit=visit)
    return made


def stop(books: Books, example: ExampleRow, said: dict[str, Any], who: str) -> None:
    """Store the prediction when nothing more is worth its price, once for each state of knowledge."""
    visit, text = books.visit(example.number), json_of(said | {"as_of": example.event})
    if example.state == "withdrawn" or visit.said == text:
        return
    books.event("predict", who, text, example=example.number)
    visit.said, example.state = text, "predicted"
    books.touch(example=example, visit=visit)
