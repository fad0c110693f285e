"""The methods of a study: each writes in one transaction, or reads one consistent state."""

import getpass
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from sparing.cells import Cells
from sparing.files import InputError
from sparing.study import amending, asks, sheets, tells, transfer
from sparing.study.books import Books
from sparing.study.errors import Conflict
from sparing.study.rows import ASKS, ROW, AskRow, StudyRow
from sparing.study.settled import Settled, cells_as_of
from sparing.study.store import ASK, SNAPSHOT, fetch
from sparing.study.values import Values, checked_values
from sparing.study.views import Ask, Example
from sparing.study.whole import tell_whole

if TYPE_CHECKING:
    from sparing.study.study import Study

T = TypeVar("T")
NEW_SHARE = 0.05  # share of new settled examples from which a snapshot is stored


def write(study: "Study", work: Callable[[Books], T]) -> T:
    """One transaction on the locked row of a study."""

    def locked(connection):
        books = Books(connection, study.id)
        done = work(books)
        books.close()
        return done

    return study.store.write(locked)


def state(study: "Study") -> StudyRow:
    """The row of the study as it is now."""
    return study.store.read(lambda connection: StudyRow(*fetch(connection, ROW, {"of": study.id})[0]))


def catch_up(study: "Study") -> None:
    """Make the plans that are due, outside any transaction."""
    study.plans.catch_up(lambda event: cells(study, event))


# Verbs ----------------------------------------------------------------------------------------------------------------


def ask_many(study: "Study", names: Iterable[str], who: str | None) -> list[Ask]:
    """Ask for all of these examples or for none, by the plan that is due."""
    names, who = [checked_name("name", name) for name in names], actor(who)
    plans = study.plans
    if not plans.are_warm:
        catch_up(study)

    def work(books, *, planned: bool):
        if study._make_plans and not planned and books.settled >= plans.due(books.plan):
            return None
        books.fetch(names=names)
        plan = plans.plan(books.connection, books.plan)
        return [_shown(study, books, asks.ask(books, study.settings, plan, name, who)) for name in names]

    asked = write(study, partial(work, planned=False))
    if asked is None:  # a plan is due, and no client waits for another one to make it
        catch_up(study)
        asked = write(study, partial(work, planned=True))
    return asked


Answers = Iterable[tuple[Ask | str, Mapping[str, Any], Any]]


def tell_many(study: "Study", answers: Answers, who: str | None, places: list[str] | None = None) -> list[int]:
    """Tell all of these answers or none; ``places`` say where each of them stands, for messages."""
    settings, teller = study.settings, None if who is None else actor(who)
    told = checked_answers(study, answers, places)
    events: list[int] = []

    def work(books):
        events[:] = tell_whole(books, told, teller) or ()
        if not events:
            books.fetch(asks=[number for number, _, _ in told])
            books.fetch(examples=[books.ask(number).example for number, _, _ in told])
            for number, values, y in told:
                events.append(tells.tell(books, settings, number, values, y, teller or books.ask(number).holder))
        return books.settled, books.plan

    try:
        settled, plan = write(study, work)
    except (Conflict, ValueError) as error:
        raise _placed(error, places, len(events)) from error
    if study._make_plans and settled >= study.plans.due(plan):
        catch_up(study)
    return events


def checked_answers(
    study: "Study", answers: Answers, places: list[str] | None
) -> list[tuple[int, Values, float | None]]:
    """The number of each ask, values by the number of their attribute, and the target as a number; or an error."""
    settings = study.settings
    told: list[tuple[int, Values, float | None]] = []
    try:
        for ask, values, y in answers:
            target = None if y is None else settings.target(y)
            told.append((number_of(study, ask), checked_values(settings, values), target))
    except ValueError as error:
        raise _placed(error, places, len(told)) from error
    return told


def _placed(error: Exception, places: list[str] | None, at: int) -> Exception:
    """The same error with the place of the answer that caused it."""
    return error if places is None or at >= len(places) else type(error)(f"{places[at]}: {error}")


def tell_sheet(study: "Study", path, who: str | None) -> tuple[int, int]:
    """Tell a sheet; return the number of lines with values, and how many of them were new."""
    answers = sheets.read_sheet(study, path)
    study.store.read(lambda connection: _refuse_moved(study, Books(connection, study.id, lock=False), answers))
    head = state(study).head
    told = [(each.key, each.values, each.target) for each in answers]
    events = tell_many(study, told, who, places=[each.place for each in answers]) if told else []
    return len(events), len({event for event in events if event > head})


def _refuse_moved(study: "Study", books: Books, answers: list[sheets.Answer]) -> None:
    """Refuse lines whose key belongs to another example than the one they name: a column was sorted by itself."""
    for answer in answers:
        try:
            name = books.example(books.ask(number_of(study, answer.key)).example).name
        except (Conflict, ValueError) as error:
            raise _placed(error, [answer.place], 0) from error
        if answer.example not in ("", name):
            raise InputError(
                f"{answer.place}: its key is that of {name!r}, but its example is {answer.example!r}",
                "sort whole rows, never single columns",
            )


def correct(study: "Study", name: str, values, y, expected: int, who: str | None, why: str) -> int:
    """Replace told values or a target, and return the number of the event."""
    settings, who = study.settings, actor(who)
    new, target = checked_values(settings, values), None if y is None else settings.target(y)
    return write(study, lambda books: amending.correct(books, settings, name, new, target, expected, who, why))


def withdraw(study: "Study", name: str, who: str | None, why: str) -> int:
    """Leave an example out of the model, and return the number of the event."""
    return write(study, lambda books: amending.withdraw(books, name, actor(who), why))


def expire(study: "Study", who: str | None) -> list[str]:
    """Expire asks whose lease has ended."""
    held = sa.select(ASK.c.number).where(ASK.c.study == study.id, ASK.c.state == "open").order_by(ASK.c.number)

    def work(books):
        numbers = list(books.connection.execute(held.where(ASK.c.until < books.at)).scalars())
        for number in numbers:
            asks.expire(books, number, actor(who))
        return [books.example(books.ask(number).example).name for number in numbers]

    return write(study, work)


def work(study: "Study") -> None:
    """Expire, plan, and store a snapshot where enough is new."""
    expire(study, "sparing")
    catch_up(study)
    settled = at_head(study)
    stored = study.store.read(lambda connection: Settled.from_snapshot(connection, study.id))
    if settled.cells.n_examples * (1 - NEW_SHARE) <= (stored.cells.n_examples if stored else 0):
        return

    def store(connection):
        connection.execute(sa.delete(SNAPSHOT).where(SNAPSHOT.c.study == study.id, SNAPSHOT.c.kind == "cells"))
        row = {"study": study.id, "event": settled.event, "kind": "cells", "content": settled.to_bytes()}
        connection.execute(sa.insert(SNAPSHOT), row)

    study.store.write(store)


# Looking --------------------------------------------------------------------------------------------------------------


def at_head(study: "Study") -> Settled:
    """The current settled cells; only changes since the last call are read."""

    def look(connection):
        row = StudyRow(*fetch(connection, ROW, {"of": study.id})[0])
        known = study._settled or Settled.from_snapshot(connection, study.id) or Settled.none(study.settings)
        return known.at_head(connection, study.id, study.plans, row)

    study._settled = study.store.read(look)
    return study._settled


def cells(study: "Study", at: int | None, also: Iterable = ()) -> Cells:
    """The cells, now or as of an event, and those of exported files."""
    own = (
        at_head(study).cells
        if at is None
        else study.store.read(lambda connection: cells_as_of(connection, study.id, study.plans, at))
    )
    also = list(also)
    if not also:
        return own
    merged = transfer.merged((str(path), transfer.read_exports(path)) for path in also)
    others = {key: each for key, each in merged.items() if key[0] != study.uid}
    return Cells.merge([own, transfer.cells_of(others, study.settings)])


def example(study: "Study", name: str) -> Example:
    """What is known of an example."""
    row = study.store.read(lambda connection: asks.known_example(Books(connection, study.id, lock=False), name))
    return Example.of(study.settings, row)


def asks_in(study: "Study", state: str, who: str | None) -> list[Ask]:
    """Asks in a state, in the order in which they were made."""
    wanted = ASKS.where(ASK.c.state == state, sa.true() if who is None else ASK.c.holder == who)

    def look(connection):
        rows = [AskRow(*row) for row in connection.execute(wanted.order_by(ASK.c.number), {"of": study.id})]
        books = Books(connection, study.id, lock=False)
        books.fetch(examples=[row.example for row in rows])
        return [_shown(study, books, row) for row in rows]

    return study.store.read(look)


def _shown(study: "Study", books: Books, row: AskRow) -> Ask:
    return Ask.of(study.settings, study.uid, row, books.example(row.example))


# Words ----------------------------------------------------------------------------------------------------------------


def number_of(study: "Study", ask: Ask | str) -> int:
    """The number of an ask, by its key."""
    key = ask.key if isinstance(ask, Ask) else ask
    uid, _, number = str(key).rpartition("-")
    if uid != study.uid or not number.isdecimal():
        raise ValueError(f"{key!r} is not the key of an ask of this study, such as '{study.uid}-0'; check it.")
    return int(number)


def actor(who: str | None) -> str:
    """Who does something: by default, the user of this machine."""
    return checked_name("who", who or getpass.getuser())


def checked_name(what: str, text) -> str:
    """A name that can be printed and found again."""
    if isinstance(text, str) and text.strip() == text != "" and text.isprintable():
        return text
    raise ValueError(f"{what} must be a word or several, without spaces at the ends; got {text!r}.")
