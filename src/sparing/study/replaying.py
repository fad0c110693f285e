"""A replay of the events of a study, to check its tables; it shares no code with the functions that wrote them."""

import json
from dataclasses import dataclass, field
from math import nan
from struct import error as WrongSize
from struct import pack, unpack

import sqlalchemy as sa

from sparing.progress import Progress, Stages
from sparing.study.store import ASK, EVENT, EXAMPLE, VISIT

EVENT_SECONDS, EXAMPLE_SECONDS = 4e-5, 7e-5  # estimated, to share progress among both
AT_ONCE = 100  # events or examples between two reports of progress
WORDS = {2: "unavailable", 3: "not bought"}  # what is told instead of a number, by its code
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, WrongSize)  # what a damaged event may cause


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
    said: str | None = None  # the prediction of a visit

    @property
    def is_visit(self) -> bool:
        return self.plan < 0

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
    """The state that follows from the events alone, and the differences from the tables."""

    def __init__(self, settings):
        self.settings, self.problems = settings, []
        self.examples: dict[int, _Example] = {}  # visits have negative numbers
        self.options: dict[int, tuple[int, dict]] = {}  # of each visit: the event of its model, and its options
        self.models = {0}  # events at which the cells of the model changed
        self.asks: list[_Ask] = []
        self.committed = self.spent = self.settled = self.changed = self.plan = self.queries = 0

    def run(self, connection, row, plans, progress: Progress) -> None:
        """Replay all events, and compare the resulting state with the tables."""
        seconds = {"events": EVENT_SECONDS * row.head, "examples": EXAMPLE_SECONDS * row.examples}
        stages = Stages(progress, seconds)
        step = stages.steps("events", max(row.head // AT_ONCE, 1))
        events = sa.select(EVENT).where(EVENT.c.study == row.id).order_by(EVENT.c.number)
        for expected, event in enumerate(connection.execute(events), start=1):
            if event.number != expected:
                self.problems.append(f"event {expected} is missing")
                return
            try:
                body = {} if event.kind == "tell" else json.loads(event.body)
                getattr(self, f"_{event.kind}")(event, body)
            except UNREADABLE as error:
                self.problems.append(f"event {event.number} cannot be read ({error!r})")
                return
            if expected % AT_ONCE == 0:
                step()
            self.models.add(self.changed)
            if row.total is not None and self.committed > row.total:
                self.problems.append(f"event {event.number} passes the total")
        for name in ("committed", "spent", "settled", "changed", "plan"):
            if getattr(self, name) != getattr(row, name):
                self.problems.append(f"{name} is {getattr(row, name)}, by the events {getattr(self, name)}")
        self._compare(connection, row.id, plans, stages.steps("examples", max(row.examples // AT_ONCE, 1)))
        stages.finish()

    # One method per kind of event ------------------------------------------------------------------------------------

    def _ask(self, event, body) -> None:
        if "attributes" not in body:
            self.asks[event.ask].state = "open"
            self.examples[event.example].ask = event.ask
            return
        if "name" in body:
            if event.example != len(self.examples) - len(self.options) or body["plan"] != self.plan:
                self.problems.append(f"event {event.number} makes example {event.example} out of turn")
            self.examples[event.example] = _Example(body["name"], body["plan"], body["attributes"], event=event.number)
        price = sum(self.settings.units[attribute] for attribute in body["attributes"])
        if event.ask != len(self.asks) or price != body["price"]:
            self.problems.append(f"event {event.number} makes ask {event.ask} out of turn or at a wrong price")
        example = self.examples[event.example]
        if example.is_visit:
            example.attributes += [each for each in body["attributes"] if each not in example.attributes]
            example.said = None
        latest = example.ask
        if latest >= 0 and self.asks[latest].state == "open":
            self.problems.append(f"event {event.number} gives example {event.example} a second holder")
        example.ask = event.ask
        self.asks.append(_Ask(event.example, event.actor, body["attributes"], price))
        self.committed += price

    def _tell(self, event, body) -> None:
        ask, example = self.asks[event.ask], self.examples[event.example]
        readings = unpack(f"<{len(event.told)}d", event.readings)
        for attribute, code, reading in zip(ask.attributes, event.told, readings, strict=True):
            value = WORDS.get(code, reading)
            if code != 0 and attribute not in ask.told:
                price = self.settings.units[attribute]
                ask.told[attribute] = value
                if value == "not bought":
                    ask.released, self.committed = ask.released + price, self.committed - price
                else:
                    ask.paid, self.spent = ask.paid + price, self.spent + price
                if attribute not in example.known and not example.withdrawn:
                    example.known[attribute], example.event = value, event.number
        if event.y is not None and example.y is None and not example.withdrawn:
            example.y, example.event = event.y, event.number
        if example.settled is None and not example.withdrawn and not example.is_visit and example.is_complete():
            example.settled = self.changed = event.number
            self.settled += 1
        needless = example.is_visit or example.withdrawn  # then no target is needed
        if len(ask.told) == len(ask.attributes) and (example.y is not None or needless):
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

    def _visit(self, event, body) -> None:
        known = {int(attribute): value for attribute, value in body["options"]["known"].items()}
        if event.example != -len(self.options) - 1 or body["model"] not in self.models:
            self.problems.append(f"event {event.number} makes visit {event.example} out of turn, or of no known model")
        self.options[event.example] = body["model"], body["options"]
        self.examples[event.example] = _Example(body["name"], -1, sorted(known), known, event=event.number)

    def _predict(self, event, body) -> None:
        self.examples[event.example].said = event.body

    def _plan(self, event, body) -> None:
        self.plan = body["version"]

    # Comparing -------------------------------------------------------------------------------------------------------

    def _compare(self, connection, study: int, plans, step) -> None:
        for row in connection.execute(sa.select(EXAMPLE).where(EXAMPLE.c.study == study).order_by(EXAMPLE.c.number)):
            if row.number not in self.examples:
                self.problems.append(f"example {row.name!r} has no event")
                continue
            self._compare_example(row, self.examples[row.number])
            if row.number >= 0:
                self._compare_query(connection, row, plans)
                if self.queries % AT_ONCE == 0:
                    step()
        for row in connection.execute(sa.select(ASK).where(ASK.c.study == study).order_by(ASK.c.number)):
            names = ("example", "holder", "price", "paid", "released", "state")
            ask = self.asks[row.number] if row.number < len(self.asks) else None
            if any(getattr(row, name) != getattr(ask, name, None) for name in names):
                self.problems.append(f"ask {row.number} is not what its events say")
        for row in connection.execute(sa.select(VISIT).where(VISIT.c.study == study)):
            if not self._is_visit(row):
                self.problems.append(f"visit {row.number} is not what its events say")

    def _compare_query(self, connection, row, plans) -> None:
        try:
            plan = plans.plan(connection, row.plan)
        except (sa.exc.NoResultFound, ValueError):
            self.problems.append(f"plan {row.plan} of example {row.name!r} is missing or damaged")
            return
        if self.examples[row.number].attributes != plan.query(self.settings.seed, row.number).attributes.tolist():
            self.problems.append(f"the query of example {row.name!r} is another when it is drawn again")
        self.queries += 1

    def _is_visit(self, row) -> bool:
        """Whether the events contain this visit."""
        try:
            told = (row.model, json.loads(row.options)), row.said
        except ValueError:
            return False
        return row.number in self.options and told == (self.options[row.number], self.examples[row.number].said)

    def _compare_example(self, row, example: _Example) -> None:
        codes = {word: code for code, word in WORDS.items()}
        known = [example.known.get(attribute) for attribute in example.attributes]
        told = bytes(0 if v is None else codes.get(v, 1) for v in known)
        readings = pack(f"<{len(known)}d", *(v if isinstance(v, float) else nan for v in known))
        attributes = pack(f"<{len(known)}i", *example.attributes)
        wanted = {"name": example.name, "plan": example.plan, "attributes": attributes, "told": told, "y": example.y}
        wanted |= {"readings": readings, "ask": example.ask, "settled": example.settled, "event": example.event}
        wanted |= {"state": self._state(example)}
        if any(getattr(row, name) != value for name, value in wanted.items()):
            self.problems.append(f"example {row.name!r} is not what its events say")

    def _state(self, example: _Example) -> str:
        if example.withdrawn or example.settled is not None:
            return "withdrawn" if example.withdrawn else "settled"
        if example.is_visit:
            return "visiting" if example.said is None else "predicted"
        if example.known or example.y is not None:
            return "partial"
        return "asked" if self.asks[example.ask].state == "open" else "free"
