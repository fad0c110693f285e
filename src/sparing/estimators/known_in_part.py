"""Predictions for rows known in part, and their uncertainty."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sparing import checks
from sparing.estimators.columns import as_frame, as_number, is_frame
from sparing.estimators.from_source import is_source, of_new_cases
from sparing.learners.keeping import KeepingLearner
from sparing.models.classes import Classes
from sparing.models.conditional import FromKnown
from sparing.models.gaussian import FittedModel
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.many import Purchases, buy_many
from sparing.prediction.route import Route, find_route
from sparing.prediction.visit import Visit


class KnownInPart:
    """Methods of budget estimators for rows known in part; they need a keeping learner."""

    _fit: Any
    _check_X: Any
    _names: Any
    _columns: Any
    costs: Any
    groups: Any
    n_features_in_: int
    _online_reason: ClassVar[str]

    def _described(self, what: str) -> FittedModel:
        """The fitted model with its Gaussian description of the attributes, which the method ``what`` needs."""
        check_is_fitted(self, "_fit")
        if not isinstance(self._fit, KeepingLearner):
            instead = "use BudgetRidge" if self._online_reason else "fit with learner='auto', 'factor' or 'pairwise'"
            raise ValueError(
                f"{what} needs a description of the attributes, which an online learner does not have; {instead}."
            )
        return self._fit.fitted

    def _from_known(self, X, what: str) -> FromKnown:
        model = self._described(what)
        return model.from_known(self._check_rows(X))

    def _check_rows(self, X):
        """Rows to predict for: NaN is a missing value, and so is every column that a DataFrame lacks."""
        X = as_frame(X)
        names = list(getattr(self, "feature_names_in_", ()))
        given = list(getattr(X, "columns", ()))
        if names and given != names and hasattr(X, "reindex") and set(given) < set(names):
            X = X.reindex(columns=names)
        X = self._check_X(X, reset=False, ensure_all_finite="allow-nan")
        if not isinstance(self._fit, KeepingLearner) and np.isnan(X.data if hasattr(X, "indptr") else X).any():
            self._described("a row with NaN")
        return X

    # Buying at prediction time ---------------------------------------------------------------------------------------

    def route(self, known=(), *, costs=None, groups=None) -> Route:
        """The order in which to buy the columns of a new case, and the expected error after each purchase.

        Parameters
        ----------
        known : sequence
            Columns, by name or number, that are known anyway; of a dict or a Series, its names.
        costs : dict, Series or array, optional
            The price of each column, by name or in column order. Costs and groups are those of the fit by default.
        groups : dict, Series or sequence, optional
            Columns with equal labels are a panel: bought together, for the sum of their prices.

        Returns
        -------
        sparing.prediction.Route
        """
        catalogue = self._catalogue("route", costs, groups)
        if isinstance(known, str | int | np.integer):
            raise ValueError(f"known must be a sequence of columns; got {known!r}: pass [{known!r}].")
        names = known.keys() if hasattr(known, "keys") else known if known is not None else ()
        columns = [checks.column(name, self.n_features_in_, self._names()) for name in names]
        return find_route(catalogue, np.unique(np.array(columns, dtype=np.int64)))

    def visit(self, known=None, *, costs=None, groups=None, price_of_error=None, target_std=None, budget=None) -> Visit:
        """Ask for the values of one new case that are worth their price.

        Parameters
        ----------
        known : dict or Series, optional
            Values that are known anyway, by name or number of their column.
        costs, groups
            As for :meth:`route`.
        price_of_error : float, optional
            What a wrong label costs, or one unit of squared error: stop when no purchases are worth their price.
        target_std : float, optional
            Regressors only: stop when the standard deviation is this small.
        budget : float, optional
            The most to spend. Without any of these three options, everything is bought that improves the prediction.

        Returns
        -------
        sparing.prediction.Visit
        """
        options = {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}
        return Visit(self._catalogue("visit", costs, groups), {} if known is None else known, **options)

    def buy(
        self, source, *, costs=None, groups=None, price_of_error=None, target_std=None, budget=None, ledger=None
    ) -> Purchases:
        """Visit all cases of a source, and buy the values that are worth their price.

        Parameters
        ----------
        source : Source or array
            Rows of an array are read only where values are bought; NaN is an unavailable value, which is paid for.
            Columns of a source that has names are found by name.
        costs, groups, price_of_error, target_std, budget
            As for :meth:`visit`, for each case.
        ledger : Ledger, optional
            Books every purchase, and may have a ceiling for all cases together.

        Returns
        -------
        sparing.prediction.Purchases

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sparing import BudgetClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BudgetClassifier(budget=6, random_state=0).fit(X[:400], y[:400])
        >>> bought = model.buy(X[400:], price_of_error=100)
        >>> bool((bought.predictions == y[400:]).mean() > 0.9), bool(bought.cells.mean() < 5)
        (True, True)
        """
        options = {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}
        catalogue, source = self._catalogue("buy", costs, groups), as_frame(source)
        if is_source(source):
            source = of_new_cases(source, self._columns, self._names())
        elif is_frame(source):
            source = self._check_rows(source)
        return buy_many(catalogue, source, ledger=ledger, **options)

    def _catalogue(self, what: str, costs, groups) -> Catalogue:
        """What can be bought for a new case, at these prices or, by default, at those of the fit."""
        model, columns = self._described(what), self._columns
        if costs is None and groups is None:
            costs, groups = self.costs, self.groups
        return Catalogue(
            model,
            self.n_features_in_,
            self._names(),
            getattr(self, "classes_", None),
            self._weighted_classes(model),
            costs=costs,
            groups=groups,
            encode=as_number if columns is None else columns.number,
        )

    def _weighted_classes(self, model: FittedModel) -> Classes | None:
        """The weighted classes; None for a regressor."""
        return None


class RegressorKnownInPart(KnownInPart):
    """Predictions of regressors, with standard deviations and intervals."""

    _several: bool
    _scores: Any

    def predict(self, X, *, return_std: bool = False) -> Any:
        """Predictions for whole rows and for rows known in part.

        NaN is a missing value, and so is every column that a DataFrame lacks: the prediction is the mean of the target
        given what is known. Unless ``features="linear"``, predictions stay within the range of the targets seen. Online
        learners predict for whole rows only.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
        return_std : bool
            Also return the standard deviation of the target given what is known, calibrated on held-out examples.

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

    def predict_interval(self, X, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of intervals that contain the target with this probability.

        They use quantiles of standardized held-out errors, so they are neither normal nor symmetric.

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
        fitted, deviations = self._fit.fitted, self._deviations(found)
        known = (fitted.conditional.total, found.unexplained, fitted.center)
        ends = (found.means + deviations * fitted.calibration.quantiles(p, *known) for p in (tail, 1.0 - tail))
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


def _keeps(estimator) -> bool:
    """Whether the estimator has probabilities; otherwise scikit-learn's convention is an ``AttributeError``."""
    fitted = getattr(estimator, "_fit", None)
    if isinstance(fitted, KeepingLearner) or (fitted is None and estimator.learner != "online"):
        return True
    raise AttributeError("an online learner has no probabilities; fit with learner='auto', 'factor' or 'pairwise'.")


class ClassifierKnownInPart(KnownInPart):
    """Probabilities of classes from what is known."""

    classes_: Any
    n_iter_: int
    _class_odds: Any

    def _weighted_classes(self, model: FittedModel) -> Classes:
        return model.classes.of_examples(self.n_iter_).weighted(self._class_odds(model.classes.priors))

    @available_if(_keeps)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``, given what is known of each row.

        NaN is a missing value, and so is every column that a DataFrame lacks. The probabilities are those of linear
        discriminant analysis on what is known, recalibrated on held-out examples.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sparing import BudgetClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BudgetClassifier(budget=6, random_state=0).fit(X[:400], y[:400])
        >>> whole, nothing = model.predict_proba(X[400:402]), model.predict_proba(X[:1] * np.nan)
        >>> bool(whole.max() > 0.9), bool(abs(nothing[0, 1] - y[:400].mean()) < 0.1)
        (True, True)
        """
        log_posteriors = self._log_posteriors(X)  # which checks that there was a fit
        return self._weighted_classes(self._fit.fitted).probabilities(log_posteriors)

    def decision_function(self, X) -> np.ndarray:
        """Log-odds of the second of two classes, or log-probabilities of more; scores for an online learner.

        The second of two classes is predicted above zero; of more classes, the one with the largest value.
        """
        check_is_fitted(self, "_fit")
        if not isinstance(self._fit, KeepingLearner):
            return super().decision_function(X)  # type: ignore[misc]
        return _decisions(self._log_posteriors(X))

    def _log_posteriors(self, X) -> np.ndarray:
        found = self._from_known(X, "predict_proba")
        return self._weighted_classes(self._fit.fitted).log_posteriors(*found)

    def _decision_weights(self, weights, intercept) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the log-odds of whole rows, which are linear in the predictions of the regression."""
        if not isinstance(self._fit, KeepingLearner):
            return weights, intercept
        m = len(intercept)
        at = np.vstack([intercept, intercept + np.eye(m)])
        log_posteriors = self._weighted_classes(self._fit.fitted).log_posteriors(at, np.zeros((1 + m, m, m)))
        log_odds = _decisions(log_posteriors).reshape(1 + m, -1)
        if m > 1:  # log-probabilities share a term that is not linear in the predictions
            log_odds = log_odds - log_odds.mean(axis=1, keepdims=True)
        return (log_odds[1:] - log_odds[0]).T @ weights, log_odds[0]


def _decisions(log_posteriors: np.ndarray) -> np.ndarray:
    return log_posteriors[:, 1] - log_posteriors[:, 0] if log_posteriors.shape[1] == 2 else log_posteriors
