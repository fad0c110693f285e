"""Failing disks, files, clocks and clients: a clear message, and nothing is lost."""

import multiprocessing
import os
import resource
import signal
import sqlite3
from contextlib import closing
from itertools import count

import psycopg
import pytest

from sparing.study import StoreError, Study, StudyError, Taken, calls
from sparing.study import books as book_keeping

pytestmark = pytest.mark.filterwarnings("ignore:This process")
FORKED = multiprocessing.get_context("fork")


def create(address, **options):
    return Study.create(address, attributes=["a", "b", "c", "d"], budget=2, learner="pairwise", seed=1, **options)


def answer(study, name, value=1.0):
    ask = study.ask(name, who="lab")
    return study.tell(ask, dict.fromkeys(ask.names, value), y=value)


def test_a_full_disk(tmp_path):
    """The limit is on the size of files: SQLite sees what it sees on a full disk."""
    path = tmp_path / "study.db"
    create(path).close()

    def fill(told):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        with Study.open(path) as study:
            for number in range(10_000):
                try:
                    told.send((f"example-{number}", answer(study, f"example-{number}")))
                except StoreError as error:
                    told.send(str(error))
                    return

    ours, theirs = FORKED.Pipe()
    process = FORKED.Process(target=fill, args=(theirs,))
    process.start()
    acknowledged = []
    while isinstance(said := ours.recv(), tuple):
        acknowledged.append(said)
    process.join()
    assert "disk" in said
    assert "nothing of this call was stored" in said
    with Study.open(path) as study:
        assert acknowledged
        for name, event in acknowledged:
            assert study.example(name).event == event
        study.check(replay=True)
        answer(study, "there is room again")


def test_a_read_only_file(tmp_path):
    path = tmp_path / "study.db"
    with create(path) as study:
        answer(study, "x")

    def write(told):
        os.setuid(65534)  # root may write everywhere
        try:
            with Study.open(path) as study:
                study.ask("y", who="lab")
        except StoreError as error:
            told.send(str(error))

    tmp_path.chmod(0o555)
    path.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o055) if folder.stat().st_uid == os.getuid() else None
    ours, theirs = FORKED.Pipe()
    process = FORKED.Process(target=write, args=(theirs,))
    process.start()
    said = ours.recv()
    process.join()
    tmp_path.chmod(0o755)
    assert "read-only" in said or "cannot be opened" in said
    path.chmod(0o644)
    with Study.open(path) as study:
        assert study.check(replay=True).examples == 1


@pytest.mark.parametrize("place", [0.0, 0.5])
def test_a_damaged_file(tmp_path, place):
    path = tmp_path / "study.db"
    with create(path) as study:
        for number in range(40):
            answer(study, f"example-{number}")
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    content[at : at + 8192] = os.urandom(8192)
    path.write_bytes(content)

    def use():
        with Study.open(path) as study:
            study.check(replay=True)

    with pytest.raises(StudyError, match="damaged"):
        use()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE event SET kind = 'unknown' WHERE number = 3", "event 3 cannot be read"),
        ("UPDATE event SET body = '{' WHERE number = 3", "event 3 cannot be read"),
        ("UPDATE event SET body = 'null' WHERE number = 3", "event 3 cannot be read"),
        ("UPDATE event SET told = NULL WHERE number = 2", "event 2 cannot be read"),
        ("UPDATE event SET readings = x'00' WHERE number = 2", "event 2 cannot be read"),
        ("UPDATE event SET told = x'0103' WHERE number = 2", "committed is .* by the events"),
        ("UPDATE event SET y = y + 1 WHERE number = 2", "example 'example-0' is not what its events say"),
        ("UPDATE event SET ask = 9 WHERE number = 2", "event 2 cannot be read"),
        ("UPDATE event SET ask = NULL WHERE number = 2", "event 2 cannot be read"),
        ("DELETE FROM plan", "plan 0 of example 'example-0' is missing"),
        ("UPDATE visit SET number = -7", "visit -7 is not what its events say"),
        ("UPDATE visit SET options = '{'", "visit -1 is not what its events say"),
    ],
)
def test_damaged_rows(tmp_path, damage, said):
    path = tmp_path / "study.db"
    with create(path) as study:
        for number in range(30):
            answer(study, f"example-{number}")
        study.visit("patient", known={"a": 1.0}, who="lab")
    with closing(sqlite3.connect(path)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(damage)
    with Study.open(path) as study, pytest.raises(StudyError, match=rf"is damaged: .*{said}.*Restore a backup"):
        study.check(replay=True)


def test_clocks_that_jump_change_no_order(address, monkeypatch):
    times = iter([10**15, 10**9, 10**18, 0, 5 * 10**14] * 40)
    monkeypatch.setattr(book_keeping, "now", lambda: next(times))
    with create(address) as study:
        for number in range(8):
            answer(study, f"example-{number}")
        assert study.cells().n_examples == 8
        study.check(replay=True)


def test_a_clock_that_jumps_far_ahead_loses_nothing(address, monkeypatch):
    with create(address, lease=3600.0) as study:
        ask = study.ask("x", who="lab")
        monkeypatch.setattr(book_keeping, "now", lambda real=book_keeping.now: real() + 10**15)
        assert study.expire() == ["x"]
        monkeypatch.undo()
        study.tell(ask, dict.fromkeys(ask.names, 1.0), y=1.0)
        assert study.example("x").state == "settled"
        study.check(replay=True)


def die_with_an_ask(address, name):
    Study.open(address).ask(name, who="gone")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_client_that_dies_while_it_holds_an_ask(address, monkeypatch):
    create(address, lease=3600.0).close()
    process = FORKED.Process(target=die_with_an_ask, args=(address, "x"))
    process.start()
    process.join()
    with Study.open(address) as study:
        with pytest.raises(Taken, match="'gone' is working on 'x'"):
            study.ask("x", who="other")
        monkeypatch.setattr(book_keeping, "now", lambda real=book_keeping.now: real() + 3_700_000_000)
        assert study.expire() == ["x"]
        assert study.ask("x", who="other").state == "open"
        study.check(replay=True)


def test_a_client_that_dies_within_a_transaction_holds_no_lock(address):
    create(address).close()

    def die():
        study = Study.open(address)

        def work(books):
            books.event("ask", "gone", {})
            os.kill(os.getpid(), signal.SIGKILL)

        calls.write(study, work)

    process = FORKED.Process(target=die)
    process.start()
    process.join()
    with Study.open(address) as study:
        answer(study, "x")
        assert study.check(replay=True).events == 2


def test_a_lost_connection_is_simply_tried_again(postgres, monkeypatch):
    """The server cuts every other transaction before its commit: nothing is lost, and nothing is done twice."""
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE lost")
        real, calls = book_keeping.Books.close, count()

        def close(books):
            real(books)
            if next(calls) % 2:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'lost'")

        with create(f"{postgres}/lost") as study:
            monkeypatch.setattr(book_keeping.Books, "close", close)
            for number in range(10):
                answer(study, f"example-{number}")
            assert next(calls) > 30  # calls were made again
            assert study.check(replay=True).events == 20
        connection.execute("DROP DATABASE lost WITH (FORCE)")


def test_connections_are_not_shared_across_a_fork(address):
    with create(address) as study:
        answer(study, "parent")

        def work():
            answer(study, "child")

        process = FORKED.Process(target=work)
        process.start()
        process.join()
        assert process.exitcode == 0
        answer(study, "parent again")
        assert study.check(replay=True).examples == 3


def test_the_way_sqlite_is_used(tmp_path):
    """A commit that was answered survives a power failure, and writers do not block readers."""
    with create(tmp_path / "study.db") as study:
        pragmas = study.store.read(
            lambda connection: [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
            ]
        )
        assert pragmas == ["wal", 2]
        with sqlite3.connect(tmp_path / "study.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert study.money() == {"spent": "0", "reserved": "0"}
            other.execute("ROLLBACK")
