"""One transaction on one study: its row is lock, ledger and clock, and all that changes is written at the end."""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from sparing.study import money
from sparing.study.errors import Conflict, OverBudget
from sparing.study.store import ASK, EVENT, EXAMPLE, STUDY

AWAITED, TOLD, UNAVAILABLE, NOT_BOUGHT = range(4)  # what is known of a value: one byte for each
AT_ONCE = 500  # rows that are fetched by one statement


def now() -> int:
    """Microseconds since 1970. Nothing is ordered by it: the numbers of events do that."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class ExampleRow:
    """An example: its pinned query, and what is known of it so far."""

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


def _named(record: type) -> list[str]:
    return [field.name for field in fields(record)]


def _keyed(table: sa.TableClause) -> sa.Update:
    """Change the named columns of one row; those of the key are called so as not to be mistaken for them."""
    return sa.update(table).where(table.c.study == sa.bindparam("of"), table.c.number == sa.bindparam("at_number"))


ROW = sa.select(STUDY).where(STUDY.c.id == sa.bindparam("of"))
LOCK = ROW.with_for_update()  # SQLite ignores that: there, BEGIN IMMEDIATE locks
MOVE = (
    sa.update(STUDY)
    .where(
        STUDY.c.id == sa.bindparam("of"),
        STUDY.c.head == sa.bindparam("seen"),
        sa.or_(STUDY.c.total.is_(None), STUDY.c.committed + sa.bindparam("more") <= STUDY.c.total),
    )
    .values(
        committed=STUDY.c.committed + sa.bindparam("more"),
        spent=STUDY.c.spent + sa.bindparam("paid"),
        **{name: sa.bindparam(f"new_{name}") for name in ("head", "examples", "asks", "settled", "changed", "plan")},
    )
)
EXAMPLES = sa.select(*(EXAMPLE.c[name] for name in _named(ExampleRow))).where(EXAMPLE.c.study == sa.bindparam("of"))
EXAMPLES_BY_NUMBER = EXAMPLES.where(EXAMPLE.c.number.in_(sa.bindparam("numbers", expanding=True)))
EXAMPLES_BY_NAME = EXAMPLES.where(EXAMPLE.c.name.in_(sa.bindparam("names", expanding=True)))
ASKS = sa.select(*(ASK.c[name] for name in _named(AskRow))).where(ASK.c.study == sa.bindparam("of"))
ASKS_BY_NUMBER = ASKS.where(ASK.c.number.in_(sa.bindparam("numbers", expanding=True)))
EVENTS = sa.select(EVENT).where(EVENT.c.study == sa.bindparam("of"))
EVENTS_BY_NUMBER = EVENTS.where(EVENT.c.number.in_(sa.bindparam("numbers", expanding=True)))
NEW_EVENT, NEW_EXAMPLE, NEW_ASK = sa.insert(EVENT), sa.insert(EXAMPLE), sa.insert(ASK)
CHANGED_EXAMPLE = _keyed(EXAMPLE).values(
    {name: sa.bindparam(f"new_{name}") for name in ("state", "told", "readings", "y", "ask", "settled", "event")}
)
CHANGED_ASK = _keyed(ASK).values(
    {name: sa.bindparam(f"new_{name}") for name in ("told", "paid", "released", "state", "until", "events")}
)


class Books:
    """The row of a study, rows that were fetched or made, and events that will be written by :meth:`close`.

    Whoever only looks leaves the row unlocked, and never closes.
    """

    def __init__(self, connection: Connection, study: int, *, lock: bool = True):
        self.connection, self.study = connection, study
        row = connection.execute(LOCK if lock else ROW, {"of": study}).one()
        self.uid, self.total, self.decimals = row.uid, row.total, row.decimals
        self.committed, self.spent, self._seen = row.committed, row.spent, row.head
        self.head, self.examples, self.asks = row.head, row.examples, row.asks
        self.settled, self.changed, self.plan = row.settled, row.changed, row.plan
        self.more = self.paid = 0
        self._examples: dict[int, ExampleRow] = {}
        self._by_name: dict[str, ExampleRow] = {}
        self._asks: dict[int, AskRow] = {}
        self._events: list[dict] = []
        self._new: dict[str, list] = {"example": [], "ask": []}
        self._touched: dict[str, dict[int, None]] = {"example": {}, "ask": {}}

    # Reading ---------------------------------------------------------------------------------------------------------

    def fetch(self, *, asks: Collection[int] = (), examples: Collection[int] = (), names: Collection[str] = ()) -> None:
        """Read many rows by few statements, before they are looked at one by one."""
        for row in self._rows(ASKS_BY_NUMBER, "numbers", [n for n in asks if n not in self._asks]):
            self._asks[row.number] = AskRow(*row)
        found = list(self._rows(EXAMPLES_BY_NUMBER, "numbers", [n for n in examples if n not in self._examples]))
        found += self._rows(EXAMPLES_BY_NAME, "names", [name for name in names if name not in self._by_name])
        for row in found:
            self._know(ExampleRow(*row))

    def _rows(self, statement, what: str, wanted: list) -> Iterable[sa.Row]:
        for first in range(0, len(wanted), AT_ONCE):
            yield from self.connection.execute(
                statement, {"of": self.study, what: wanted[first : first + AT_ONCE]}
            )  # fmt: skip

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
        return self._by_name.get(name)

    def ask(self, number: int) -> AskRow:
        """An ask that exists."""
        if number not in self._asks:
            self.fetch(asks=[number])
        if number not in self._asks:
            raise Conflict(f"there is no ask {number} in this study; check the key.")
        return self._asks[number]

    def events(self, numbers: Iterable[int]) -> list:
        """These events, those of this transaction included."""
        stored = list(self._rows(EVENTS_BY_NUMBER, "numbers", [n for n in numbers if n <= self._seen]))
        fresh = [sa.util.immutabledict(event) for event in self._events if event["number"] in set(numbers)]
        return [row._mapping for row in stored] + fresh

    # Writing ---------------------------------------------------------------------------------------------------------

    def event(self, kind: str, actor: str, body: dict, *, example=None, ask=None, digest=None) -> int:
        """Note an event; the number of it."""
        self.head += 1
        self._events.append(
            {"study": self.study, "number": self.head, "at": now(), "actor": actor, "kind": kind, "example": example,
             "ask": ask, "digest": digest, "body": json_of(body)}
        )  # fmt: skip
        return self.head

    def reserve(self, price: int) -> None:
        """Set money aside, or refuse: :meth:`close` asks the row itself once more."""
        if self.total is not None and self.committed + self.more + price > self.total:
            self._refuse(price)
        self.more += price

    def _refuse(self, price: int):
        price_, left, total = (
            money.text(units, self.decimals)
            for units in (price, self.total - self.committed - self.more, self.total)
        )  # fmt: skip
        raise OverBudget(f"this query costs {price_}, but {left} of {total} is left; nothing was reserved.")

    def release(self, price: int) -> None:
        """Give reserved money back."""
        self.more -= price

    def pay(self, price: int) -> None:
        """Turn reserved money into spent money."""
        self.paid += price

    def add_example(self, example: ExampleRow) -> None:
        """A new row."""
        self._know(example)
        self._new["example"].append(example.number)
        self.examples += 1

    def add_ask(self, ask: AskRow) -> None:
        """A new row."""
        self._asks[ask.number] = ask
        self._new["ask"].append(ask.number)
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
        moved = {"of": self.study, "seen": self._seen, "more": self.more, "paid": self.paid}
        names = ("head", "examples", "asks", "settled", "changed", "plan")
        done = self.connection.execute(MOVE, moved | {f"new_{name}": getattr(self, name) for name in names}).rowcount
        if done != 1 and self.connection.execute(LOCK, {"of": self.study}).one().head != self._seen:
            raise Conflict("somebody else has written at the same time; repeat the call.")
        if done != 1:
            self._refuse(self.more)
        self.connection.execute(NEW_EVENT, self._events)
        self._write(self._examples, "example", NEW_EXAMPLE, CHANGED_EXAMPLE)
        self._write(self._asks, "ask", NEW_ASK, CHANGED_ASK)

    def _write(self, rows: dict, kind: str, insert, update) -> None:
        new, changed = self._new[kind], [n for n in self._touched[kind] if n not in set(self._new[kind])]
        if changed:
            names = [name.removeprefix("new_") for name in update.compile().params if name.startswith("new_")]
            self.connection.execute(
                update,
                [
                    {"of": self.study, "at_number": number} | {f"new_{n}": getattr(rows[number], n) for n in names}
                    for number in changed
                ],
            )
        if new:
            self.connection.execute(insert, [{"study": self.study} | asdict(rows[number]) for number in new])


def json_of(body: dict) -> str:
    """The one way of writing a body, so that equal ones have equal digests."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
