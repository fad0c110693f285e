"""``python -m sparing`` is the command ``sparing``."""

from sparing.cli import app

app(prog_name="sparing")
