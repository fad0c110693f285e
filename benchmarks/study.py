"""Studies: killed clients, many clients, speed relative to bare SQLite, growth, replay, refitting.

    python benchmarks/study.py [kills] [clients] [speed] [growth] [replay] [model] [--quick]

``kills`` and ``clients`` assert what they claim, on SQLite and on PostgreSQL; the others print ratios of times that
were measured by turns in one run, the best of each.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import numpy as np

from sparing import Study
from sparing.study import books, store

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "study")]  # the clients and the server that the tests use, too
warnings.simplefilter("ignore")
NAMES = [f"attribute-{number}" for number in range(20)]
PLACES = {"disk": None, "memory": "/dev/shm"}
FEW, MANY = 300, 1000  # tells by single commits, tells in a batch


@contextmanager
def folder(place: str = "disk"):
    """A temporary folder, on the disk or in memory."""
    with tempfile.TemporaryDirectory(dir=PLACES[place]) as made:
        yield Path(made)


# Nothing lost, nothing passed -----------------------------------------------------------------------------------------


def addresses(path: Path):
    """An SQLite file, and a database of a server of our own."""
    from postgres_server import server

    yield "SQLite", str(path / "study.db")
    with server() as address:
        yield "PostgreSQL", f"{address}/postgres"


def kills(quick: bool) -> None:
    """SIGKILL at named points and at any moment."""
    from clients import create, kill_many

    print("\n| store | killed | acknowledged examples | of these, visits | events | lost | bought twice |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with folder() as path:
        for store, address in addresses(path):
            logs = path / store
            logs.mkdir()
            create(address, total="1000000.00")
            wanted = {"SQLite": 200, "PostgreSQL": 60}[store] // (10 if quick else 1)
            found = kill_many(address, logs, kills=wanted, seed=1)
            points = {point: n for point, n in found.items() if isinstance(n, int)}
            told, visited, events, _ = (points.pop(name) for name in ("acknowledged", "visited", "events", "examples"))
            print(f"| {store} | {sum(points.values())} | {told:,} | {visited:,} | {events:,} | 0 | 0 |  {points}")


def clients(quick: bool) -> None:
    """Many processes until the money is gone."""
    from clients import create, spend_all

    print("\n| store | clients | total | left | next query | events | later asks of a client: median, p99 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with folder() as path:
        for store, address in addresses(path):
            create(address, total="300.00")
            found = spend_all(address, clients=4 if quick else 32, examples=1200)
            assert 0 <= found["left"] < found["next price"]
            delays = 1000 * np.quantile(found["delays"], [0.5, 0.99])
            print(
                f"| {store} | {len(found['told by each'])} | {found['money']['total']} | {found['money']['left']} | "
                f"{found['next price'] / 100:.2f} | {found['events']:,} | {delays[0]:.0f} ms, {delays[1]:.0f} ms |"
            )


# Speed ----------------------------------------------------------------------------------------------------------------


def begun(path: Path, n: int) -> tuple[Study, list]:
    """A study with open asks, and answers to them."""
    study = Study.create(path / "study.db", attributes=NAMES, budget=5, design="uniform", seed=1)
    names = [f"example-{number}" for number in range(n)]
    asks = [ask for first in range(0, n, MANY) for ask in study.ask_many(names[first : first + MANY], who="lab")]
    generator = np.random.default_rng(0)
    return study, [(ask, dict(zip(ask.names, generator.normal(size=5).tolist(), strict=True)), 1.5) for ask in asks]


def bytes_of_a_tell(path: Path) -> int:
    """Bytes that one tell writes to rows: its event, and what changes of its ask and example."""
    with sqlite3.connect(path / "study.db") as connection:
        lengths = "length(body) + length(digest) + length(actor) + length(kind) + 4 * 8"
        event = connection.execute(f"SELECT avg({lengths}) FROM event WHERE kind = 'tell'").fetchone()[0]
        row = connection.execute("SELECT avg(length(told) + length(readings) + 5 * 8) FROM example").fetchone()[0]
        ask = connection.execute("SELECT avg(length(told) + length(events) + 4 * 8) FROM ask").fetchone()[0]
    return round(event + row + ask)


def bare(path: Path) -> sqlite3.Connection:
    """SQLite by itself, as safe as a study: one table, one key, one text."""
    connection = sqlite3.connect(path / "bare.db", isolation_level=None)
    for statement in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE t (n INTEGER PRIMARY KEY, b TEXT)",
    ):
        connection.execute(statement)
    return connection


def timed(work) -> float:
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class SameRows:
    """The statements that a study runs, once more by bare SQLite on a copy of its file."""

    def __init__(self, study: Study, path: Path):
        study.backup(path / "copy.db")
        self.connection = sqlite3.connect(path / "copy.db", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.ran, self.real = [], books.execute
        books.execute = self.execute

    def execute(self, connection, statement, rows):
        """In place of the store's own: remember what was run."""
        self.ran.append((statement, list(rows), connection))
        return self.real(connection, statement, rows)

    def again(self) -> float:
        """Seconds of the statements since the last call, in one transaction."""
        given = []
        for statement, rows, connection in self.ran:
            text, names, _ = store._prepared(connection, statement)
            values = attrgetter(*(name.removeprefix("new_") for name in names))
            given.append((text, [values(row) for row in rows]))
        self.ran.clear()

        def run():
            self.connection.execute("BEGIN IMMEDIATE")
            for text, rows in given:
                self.connection.executemany(text, rows)
            self.connection.execute("COMMIT")

        return timed(run)


def speed(quick: bool) -> None:
    """Tells relative to bare SQLite: a text of as many bytes in one table, and the same rows in the same tables."""
    few, batches = (60, 3) if quick else (FEW, 10)
    print("\n| place | tells in a commit | of bare commits of as many bytes | of bare commits of the same rows |")
    print("| --- | --- | --- | --- |")
    for place in PLACES:
        with folder(place) as path:
            study, answers = begun(path, few + batches * MANY + 1)
            study.tell_many([answers.pop()])
            size, connection, row = bytes_of_a_tell(path), bare(path), iter(range(10**9))
            same = SameRows(study, path)
            for n, rounds in ((1, few), (MANY, batches)):
                times: list[tuple[float, float, float]] = []
                for _ in range(rounds):
                    batch = [answers.pop() for _ in range(n)]
                    ours = timed(lambda batch=batch, study=study: study.tell_many(batch))
                    texts = [(next(row), "x" * size) for _ in range(n)]
                    times.append((ours, timed(lambda texts=texts, c=connection: write_texts(c, texts)), same.again()))
                ours, as_bytes, as_rows = (min(taken) for taken in zip(*times, strict=True))
                print(f"| {place} | {n:,} | {as_bytes / ours:.2f} | {as_rows / ours:.2f} |", flush=True)
            books.execute = same.real
            study.close()


def write_texts(connection: sqlite3.Connection, texts: list) -> None:
    """One transaction of bare SQLite."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO t VALUES (?, ?)", texts)
    connection.execute("COMMIT")


def loaded(path: Path, n: int) -> Study:
    """A study of n settled examples, loaded through its own verbs."""
    study, answers = begun(path, n)
    for first in range(0, n, MANY):
        study.tell_many(answers[first : first + MANY])
    return study


def growth(quick: bool) -> None:
    """Ask at a thousand examples and at many more, by turns."""
    sizes = (1_000, 20_000 if quick else 1_000_000)
    with folder("memory") as small, folder("memory") as large:
        studies = [loaded(small, sizes[0]), bulk_loaded(large, sizes[1])]
        for study in studies:
            study.ask("warm", who="lab")
        times: list[list[float]] = [[], []]
        for number in range(300):
            for study, taken in zip(studies, times, strict=True):
                taken.append(timed(lambda study=study, number=number: study.ask(f"new-{number}", who="lab")))
        few, many = (min(taken) for taken in times)
        print(
            f"\nask at {sizes[1]:,} examples: {many / few:.2f} of ask at {sizes[0]:,} ({1e3 * few:.2f} ms, in memory)"
        )


def bulk_loaded(path: Path, n: int) -> Study:
    """As :func:`loaded`, by copies of the rows of a small study under other numbers: it takes seconds, not an hour."""
    study = loaded(path, MANY)
    study.close()
    with sqlite3.connect(path / "study.db") as connection:
        connection.execute("PRAGMA synchronous=OFF")
        head, asks = connection.execute("SELECT head, asks FROM study").fetchone()
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("example", "ask", "event")
        }
        shifted = {"number": "number + {0}", "example": "example + {1}", "ask": "ask + {1}", "event": "event + {2}",
                   "settled": "settled + {2}", "name": "name || '-' || {1}"}  # fmt: skip
        for copy in range(1, n // MANY):
            for table, names in columns.items():
                steps = (copy * (head if table == "event" else MANY), copy * MANY, copy * head)
                chosen = ", ".join(shifted.get(name, f'"{name}"').format(*steps) for name in names)
                last = head if table == "event" else MANY - 1
                connection.execute(
                    f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE study = 1 AND number <= {last}"
                )
        copies = n // MANY
        connection.execute(
            f"UPDATE study SET head = {copies * head}, examples = {n}, asks = {copies * asks}, settled = {n}, "
            f"committed = {copies} * committed, spent = {copies} * spent, changed = {copies * head}"
        )
    return Study.open(path / "study.db")


def replay(quick: bool) -> None:
    """All events of a study once more, all queries drawn again."""
    n = 5_000 if quick else 100_000
    with folder("memory") as path:
        seconds = [timed(lambda: loaded(path, n).close())]
        with Study.open(path / "study.db") as study:
            began = time.perf_counter()
            found = study.check(replay=True)
            seconds.append(time.perf_counter() - began)
        print(f"\nreplay of {found.events:,} events: {found.queries:,} queries drawn again, all equal; "
              f"{seconds[1] / seconds[0]:.2f} of the time that buying took ({seconds[1]:.0f} s)")  # fmt: skip


def model(quick: bool) -> None:
    """Cells after 1 % new ones, relative to reading all."""
    n = 5_000 if quick else 100_000
    with folder("memory") as path:
        loaded(path, n).close()
        with Study.open(path / "study.db") as study:
            whole = timed(study.cells)
            asks = study.ask_many([f"more-{number}" for number in range(n // 100)], who="lab")
            study.tell_many([(ask, dict.fromkeys(ask.names, 1.0), 1.0) for ask in asks])
            part = timed(study.cells)
            read = n // 100
            print(f"\ncells after 1 % new ones ({read:,} examples read): {part / whole:.3f} of reading all {n:,}")


if __name__ == "__main__":
    known = {work.__name__: work for work in (kills, clients, speed, growth, replay, model)}
    chosen = [name for name in sys.argv[1:] if name != "--quick"] or list(known)
    print(json.dumps({"cores": os.cpu_count(), "sqlite": sqlite3.sqlite_version}))
    for name in chosen:
        known[name]("--quick" in sys.argv)
