"""Tables in a database, of which only the columns that are asked for are selected in each row."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from sparing import checks
from sparing.files import InputError
from sparing.sources.named_columns import NamedColumns

KEYS = 500  # rows per statement
SAMPLED = 1000  # rows that are read to find categories


class SQLSource(NamedColumns, AbstractContextManager):
    """Rows of a table or view that SQLAlchemy can reach, such as one of SQLite or PostgreSQL.

    The rows of a batch are read by one statement for each distinct set of columns (and 500 keys): ``SELECT key, a, b
    FROM table WHERE key IN (...)``. NULL is NaN, an unavailable value. Rows that are added later are not seen.

    An engine that was made from a URL is disposed of by ``close``, or at the end of a ``with`` block; an engine that
    was passed stays open.

    Parameters
    ----------
    engine : SQLAlchemy engine, or URL such as ``"sqlite:///ward.db"`` or ``"postgresql://reader@host/ward"``
    table : str
    key : str
        The column that identifies rows; it is unique, and not an attribute. Examples are numbered in its order.
    drop : names of columns to leave out
    schema : str, optional
        The schema of the table, if it is not the default one.

    Examples
    --------
    >>> import sqlalchemy
    >>> engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.StaticPool)
    >>> with engine.begin() as connection:
    ...     _ = connection.exec_driver_sql("CREATE TABLE ward (id INTEGER, age REAL, dose REAL)")
    ...     _ = connection.exec_driver_sql("INSERT INTO ward VALUES (7, 61, 2), (3, 54, NULL)")
    >>> source = SQLSource(engine, "ward", key="id")
    >>> source.names, source.read(0, np.array([1, 0])).tolist()
    (['age', 'dose'], [nan, 54.0])
    """

    def __init__(self, engine, table: str, *, key: str, drop: Iterable[str] = (), schema: str | None = None):
        sa = self._sa = _sqlalchemy()
        self._passed = hasattr(engine, "connect")
        self.engine = engine if self._passed else sa.create_engine(with_driver(sa.make_url(engine)))
        try:
            self._table = sa.Table(table, sa.MetaData(), autoload_with=self.engine, schema=schema)
        except sa.exc.NoSuchTableError:
            raise InputError(f"there is no table {table!r} in this database", "check its name, and schema=") from None
        numbers = sa.Numeric, sa.Float, sa.Integer, sa.Boolean
        numeric = {column.name: isinstance(column.type, numbers) for column in self._table.columns}
        super().__init__(numeric, [key, *([drop] if isinstance(drop, str) else drop)])
        self._key = self._table.c[key]
        with self.engine.connect() as connection:
            self._keys = list(connection.scalars(sa.select(self._key).order_by(self._key)))
        if None in self._keys or len(set(self._keys)) < len(self._keys):
            raise InputError(f"the key {key!r} is missing, or not unique, in some rows", "name a primary key")
        if not self._keys:
            raise InputError(f"the table {table!r} has no rows", "it needs one row per example")

    @property
    def n_examples(self) -> int:
        """The number of rows."""
        return len(self._keys)

    def close(self) -> None:
        """Close the connections of an engine that was made from a URL."""
        if not self._passed:
            self.engine.dispose()

    def __exit__(self, *raised) -> None:
        self.close()

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these columns of one row."""
        return self.read_batch(np.array([example]), [attributes])[0]

    def read_batch(self, examples: np.ndarray, queries: list[np.ndarray]) -> list[np.ndarray]:
        """The values of many rows, each with its own columns: one statement for each distinct set of columns."""
        alike: dict[tuple, list[int]] = {}
        for place, query in enumerate(queries):
            alike.setdefault(tuple(np.sort(query)), []).append(place)
        found = np.full((len(queries), self.n_attributes), None, dtype=object)
        for columns, places in alike.items():
            rows = self._rows(np.asarray(examples)[places], self._named(np.array(columns)))
            found[np.ix_(places, columns)] = np.array(rows, dtype=object)
        numbers = self._numbers(found)
        for place, example in enumerate(examples):
            checks.no_infinity(numbers[place : place + 1], int(example), np.arange(self.n_attributes))
        return [numbers[place, query] for place, query in enumerate(queries)]

    def sample_frame(self, attributes: np.ndarray) -> Any:
        """These columns of some evenly spaced rows, enough to find common categories."""
        from pandas import DataFrame

        names, step = [self.names[at] for at in attributes], -(-self.n_examples // SAMPLED)
        return DataFrame(self._rows(np.arange(0, self.n_examples, step), names), columns=names)

    def _numbers(self, found: np.ndarray) -> np.ndarray:
        """Values of any type as numbers; values that were not asked for are None, and become NaN."""
        if self.encoder is None:
            return np.array([[_number(*of) for of in zip(row, self.names, strict=True)] for row in found])
        from pandas import DataFrame

        return self.encoder.encode(DataFrame(found, columns=self.names)).to_numpy(np.float64)

    def _rows(self, examples: np.ndarray, names: list[str]) -> list[tuple]:
        """These columns of these rows, in the order of the examples."""
        keys = [self._keys[example] for example in examples]
        found: dict[Any, tuple] = {}
        chosen = self._sa.select(self._key, *(self._table.c[name] for name in names))
        with self.engine.connect() as connection:
            for first in range(0, len(keys), KEYS):
                rows = connection.execute(chosen.where(self._key.in_(keys[first : first + KEYS])))
                found.update((row[0], tuple(row[1:])) for row in rows)
        return _in_order(found, keys)

    def _column(self, name: str) -> np.ndarray:
        with self.engine.connect() as connection:
            rows = connection.execute(self._sa.select(self._key, self._table.c[name]))
            values = _in_order(dict(rows.all()), self._keys)
        found = np.array(values)
        if found.dtype.kind == "O" and self._numeric.get(name):  # decimals or nulls
            found = np.array([_number(value, name) for value in values])
        return found


def _in_order(found: dict, keys: list) -> list:
    """The rows found, in the order of the keys, or an error if one was deleted while the source was in use."""
    gone = [key for key in keys if key not in found]
    if gone:
        raise RuntimeError(f"the row with key {gone[0]!r} was deleted since the source was made; make it again.")
    return [found[key] for key in keys]


def _number(value, name: str) -> float:
    try:
        return np.nan if value is None else float(value)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} was declared numeric but holds {value!r}; correct it, or drop it.") from None


def with_driver(url):
    """The URL with psycopg as the driver of PostgreSQL, which the extra installs."""
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def _sqlalchemy():
    try:
        import sqlalchemy
    except ImportError:
        raise ImportError('tables in a database need SQLAlchemy; run: pip install "sparing[sql]"') from None
    return sqlalchemy
