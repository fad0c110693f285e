"""Whether the books of a study equal its events: a second reading of the log, which shares no code with the verbs."""

import json
from dataclasses import dataclass, field
from math import nan
from struct import pack, unpack

import sqlalchemy as sa

from sparing.study.errors import StudyError
from sparing.study.store import ASK, EVENT, EXAMPLE, PLAN, STUDY

SHOWN = 5  # problems, in the message


@dataclass(frozen=True)
class Findings:
    """What was checked and found in order; ``queries`` were drawn again."""

    events: int
    examples: int
    asks: int
    queries: int


def check(study, *, replay: bool) -> Findings:
    """Compare sums of money and counts with the row of the study; with ``replay``, go through all events."""

    def look(connection):
        row = connection.execute(sa.select(STUDY).where(STUDY.c.id == study._id)).one()
        if connection.dialect.name == "sqlite":
            _check_pages(connection)
        problems = _sums(connection, row)
        again = Replay(study.settings)
        if replay:
            again.run(connection, row, study._plans)
            problems += again.problems
        if problems:
            more = f", and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
            raise StudyError(
                f"the study {row.name!r} is damaged: {'; '.join(problems[:SHOWN])}{more}. Restore a backup."
            )
        return Findings(row.head, row.examples, row.asks, again.queries)

    return study._store.read(look)


def _check_pages(connection) -> None:
    """SQLite looks at its own pages."""
    said = connection.exec_driver_sql("PRAGMA quick_check").scalar()
    if said != "ok":
        raise StudyError(f"the file is damaged: {said}. Restore a backup.")


def _sums(connection, row) -> list[str]:
    """Where the row of the study differs from sums over its tables."""

    def one(*what, of):
        return connection.execute(sa.select(*what).select_from(of).where(of.c.study == row.id)).one()

    count = sa.func.count
    reserved = sa.func.coalesce(sa.func.sum(ASK.c.price - ASK.c.released), 0)
    found = {
        "events": (one(count(), of=EVENT)[0], row.head),
        "the last event": (one(sa.func.coalesce(sa.func.max(EVENT.c.number), 0), of=EVENT)[0], row.head),
        "examples": (one(count(), of=EXAMPLE)[0], row.examples),
        "asks": (one(count(), of=ASK)[0], row.asks),
        "settled examples": (one(count(EXAMPLE.c.settled), of=EXAMPLE)[0], row.settled),
        "plans": (one(count(), of=PLAN)[0], row.plan + 1),
        "money reserved or spent": (int(one(reserved, of=ASK)[0]), row.committed),
        "money spent": (int(one(sa.func.coalesce(sa.func.sum(ASK.c.paid), 0), of=ASK)[0]), row.spent),
    }
    return [
        f"{what}: {here} in the tables, {there} in the books" for what, (here, there) in found.items() if here != there
    ]


@dataclass
class _Example:
    name: str
    plan: int
    attributes: list[int]
    known: dict = field(default_factory=dict)
    y: float | None = None
    ask: int = -1
    settled: int | None = None
    withdrawn: bool = False
    event: int = 0

    def is_complete(self) -> bool:
        return self.y is not None and len(self.known) == len(self.attributes)


@dataclass
class _Ask:
    example: int
    holder: str
    attributes: list[int]
    price: int
    told: dict = field(default_factory=dict)
    state: str = "open"
    paid: int = 0
    released: int = 0


class Replay:
    """The state that follows from the events alone."""

    def __init__(self, settings):
        self.settings, self.problems = settings, []
        self.examples: list[_Example] = []
        self.asks: list[_Ask] = []
        self.committed = self.spent = self.settled = self.changed = self.plan = self.queries = 0

    def run(self, connection, row, plans) -> None:
        """Go through all events, and compare where that leads with the tables."""
        events = sa.select(EVENT).where(EVENT.c.study == row.id).order_by(EVENT.c.number)
        for expected, event in enumerate(connection.execute(events), start=1):
            if event.number != expected:
                self.problems.append(f"event {expected} is missing")
                return
            getattr(self, f"_{event.kind}")(event, json.loads(event.body))
            if row.total is not None and self.committed > row.total:
                self.problems.append(f"event {event.number} passes the total")
        for name in ("committed", "spent", "settled", "changed", "plan"):
            if getattr(self, name) != getattr(row, name):
                self.problems.append(f"{name} is {getattr(row, name)}, by the events {getattr(self, name)}")
        self._compare(connection, row.id, plans)

    # What each kind of event does ------------------------------------------------------------------------------------

    def _ask(self, event, body) -> None:
        if "attributes" not in body:
            self.asks[event.ask].state = "open"
            self.examples[event.example].ask = event.ask
            return
        if "name" in body:
            if event.example != len(self.examples) or body["plan"] != self.plan:
                self.problems.append(f"event {event.number} makes example {event.example} out of turn")
            made = _Example(body["name"], body["plan"], body["attributes"], event=event.number)
            self.examples.append(made)
        price = sum(self.settings.units[attribute] for attribute in body["attributes"])
        if event.ask != len(self.asks) or price != body["price"]:
            self.problems.append(f"event {event.number} makes ask {event.ask} out of turn or at a wrong price")
        latest = self.examples[event.example].ask
        if latest >= 0 and self.asks[latest].state == "open":
            self.problems.append(f"event {event.number} gives example {event.example} a second holder")
        self.examples[event.example].ask = event.ask
        self.asks.append(_Ask(event.example, event.actor, body["attributes"], price))
        self.committed += price

    def _tell(self, event, body) -> None:
        ask, example = self.asks[event.ask], self.examples[event.example]
        for name, value in body["values"].items():
            attribute = int(name)
            if attribute not in ask.told:
                price = self.settings.units[attribute]
                ask.told[attribute] = value
                if value == "not bought":
                    ask.released, self.committed = ask.released + price, self.committed - price
                else:
                    ask.paid, self.spent = ask.paid + price, self.spent + price
                if attribute not in example.known and not example.withdrawn:
                    example.known[attribute], example.event = value, event.number
        if body["y"] is not None and example.y is None and not example.withdrawn:
            example.y, example.event = body["y"], event.number
        if example.settled is None and not example.withdrawn and example.is_complete():
            example.settled = self.changed = event.number
            self.settled += 1
        if len(ask.told) == len(ask.attributes) and (example.y is not None or example.withdrawn):
            ask.state = "told"

    def _cancel(self, event, body) -> None:
        ask = self.asks[event.ask]
        left = ask.price - ask.paid - ask.released
        ask.state, ask.released, self.committed = "cancelled", ask.released + left, self.committed - left

    def _expire(self, event, body) -> None:
        self.asks[event.ask].state = "lapsed"

    def _correct(self, event, body) -> None:
        example = self.examples[event.example]
        example.known |= {int(attribute): value for attribute, value in body["values"].items()}
        example.y = example.y if body["y"] is None else body["y"]
        example.event = event.number
        self.changed = self.changed if example.settled is None else event.number

    def _withdraw(self, event, body) -> None:
        example = self.examples[event.example]
        example.withdrawn, example.event = True, event.number
        self.changed = self.changed if example.settled is None else event.number

    def _plan(self, event, body) -> None:
        self.plan = body["version"]

    # Comparing -------------------------------------------------------------------------------------------------------

    def _compare(self, connection, study: int, plans) -> None:
        stored = connection.execute(sa.select(EXAMPLE).where(EXAMPLE.c.study == study).order_by(EXAMPLE.c.number)).all()
        for row, example in zip(stored, self.examples, strict=False):
            codes = {"unavailable": 2, "not bought": 3}
            known = [example.known.get(attribute) for attribute in example.attributes]
            told = bytes(0 if v is None else codes.get(v, 1) for v in known)
            readings = pack(f"<{len(known)}d", *(v if isinstance(v, float) else nan for v in known))
            seen = (row.name, row.plan, row.told, row.readings, row.y, row.ask, row.settled, row.event)
            wanted = (
                example.name,
                example.plan,
                told,
                readings,
                example.y,
                example.ask,
                example.settled,
                example.event,
            )
            if seen != wanted or row.state != self._state(example):
                self.problems.append(f"example {row.name!r} is not what its events say")
            drawn = plans.plan(connection, row.plan).query(self.settings.seed, row.number).attributes.tolist()
            if not list(unpack(f"<{len(row.attributes) // 4}i", row.attributes)) == example.attributes == drawn:
                self.problems.append(f"the query of example {row.name!r} is another when it is drawn again")
            self.queries += 1
        for row in connection.execute(sa.select(ASK).where(ASK.c.study == study).order_by(ASK.c.number)):
            names = ("example", "holder", "price", "paid", "released", "state")
            if any(getattr(row, name) != getattr(self.asks[row.number], name) for name in names):
                self.problems.append(f"ask {row.number} is not what its events say")

    def _state(self, example: _Example) -> str:
        if example.withdrawn or example.settled is not None:
            return "withdrawn" if example.withdrawn else "settled"
        if example.known or example.y is not None:
            return "partial"
        return "asked" if self.asks[example.ask].state == "open" else "free"
