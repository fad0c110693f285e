"""Files of all formats: kept, refused or upgraded, on both databases."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from sparing.study import Conflict, StoreError, Study, calls, migrations, upgrade
from sparing.study.databases import backup
from sparing.study.store import EVENT, FORMAT, Store

pytestmark = [
    pytest.mark.filterwarnings("ignore:the two most expensive"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
FORMATS = sorted((Path(__file__).parent / "data").glob("format-*.db"))
PARTS = Path(__file__).parent / "data" / "format-2-parts.db"  # answers in parts, late, and as words


def create(path):
    return Study.create(path, attributes=["a", "b", "c", "d"], budget=2, learner="pairwise", seed=1)


def test_a_newer_format_is_refused_and_an_older_one_is_not_migrated_by_opening(tmp_path):
    create(tmp_path / "study.db").close()
    for number, message in ((99, "install a newer version"), (0, "sparing study upgrade")):
        with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
            connection.execute("UPDATE study SET format = ?", (number,))
        with pytest.raises(StoreError, match=message):
            Study.open(tmp_path / "study.db")
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
        connection.execute("UPDATE study SET format = 99")
    with pytest.raises(StoreError, match="install a newer version"):
        upgrade(tmp_path / "study.db")


def test_a_refused_upgrade_leaves_no_connection_open(tmp_path):
    path = tmp_path / "study.db"
    create(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE study SET format = 99")
    with pytest.raises(StoreError, match="install a newer version") as refused:
        upgrade(path)
    assert refused.traceback  # keeps what was left open
    assert not (tmp_path / "study.db-wal").exists()  # SQLite removes it with the last connection


def test_there_is_a_file_of_every_format():
    assert {int(path.stem.split("-")[1]) for path in FORMATS} == set(range(1, FORMAT + 1))


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_files_of_all_formats_are_read_after_an_upgrade(path, tmp_path):
    """Each was written by a version of its format: 40 settled examples, one open ask, a correction."""
    copy = tmp_path / "study.db"
    shutil.copy(path, copy)
    upgrade(copy)
    with Study.open(copy) as study:
        found = study.check(replay=True)
        assert (found.examples, calls.state(study).plan) == (41, 2)
        assert study.example("patient-3").y == 9.0
        assert study.cells().n_examples == 40
        ask = study.asks()[0]
        study.tell(ask, dict.fromkeys(ask.names, 1.0), y=0.5)
        assert study.model().predict(np.ones((1, 4))).shape == (1,)


def test_a_backup_can_be_made_before_an_upgrade(tmp_path):
    copy, kept = tmp_path / "study.db", tmp_path / "kept.db"
    shutil.copy(PARTS, copy)
    backup(copy, kept)
    upgrade(copy)
    with pytest.raises(StoreError, match="sparing study upgrade"):
        Study.open(kept)
    with pytest.raises(StoreError, match="there is no study"):
        backup(tmp_path / "nothing.db", tmp_path / "copy.db")


@pytest.fixture
def older(address):
    """The tables of format 2, and the rows of a file of that format."""

    def fill(connection):
        config = Config()
        config.set_main_option("script_location", migrations.__path__[0])
        config.attributes["connection"] = connection
        command.upgrade(config, "format_2")
        for name in ("study", "event", "example", "ask", "plan", "visit"):
            columns, *rows = rows_of(name)
            table = sa.table(name, *map(sa.column, columns))
            connection.execute(sa.insert(table), [dict(zip(columns, row, strict=True)) for row in rows])

    with closing(Store(address)) as store:
        store.write(fill)
    return address


def rows_of(table):
    with closing(sqlite3.connect(PARTS)) as connection:
        found = connection.execute(f"SELECT * FROM {table}")
        return [[column[0] for column in found.description], *found]


def test_an_upgrade_keeps_every_answer(older):
    with pytest.raises(StoreError, match="sparing study upgrade"):
        Study.open(older)
    upgrade(older)
    with Study.open(older) as study:
        assert study.check(replay=True).events == 109
        assert set(study.example("patient-35").values.values()) == {"unavailable", -1.2803939447145731}
        in_parts = study.asks(state="told")[36]
        assert study.tell(in_parts, {"glucose": "not bought", "mri": "not bought"}) == 81  # said before
        assert study.tell(in_parts, y=2.5) == 82
        with pytest.raises(Conflict, match="was told as not bought"):
            study.tell(in_parts, {"glucose": 1.0})
        with pytest.raises(StoreError, match="never changed"):
            study.store.write(lambda connection: connection.execute(sa.update(EVENT).values(actor="me")))
