"""Telling: every value enters the books once, even if answers come in parts, late or repeatedly."""

from struct import pack_into

from sparing.study.books import Books
from sparing.study.errors import Conflict
from sparing.study.rows import AWAITED, NOT_BOUGHT, TOLD, AskRow, EventRow, ExampleRow
from sparing.study.settings import Settings
from sparing.study.values import CODES, Values, coded, decoded, whole_numbers


def tell(books: Books, settings: Settings, number: int, values: Values, y: float | None, who: str) -> int:
    """Book what was told of an ask; the number of the event, or of the earlier one that said the same."""
    row = books.ask(number)
    _refuse_others(settings, row, values)
    told, readings = coded(row.attributes, values)
    said = said_before(books, row)
    for earlier in said:
        if (earlier.told, earlier.readings, earlier.y) == (told, readings, y):
            return earlier.number
    if row.state == "cancelled":
        raise Conflict(f"ask {number} was cancelled and its money released; ask again: the query will be the same.")
    example = books.example(row.example)
    fresh, more_said = new_of(settings, row, example, values, y, said)
    if not fresh and not more_said:
        if not said:
            raise ValueError("nothing was told; pass values of the attributes asked for, the target y, or both.")
        return said[-1].number
    event = books.event("tell", who, "", example=example.number, ask=number, told=told, readings=readings, y=y)
    row.events = f"{row.events},{event}" if row.events else str(event)
    _book(books, settings, row, fresh)
    if example.state != "withdrawn" and learn(example, fresh, y):
        example.event = event
    settle(books, example, event)
    if AWAITED not in row.told and (example.y is not None or example.is_visit or example.state == "withdrawn"):
        row.state, row.until = "told", None
    books.touch(example=example, ask=row)
    return event


def _refuse_others(settings: Settings, row: AskRow, values: Values) -> None:
    """Refuse values of attributes that were not asked for."""
    attributes = whole_numbers(row.attributes)
    if strangers := values.keys() - attributes:
        asked = ", ".join(settings.attributes[attribute] for attribute in attributes)
        raise ValueError(f"{settings.attributes[min(strangers)]} is not in ask {row.number}, which is for {asked}.")


def said_before(books: Books, row: AskRow) -> list[EventRow]:
    """What was told of an ask before."""
    return books.events([int(number) for number in row.events.split(",")]) if row.events else []


def new_of(settings: Settings, row: AskRow, example: ExampleRow, values: Values, y, said) -> tuple[Values, bool]:
    """Those values that this ask had not told, and whether it told a target for the first time; or a conflict."""
    before: Values = {}
    targets = set()
    for event in said:
        before |= decoded(row.attributes, event)
        targets |= set() if event.y is None else {event.y}
    for attribute, value in values.items():
        if before.get(attribute, value) != value:
            was, is_now = (settings.shown(attribute, told) for told in (before[attribute], value))
            raise Conflict(
                f"{settings.attributes[attribute]} of {example.name!r} was told as {was} and is now {is_now}; nothing "
                "was stored. If the first is wrong, correct it."
            )
    if y is not None and targets and y not in targets:
        raise Conflict(
            f"the target of {example.name!r} was told as {settings.label(targets.pop())!r} and is now "
            f"{settings.label(y)!r}; nothing was stored. If the first is wrong, correct it."
        )
    fresh = {attribute: value for attribute, value in values.items() if attribute not in before}
    return fresh, y is not None and not targets


def _book(books: Books, settings: Settings, row: AskRow, values: Values) -> None:
    """Book the money of an ask: it is spent on told and on unavailable values, and released for others."""
    told, paid, released = bytearray(row.told), 0, 0
    units = settings.units
    for at, attribute in enumerate(whole_numbers(row.attributes)):
        if (value := values.get(attribute)) is not None:
            code = told[at] = CODES.get(value, TOLD)
            if code == NOT_BOUGHT:
                released += units[attribute]
            else:
                paid += units[attribute]
    row.told, row.paid, row.released = bytes(told), row.paid + paid, row.released + released
    books.pay(paid)
    books.release(released)


def learn(example: ExampleRow, values: Values, y: float | None, *, replace: bool = False) -> bool:
    """Store values of an example, and return whether anything is new; earlier values stay, unless ``replace``."""
    told, readings, new = bytearray(example.told), bytearray(example.readings), False
    for at, attribute in enumerate(whole_numbers(example.attributes)):
        if (value := values.get(attribute)) is not None and (replace or told[at] == AWAITED):
            code = told[at] = CODES.get(value, TOLD)
            pack_into("<d", readings, 8 * at, value if code == TOLD else float("nan"))
            new = True
    if y is not None and (replace or example.y is None):
        example.y, new = y, True
    example.told, example.readings = bytes(told), bytes(readings)
    return new


def settle(books: Books, example: ExampleRow, event: int) -> None:
    """An example enters the model once its target is known, and every value is told or declared missing.

    A visit never does: its purchases depend on its values, so the probabilities of its cells are not those of a plan.
    """
    if example.state in ("settled", "withdrawn") or example.is_visit:
        return
    if AWAITED not in example.told and example.y is not None:
        example.state, example.settled = "settled", event
        books.settled += 1
        books.changed = event
    elif any(example.told) or example.y is not None:
        example.state = "partial"
