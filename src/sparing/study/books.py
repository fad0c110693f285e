"""One transaction on one study: its row is lock, ledger and clock, and all that changes is written at the end."""

import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from sparing.study import money
from sparing.study.errors import Conflict
from sparing.study.store import ASK, EVENT, EXAMPLE, STUDY, execute, fetch
from sparing.types import OverBudget

AWAITED, TOLD, UNAVAILABLE, NOT_BOUGHT = range(4)  # what is known of a value: one byte for each
AT_ONCE = 500  # rows that are fetched by one statement


def now() -> int:
    """Microseconds since 1970. Nothing is ordered by it: the numbers of events do that."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class StudyRow:
    """A study: who holds its row holds the lock; its books, and the number of the last event."""

    id: int
    uid: str
    decimals: int
    total: int | None
    committed: int
    spent: int
    head: int
    examples: int
    asks: int
    settled: int
    changed: int
    plan: int


@dataclass(slots=True)
class ExampleRow:
    """An example: its pinned query, and what is known of it so far."""

    study: int
    number: int
    name: str
    plan: int
    attributes: bytes  # int32: the whole query
    state: str  # asked, partial, settled, free or withdrawn
    told: bytes  # AWAITED, TOLD, ... for each attribute
    readings: bytes  # float64: NaN where there is none
    y: float | None
    ask: int  # the latest
    settled: int | None  # the event that settled it
    event: int  # the last one that changed what is known


@dataclass(slots=True)
class AskRow:
    """An attempt to buy what is still missing of an example; money follows attempts, values follow examples."""

    study: int
    number: int
    example: int
    holder: str
    attributes: bytes
    told: bytes
    price: int
    paid: int
    released: int
    state: str  # open, told, cancelled or lapsed
    until: int | None
    events: str  # that told something, separated by commas


@dataclass(slots=True)
class EventRow:
    """Something that happened: never changed, never deleted."""

    study: int
    number: int
    at: int
    actor: str
    kind: str
    example: int | None
    ask: int | None
    digest: bytes | None
    body: str


def _named(record: type) -> list[str]:
    return [field.name for field in fields(record)]


def _changed(table: sa.TableClause, changes: tuple[str, ...]) -> sa.Update:
    """Change the named columns of one row."""
    of_row = (table.c[name] == sa.bindparam(f"new_{name}") for name in ("study", "number"))
    return sa.update(table).where(*of_row).values({name: sa.bindparam(f"new_{name}") for name in changes})


ROW = sa.select(*(STUDY.c[name] for name in _named(StudyRow))).where(STUDY.c.id == sa.bindparam("of"))
COUNTS = ("head", "examples", "asks", "settled", "changed", "plan")  # that a transaction may move
LOCK = ROW.with_for_update()  # SQLite ignores that: there, BEGIN IMMEDIATE locks
MOVE = (
    sa.update(STUDY)
    .where(
        STUDY.c.id == sa.bindparam("new_study"),
        STUDY.c.head == sa.bindparam("new_seen"),
        sa.or_(STUDY.c.total.is_(None), STUDY.c.committed + sa.bindparam("new_more") <= STUDY.c.total),
    )
    .values(
        committed=STUDY.c.committed + sa.bindparam("new_more"),
        spent=STUDY.c.spent + sa.bindparam("new_paid"),
        **{name: sa.bindparam(f"new_{name}") for name in COUNTS},
    )
)
EXAMPLES = sa.select(*(EXAMPLE.c[name] for name in _named(ExampleRow))).where(EXAMPLE.c.study == sa.bindparam("of"))
ASKS = sa.select(*(ASK.c[name] for name in _named(AskRow))).where(ASK.c.study == sa.bindparam("of"))
EVENTS = sa.select(*(EVENT.c[name] for name in _named(EventRow))).where(EVENT.c.study == sa.bindparam("of"))
EXAMPLES_BY_NUMBER, EXAMPLES_BY_NAME, ASKS_BY_NUMBER, EVENTS_BY_NUMBER = (
    {n: rows.where(column.in_([sa.bindparam(f"key_{at}") for at in range(n)])) for n in (1, AT_ONCE)}
    for rows, column in (
        (EXAMPLES, EXAMPLE.c.number),
        (EXAMPLES, EXAMPLE.c.name),
        (ASKS, ASK.c.number),
        (EVENTS, EVENT.c.number),
    )
)  # of one key, or of many
NEW_EVENT, NEW_EXAMPLE, NEW_ASK = (
    sa.insert(table).values({name: sa.bindparam(f"new_{name}") for name in _named(record)})
    for table, record in ((EVENT, EventRow), (EXAMPLE, ExampleRow), (ASK, AskRow))
)
CHANGED_EXAMPLE = _changed(EXAMPLE, ("state", "told", "readings", "y", "ask", "settled", "event"))
CHANGED_ASK = _changed(ASK, ("told", "paid", "released", "state", "until", "events"))


class Books:
    """The row of a study, rows that were fetched or made, and events that will be written by :meth:`close`.

    Whoever only looks leaves the row unlocked, and never closes.
    """

    def __init__(self, connection: Connection, study: int, *, lock: bool = True):
        self.connection, self.study = connection, study
        row = StudyRow(*fetch(connection, LOCK if lock else ROW, {"of": study})[0])
        self.uid, self.total, self.decimals = row.uid, row.total, row.decimals
        self.committed, self.spent, self.seen = row.committed, row.spent, row.head
        self.head, self.examples, self.asks = row.head, row.examples, row.asks
        self.settled, self.changed, self.plan = row.settled, row.changed, row.plan
        self.at, self.more, self.paid = now(), 0, 0
        self._examples: dict[int, ExampleRow] = {}
        self._by_name: dict[str, ExampleRow | None] = {}  # None where there is none of that name
        self._asks: dict[int, AskRow] = {}
        self._events: list[EventRow] = []
        self._new: dict[str, dict[int, None]] = {"example": {}, "ask": {}}
        self._touched: dict[str, dict[int, None]] = {"example": {}, "ask": {}}

    # Reading ---------------------------------------------------------------------------------------------------------

    def fetch(self, *, asks: Collection[int] = (), examples: Collection[int] = (), names: Collection[str] = ()) -> None:
        """Read many rows by few statements, before they are looked at one by one."""
        for row in self._rows(ASKS_BY_NUMBER, [number for number in asks if number not in self._asks]):
            ask = AskRow(*row)
            self._asks[ask.number] = ask
        for row in self._rows(EXAMPLES_BY_NUMBER, [number for number in examples if number not in self._examples]):
            self._know(ExampleRow(*row))
        for row in self._rows(EXAMPLES_BY_NAME, [name for name in names if name not in self._by_name]):
            self._know(ExampleRow(*row))
        for name in names:
            self._by_name.setdefault(name, None)

    def _rows(self, statements: dict[int, sa.Select], wanted: list) -> Iterator[tuple]:
        for first in range(0, len(wanted), AT_ONCE):
            keys = wanted[first : first + AT_ONCE]
            n = 1 if len(keys) == 1 else AT_ONCE
            keys += keys[-1:] * (n - len(keys))
            found = {f"key_{at}": key for at, key in enumerate(keys)}
            yield from fetch(self.connection, statements[n], {"of": self.study, **found})

    def _know(self, example: ExampleRow) -> None:
        self._examples[example.number] = self._by_name[example.name] = example

    def example(self, number: int) -> ExampleRow:
        """An example that exists."""
        if number not in self._examples:
            self.fetch(examples=[number])
        return self._examples[number]

    def named(self, name: str) -> ExampleRow | None:
        """The example of this name, if there is one."""
        if name not in self._by_name:
            self.fetch(names=[name])
        return self._by_name[name]

    def ask(self, number: int) -> AskRow:
        """An ask that exists."""
        if number not in self._asks:
            self.fetch(asks=[number])
        if number not in self._asks:
            raise Conflict(f"there is no ask {number} in this study; check the key.")
        return self._asks[number]

    def events(self, numbers: Collection[int]) -> list[EventRow]:
        """These events in their order, those of this transaction included."""
        stored = [EventRow(*row) for row in self._rows(EVENTS_BY_NUMBER, [n for n in numbers if n <= self.seen])]
        fresh = [event for event in self._events if event.number in numbers]
        return sorted(stored + fresh, key=lambda event: event.number)

    # Writing ---------------------------------------------------------------------------------------------------------

    def event(self, kind: str, actor: str, body: dict | str, *, example=None, ask=None, digest=None) -> int:
        """Note an event; the number of it."""
        self.head += 1
        text = body if isinstance(body, str) else json_of(body)
        self._events.append(EventRow(self.study, self.head, self.at, actor, kind, example, ask, digest, text))
        return self.head

    def reserve(self, price: int) -> None:
        """Set money aside, or refuse: :meth:`close` asks the row itself once more."""
        if self.total is not None and self.committed + self.more + price > self.total:
            raise self._over_budget(price, self.total)
        self.more += price

    def _over_budget(self, price: int, total: int) -> OverBudget:
        left = total - self.committed - self.more
        costs, has, of = (money.text(units, self.decimals) for units in (price, left, total))
        return OverBudget(f"this query costs {costs}, but {has} of {of} is left; nothing was reserved.")

    def release(self, price: int) -> None:
        """Give reserved money back."""
        self.more -= price

    def pay(self, price: int) -> None:
        """Turn reserved money into spent money."""
        self.paid += price

    def add_example(self, example: ExampleRow) -> None:
        """A new row."""
        self._know(example)
        self._new["example"][example.number] = None
        self.examples += 1

    def add_ask(self, ask: AskRow) -> None:
        """A new row."""
        self._asks[ask.number] = ask
        self._new["ask"][ask.number] = None
        self.asks += 1

    def touch(self, *, example: ExampleRow | None = None, ask: AskRow | None = None) -> None:
        """Remember to write what was changed."""
        if example is not None:
            self._touched["example"][example.number] = None
        if ask is not None:
            self._touched["ask"][ask.number] = None

    def close(self) -> None:
        """Write it all: the row of the study first, on the condition that money and head allow it."""
        if not self._events:
            return
        if execute(self.connection, MOVE, [self]) != 1:
            raise Conflict("somebody else has written at the same time; repeat the call.")
        execute(self.connection, NEW_EVENT, self._events)
        self._write(self._examples, self._new["example"], self._touched["example"], NEW_EXAMPLE, CHANGED_EXAMPLE)
        self._write(self._asks, self._new["ask"], self._touched["ask"], NEW_ASK, CHANGED_ASK)

    def _write(self, rows: dict, new: dict, touched: dict, insert: sa.Insert, update: sa.Update) -> None:
        if new:
            execute(self.connection, insert, [rows[number] for number in new])
        changed = [rows[number] for number in touched if number not in new]
        if changed:
            execute(self.connection, update, changed)


def json_of(body: dict) -> str:
    """The one way of writing a body, so that equal ones have equal digests."""
    return ENCODER.encode(body)


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
