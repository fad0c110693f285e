"""The books of one transaction: the row of the study is its lock and ledger, and changes are written at the end."""

import json
import time
from collections.abc import Collection, Iterable, Iterator
from itertools import repeat

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from sparing.study import money
from sparing.study.errors import Conflict
from sparing.study.rows import (
    ASKS_BY_NUMBER,
    AT_ONCE,
    CHANGED_ASK,
    CHANGED_EXAMPLE,
    CHANGED_QUERY,
    CHANGED_VISIT,
    EVENTS_BY_NUMBER,
    EXAMPLES_BY_NAME,
    EXAMPLES_BY_NUMBER,
    KEYS,
    LOCK,
    MOVE,
    NEW_ASK,
    NEW_EVENT,
    NEW_EXAMPLE,
    NEW_TELLS,
    NEW_VISIT,
    ROW,
    UNTOLD,
    VISITS_BY_NUMBER,
    WHOLE,
    WHOLE_ASKS,
    WHOLE_EXAMPLES,
    AskRow,
    EventRow,
    ExampleRow,
    StudyRow,
    VisitRow,
)
from sparing.study.store import execute, execute_columns, fetch
from sparing.types import OverBudget


def now() -> int:
    """Microseconds since 1970. Nothing is ordered by it: the numbers of events do that."""
    return time.time_ns() // 1000


class Books:
    """The row of a study, rows that were fetched or made, and events that will be written by :meth:`close`.

    A transaction that only reads does not lock the row, and is never closed.
    """

    def __init__(self, connection: Connection, study: int, *, lock: bool = True):
        self.connection, self.study = connection, study
        row = StudyRow(*fetch(connection, LOCK if lock else ROW, {"of": study})[0])
        self.uid, self.total, self.decimals = row.uid, row.total, row.decimals
        self.committed, self.spent, self.seen = row.committed, row.spent, row.head
        self.head, self.examples, self.visits, self.asks = row.head, row.examples, row.visits, row.asks
        self.settled, self.changed, self.plan = row.settled, row.changed, row.plan
        self.at, self.more, self.paid = now(), 0, 0
        self._examples: dict[int, ExampleRow] = {}
        self._by_name: dict[str, ExampleRow | None] = {}  # None where there is none of that name
        self._asks: dict[int, AskRow] = {}
        self._visits: dict[int, VisitRow] = {}
        self._events: list[EventRow] = []
        self._whole: list[tuple] = []
        self._new_examples: dict[int, ExampleRow] = {}
        self._new_asks: dict[int, AskRow] = {}
        self._new_visits: dict[int, VisitRow] = {}
        self._changed_examples: dict[int, ExampleRow] = {}
        self._changed_asks: dict[int, AskRow] = {}
        self._changed_visits: dict[int, VisitRow] = {}

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
            yield from fetch(self.connection, statements[n], {"of": self.study, **dict(zip(KEYS, keys, strict=False))})

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

    def untold(self, numbers: list[int]) -> dict[int, tuple]:
        """Number, example, holder, attributes and price of those asks that are open and of which nothing was told."""
        return {row[0]: row for row in self._rows(UNTOLD, numbers)}

    def visit(self, number: int) -> VisitRow:
        """The row of the visit with this number."""
        if number not in self._visits:
            self._visits[number] = VisitRow(*next(self._rows(VISITS_BY_NUMBER, [number])))
        return self._visits[number]

    def events(self, numbers: Collection[int]) -> list[EventRow]:
        """These events in their order, those of this transaction included."""
        stored = [EventRow(*row) for row in self._rows(EVENTS_BY_NUMBER, [n for n in numbers if n <= self.seen])]
        fresh = [event for event in self._events if event.number in numbers]
        return sorted(stored + fresh, key=lambda event: event.number)

    # Writing ---------------------------------------------------------------------------------------------------------

    def event(
        self, kind: str, actor: str, body: dict | str, *, example=None, ask=None, digest=None, told=None, readings=None,
        y=None,
    ) -> int:  # fmt: skip
        """Add an event, and return its number."""
        self.head += 1
        text = body if isinstance(body, str) else json_of(body)
        made = EventRow(self.study, self.head, self.at, actor, kind, example, ask, digest, text, told, readings, y)
        self._events.append(made)
        return self.head

    def tell_whole(self, answers: list[tuple], price: int) -> range:
        """Add an event for each of these answers (the columns ``WHOLE``) that settles its example."""
        self._whole = answers
        first, self.head = self.head + 1, self.head + len(answers)
        self.settled, self.changed = self.settled + len(answers), self.head
        self.pay(price)
        return range(first, self.head + 1)

    def reserve(self, price: int) -> None:
        """Reserve money, or refuse; :meth:`close` checks the row itself again."""
        if self.total is not None and self.committed + self.more + price > self.total:
            raise self._over_budget(price, self.total)
        self.more += price

    def _over_budget(self, price: int, total: int) -> OverBudget:
        left = total - self.committed - self.more
        costs, has, of = (money.text(units, self.decimals) for units in (price, left, total))
        return OverBudget(f"this query costs {costs}, but {has} of {of} is left; nothing was reserved for it.")

    def release(self, price: int) -> None:
        """Give reserved money back."""
        self.more -= price

    def pay(self, price: int) -> None:
        """Turn reserved money into spent money."""
        self.paid += price

    def add_example(self, example: ExampleRow) -> None:
        """A new row."""
        self._know(example)
        self._new_examples[example.number] = example
        if example.is_visit:
            self.visits += 1
        else:
            self.examples += 1

    def add_visit(self, visit: VisitRow) -> None:
        """A new row, besides that of its example."""
        self._visits[visit.number] = self._new_visits[visit.number] = visit

    def add_ask(self, ask: AskRow) -> None:
        """A new row."""
        self._asks[ask.number] = self._new_asks[ask.number] = ask
        self.asks += 1

    def touch(
        self, *, example: ExampleRow | None = None, ask: AskRow | None = None, visit: VisitRow | None = None
    ) -> None:
        """Remember to write what was changed."""
        if example is not None and example.number not in self._new_examples:
            self._changed_examples[example.number] = example
        if ask is not None and ask.number not in self._new_asks:
            self._changed_asks[ask.number] = ask
        if visit is not None:
            self._changed_visits[visit.number] = visit

    def close(self) -> None:
        """Write it all: the row of the study first, on the condition that money and head allow it."""
        if self.head == self.seen:
            return
        if execute(self.connection, MOVE, [self]) != 1:
            raise Conflict("somebody else has written at the same time; repeat the call.")
        if self._whole:
            self._write_whole()
        examples = self._changed_examples
        for statement, rows in (
            (NEW_EVENT, self._events),
            (NEW_EXAMPLE, self._new_examples.values()),
            (NEW_ASK, self._new_asks.values()),
            (NEW_VISIT, self._new_visits.values()),
            (CHANGED_EXAMPLE, examples.values()),
            (CHANGED_QUERY, [example for example in examples.values() if example.is_visit]),
            (CHANGED_ASK, self._changed_asks.values()),
            (CHANGED_VISIT, self._changed_visits.values()),
        ):
            if rows:
                execute(self.connection, statement, list(rows))

    def _write_whole(self) -> None:
        columns: dict[str, Iterable] = dict(zip(WHOLE, zip(*self._whole, strict=True), strict=True))
        columns["number"] = range(self.seen + 1, self.head + 1)
        same = {"study": self.study, "at": self.at, "kind": "tell", "body": ""}
        execute_columns(self.connection, NEW_TELLS, columns | {name: repeat(value) for name, value in same.items()})
        execute(self.connection, WHOLE_EXAMPLES, [self])
        execute(self.connection, WHOLE_ASKS, [self])


def json_of(body: dict) -> str:
    """The one way of writing a body, so that equal ones have equal digests."""
    return ENCODER.encode(body)


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
