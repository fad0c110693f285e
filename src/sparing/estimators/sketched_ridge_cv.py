"""Ridge regression with the ridge chosen by cross-validation, from one sketch per fold."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight

from sparing import checks
from sparing.estimators.sketched_ridge import SketchedLeastSquares, weighted_rows
from sparing.solvers import solve_ridge_path


@dataclass(eq=False, repr=False)
class SketchedRidgeCV(SketchedLeastSquares):
    r""":class:`SketchedRidge` with the best of several ridges by the cross-validated :math:`R^2`.

    In each fold all ridges share one sketch, made for the smallest of them, unless there is a ``radius``.

    Parameters
    ----------
    alphas : array of ridges, above zero
    fit_intercept, solver, sketch, radius, tol, max_iter, random_state
        As for :class:`SketchedRidge`, in every fold and in the final fit on all rows.
    cv : int, splitter or None
        As in scikit-learn; None means five folds.

    Attributes
    ----------
    alpha_ : float
        The selected ridge.
    best_score_ : float
        Its mean :math:`R^2` over the folds.
    cv_scores_ : array of shape (n_folds, n_alphas)
    coef_, intercept_, n_iter_, sketch_size_, effective_dimension_
        Of the fit on all rows.

    Examples
    --------
    >>> from sparing import SketchedRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 40))
    >>> model = SketchedRidgeCV(alphas=[0.01, 1.0, 100.0]).fit(X, X[:, 0] + rng.standard_normal(50))
    >>> model.alpha_
    100.0
    """

    alphas: Any = (0.1, 1.0, 10.0)
    _: KW_ONLY
    cv: Any = None

    def fit(self, X, y, sample_weight=None) -> Self:
        """Choose a ridge, and fit to rows of X and one or several targets each."""
        X, y = self._validated(X, y)
        ridges = [checks.positive("alphas", alpha) for alpha in np.ravel(self.alphas).tolist()]
        if not ridges:
            raise ValueError("alphas is empty; pass at least one ridge to choose from.")
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        folds = check_cv(self.cv).split(X, y)
        self.cv_scores_ = np.array([self._scores(X, y, weights, ridges, *fold) for fold in folds])
        means = self.cv_scores_.mean(axis=0)
        self.alpha_, self.best_score_ = ridges[int(np.argmax(means))], float(means.max())
        return self._fit(X, y, weights, self.alpha_)

    def _scores(self, X, y, weights, ridges, train, test) -> list[float]:
        """R^2 of each ridge on the held-out rows."""
        parts = [None if weights is None else weights[part] for part in (train, test)]
        rows, targets, (means, target_means) = weighted_rows(X[train], y[train], parts[0], self.fit_intercept)
        scores = []
        for solution in solve_ridge_path(rows, targets, ridges, **self._options()):
            offset = target_means - (means @ solution.coef if means is not None else 0.0)
            scores.append(r2_score(y[test], X[test] @ solution.coef + offset, sample_weight=parts[1]))
        return scores
