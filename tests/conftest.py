"""The real data: found beside the repository, or named by SPARING_DATA; tests marked ``data`` need them."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure():
    if not os.environ.get("SPARING_DATA") and BESIDE.is_dir():
        os.environ["SPARING_DATA"] = str(BESIDE)


def pytest_runtest_setup(item):
    if item.get_closest_marker("data") and not os.environ.get("SPARING_DATA"):
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("needs the real data: set SPARING_DATA to their folder")
