"""Studies: killed clients, many clients, speed relative to bare SQLite, growth, replay, refitting.

    python benchmarks/study.py [kills] [clients] [speed] [growth] [replay] [model] [--quick]

``kills`` and ``clients`` assert what they claim, on SQLite and on PostgreSQL; the others print ratios of times that
were measured by turns in one run, the best of each.
"""

import itertools
import json
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path

import numpy as np

from sparing import Study
from sparing.study import books, calls, store, values, whole

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


def texts_of(answers: list) -> list[str]:
    """The answers as JSON: what somebody without a study would write to a table of their own."""
    return [json.dumps([ask.key, values, y]) for ask, values, y in answers]


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


def timed(work, clock=time.perf_counter) -> float:
    """Seconds."""
    began = clock()
    work()
    return clock() - began


class SameRows:
    """The statements that a study runs, once more by bare SQLite on a copy of its file."""

    def __init__(self, study: Study, path: Path):
        study.backup(path / "copy.db")
        self.connection = sqlite3.connect(path / "copy.db", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.ran, self.real = [], (books.execute, books.execute_columns)
        books.execute, books.execute_columns = self.execute, self.execute_columns

    def execute(self, connection, statement, rows):
        """In place of the store's own: remember what was run."""
        self.ran.append((statement, lambda names: [attrgetter(*names)(row) for row in rows], connection))
        return self.real[0](connection, statement, rows)

    def execute_columns(self, connection, statement, columns):
        """The same, of rows that are given by columns."""
        self.ran.append((statement, lambda names: list(zip(*map(columns.get, names), strict=False)), connection))
        return self.real[1](connection, statement, columns)

    def again(self, clock) -> float:
        """Seconds of the statements since the last call, in one transaction."""
        given = []
        for statement, rows, connection in self.ran:
            prepared = store._prepared(connection, statement)
            given.append((prepared.text, rows(prepared.names)))
        self.ran.clear()

        def run():
            self.connection.execute("BEGIN IMMEDIATE")
            for text, rows in given:
                self.connection.executemany(text, rows)
            self.connection.execute("COMMIT")

        return timed(run, clock)


class NoBooks:
    """Books that store nothing: what is left of a tell is Python, which checks dictionaries and packs numbers."""

    def __init__(self, study: Study, batch: list):
        packed = {calls.number_of(study, ask): values.packed(ask.attributes) for ask, _, _ in batch}
        self.asks = {number: (number, number, "lab", attributes, 5) for number, attributes in packed.items()}
        self.study, self.batch = study, batch

    def untold(self, numbers):
        """All of them."""
        return self.asks

    def tell_whole(self, answers, price):
        """In place of writing."""

    def tell(self):
        """A tell of all answers, without a database."""
        whole.tell_whole(self, calls.checked_answers(self.study, self.batch, None), None)


def speed(quick: bool) -> None:
    """Tells relative to bare SQLite: elapsed time on a disk, and processor time in memory, where nothing is waited for.

    Bare SQLite writes to one table of a key and a text: the answers as JSON, made before the clock starts, or while it
    runs. Then the statements of the study by themselves; and how fast a study could be if it wrote one bare row.
    """
    few, batches = (60, 3) if quick else (FEW, 20)
    print("\n| place | tells in a commit | of texts at hand | of answers as JSON | of the same rows | at best | µs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for place, clock in (("disk", time.perf_counter), ("memory", time.process_time)):
        with folder(place) as path:
            study, answers = begun(path, few + batches * MANY + 1)
            study.tell_many([answers.pop()])
            connection, numbers, same = bare(path), itertools.count(), SameRows(study, path)
            for n, rounds in ((1, few), (MANY, batches)):
                times = []
                for _ in range(rounds):
                    batch = [answers.pop() for _ in range(n)]
                    ours = timed(partial(study.tell_many, batch), clock)
                    as_rows, python = same.again(clock), timed(NoBooks(study, batch).tell, clock)
                    rows = list(zip(numbers, texts_of(batch), strict=False))
                    at_hand = timed(partial(write_texts, connection, rows), clock)
                    as_json = timed(
                        lambda b=batch, c=connection, n=numbers: write_texts(c, zip(n, texts_of(b), strict=False)),
                        clock,
                    )
                    times.append((ours, at_hand, as_json, as_rows, python))
                ours, at_hand, as_json, as_rows, python = (min(taken) for taken in zip(*times, strict=True))
                ratios = [at_hand / ours, as_json / ours, as_rows / ours, at_hand / (at_hand + python)]
                shown = " | ".join(f"{ratio:.2f}" for ratio in ratios)
                print(f"| {place} | {n:,} | {shown} | {1e6 * ours / n:.1f} |", flush=True)
            books.execute, books.execute_columns = same.real
            study.close()


def write_texts(connection: sqlite3.Connection, rows) -> None:
    """One transaction of bare SQLite."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
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
