"""The command line. It reads options, calls public functions and shows what they return."""

from sparing.cli import (
    comparing,
    demonstrating,
    fit_and_plan,
    predicting,
    reproducing,
    study_buying,
    study_files,
    studying,
    visiting,
)
from sparing.cli.app import app

__all__ = [
    "app", "comparing", "demonstrating", "fit_and_plan", "predicting", "reproducing", "study_buying", "study_files",
    "studying", "visiting",
]  # fmt: skip
