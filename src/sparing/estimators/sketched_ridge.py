"""Ridge regression whose cost scales with the effective dimension of the data."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sparing import checks
from sparing.estimators.sketched import SketchedEstimator
from sparing.linalg.products import times
from sparing.linalg.rows import Rows
from sparing.solvers import solve_ridge
from sparing.types import Solution


@dataclass(eq=False, repr=False, kw_only=True)
class SketchedLeastSquares(MultiOutputMixin, RegressorMixin, SketchedEstimator):
    """What ridge regression with a given and with a chosen ridge share."""

    fit_intercept: bool = True
    solver: str = "auto"
    sketch: str = "auto"
    radius: Any = None
    tol: float = 1e-8
    max_iter: int = 1000
    random_state: Any = None

    def _validated(self, X, y):
        checks.refuse_huge_targets(y)
        checks.boolean("fit_intercept", self.fit_intercept)
        kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        return validate_data(self, X, y, multi_output=True, y_numeric=True, **kinds)

    def _fit(self, X, y, sample_weight, alpha: float):
        rows, targets, self._centre = weighted_rows(X, y, sample_weight, self.fit_intercept)
        self._publish(solve_ridge(rows, targets, alpha, **self._options()))
        return self

    def _options(self) -> dict[str, Any]:
        """Keywords of the solver."""
        options = {name: getattr(self, name) for name in ("sketch", "radius", "tol", "max_iter", "random_state")}
        return {"method": self.solver, **options}

    def _publish(self, solution: Solution) -> None:
        """Set the fitted attributes."""
        single = solution.coef.dtype == np.float32
        self._report(solution, "or pass X as float64" if single else "or pass solver='cholesky'")
        means, target_means = self._centre
        self.coef_ = solution.coef.T
        self.intercept_ = target_means - self.coef_ @ means if self.fit_intercept else 0.0

    def predict(self, X) -> np.ndarray:
        """Predictions for rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


@dataclass(eq=False, repr=False)
class SketchedRidge(SketchedLeastSquares):
    r"""Ridge regression, :math:`\min_w \|y - Xw\|^2 + \alpha \|w\|^2`, preconditioned by a sketch of the rows.

    Gives the solution of scikit-learn's ``Ridge``, faster where the effective dimension
    :math:`d_\alpha = \sum_i \lambda_i/(\lambda_i + \alpha)` is small compared with the numbers of rows and columns,
    where :math:`\lambda_i` are the eigenvalues of :math:`X^T X`, however ill-conditioned X is. Elsewhere
    ``solver="auto"`` uses a Cholesky factor, like ``Ridge``, or plain conjugate gradients.

    Parameters
    ----------
    alpha : float
        The ridge, above zero.
    fit_intercept : bool
        Whether to fit an unpenalised intercept. X is centred without a copy, sparse or not.
    solver : {"auto", "sketch", "cholesky", "cg"}
        See :func:`sparing.solvers.solve_ridge`.
    sketch : {"auto", "leverage", "uniform", "srht"}
        The kind of sketch: rows sampled by leverage, rows sampled uniformly, or random combinations of all rows. "auto"
        uses combinations for dense X if few rows have high leverage, else leverage.
    radius : float, optional
        The constraint :math:`\|w\| \le B`.
    tol : float
        Relative tolerance on the excess of the objective over its minimum.
    max_iter : int
        Maximum number of conjugate gradient steps.
    random_state : int, RandomState or None
        Seed of the sketch. Results for different seeds agree within ``tol``.

    Attributes
    ----------
    coef_, intercept_ : array, float or array
    n_iter_ : int
        Conjugate gradient steps; each reads X twice.
    sketch_size_ : int
        Rows of the sketch; 0 if none was needed.
    effective_dimension_ : float or None
        An estimate of :math:`d_\alpha`: about 5 % too high with a sketch (at most 15 % in the tests), accurate to a
        few per cent with a Cholesky factor, exact up to 256 columns; None if plain steps sufficed.

    Examples
    --------
    >>> from sparing import SketchedRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 600)) / np.arange(1, 601)
    >>> model = SketchedRidge(alpha=1.0, random_state=0).fit(X, X[:, 0] + 3.0)
    >>> round(float(model.intercept_), 3), model.sketch_size_ < 600, model.n_iter_ < 40
    (3.0, True, True)
    """

    alpha: float = 1.0

    def fit(self, X, y, sample_weight=None) -> Self:
        """Fit to rows of X and one or several targets each."""
        X, y = self._validated(X, y)
        return self._fit(X, y, sample_weight, checks.positive("alpha", self.alpha))


def weighted_rows(X, y, sample_weight, centre: bool) -> tuple[Rows, np.ndarray, tuple]:
    """Weighted and centred rows and targets, and the means that were subtracted."""
    y = y.astype(X.dtype, copy=False)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
    means, target_means = None, np.zeros(y.shape[1:], dtype=X.dtype)
    if centre:
        shares = np.full(len(y), 1 / len(y), X.dtype) if sample_weight is None else sample_weight / sample_weight.sum()
        means, target_means = times(X.T, shares[:, None])[:, 0], y.T @ shares
    scale = None if sample_weight is None else np.sqrt(sample_weight)
    targets = y - target_means
    if scale is not None:
        targets = (targets.T * scale).T
    return Rows(X, scale=scale, shift=means), targets, (means, target_means)
