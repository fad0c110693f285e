"""Checks that the books of a study agree with its tables and, if they are replayed, with its events."""

from dataclasses import dataclass

import sqlalchemy as sa

from sparing.progress import Progress, unnoticed
from sparing.study.errors import StudyError
from sparing.study.replaying import Replay
from sparing.study.store import ASK, EVENT, EXAMPLE, PLAN, STUDY, VISIT

SHOWN = 5  # problems named in the message


@dataclass(frozen=True)
class Findings:
    """How many events, examples and asks were checked and found correct, and how many queries were drawn again.

    Queries of visits are not drawn again: they depend on a model, whose last bits may differ between machines.
    """

    events: int
    examples: int
    visits: int
    asks: int
    queries: int


def check(study, *, replay: bool, progress: Progress | None = None) -> Findings:
    """Compare sums of money and counts with the row of the study; with ``replay``, replay all events."""

    def look(connection):
        row = connection.execute(sa.select(STUDY).where(STUDY.c.id == study.id)).one()
        if connection.dialect.name == "sqlite":
            _check_pages(connection)
        problems = _sums(connection, row)
        again = Replay(study.settings)
        if replay:
            again.run(connection, row, study.plans, progress or unnoticed)
            problems += again.problems
        if problems:
            more = f", and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
            raise StudyError(
                f"the study {row.name!r} is damaged: {'; '.join(problems[:SHOWN])}{more}. Restore a backup."
            )
        return Findings(row.head, row.examples, row.visits, row.asks, again.queries)

    return study.store.read(look)


def _check_pages(connection) -> None:
    """Let SQLite check the integrity of its file."""
    said = connection.exec_driver_sql("PRAGMA quick_check").scalar()
    if said != "ok":
        raise StudyError(f"the file is damaged: {said}. Restore a backup.")


def _sums(connection, row) -> list[str]:
    """Differences between the row of the study and sums over its tables, in words."""

    def one(*what, of, where=()):
        return connection.execute(sa.select(*what).select_from(of).where(of.c.study == row.id, *where)).one()

    count = sa.func.count
    reserved = sa.func.coalesce(sa.func.sum(ASK.c.price - ASK.c.released), 0)
    found = {
        "events": (one(count(), of=EVENT)[0], row.head),
        "the last event": (one(sa.func.coalesce(sa.func.max(EVENT.c.number), 0), of=EVENT)[0], row.head),
        "examples": (one(count(), of=EXAMPLE, where=[EXAMPLE.c.number >= 0])[0], row.examples),
        "visited examples": (one(count(), of=EXAMPLE, where=[EXAMPLE.c.number < 0])[0], row.visits),
        "visits": (one(count(), of=VISIT)[0], row.visits),
        "asks": (one(count(), of=ASK)[0], row.asks),
        "settled examples": (one(count(EXAMPLE.c.settled), of=EXAMPLE)[0], row.settled),
        "plans": (one(count(), of=PLAN)[0], row.plan + 1),
        "money reserved or spent": (int(one(reserved, of=ASK)[0]), row.committed),
        "money spent": (int(one(sa.func.coalesce(sa.func.sum(ASK.c.paid), 0), of=ASK)[0]), row.spent),
    }
    return [
        f"{what}: {here} in the tables, {there} in the books" for what, (here, there) in found.items() if here != there
    ]
