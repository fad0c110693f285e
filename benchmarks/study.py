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
from pathlib import Path

import numpy as np

from sparing import Study

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

    print("\n| store | killed | acknowledged tells | events | lost | bought twice |")
    print("| --- | --- | --- | --- | --- | --- |")
    with folder() as path:
        for store, address in addresses(path):
            logs = path / store
            logs.mkdir()
            create(address, total="1000000.00")
            wanted = {"SQLite": 200, "PostgreSQL": 60}[store] // (10 if quick else 1)
            found = kill_many(address, logs, kills=wanted, seed=1)
            points = {point: n for point, n in found.items() if isinstance(n, int)}
            counts = points.pop("acknowledged"), points.pop("events"), points.pop("examples")
            print(f"| {store} | {sum(points.values())} | {counts[0]:,} | {counts[1]:,} | 0 | 0 |  {points}")


def clients(quick: bool) -> None:
    """Many processes until the money is gone."""
    from clients import create, spend_all

    print("\n| store | clients | total | left | next query | events | ask: median, p99 |")
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


def speed(quick: bool) -> None:
    """Tells relative to bare commits of the same bytes, by turns."""
    few, batches = (60, 3) if quick else (FEW, 10)
    print("\n| place | one tell for each commit | `tell_many` of 1,000 |\n| --- | --- | --- |")
    for place in PLACES:
        with folder(place) as path:
            study, answers = begun(path, few + batches * MANY + 1)
            study.tell_many([answers.pop()])
            size, connection, row = bytes_of_a_tell(path), bare(path), iter(range(10**9))

            def commits(n, connection=connection, size=size, row=row):
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO t VALUES (?, ?)", [(next(row), "x" * size) for _ in range(n)])
                connection.execute("COMMIT")

            ours, theirs = [], []
            for _ in range(few):
                answer = answers.pop()
                ours.append(timed(lambda answer=answer, study=study: study.tell_many([answer])))
                theirs.append(timed(lambda: commits(1)))
            single = min(theirs) / min(ours)
            ours, theirs = [], []
            for _ in range(batches):
                batch = [answers.pop() for _ in range(MANY)]
                ours.append(timed(lambda batch=batch, study=study: study.tell_many(batch)))
                theirs.append(timed(lambda: commits(MANY)))
            many = min(theirs) / min(ours)
            print(
                f"| {place} | {single:.2f} of bare commits of {size} bytes | {many:.2f} of bare batches |", flush=True
            )
            study.close()


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
                connection.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE number < {head + 1} AND "
                                   f"number {'<= ' + str(head) if table == 'event' else '< ' + str(MANY)}")  # fmt: skip
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
            seconds.append(timed(lambda: study.check(replay=True)))
            found = study.check(replay=True)
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
