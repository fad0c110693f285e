"""The command line. It reads options, calls public functions and shows what they return."""

from sparing.cli import comparing, keeping, reproducing
from sparing.cli.app import app

__all__ = ["app", "comparing", "keeping", "reproducing"]
