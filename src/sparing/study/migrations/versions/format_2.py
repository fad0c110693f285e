"""Format 2: visits. The table of tokens, which nothing used, is gone."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "format_2", "format_1"

Whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade():
    """Make a table of visits, count them, and drop what nothing used."""
    op.drop_table("token")
    op.add_column("study", sa.Column("visits", Whole, nullable=False, server_default="0"))
    op.create_table(
        "visit",
        sa.Column("study", Whole, sa.ForeignKey("study.id"), primary_key=True, autoincrement=False),
        sa.Column("number", Whole, primary_key=True, autoincrement=False),
        sa.Column("model", Whole, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("said", sa.Text),
    )
    op.execute("UPDATE study SET format = 2")
