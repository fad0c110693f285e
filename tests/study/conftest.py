"""Both stores, for real: every test that takes ``address`` runs on an SQLite file and on a PostgreSQL database."""

from itertools import count

import psycopg
import pytest

NUMBERS = count()


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
