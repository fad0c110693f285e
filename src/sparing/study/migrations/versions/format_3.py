"""Format 3: what a tell says is in columns of its event, as in its ask and example, and no longer in JSON."""

import json
from math import nan
from struct import pack, unpack

import sqlalchemy as sa
from alembic import op

from sparing.study.migrations.versions.format_1 import TRIGGERS

revision, down_revision = "format_3", "format_2"

AT_ONCE = 10_000  # events
CODES = {"unavailable": 2, "not bought": 3}
CHANGING = {"sqlite": ("DROP TRIGGER no_UPDATE", 0), "postgresql": ("DROP TRIGGER no_change ON event", 1)}  # made by


def upgrade():
    """Add the columns, and fill them; only this may change events."""
    connection = op.get_bind()
    allow, refuse = CHANGING[connection.dialect.name]
    op.execute(allow)
    for name, kind in (("told", sa.LargeBinary()), ("readings", sa.LargeBinary()), ("y", sa.Double())):
        op.add_column("event", sa.Column(name, kind))
    for study, head in connection.execute(sa.text("SELECT id, head FROM study")).all():
        for first in range(1, head + 1, AT_ONCE):
            rows = connection.execute(TELLS, {"study": study, "first": first, "last": first + AT_ONCE - 1}).all()
            if rows:
                connection.execute(TOLD, [_in_columns(*row) | {"study": study} for row in rows])
    op.execute(TRIGGERS[connection.dialect.name][refuse])
    op.execute("UPDATE study SET format = 3")


TELLS = sa.text(
    "SELECT event.number, event.body, ask.attributes FROM event JOIN ask ON ask.study = event.study AND ask.number = "
    "event.ask WHERE event.study = :study AND event.kind = 'tell' AND event.number BETWEEN :first AND :last"
)
TOLD = sa.text(
    "UPDATE event SET told = :told, readings = :readings, y = :y, body = '', digest = NULL WHERE study = :study AND "
    "number = :number"
)


def _in_columns(number, body, attributes):
    """The columns of a tell whose body was JSON: for each attribute of its ask, a code and a value."""
    said = json.loads(body)
    values = [said["values"].get(str(attribute)) for attribute in unpack(f"<{len(attributes) // 4}i", attributes)]
    told = bytes(0 if value is None else CODES.get(value, 1) for value in values)
    readings = pack(f"<{len(values)}d", *(value if isinstance(value, float) else nan for value in values))
    return {"number": number, "told": told, "readings": readings, "y": said["y"]}
