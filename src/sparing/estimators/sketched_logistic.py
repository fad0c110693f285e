"""Logistic regression that is not slowed down by ill-conditioned data."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sparing import checks
from sparing.estimators.sketched_ridge import warn_unless_converged
from sparing.linalg.rows import Rows
from sparing.solvers import solve_smooth
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss


class SketchedLogistic(ClassifierMixin, BaseEstimator):
    r"""Logistic regression, :math:`\min_w \sum_i \log(1 + e^{-y_i w \cdot x_i}) + \tfrac\alpha2 \|w\|^2`.

    Gives what scikit-learn's ``LogisticRegression`` gives with ``C = 1/alpha``: one weight vector for two classes,
    one for each class (multinomial) for more. Some steps of L-BFGS, as there; then Newton steps by conjugate gradients,
    which a sketch of the rows preconditions as soon as the data turn out to be ill-conditioned.

    Parameters
    ----------
    alpha : float
        The ridge, above zero.
    fit_intercept : bool
        Whether to fit intercepts, on which there is no penalty.
    solver : {"auto", "sketch", "cholesky", "cg"}
        See :func:`sparing.solvers.solve_smooth`.
    radius : float, optional
        The constraint :math:`\|w\| \le B`.
    tol : float
        How far the objective may be above its minimum, relative to it.
    max_iter : int
        Steps at most, half of them by L-BFGS.
    random_state : int, RandomState or None
        For the sketch.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, n_features) and (1,) for two classes, else with one row a class
    classes_ : array
    n_iter_ : int
        Steps of L-BFGS and of Newton's method.
    sketch_size_ : int
        Rows of the sketch; 0 if none was needed.
    effective_dimension_ : float or None
        Of the rows times the root of their curvature where the sketch was made; None without one.

    Examples
    --------
    >>> from sparing import SketchedLogistic
    >>> model = SketchedLogistic(alpha=1.0).fit([[1.0], [2.0], [-1.0], [-2.0]], ["up", "up", "down", "down"])
    >>> model.predict([[0.5]]).tolist(), model.coef_.round(3).tolist()
    (['up'], [[1.007]])
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        solver="auto",
        radius=None,
        tol=1e-6,
        max_iter=200,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.radius = radius
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit to rows of X and the class of each."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if len(present := np.unique(codes[weights > 0])) < 2:
            raise ValueError(
                f"the examples that count are of one class only, {self.classes_[present[0]]}; pass two classes or more."
            )
        binary = len(self.classes_) == 2
        loss = (
            LogisticLoss(2.0 * codes - 1.0, weights) if binary else MultinomialLoss(codes, len(self.classes_), weights)
        )
        means = np.asarray(X.T @ weights) / weights.sum() if self.fit_intercept else None
        options = {"fit_intercept": self.fit_intercept, "radius": self.radius, "tol": self.tol}
        solution = solve_smooth(
            Rows(X, shift=means),
            loss,
            checks.positive("alpha", self.alpha),
            n_outputs=1 if binary else len(self.classes_),
            method=self.solver,
            max_iter=self.max_iter,
            random_state=self.random_state,
            **options,
        )
        warn_unless_converged(solution, self.tol, "or scale the columns of X")
        self.coef_ = solution.coef[:-1].T
        self.intercept_ = solution.coef[-1] - (self.coef_ @ means if means is not None else 0.0)
        self.n_iter_ = solution.iterations
        self.sketch_size_ = solution.sketch_size
        self.effective_dimension_ = solution.effective_dimension
        return self

    def decision_function(self, X):
        """Scores: above zero for the second of two classes, else the largest is that of the class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The likeliest class of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X):
        """One column a class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else softmax(scores, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
