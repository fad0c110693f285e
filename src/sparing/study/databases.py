"""What needs no open study: databases, files that several studies exported, and the extra that both need."""

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparing.study.store import Store


def require_sqlalchemy() -> None:
    """Say which extra is missing, if it is."""
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

    Examples are the same if study and name are: equal ones are kept once, and differing ones are refused.
    """
    require_sqlalchemy()
    from sparing.study import transfer

    together = transfer.merged((str(path), transfer.read_exports(path)) for path in paths)
    transfer.write_exports(together, output)
    return len(together)


def upgrade(address) -> None:
    """Bring a database of an older format to the present one; make a backup first."""
    with closing(store_at(address)) as store:
        from sparing.study import opening

        opening.upgrade(store)
