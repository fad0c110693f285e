"""The command line. It reads options, calls public functions and shows what they return."""

from sparing.cli import (
    comparing,
    demonstrating,
    fit_and_plan,
    predictions,
    reproducing,
    route_and_visit,
    study_buying,
    study_files,
    studying,
)
from sparing.cli.app import app

__all__ = [
    "app",
    "comparing",
    "demonstrating",
    "fit_and_plan",
    "predictions",
    "reproducing",
    "route_and_visit",
    "study_buying",
    "study_files",
    "studying",
]  # fmt: skip
