"""Predictions for rows of which a part is known, and how sure they are."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparing import checks
from sparing.learners.keeping import KeepingLearner
from sparing.models.conditional import FromKnown
from sparing.models.gaussian import FittedModel


class KnownInPart:
    """What budget estimators do with rows known in part, if their learner keeps what it buys."""

    _fit: Any
    _check_X: Any

    def _described(self, what: str) -> FittedModel:
        """The fitted model with its Gaussian description of the attributes, for what needs one."""
        check_is_fitted(self, "_fit")
        if not isinstance(self._fit, KeepingLearner):
            raise ValueError(
                f"{what} needs a description of the attributes, which an online learner does not have; fit with "
                "learner='auto', 'factor' or 'pairwise'."
            )
        return self._fit.fitted

    def _from_known(self, X, what: str) -> FromKnown:
        model = self._described(what)
        return model.from_known(self._check_rows(X))

    def _check_rows(self, X):
        """Rows to predict for: NaN is a missing value, and so is every column that a DataFrame lacks."""
        names = list(getattr(self, "feature_names_in_", ()))
        given = list(getattr(X, "columns", ()))
        if names and given != names and hasattr(X, "reindex") and set(given) < set(names):
            X = X.reindex(columns=names)
        finite = "allow-nan" if isinstance(self._fit, KeepingLearner) else True
        return self._check_X(X, reset=False, ensure_all_finite=finite)


class RegressorKnownInPart(KnownInPart):
    """Predictions of regressors, with standard deviations and intervals."""

    _several: bool
    _scores: Any

    def predict(self, X, *, return_std: bool = False):
        """Predictions for rows, whole or in part; unless ``features="linear"``, within the range of the targets seen.

        NaN is a missing value, as is every column that a DataFrame lacks: the prediction is then the mean of the target
        given what is known. Online learners predict for whole rows only.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
        return_std : bool
            Also return the standard deviation of the target given what is known, calibrated by held-out examples.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sparing import BudgetRidge
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = BudgetRidge(budget=4, random_state=0).fit(X[:342], y[:342])
        >>> in_part = np.where(np.arange(10) < 3, X[342:], np.nan)
        >>> _, whole = model.predict(X[342:], return_std=True)
        >>> _, few = model.predict(in_part, return_std=True)
        >>> bool(whole.mean() < few.mean() < y.std())
        True
        """
        if not return_std:
            return self._published(self._within_range(self._scores(X)))
        found = self._from_known(X, "return_std=True")
        return self._published(self._within_range(found.means)), self._published(self._deviations(found))

    def predict_interval(self, X, coverage: float = 0.9):
        """Lower and upper ends of intervals that hold the target with this probability.

        They are quantiles of held-out errors over their standard deviations, so neither normal nor symmetric.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sparing import BudgetRidge
        >>> X, y = load_diabetes(return_X_y=True)
        >>> low, high = BudgetRidge(budget=4, random_state=0).fit(X[:342], y[:342]).predict_interval(X[342:])
        >>> bool(0.8 < ((low < y[342:]) & (y[342:] < high)).mean() < 0.97)
        True
        """
        tail = (1.0 - checks.fraction("coverage", coverage)) / 2.0
        found = self._from_known(X, "predict_interval")
        calibration, deviations = self._fit.fitted.calibration, self._deviations(found)
        ends = (found.means + deviations * calibration.quantile(p) for p in (tail, 1.0 - tail))
        low, high = (self._published(self._within_range(end)) for end in ends)
        return low, high

    def _deviations(self, found: FromKnown) -> np.ndarray:
        fitted = self._fit.fitted
        return np.sqrt(fitted.calibration.variances(fitted.conditional.total, found.unexplained))

    def _within_range(self, predictions: np.ndarray) -> np.ndarray:
        seen = getattr(getattr(self._fit, "fitted", None), "target_range", None)
        return predictions if seen is None else np.clip(predictions, *seen)

    def _published(self, of_outputs: np.ndarray) -> np.ndarray:
        return of_outputs if self._several else of_outputs[:, 0]
