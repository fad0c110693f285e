"""The database of a study, SQLite or PostgreSQL: tables, transactions, and explanations of errors.

The types of columns are written down once, in the migrations that make them.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from sparing.sources.sql import with_driver
from sparing.study.errors import Conflict, StoreError, StudyError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 3  # of the tables; raised with a migration
LEAST_SQLITE = (3, 33)  # UPDATE ... FROM
PATIENCE = 60  # seconds to wait for other writers
PLANNING = 0x504C414E  # the number of PostgreSQL's lock for whoever makes a plan
RETRIES = 4  # of a call whose connection was lost: every call may be repeated

T = TypeVar("T")


def _table(name: str, columns: str) -> sa.TableClause:
    return sa.table(name, *map(sa.column, columns.split()))


STUDY = _table(
    "study", "id uid name format settings decimals total committed spent head examples visits asks settled changed plan"
)
EVENT = _table("event", "study number at actor kind example ask digest body told readings y")
EXAMPLE = _table("example", "study number name plan attributes state told readings y ask settled event")
ASK = _table("ask", "study number example holder attributes told price paid released state until events")
PLAN = _table("plan", "study version event n_settled shares chances sparing")
VISIT = _table("visit", "study number model options said")
SNAPSHOT = _table("snapshot", "study event kind content")


# Statements are written in SQLAlchemy's language and go to the driver as text: for a row or two, SQLAlchemy itself
# would take longer than SQLite does.


def execute(connection: Connection, statement: sa.Executable, rows: Sequence) -> int:
    """Run a statement for all rows: objects with an attribute for each parameter, whose name begins with ``new_``."""
    prepared = _prepared(connection, statement)
    values = attrgetter(*prepared.names)
    cursor = connection.connection.cursor()
    if len(rows) == 1:
        cursor.execute(prepared.text, prepared.given(values(rows[0])))
    else:
        cursor.executemany(prepared.text, list(map(prepared.given, map(values, rows))))
    return cursor.rowcount


def execute_columns(connection: Connection, statement: sa.Executable, columns: dict[str, Iterable]) -> None:
    """Run a statement for many rows, given by columns, of which some may be endless."""
    prepared = _prepared(connection, statement)
    rows = zip(*(columns[name] for name in prepared.names), strict=False)
    connection.connection.cursor().executemany(prepared.text, list(map(prepared.given, rows)))


def fetch(connection: Connection, statement: sa.Executable, values: dict) -> list[tuple]:
    """The rows that a query finds."""
    prepared = _prepared(connection, statement)
    cursor = connection.connection.cursor()
    cursor.execute(prepared.text, prepared.given(tuple([values[name] for name in prepared.names])))
    return list(cursor.fetchall())


class _Prepared:
    """The text of a statement, and its parameters in their order."""

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect):
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.text, self._parameters = str(compiled), list(compiled.positiontup or compiled.params)
        self.names = [name.removeprefix("new_") for name in self._parameters]
        self.given: Callable[[tuple], Any] = tuple if compiled.positiontup is not None else self._by_name

    def _by_name(self, values: tuple) -> dict:
        """The values in the form that PostgreSQL's driver wants; SQLite's takes them as they are."""
        return dict(zip(self._parameters, values, strict=True))


def _prepared(connection: Connection, statement: sa.Executable) -> _Prepared:
    key = statement, connection.dialect.name
    if key not in _COMPILED:
        _COMPILED[key] = _Prepared(statement, connection.dialect)
    return _COMPILED[key]


_COMPILED: dict[tuple[sa.Executable, str], _Prepared] = {}


class Store:
    """A database of studies: ``path`` of an SQLite file, or the address of a PostgreSQL database."""

    def __init__(self, address):
        self.address = str(address)
        self.url = _url(self.address)
        self._engine: Engine | None = None
        self._process = os.getpid()

    @property
    def engine(self) -> Engine:
        """Connections of this process: none is shared across a fork."""
        if self._engine is None or self._process != os.getpid():
            if self._engine is not None:
                self._engine.dispose(close=False)
            self._engine, self._process = _engine(self.url), os.getpid()
        return self._engine

    @property
    def shown(self) -> str:
        """The address, as it may be printed."""
        return self.url.render_as_string(hide_password=True) if "://" in self.address else self.address

    @cached_property
    def is_sqlite(self) -> bool:
        """Whether this is a file."""
        return self.url.get_backend_name() == "sqlite"

    @cached_property
    def path(self) -> Path:
        """The file of an SQLite database."""
        return Path(str(self.url.database))

    def close(self) -> None:
        """Give all connections back."""
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
        self._engine = None

    # Transactions ----------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction that may write; once more where the connection was lost."""
        with self._turn():
            return self._run(work, {"writes": True})

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a turn to write to a file; a process that dies leaves the queue.

        SQLite has no queue: waiting writers poll, and among many of them some would wait very long.
        """
        if not self.is_sqlite or fcntl is None:
            yield
            return
        with ExitStack() as stack:
            with suppress(OSError):  # a folder that is read-only, or gone: SQLite will say so
                queue = stack.enter_context(open(f"{self.path}-queue", "ab"))
                fcntl.flock(queue, fcntl.LOCK_EX)
            yield

    @contextmanager
    def planning(self, study: int) -> Iterator[bool]:
        """Whether no other process is making a plan for this study; the lock of a process that dies is released."""
        with ExitStack() as stack:
            if not self.is_sqlite:
                connection = stack.enter_context(self.engine.connect())
                lock = sa.func.pg_try_advisory_xact_lock(PLANNING, study)
                yield bool(connection.execute(sa.select(lock)).scalar_one())
                return
            try:
                if fcntl is not None:
                    turn = stack.enter_context(open(f"{self.path}-plan", "ab"))
                    fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                alone = True
            except BlockingIOError:
                alone = False
            except OSError:  # as in _turn
                alone = True
            yield alone

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on one consistent state of the database."""
        return self._run(work, {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"})

    def _run(self, work: Callable[[Connection], T], options: dict) -> T:
        for attempt in range(RETRIES + 1):
            try:
                with self.engine.connect().execution_options(**options) as connection, connection.begin():
                    return work(connection)
            except (sa.exc.DBAPIError, self.engine.dialect.loaded_dbapi.Error) as error:
                said = getattr(error, "orig", error)
                if attempt == RETRIES or not self._is_passing(said):
                    raise _explained(said, self.shown) from error
                time.sleep(0.1 * 2**attempt)
        raise AssertionError

    def _is_passing(self, error: BaseException) -> bool:
        """Whether the same call may succeed a moment later, on another connection."""
        if self.is_sqlite:
            return False
        trouble = isinstance(error, self.engine.dialect.loaded_dbapi.OperationalError)
        return trouble and getattr(error, "sqlstate", None) in (None, *PASSING)  # None: the server did not answer

    # Formats ---------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the tables, or bring those of an older format up to date; within one transaction."""
        from alembic import command
        from alembic.config import Config

        def migrate(connection):
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

        if self.is_sqlite and not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} to write to; create it first.")
        self.write(migrate)

    def has_tables(self) -> bool:
        """Whether studies are, or may be, in this database."""
        if self.is_sqlite and not self.path.exists():
            return False
        return self.read(lambda connection: sa.inspect(connection).has_table("study"))


def _url(address: str) -> sa.URL:
    if "://" not in address:
        return sa.URL.create("sqlite", database=address)
    url = with_driver(sa.make_url(address))
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"{url.drivername} is not supported; give an SQLite file or a postgresql:// address.")
    return url


def _engine(url: sa.URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True)
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        raise StoreError(f"a study needs SQLite {least} or newer, and this Python has {sqlite3.sqlite_version}.")
    engine = sa.create_engine(url, connect_args={"isolation_level": None, "timeout": PATIENCE})

    @sa.event.listens_for(engine, "connect")
    def settle(connection, _record):
        # FULL: a commit that was answered survives a power failure.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection):
        # A deferred transaction that writes later may find that others have written since, and must then fail.
        writes = connection.get_execution_options().get("writes")
        connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


# What errors mean -----------------------------------------------------------------------------------------------------

EXPLAINED = {  # by what SQLite or PostgreSQL say
    "disk is full": "the disk is full; nothing of this call was stored. Make room, and repeat it",
    "No space left": "the disk is full; nothing of this call was stored. Make room, and repeat it",
    "disk I/O error": "the disk did not take what was written; nothing of this call was stored. Check it, and repeat",
    "readonly database": "the file or its folder is read-only; nothing was stored. Allow writing to both",
    "unable to open database file": "the file cannot be opened; check the path and the rights to its folder",
    "malformed": "the file is damaged; nothing was stored. Restore a backup, and run `sparing study check` on it",
    "not a database": "this is no SQLite file, or it is damaged. Check the path, or restore a backup",
    "database is locked": f"others kept the file busy for {PATIENCE} seconds; nothing was stored. Repeat the call",
    "never changed or deleted": "events are never changed or deleted; correct a value with `correct`",
}
PASSING = ("40001", "40P01", "57P01", "57P02", "57P03")  # states of PostgreSQL: conflicts, and servers that restart


def _explained(error: BaseException, shown: str) -> StudyError:
    said = str(error)
    for words, meaning in EXPLAINED.items():
        if words in said:
            return StoreError(f"{shown}: {meaning}.")
    if type(error).__name__ in ("IntegrityError", "UniqueViolation") and "UNIQUE" in said.upper():
        return Conflict(f"somebody else has just stored the same: {said.strip().splitlines()[0]}; repeat the call.")
    return StoreError(f"{shown}: {' '.join(said.split())}")
