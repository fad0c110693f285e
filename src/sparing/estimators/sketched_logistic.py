"""Logistic regression whose speed does not depend on the conditioning of the data."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sparing import checks
from sparing.estimators.labels import LinearClassifier
from sparing.estimators.sketched import SketchedEstimator
from sparing.linalg.rows import Rows
from sparing.solvers import solve_smooth
from sparing.solvers.smooth_losses import LogisticLoss, MultinomialLoss


@dataclass(eq=False, repr=False)
class SketchedLogistic(LinearClassifier, SketchedEstimator):
    r"""Logistic regression, :math:`\min_w \sum_i \log(1 + e^{-y_i w \cdot x_i}) + \tfrac\alpha2 \|w\|^2`.

    Gives the solution of scikit-learn's ``LogisticRegression`` with the same ``C``: one weight vector for two classes,
    one per class (multinomial) for more. It starts with L-BFGS and continues with Newton steps by conjugate gradients,
    preconditioned by a sketch of the rows if the data are ill-conditioned.

    Parameters
    ----------
    alpha : float, optional
        The ridge, above zero; 1 if neither it nor ``C`` is given.
    C : float, optional
        Its inverse, as in scikit-learn: ``C=0.1`` is ``alpha=10``. Give one of the two.
    fit_intercept : bool
        Whether to fit unpenalised intercepts.
    solver : {"auto", "sketch", "cholesky", "cg"}
        See :func:`sparing.solvers.solve_smooth`.
    radius : float, optional
        The constraint :math:`\|w\| \le B`.
    tol : float
        Relative tolerance on the excess of the objective over its minimum.
    max_iter : int
        Maximum number of steps, of which at most half are L-BFGS.
    random_state : int, RandomState or None
        Seed of the sketch.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, n_features) and (1,) for two classes, else with one row per class
    classes_ : array
    n_iter_ : int
        Number of L-BFGS and Newton steps.
    sketch_size_ : int
        Rows of the sketch; 0 if none was needed.
    effective_dimension_ : float or None
        That of the rows times the square root of their curvature when the sketch was made; None without one.

    Examples
    --------
    >>> from sparing import SketchedLogistic
    >>> model = SketchedLogistic(C=1.0).fit([[1.0], [2.0], [-1.0], [-2.0]], ["up", "up", "down", "down"])
    >>> model.predict([[0.5]]).tolist(), model.coef_.round(3).tolist()
    (['up'], [[1.007]])
    """

    alpha: float | None = None
    _: KW_ONLY
    C: float | None = None
    fit_intercept: bool = True
    solver: str = "auto"
    radius: Any = None
    tol: float = 1e-6
    max_iter: int = 200
    random_state: Any = None

    def fit(self, X, y, sample_weight=None) -> Self:
        """Fit to rows of X and their classes."""
        ridge = self._ridge()
        checks.boolean("fit_intercept", self.fit_intercept)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if len(present := np.unique(codes[weights > 0])) < 2:
            raise ValueError(
                f"the examples of positive weight are of one class only, {self.classes_[present[0]]}; pass two classes "
                "or more."
            )
        m = len(self.classes_)
        loss = LogisticLoss(2.0 * codes - 1.0, weights) if m == 2 else MultinomialLoss(codes, m, weights)
        means = np.asarray(X.T @ weights) / weights.sum() if self.fit_intercept else None
        names = ("fit_intercept", "radius", "tol", "max_iter", "random_state")
        options = {name: getattr(self, name) for name in names}
        rows = Rows(X, shift=means)
        solution = solve_smooth(rows, loss, ridge, n_outputs=1 if m == 2 else m, method=self.solver, **options)
        self._report(solution, "or scale the columns of X")
        self.coef_ = solution.coef[:-1].T
        self.intercept_ = solution.coef[-1] - (self.coef_ @ means if means is not None else 0.0)
        return self

    def _ridge(self) -> float:
        """The ridge that alpha or C stands for."""
        if self.C is None:
            return checks.positive("alpha", 1.0 if self.alpha is None else self.alpha)
        if self.alpha is not None:
            raise ValueError(f"got alpha={self.alpha!r} and C={self.C!r}; they are inverses: pass one of the two.")
        return 1 / checks.positive("C", self.C)

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities, with one column per class in the order of ``classes_``."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else softmax(scores, axis=1)
