"""Rows of a study's tables as records, and the statements that read and write them."""

from dataclasses import dataclass, fields

import sqlalchemy as sa

from sparing.study.store import ASK, EVENT, EXAMPLE, STUDY, VISIT

AWAITED, TOLD, UNAVAILABLE, NOT_BOUGHT = range(4)  # what is known of a value: one byte for each
AT_ONCE = 500  # rows that are fetched by one statement
KEYS = [f"key_{at}" for at in range(AT_ONCE)]  # its parameters


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
    visits: int
    asks: int
    settled: int
    changed: int
    plan: int


@dataclass(slots=True)
class ExampleRow:
    """An example: the values that were asked for, and those that are known so far.

    Examples of plans are numbered from 0; the number determines the query permanently. Visits are numbered from -1
    downwards; their queries grow.
    """

    study: int
    number: int
    name: str
    plan: int  # -1 for a visit
    attributes: bytes  # int32: the whole query; of a visit, what was known at its beginning comes first
    state: str  # asked, partial, settled, free or withdrawn; of a visit, visiting or predicted
    told: bytes  # AWAITED, TOLD, ... for each attribute
    readings: bytes  # float64: NaN where there is none
    y: float | None
    ask: int  # the latest; -1 if nothing was asked of a visit so far
    settled: int | None  # the event that settled it
    event: int  # the last one that changed what is known

    @property
    def is_visit(self) -> bool:
        """Whether this is a visit, whose queries depend on its values."""
        return self.number < 0


@dataclass(slots=True)
class VisitRow:
    """The model, options and prediction of a visit."""

    study: int
    number: int  # of its example
    model: int  # the event as of which the model was fitted
    options: str  # JSON: when to stop, and the values that were known at its beginning
    said: str | None  # JSON: the prediction, once nothing more is worth its price


@dataclass(slots=True)
class AskRow:
    """An ask for the missing values of an example. Money is booked by ask, values by example."""

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
    digest: bytes | None  # of a correction
    body: str  # JSON; empty if a tell
    told: bytes | None = None  # the status of each attribute of the ask after a tell: AWAITED, TOLD, ...
    readings: bytes | None = None
    y: float | None = None


def _named(record: type) -> list[str]:
    return [field.name for field in fields(record)]


def _changed(table: sa.TableClause, changes: tuple[str, ...]) -> sa.Update:
    """Change the named columns of one row."""
    of_row = (table.c[name] == sa.bindparam(f"new_{name}") for name in ("study", "number"))
    return sa.update(table).where(*of_row).values({name: sa.bindparam(f"new_{name}") for name in changes})


ROW = sa.select(*(STUDY.c[name] for name in _named(StudyRow))).where(STUDY.c.id == sa.bindparam("of"))
COUNTS = ("head", "examples", "visits", "asks", "settled", "changed", "plan")  # that a transaction may move
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
EXAMPLES, ASKS, EVENTS, VISITS = (
    sa.select(*(table.c[name] for name in _named(record))).where(table.c.study == sa.bindparam("of"))
    for table, record in ((EXAMPLE, ExampleRow), (ASK, AskRow), (EVENT, EventRow), (VISIT, VisitRow))
)
EXAMPLES_BY_NUMBER, EXAMPLES_BY_NAME, ASKS_BY_NUMBER, EVENTS_BY_NUMBER, VISITS_BY_NUMBER = (
    {n: rows.where(column.in_([sa.bindparam(key) for key in KEYS[:n]])) for n in (1, AT_ONCE)}
    for rows, column in (
        (EXAMPLES, EXAMPLE.c.number),
        (EXAMPLES, EXAMPLE.c.name),
        (ASKS, ASK.c.number),
        (EVENTS, EVENT.c.number),
        (VISITS, VISIT.c.number),
    )
)  # of one key, or of many
NEW_EVENT, NEW_EXAMPLE, NEW_ASK, NEW_VISIT = (
    sa.insert(table).values({name: sa.bindparam(f"new_{name}") for name in _named(record)})
    for table, record in ((EVENT, EventRow), (EXAMPLE, ExampleRow), (ASK, AskRow), (VISIT, VisitRow))
)
NEW_TELLS = sa.insert(EVENT).values(
    {name: sa.bindparam(f"new_{name}") for name in _named(EventRow) if name != "digest"}
)
CHANGED_EXAMPLE = _changed(EXAMPLE, ("state", "told", "readings", "y", "ask", "settled", "event"))
CHANGED_QUERY = _changed(EXAMPLE, ("attributes",))  # of a visit, besides
CHANGED_ASK = _changed(ASK, ("told", "paid", "released", "state", "until", "events"))
CHANGED_VISIT = _changed(VISIT, ("said",))

# Whole answers to asks of which nothing was told: the database itself copies them from their events.
WHOLE = ("actor", "example", "ask", "told", "readings", "y")
UNTOLD = {
    n: sa.select(ASK.c.number, ASK.c.example, ASK.c.holder, ASK.c.attributes, ASK.c.price).where(
        ASK.c.study == sa.bindparam("of"),
        ASK.c.number.in_([sa.bindparam(key) for key in KEYS[:n]]),
        ASK.c.state == sa.literal_column("'open'"),
        EXAMPLE.c.study == ASK.c.study,
        EXAMPLE.c.number == ASK.c.example,
        EXAMPLE.c.state == sa.literal_column("'asked'"),
    )
    for n in (1, AT_ONCE)
}
_OF_EVENT = EVENT.c.study == sa.bindparam("new_study"), EVENT.c.number > sa.bindparam("new_seen")
WHOLE_EXAMPLES = (
    sa.update(EXAMPLE)
    .where(*_OF_EVENT, EXAMPLE.c.study == EVENT.c.study, EXAMPLE.c.number == EVENT.c.example)
    .values(
        {name: EVENT.c[name] for name in ("told", "readings", "y")}
        | {"state": sa.literal_column("'settled'"), "settled": EVENT.c.number, "event": EVENT.c.number}
    )
)
WHOLE_ASKS = (
    sa.update(ASK)
    .where(*_OF_EVENT, ASK.c.study == EVENT.c.study, ASK.c.number == EVENT.c.ask)
    .values(
        told=EVENT.c.told, paid=ASK.c.price, state=sa.literal_column("'told'"), until=sa.null(),
        events=sa.cast(EVENT.c.number, sa.Text),
    )
)  # fmt: skip
