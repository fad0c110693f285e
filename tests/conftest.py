"""Fixtures for several packages: the real data (beside the repository, or named by SPARING_DATA), and PostgreSQL."""

import os
from pathlib import Path

import pytest

from postgres_server import programs, server

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure():
    if not os.environ.get("SPARING_DATA") and BESIDE.is_dir():
        os.environ["SPARING_DATA"] = str(BESIDE)


def pytest_runtest_setup(item):
    if item.get_closest_marker("data") and not os.environ.get("SPARING_DATA"):
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("needs the real data: set SPARING_DATA to their folder")


@pytest.fixture(scope="session")
def postgres():
    """The address of a server that is started once."""
    if programs() is None:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("there is no PostgreSQL here: initdb and pg_ctl were not found")
    with server(fsync="off") as address:
        yield address
