"""Functions that need no open study: finding, copying and upgrading a database, and merging exported files."""

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparing.study.store import Store


def require_sqlalchemy() -> None:
    """Raise an error that names the missing extra, if SQLAlchemy is not installed."""
    try:
        import sqlalchemy  # noqa: F401
    except ImportError as error:
        raise ImportError('a study needs SQLAlchemy; run: pip install "sparing[sql]"') from error


def store_at(address) -> "Store":
    """The database at an address."""
    require_sqlalchemy()
    from sparing.study.store import Store

    return Store(address)


def merge(paths: Iterable, output) -> int:
    """Merge files that :meth:`Study.export` wrote into one; return how many examples it has.

    Examples of the same study and name must be equal, and are kept once; if they differ, they are refused.
    """
    require_sqlalchemy()
    from sparing.study import transfer

    together = transfer.merged((str(path), transfer.read_exports(path)) for path in paths)
    transfer.write_exports(together, output)
    return len(together)


def backup(address, path, *, force: bool = False) -> None:
    """Copy an SQLite study of any format; :meth:`Study.backup` does so for one that is open."""
    with closing(store_at(address)) as store:
        from sparing.study import transfer

        transfer.backup(store, path, force=force)


def upgrade(address) -> None:
    """Upgrade a database of an older format to the current one; make a backup first."""
    with closing(store_at(address)) as store:
        from sparing.study import opening

        opening.upgrade(store)
