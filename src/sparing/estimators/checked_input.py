"""Checks of what budget estimators learn from: arrays, data frames with columns of any type, and sources."""

from typing import Any, cast
from warnings import warn

import numpy as np
from sklearn.utils.validation import validate_data

from sparing import checks
from sparing.estimators.columns import Columns, as_frame, is_frame, learn_columns
from sparing.estimators.from_source import encoded, is_source, with_targets


class CheckedInput:
    """Rows or a source as numbers, and the types of their columns."""

    _why_online: Any
    _columns = cast("Columns | None", None)  # without annotation, which would make it a dataclass field

    def _check_X(self, X, *, reset: bool, whole: bool = False, **more):
        if reset:
            self._columns = self._learn_columns(X, whole)
        if is_frame(X) and self._columns is not None and list(X.columns) == self._columns.names:
            X = self._columns.encode(X)
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], **more)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(f"{error}; text is taken in columns of a pandas DataFrame.") from error

    def _learn_columns(self, X, whole: bool) -> Columns | None:
        """The types of the columns of a data frame; None for arrays, which are not read.

        To an online learner a constant column is not useless: it may serve as the intercept.
        """
        if not is_frame(X):
            return None
        self.n_features_in_ = X.shape[1]
        columns, notes = learn_columns(X, whole=whole and not self._why_online())
        for note in notes:
            warn(note, UserWarning, stacklevel=5)
        return columns

    def _check_fit(self, X, y, target: str | None, **more):
        """The checked rows or source that ``fit`` learns from, and the targets."""
        if is_source(X):
            return self._check_source(X, y, target, **more)
        if target is not None:
            raise ValueError(f"target={target!r} names a column of a source; pass arrays and data frames with y.")
        return self._check_X_y(X, y, reset=True, whole=True, **more)

    def _check_X_y(self, X, y, *, reset: bool, **more):
        """The checked rows to learn from, and the targets. Values of arrays are checked only when they are bought."""
        if is_source(X):
            raise ValueError("partial_fit takes rows in memory; pass a source to fit, with all its examples.")
        checks.refuse_missing_targets(y)
        checks.refuse_huge_targets(y)  # before scikit-learn adds them up
        X = as_frame(X)
        if not reset and self._columns is not None and is_frame(X) and list(X.columns) == self._columns.names:
            self._columns.refuse_news(X)
        checked, y = self._check_X(X, y=y, reset=reset, ensure_all_finite=False, **more)
        return checks.matrix(checked), y

    def _check_source(self, source, y, target: str | None, **more):
        """A source of numbers to learn from, and the targets of its examples."""
        source, y = with_targets(source, y, target, **more)
        source, self._columns, notes = encoded(source)
        self.n_features_in_ = source.n_attributes
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if self._columns is not None:
            self.feature_names_in_ = np.array(self._columns.names, dtype=object)
        for note in notes:
            warn(note, UserWarning, stacklevel=4)
        return source, y
