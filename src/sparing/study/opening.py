"""Creating a study in a database, finding one, and upgrading older formats."""

from uuid import uuid4

import sqlalchemy as sa

from sparing.study.errors import StoreError
from sparing.study.plans import plan_row
from sparing.study.settings import Settings
from sparing.study.store import FORMAT, PLAN, STUDY, Store

COUNTS = ("committed", "spent", "head", "examples", "visits", "asks", "settled", "changed", "plan")
FOUND = sa.select(*(STUDY.c[name] for name in ("id", "uid", "name", "format", "settings")))  # columns of all formats


def create(store: Store, settings: Settings, total: int | None, name: str) -> None:
    """Write the row of a new study, and its first plan."""
    row = {"uid": uuid4().hex, "name": name, "format": FORMAT, "settings": settings.to_json(), "total": total}
    row |= {"decimals": settings.decimals, **dict.fromkeys(COUNTS, 0)}
    first = settings.learner.buyer.plan
    _ = first.inclusion  # computed before the database is locked, since it may take a while

    def insert(connection):
        if connection.execute(sa.select(STUDY.c.id).where(STUDY.c.name == name)).first():
            raise StoreError(f"there is a study {name!r} in this database already; open it, or choose another name.")
        number = (connection.execute(sa.select(sa.func.max(STUDY.c.id))).scalar() or 0) + 1
        connection.execute(sa.insert(STUDY), row | {"id": number})
        connection.execute(sa.insert(PLAN), plan_row(number, 0, 0, 0, first))

    store.prepare()
    store.write(insert)


def find(store: Store, name: str | None) -> sa.Row:
    """The row of a study of the current format; without a name, the database must have only one."""
    if not store.has_tables():
        raise StoreError(f"there is no study in {store.shown!r}; check the address, or create one.")
    rows = store.read(lambda connection: connection.execute(FOUND.order_by(STUDY.c.id)).all())
    found = [row for row in rows if name in (None, row.name)]
    if len(found) != 1:
        names = ", ".join(repr(row.name) for row in rows) or "none"
        raise StoreError(f"name one of the studies in {store.shown!r}: {names}; got {name!r}.")
    if found[0].format > FORMAT:
        raise StoreError(
            f"{store.shown} has format {found[0].format}, and this version of sparing knows {FORMAT}; install a newer "
            "version of sparing."
        )
    if found[0].format < FORMAT:
        raise StoreError(
            f"{store.shown} has format {found[0].format}, and this version of sparing needs {FORMAT}; make a backup, "
            f"then run: sparing study upgrade {store.shown}"
        )
    return found[0]


def upgrade(store: Store) -> None:
    """Upgrade all studies of a database to the current format."""
    if not store.has_tables():
        raise StoreError(f"there is no study in {store.shown!r}; check the address, or create one.")
    newest = store.read(lambda connection: connection.execute(sa.select(sa.func.max(STUDY.c.format))).scalar())
    if (newest or 0) > FORMAT:
        raise StoreError(
            f"{store.shown} has format {newest}, and this version of sparing knows {FORMAT}; install a newer version "
            "of sparing."
        )
    store.prepare()
