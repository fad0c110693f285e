"""Fitting to a source instead of rows: a Parquet file, a table in a database, a web service."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from sparing import checks
from sparing.estimators.columns import NUMBER, Columns, learn_columns


def is_source(X) -> bool:
    """Whether X is a source rather than an array or a data frame."""
    return hasattr(X, "read") and hasattr(X, "n_examples")


def with_targets(source, y, target: str | None, *, multi_output: bool = False, y_numeric: bool = False):
    """A source of attributes, and the targets of its examples: ``y``, or the column named ``target``."""
    if (y is None) == (target is None):
        raise ValueError(
            "a source needs targets from one place: fit(source, y), or fit(source, target='name') for its own column."
        )
    if target is not None:
        if not hasattr(source, "split_target"):
            raise ValueError(f"a {type(source).__name__} has no columns with a target among them; pass y.")
        source, y = source.split_target(target)
    checks.refuse_missing_targets(y)
    checks.refuse_huge_targets(y)
    y = check_array(y, ensure_2d=False, dtype="numeric" if y_numeric else None, input_name="y")
    if len(y) != source.n_examples:
        raise ValueError(f"y has {len(y)} targets for the {source.n_examples} examples of the source.")
    return source, y if multi_output else column_or_1d(y, warn=True)


def encoded(source) -> tuple[Any, Columns | None, list[str]]:
    """The source with text and dates as numbers, the types of its columns, and warnings about odd ones.

    Some rows of columns that are not numeric are read to find their categories.
    """
    if not hasattr(source, "names"):
        return source, None, []
    d, nothing = source.n_attributes, np.array([], dtype=str)
    kinds, categories, first_days = [NUMBER] * d, [nothing] * d, np.full(d, "NaT", "datetime64[ns]")
    notes: list[str] = []
    others = np.flatnonzero(~source.numeric) if hasattr(source, "numeric") else np.array([], int)
    if others.size:
        found, notes = learn_columns(source.sample_frame(others), whole=False)
        first_days[others] = found.first_days
        for at, kind, of in zip(others, found.kinds, found.categories, strict=True):
            kinds[at], categories[at] = kind, of
    columns = Columns(list(source.names), kinds, categories, first_days)
    if others.size:
        source = copy(source)
        source.encoder = columns
    return source, columns, notes


def of_new_cases(source, columns: Columns | None, names: list[str]):
    """A source of new cases with the columns of a fitted model, by name, and their text and dates as numbers."""
    given = getattr(source, "names", None)
    if given is None or not names:
        return source
    if hasattr(source, "only"):
        source = source.only(names)
    elif list(given) != names:
        raise ValueError(f"the source has columns {list(given)}; pass those of the model, in its order: {names}.")
    if columns is not None and hasattr(source, "numeric") and not source.numeric.all():
        source = copy(source)
        source.encoder = columns
    return source
