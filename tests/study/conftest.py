"""Both stores, for real: every test that takes ``address`` runs on an SQLite file and on a PostgreSQL database."""

import os
from itertools import count

import psycopg
import pytest

from postgres_server import programs, server

NUMBERS = count()


@pytest.fixture(scope="session")
def postgres():
    """The address of a server that is started once."""
    if programs() is None:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("there is no PostgreSQL here: initdb and pg_ctl were not found")
    with server(fsync="off") as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """An empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "study.db")
        return
    base, name = request.getfixturevalue("postgres"), f"study_{next(NUMBERS)}"
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{base}/{name}"
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
