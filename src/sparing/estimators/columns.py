"""The types of the columns of a data frame, learnt from its first rows: numbers, dates or categories.

Each column stays one attribute, which is bought, priced and reported under its own name; its values become numbers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any

import numpy as np

from sparing.estimators.odd_columns import constant, distinct_text, odd_text
from sparing.tables.numbers import numbers_written

NUMBER, DATE, CATEGORY, NOTHING, CONSTANT = "number", "date", "category", "nothing", "constant"
USELESS = (NOTHING, CONSTANT)
LEAST_ROWS = 20  # rows from which a column of distinct values looks like an identifier
LISTED = 8  # categories in a message
DAY = np.timedelta64(1, "D")
OBJECTS = {  # types that pandas infers for columns of objects
    "integer": NUMBER, "floating": NUMBER, "mixed-integer-float": NUMBER, "decimal": NUMBER, "boolean": NUMBER,
    "empty": NUMBER, "datetime": DATE, "datetime64": DATE, "date": DATE, "string": CATEGORY, "mixed-integer": CATEGORY,
}  # fmt: skip


def is_frame(X) -> bool:
    """Whether X is a pandas data frame."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def as_frame(X):
    """A table of polars or Arrow as a pandas data frame; anything else unchanged."""
    return X.to_pandas() if hasattr(X, "to_pandas") and not is_frame(X) else X


@dataclass(frozen=True, eq=False)
class Columns:
    """How the columns of a frame become numbers.

    Numbers and booleans stay as they are. A category becomes its code, its position in ``categories``; an unknown
    category becomes NaN, an unavailable value. A date becomes days since the first one. A useless column becomes zero.

    Parameters
    ----------
    names : list
        The labels of the columns.
    kinds : list of {"number", "date", "category", "nothing", "constant"}
        The last two are useless columns: empty ones, and text of which no value is frequent; numbers and dates that
        are the same in all rows.
    categories : list of arrays of str
        The categories of each column, in the order of their codes; empty if it is not categorical.
    first_days : array of datetime64
        The first date of each column; NaT if it has none.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [61.0, 54.0, 70.0], "ward": ["B", "A", None]})
    >>> columns, notes = learn_columns(frame)
    >>> columns.encode(frame).to_numpy().tolist()
    [[61.0, 1.0], [54.0, 0.0], [70.0, nan]]
    >>> columns.encode(frame.assign(ward="C"))["ward"].tolist()
    [nan, nan, nan]
    """

    names: list
    kinds: list[str]
    categories: list[np.ndarray]
    first_days: np.ndarray

    @property
    def levels(self) -> np.ndarray:
        """The number of categories of each column, 0 for numbers and dates, 1 for a useless column."""
        return np.array([
            len(of) if kind == CATEGORY else int(kind in USELESS)
            for kind, of in zip(self.kinds, self.categories, strict=True)
        ])  # fmt: skip

    def only(self, places) -> "Columns":
        """Only these columns, in this order."""
        names, kinds, categories = ([of[at] for at in places] for of in (self.names, self.kinds, self.categories))
        return Columns(names, kinds, categories, self.first_days[places])

    @property
    def categories_by_name(self) -> dict[Any, np.ndarray]:
        """The categories of the categorical columns."""
        return {name: of for name, of in zip(self.names, self.categories, strict=True) if of.size}

    def encode(self, frame):
        """The frame with all columns as numbers; unchanged if they are numeric already."""
        if set(self.kinds) == {NUMBER} and all(isinstance(of, np.dtype) and of.kind != "O" for of in frame.dtypes):
            return frame
        numbers = np.empty(frame.shape)
        makers = {NUMBER: self._numbers, DATE: self._days, CATEGORY: self._codes, NOTHING: _zeros, CONSTANT: _zeros}
        for kind, make in makers.items():
            places = [at for at, of in enumerate(self.kinds) if of == kind]
            if places:
                numbers[:, places] = make(frame, places)
        return type(frame)(numbers, columns=frame.columns, index=frame.index)

    def refuse_news(self, frame) -> None:
        """Refuse rows with categories or columns unknown from the first rows: the model would depend on the chunks."""
        for at, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            column = frame.iloc[:, at]
            if kind == CATEGORY:
                if new := self.unseen(column, at):
                    raise ValueError(
                        f"column {name!r} has the category {new[0]!r}, which was not among the first rows; declare "
                        "all categories from the first call of partial_fit on, by a pandas.CategoricalDtype."
                    )
            elif kind == NOTHING and _is_numeric(column) and column.notna().any():
                raise ValueError(
                    f"column {name!r} has values, but had none among the first rows, and is never bought; begin "
                    "partial_fit with rows that have some, or leave it out."
                )

    def unseen(self, column, at: int) -> list[str]:
        """The texts in a column that are none of its categories, sorted."""
        return sorted(set(self._spelled(column, at)) - {None, *self.categories[at].tolist()})

    def refuse_unseen(self, at: int, value) -> None:
        """Refuse a value that is none of its column's categories, and name those that are."""
        if self.kinds[at] == CATEGORY and value == value and np.isnan(self.number(at, value)):
            known = self.categories[at].tolist()
            near = get_close_matches(str(value), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, known[:LISTED]))}."
            shown = repr(f"{value:g}" if isinstance(value, float) else value)  # what was typed as 140 is not 140.0
            raise ValueError(f"column {self.names[at]!r} has no category {shown} in the model; {hint}")

    def _spelled(self, column, at: int) -> np.ndarray:
        """Every value as text; a number as its category writes it, since 1 is 1.0 beside a missing value."""
        texts, known = _texts(column), set(self.categories[at].tolist())
        for row, value in enumerate(column.tolist()):
            if texts[row] not in known and isinstance(value, int | float) and float(value).is_integer():
                texts[row] = next((text for text in (str(int(value)), str(float(value))) if text in known), texts[row])
        return texts

    def _numbers(self, frame, places: list[int]) -> np.ndarray:
        part = frame.iloc[:, places]
        try:
            return part.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            wrong = next((at for at in places if not _holds_numbers(frame.iloc[:, at])), places[0])
            raise ValueError(
                f"column {self.names[wrong]!r} was numeric when the model was fitted, but "
                f"{_first_word(frame.iloc[:, wrong])}. Pass numbers, and NaN for what is unknown."
            ) from error

    def _days(self, frame, places: list[int]) -> np.ndarray:
        dates = np.column_stack([_dates(frame.iloc[:, at], self.names[at]) for at in places])
        return np.where(np.isnat(dates), np.nan, (dates - self.first_days[places]) / DAY)

    def _codes(self, frame, places: list[int]) -> np.ndarray:
        return self._encoder.transform(np.column_stack([self._spelled(frame.iloc[:, at], at) for at in places]))

    @cached_property
    def _encoder(self):
        from sklearn.preprocessing import OrdinalEncoder

        known = [of.astype(object) for of in self.categories if of.size]
        encoder = OrdinalEncoder(categories=known, handle_unknown="use_encoded_value", unknown_value=np.nan)
        return encoder.fit(np.array([[of[0] for of in known]], dtype=object))

    def number(self, at: int, value) -> float:
        """One value of a column as a number; NaN if it is missing or an unknown category."""
        if self.kinds[at] == NUMBER:
            return as_number(at, value, self.names[at])
        from pandas import DataFrame

        row = DataFrame({name: [value if place == at else None] for place, name in enumerate(self.names)})
        return float(self.encode(row).iloc[0, at])


def as_number(at: int, value, name=None) -> float:
    """A value of a numeric column as a number; NaN if it is missing. Text is read as in tables, such as "118,00 €"."""
    try:
        return float(value)
    except (TypeError, ValueError):
        written = numbers_written([value], commas_separate=False) if isinstance(value, str) else None
    column = f"column {at if name is None else name!r} is numeric"
    if written is None:
        raise ValueError(f"{column}; got {value!r}.")
    numbers, doubtful = written
    if doubtful and re.search(r"\d,\d{3}$", value.strip()):
        meant = value.strip().replace(",", "")
        raise ValueError(f"{column}; write {value!r} as {meant} or as {numbers[value]:g}, whichever is meant.")
    return numbers[value]


def learn_columns(frame, *, whole: bool = True) -> tuple[Columns, list[str]]:
    """The columns of a frame, and warnings about odd ones.

    If these are the ``whole`` data, columns that are constant, or text without a frequent value, are useless. Of a part
    of the data only empty columns and identifiers are.
    """
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"two columns are named {twice!r}; rename one of them.")
    names, kinds, categories, first_days, notes = list(frame.columns), [], [], [], []
    consequence = "it is never bought" if whole else "looks at it are wasted"
    for at, name in enumerate(names):
        column = frame.iloc[:, at]
        kind, found, first = _kind(column, name), np.array([], dtype=str), np.datetime64("NaT", "ns")
        n_seen = int(column.notna().sum())
        if not n_seen and len(column):
            kind = NOTHING
            notes.append(f"column {name!r} has no value at all, and is never bought; leave it out.")
        elif kind == DATE:
            dates = _dates(column, name)
            first = np.nanmin(dates)
            if n_seen >= LEAST_ROWS and first == np.nanmax(dates):
                kind = CONSTANT if whole else kind
                notes.append(constant(column, name, consequence))
        elif kind == CATEGORY:
            found = _categories(column)
            if _all_distinct(column, n_seen):
                kind, found = NOTHING, found[:0]
                notes.append(distinct_text(column, name))
            elif len(found) == 1 and n_seen >= LEAST_ROWS:
                notes.append(constant(column, name, "it is never bought"))
            elif not hasattr(column, "cat"):
                note, useless = odd_text(column, name, consequence)
                kind, found = (NOTHING, found[:0]) if useless and whole else (kind, found)
                notes += [note] if note else []
        elif n_seen >= LEAST_ROWS and column.min() == column.max():  # cheaper than counting values
            kind = CONSTANT if whole else kind
            notes.append(constant(column, name, consequence))
        elif _is_whole(column) and _all_distinct(column, n_seen):
            notes.append(
                f"column {name!r} is a different whole number in every row; if it is an identifier, leave it out."
            )
        kinds.append(kind)
        categories.append(found)
        first_days.append(first)
    return Columns(names, kinds, categories, np.array(first_days, "datetime64[ns]")), notes


def declared_columns(names: Sequence, categories: Mapping[Any, Sequence]) -> Columns:
    """Numeric columns, except those whose categories are given in the order of their codes."""
    unknown = [name for name in categories if name not in names]
    if unknown:
        raise ValueError(f"categories names {unknown[0]!r}, but there is no such column; pass names= with all of them.")
    texts = [np.array([str(each) for each in categories.get(name, ())], dtype=str) for name in names]
    kinds = [CATEGORY if of.size else NUMBER for of in texts]
    return Columns(list(names), kinds, texts, np.full(len(texts), "NaT", "datetime64[ns]"))


def _kind(column, name) -> str:
    """The kind of a column by its dtype; for objects, by the type of its values."""
    from pandas.api import types

    if _is_numeric(column):
        return NUMBER
    if types.is_datetime64_any_dtype(column.dtype):
        return DATE
    if hasattr(column, "cat"):
        return CATEGORY
    found = types.infer_dtype(column, skipna=True)
    if found not in OBJECTS:
        raise ValueError(
            f"column {name!r} holds values of kind {found!r}; leave it out, or turn it into numbers or text."
        )
    return OBJECTS[found]


def _holds_numbers(column) -> bool:
    try:
        column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return False
    return True


def _first_word(column) -> str:
    """The first value that is no number, at best one that is none in tables either, and its row, counted from 1."""
    known = [pair for pair, gone in zip(enumerate(column.tolist(), 1), column.isna(), strict=True) if not gone]
    texts = [pair for pair in known if not _reads(float, pair[1])] or known
    row, value = next((pair for pair in texts if not _reads(partial(as_number, 0), pair[1])), texts[0])
    return f"row {row:,} has {value!r}"


def _reads(read, value) -> bool:
    try:
        read(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_numeric(column) -> bool:
    from pandas.api import types

    return types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype)


def _is_whole(column) -> bool:
    return getattr(column.dtype, "kind", "") in "iu"


def _all_distinct(column, n_seen: int) -> bool:
    return n_seen >= LEAST_ROWS and column.nunique() == n_seen


def _zeros(frame, places: list[int]) -> np.ndarray:
    return np.zeros((len(frame), len(places)))


def _dates(column, name) -> np.ndarray:
    """Dates in nanoseconds, in universal time; NaT for missing ones. Text must be ISO 8601, where days come last."""
    from pandas import to_datetime

    given = column
    if _is_numeric(column):  # pandas would take them as nanoseconds
        given = column.astype(object).mask(column.notna(), None)
    dates = to_datetime(given, utc=True, format="ISO8601", errors="coerce")
    wrong = column[column.notna() & dates.isna()]
    if len(wrong):
        raise ValueError(f"column {name!r} holds dates; got {str(wrong.iloc[0])!r}: write dates as 2024-05-31.")
    return dates.dt.tz_localize(None).to_numpy("datetime64[ns]")


def _texts(column) -> np.ndarray:
    """Every value as text; None for missing ones."""
    texts = [None if gone else str(value) for value, gone in zip(column.tolist(), column.isna(), strict=True)]
    return np.array(texts, dtype=object)


def _categories(column) -> np.ndarray:
    """The categories as text: those that the column's dtype declares, or else its distinct values, sorted."""
    declared = column.cat.categories if hasattr(column, "cat") else column.dropna().unique()
    texts = sorted({str(value) for value in declared})
    return np.array(texts, dtype=str)
