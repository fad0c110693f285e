"""Predictions for the rows of a file, by a model that was saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing.files import InputError, write_csv
from sparing.tables.names import LISTED, refuse_unknown, some, these
from sparing.tables.numbers import number_shown

MOST_HINTS = 3  # names that may be misspelt in one note
SHOWN = 5  # rows of predictions that are printed


@dataclass(frozen=True)
class Predictions:
    """A table of predictions, one row per row of the file, with notes about it."""

    columns: list[str]
    rows: list[list[Any]]
    notes: list[str]

    def write(self, path: Path) -> None:
        """Write them as CSV; a row without a prediction has empty fields."""
        write_csv(path, self.columns, self.rows)


def predict_rows(model, rows, *, keep: Sequence[str] = (), source: str = "the data") -> Predictions:
    """Predict every row of a data frame, whose columns are found by name, or of a matrix, by position.

    If the model has them, a standard deviation (regression) or the probability of each class follows the prediction. A
    model that can predict rows known in part accepts missing columns and values. Other models refuse a missing column,
    and give no prediction for a row with a missing value.

    Parameters
    ----------
    model : fitted budget estimator
    rows : DataFrame or matrix
    keep : names of columns to repeat beside the predictions
    source : str
        What the rows are called in messages.
    """
    partly = hasattr(model.learner_, "bought")  # a keeping learner also predicts rows known in part
    named = hasattr(rows, "columns")
    if keep and not named:
        raise InputError(f"{source} has no named columns", "leave out {keep}", {"keep": None})
    if named:
        refuse_unknown(keep, list(rows.columns), "column", source)
    X, notes = _attributes(model, rows, keep, partly, source) if named else (_matrix(model, rows, source), [])
    whole = _whole_rows(X) if not partly else np.ones(X.shape[0], bool)
    if not whole.all():
        notes.append(f"{np.sum(~whole):,} of {whole.size:,} rows miss a value; they get no prediction.")
    made = _columns(model, X[whole] if not whole.all() else X, partly)
    notes += _at_edges(model, made["prediction"])
    columns, values = [*keep, *made], np.full((len(made), whole.size), "", dtype=object)
    values[:, whole] = list(made.values())
    kept = [rows[name].tolist() for name in keep]
    return Predictions(columns, [list(row) for row in zip(*kept, *values.tolist(), strict=True)], notes)


def _attributes(model, frame, keep, partly: bool, source: str) -> tuple[Any, list[str]]:
    """The model's columns of a frame, in the model's order, and notes about other and missing columns."""
    wanted, notes = model._names(), []
    if not wanted:
        raise InputError("the model was fitted without names of columns", f"pass a matrix in place of {source}")
    missing = [name for name in wanted if name not in frame.columns]
    if missing and not partly:
        refuse_unknown(missing, list(frame.columns), "column", source)
    if len(missing) == len(wanted):
        known = f"the model was fitted to {', '.join(wanted[:LISTED])}{' and others' if len(wanted) > LISTED else ''}"
        raise InputError(f"no column of the model is in {source}: {some(frame.columns)}", known)
    target = getattr(model, "target_name_", None)
    others = [str(name) for name in frame.columns if name not in wanted and name not in keep]
    if missing:
        plain = {name.casefold(): name for name in missing}
        unused = [other for other in others if other != target]
        found = ((other, get_close_matches(other.casefold(), plain, 1, cutoff=0.5)) for other in unused)
        near = [f"{other!r} meant for {plain[name]!r}" for other, names in found for name in names]
        hint = f" Is {', and '.join(near[:MOST_HINTS])}?" if near else ""
        notes.append(f"{these(missing, 'column')} not in {source}: taken as unknown.{hint}")
    notes += _unseen_categories(model, frame)
    left_out = [name for name in others if name != target]
    if left_out:
        notes.append(f"{these(left_out, 'column')} not used: the model was fitted without.")
    if target in others:
        notes.append(f"column {target!r} is what is predicted; its values were not used.")
    return frame.reindex(columns=wanted), notes


def category_columns(model) -> list[str]:
    """The columns that are categories to a model; their codes may look like numbers."""
    return [] if model._columns is None else list(model._columns.categories_by_name)


def refuse_unseen(model, column: int, value) -> None:
    """Refuse a value that is none of the categories that the model knows of a column: it may be misspelt."""
    if model._columns is not None:
        model._columns.refuse_unseen(column, value)


def _unseen_categories(model, frame) -> list[str]:
    """Notes about categories that the model does not know, which count as missing values."""
    columns, notes = model._columns, []
    for name in (name for name in category_columns(model) if name in frame.columns):
        if new := columns.unseen(frame[name], columns.names.index(name)):
            more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
            notes.append(f"column {name!r}: {new[0]!r}{more} never seen when the model was fitted: taken as unknown.")
    return sorted(notes)


def _at_edges(model, predictions: list) -> list[str]:
    """A note about predictions that were cut off at the least or the largest of the targets seen."""
    seen = getattr(getattr(model.learner_, "fitted", None), "target_range", None)
    if hasattr(model, "classes_") or seen is None or model._several:
        return []
    (low,), (high,) = seen
    if not (n := sum(prediction in (low, high) for prediction in predictions)):
        return []
    return [
        f"{n:,} prediction{'s lie' if n > 1 else ' lies'} at the edge of the targets seen ({number_shown(low, 5)} to "
        f"{number_shown(high, 5)}), beyond which the model does not predict."
    ]


def _matrix(model, X, source: str):
    if X.shape[1] != model.n_features_in_:
        raise InputError(
            f"{source} has {X.shape[1]} columns, and the model was fitted to {model.n_features_in_}",
            "pass as many, in the same order",
        )
    names = model._names()
    if names and not sparse.issparse(X):  # otherwise scikit-learn warns about missing names
        from pandas import DataFrame

        return DataFrame(X, columns=names)
    return X


def _whole_rows(X) -> np.ndarray:
    """Which rows have no missing value."""
    if hasattr(X, "isna"):
        return ~X.isna().to_numpy().any(axis=1)
    if sparse.issparse(X):
        return np.isfinite(np.asarray(abs(X).sum(axis=1)).ravel())
    return ~np.isnan(X).any(axis=1)


def _columns(model, X, partly: bool) -> dict[str, list]:
    """Columns of predictions by their names."""
    if X.shape[0] == 0:
        return {"prediction": []}
    if hasattr(model, "classes_"):
        made = {"prediction": model.predict(X).tolist()}
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(X)
            made |= {f"probability of {label}": chances[:, at].tolist() for at, label in enumerate(model.classes_)}
        return made
    if not partly:
        return {"prediction": model.predict(X).tolist()}
    predictions, errors = model.predict(X, return_std=True)
    return {"prediction": predictions.tolist(), "standard deviation": errors.tolist()}
