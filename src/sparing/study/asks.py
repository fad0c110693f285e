"""Making and ending asks; each function works on the books of one transaction."""

from sparing.buying.plan import Plan
from sparing.study.books import Books, now
from sparing.study.errors import Conflict, Taken
from sparing.study.rows import AWAITED, AskRow, ExampleRow
from sparing.study.settings import Settings
from sparing.study.values import packed, unread, whole_numbers


def ask(books: Books, settings: Settings, plan: Plan, name: str, who: str) -> AskRow:
    """What ``who`` is to buy for an example: the same ask again, a new one, or an error."""
    example = books.named(name)
    if example is None:
        return first_ask(books, settings, plan, name, who)
    if example.is_visit:
        raise Conflict(
            f"{name!r} is a visit: its purchases depend on its values, so no plan draws them. Continue it with "
            "visit(), or ask for another example."
        )
    return ask_for_rest(books, settings, example, who)


def ask_for_rest(books: Books, settings: Settings, example: ExampleRow, who: str) -> AskRow:
    """The ask for the missing values of an example: the same again, a new one if it was given up, or an error."""
    name = example.name
    if example.state == "withdrawn":
        raise Conflict(f"{name!r} was withdrawn by event {example.event}; it can no longer be asked for.")
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
        latest = new_ask(books, settings, example, [number for number, known in pairs if known == AWAITED], who)
    example.ask = latest.number
    example.state = "asked" if example.state == "free" else example.state
    books.touch(example=example)
    return latest


def first_ask(books: Books, settings: Settings, plan: Plan, name: str, who: str) -> AskRow:
    """The first ask for a new example; its number and the plan in force determine the query permanently."""
    number = books.examples
    query = plan.query(settings.seed, number).attributes.tolist()
    example = ExampleRow(
        study=books.study, number=number, name=name, plan=books.plan, attributes=packed(query), state="asked",
        told=bytes(len(query)), readings=unread(len(query)), y=None, ask=books.asks, settled=None, event=books.head + 1,
    )  # fmt: skip
    made = new_ask(books, settings, example, query, who, name=name, plan=books.plan)
    books.add_example(example)
    return made


def new_ask(books: Books, settings: Settings, example: ExampleRow, wanted: list[int], who: str, **first) -> AskRow:
    """A new ask that reserves the money for these attributes, or an error."""
    price = sum(settings.units[number] for number in wanted)
    books.reserve(price)
    until = _until(settings)
    made = AskRow(
        study=books.study, number=books.asks, example=example.number, holder=who, attributes=packed(wanted),
        told=bytes(len(wanted)), price=price, paid=0, released=0, state="open", until=until, events="",
    )  # fmt: skip
    body = {"attributes": wanted, "price": price, "until": until} | first
    books.event("ask", who, body, example=example.number, ask=made.number)
    books.add_ask(made)
    return made


def _until(settings: Settings) -> int | None:
    return None if settings.lease is None else now() + int(settings.lease * 1e6)


def known_example(books: Books, name: str) -> ExampleRow:
    """The example of this name, or an error if it was never asked for."""
    example = books.named(name)
    if example is None:
        raise ValueError(f"there is no example {name!r} in this study; check its name.")
    return example


# Ending an ask --------------------------------------------------------------------------------------------------------


def cancel(books: Books, number: int, who: str) -> None:
    """Release the money for values that were not told. A later ask for the example has the same query."""
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
    """Let others take over; the money stays reserved, since the answer may still arrive."""
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
