"""The command line. It reads options, calls public functions and shows what they return."""

from sparing.cli import comparing, fit_and_plan, predicting, reproducing, studying, visiting
from sparing.cli.app import app

__all__ = ["app", "comparing", "fit_and_plan", "predicting", "reproducing", "studying", "visiting"]
