"""Format 1: the first."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "format_1", None

Whole, Bytes = sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.LargeBinary()


def upgrade():
    """Create all tables, and the triggers that prevent changes of events."""
    op.create_table(
        "study",
        sa.Column("id", Whole, primary_key=True),
        sa.Column("uid", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("decimals", sa.Integer, nullable=False),
        sa.Column("total", Whole),
        *(sa.Column(name, Whole, nullable=False) for name in ("committed", "spent", "head", "examples", "asks")),
        *(sa.Column(name, Whole, nullable=False) for name in ("settled", "changed", "plan")),
        sa.CheckConstraint("0 <= spent AND spent <= committed AND committed <= total", name="books"),
    )
    op.create_table(
        "event",
        *_keys("number"),
        sa.Column("at", Whole, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("example", Whole),
        sa.Column("ask", Whole),
        sa.Column("digest", Bytes),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "amendments", "event", ["study", "example"],
        sqlite_where=sa.text("kind = 'correct'"), postgresql_where=sa.text("kind = 'correct'"),
    )  # fmt: skip
    op.create_table(
        "example",
        *_keys("number"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("plan", Whole, nullable=False),
        sa.Column("attributes", Bytes, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("told", Bytes, nullable=False),
        sa.Column("readings", Bytes, nullable=False),
        sa.Column("y", sa.Double),
        sa.Column("ask", Whole, nullable=False),
        sa.Column("settled", Whole),
        sa.Column("event", Whole, nullable=False),
        sa.UniqueConstraint("study", "name", name="one_example_of_a_name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ask",
        *_keys("number"),
        sa.Column("example", Whole, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("attributes", Bytes, nullable=False),
        sa.Column("told", Bytes, nullable=False),
        *(sa.Column(name, Whole, nullable=False) for name in ("price", "paid", "released")),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("until", Whole),
        sa.Column("events", sa.Text, nullable=False),
        sa.CheckConstraint("0 <= paid AND 0 <= released AND paid + released <= price", name="money_of_an_ask"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "one_open_ask", "ask", ["study", "example"], unique=True,
        sqlite_where=sa.text("state = 'open'"), postgresql_where=sa.text("state = 'open'"),
    )  # fmt: skip
    op.create_table(
        "plan",
        *_keys("version"),
        sa.Column("event", Whole, nullable=False),
        sa.Column("n_settled", Whole, nullable=False),
        sa.Column("shares", Bytes, nullable=False),
        sa.Column("chances", Bytes, nullable=False),
        sa.Column("sparing", sa.Text, nullable=False),
    )
    op.create_table(
        "snapshot",
        *_keys("event"),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("content", Bytes, nullable=False),
    )
    op.create_table(
        "token",
        sa.Column("sha256", Bytes, primary_key=True),
        sa.Column("study", Whole, sa.ForeignKey("study.id"), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("until", Whole),
        sa.Column("revoked", Whole),
    )
    for statement in TRIGGERS[op.get_bind().dialect.name]:
        op.execute(statement)


def _keys(name):
    """The study, and a number within it: the primary key."""
    return (
        sa.Column("study", Whole, sa.ForeignKey("study.id"), primary_key=True, autoincrement=False),
        sa.Column(name, Whole, primary_key=True, autoincrement=False),
    )


REFUSED = "events are never changed or deleted"
TRIGGERS = {
    "sqlite": [
        f"CREATE TRIGGER no_{what} BEFORE {what} ON event BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
        for what in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $$",
        "CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION refuse_change()",
        "CREATE TRIGGER no_truncate BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
    ],
}
