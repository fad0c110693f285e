"""Format 2: a table of visits, and no table of tokens, which was unused."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "format_2", "format_1"

Whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade():
    """Create the table of visits and their count, and drop the unused table."""
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
