"""The cells of settled examples; after the first read, only changes are read."""

import io
import json
from dataclasses import replace

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from sparing.cells import Cells
from sparing.study.plans import Plans
from sparing.study.rows import AT_ONCE, EXAMPLES, TOLD, ExampleRow, StudyRow
from sparing.study.settings import Settings
from sparing.study.store import EVENT, EXAMPLE, SNAPSHOT

CHANGING = ("tell", "correct", "withdraw")  # kinds of events that may change settled cells


class Settled:
    """Cells as of an event, with the numbers of their examples, in the order in which these were settled.

    ``changed`` is the last event that changed them, if it was looked up.
    """

    def __init__(self, cells: Cells, numbers: np.ndarray, event: int, changed: int = 0):
        self.cells, self.numbers, self.event, self.changed = cells, numbers, event, changed

    @classmethod
    def none(cls, settings: Settings) -> "Settled":
        """No cells: the state before the first event."""
        return cls(Cells(len(settings.attributes), n_outputs=settings.n_outputs), np.empty(0, np.int64), 0)

    def at_head(self, connection: Connection, study: int, plans: Plans, now: StudyRow) -> "Settled":
        """The cells as of the last event; this reads only later events and the examples that they changed."""
        if not self.event:
            changed = rows_where(connection, study, EXAMPLE.c.settled.is_not(None))
        else:
            later = sa.select(EVENT.c.example).distinct().where(
                EVENT.c.study == study, EVENT.c.number > self.event, EVENT.c.kind.in_(CHANGING)
            )  # fmt: skip
            changed = _rows_of(connection, study, sorted(connection.execute(later).scalars()))
        old = np.isin(self.numbers, [row.number for row in changed], invert=True)
        rows = sorted((row for row in changed if row.state != "withdrawn"), key=lambda row: row.settled or 0)
        cells, numbers = self.cells if old.all() else self.cells.take(np.flatnonzero(old)), self.numbers[old]
        if rows:
            fresh = _cells_of(connection, plans, rows)
            cells, numbers = Cells.merge([cells, fresh]), np.append(numbers, [row.number for row in rows])
        return Settled(cells, numbers, now.head, now.changed)

    # A cache that may be deleted -------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The content of a snapshot."""
        file = io.BytesIO()
        np.savez_compressed(file, numbers=self.numbers, **self.cells.state())  # type: ignore[arg-type]
        return file.getvalue()

    @classmethod
    def from_snapshot(cls, connection: Connection, study: int) -> "Settled | None":
        """The cells of the newest snapshot; None if there is none."""
        newest = sa.select(SNAPSHOT.c.event, SNAPSHOT.c.content).where(
            SNAPSHOT.c.study == study, SNAPSHOT.c.kind == "cells"
        )
        row = connection.execute(newest.order_by(SNAPSHOT.c.event.desc()).limit(1)).one_or_none()
        if row is None:
            return None
        with np.load(io.BytesIO(row.content), allow_pickle=False) as stored:
            return cls(Cells.from_state(dict(stored)), stored["numbers"], row.event)


def cells_as_of(connection: Connection, study: int, plans: Plans, event: int) -> Cells:
    """Cells of the examples that had been settled by an event, with their values at that time."""
    rows = rows_where(connection, study, EXAMPLE.c.settled <= event)
    rows = [row for row in rows if not (row.state == "withdrawn" and row.event <= event)]
    amended = {row.number for row in rows if row.event > event}
    if amended:
        undone = _before_corrections(connection, study, event)
        rows = [replace(row, **undone[row.number]) if row.number in amended & undone.keys() else row for row in rows]
    return _cells_of(connection, plans, sorted(rows, key=lambda row: row.settled or 0))


def settled_rows(connection: Connection, study: int) -> list[ExampleRow]:
    """All examples in the model, in the order in which they were settled."""
    rows = rows_where(connection, study, EXAMPLE.c.settled.is_not(None), EXAMPLE.c.state != "withdrawn")
    return sorted(rows, key=lambda row: row.settled or 0)


def _before_corrections(connection: Connection, study: int, event: int) -> dict[int, dict]:
    """The values of each example before its first correction after an event."""
    corrections = sa.select(EVENT.c.example, EVENT.c.body).where(
        EVENT.c.study == study, EVENT.c.number > event, EVENT.c.kind == "correct"
    )
    before: dict[int, dict] = {}
    for example, body in connection.execute(corrections.order_by(EVENT.c.number)):
        was = json.loads(body)["was"]
        known = {"told": bytes.fromhex(was["told"]), "readings": bytes.fromhex(was["readings"]), "y": was["y"]}
        before.setdefault(example, known)
    return before


def rows_where(connection: Connection, study: int, *conditions) -> list[ExampleRow]:
    """The examples of a study that meet some conditions."""
    return [ExampleRow(*row) for row in connection.execute(EXAMPLES.where(*conditions), {"of": study})]


def _rows_of(connection: Connection, study: int, numbers: list[int]) -> list[ExampleRow]:
    parts = (numbers[first : first + AT_ONCE] for first in range(0, len(numbers), AT_ONCE))
    settled = EXAMPLE.c.settled.is_not(None)
    return [row for part in parts for row in rows_where(connection, study, settled, EXAMPLE.c.number.in_(part))]


def _cells_of(connection: Connection, plans: Plans, rows: list[ExampleRow]) -> Cells:
    """The cells of these rows, whose targets are known; values that were not told are left out."""
    settings = plans.settings
    cells = Cells(len(settings.attributes), n_outputs=settings.n_outputs)
    if not rows:
        return cells
    attributes = np.frombuffer(b"".join(row.attributes for row in rows), "<i4")
    told = np.frombuffer(b"".join(row.told for row in rows), np.uint8)
    readings = np.frombuffer(b"".join(row.readings for row in rows), "<f8")
    sizes = np.array([len(row.told) for row in rows])
    by_plan = np.repeat([row.plan for row in rows], sizes)
    chances = np.empty(attributes.size)
    for version in np.unique(by_plan):
        of_plan = by_plan == version
        chances[of_plan] = plans.chances(connection, int(version))[attributes[of_plan]]
    targets = settings.learnt(np.array([row.y for row in rows]))
    cells.extend(sizes, attributes, np.where(told == TOLD, readings, np.nan), targets, probabilities=chances)
    return cells
