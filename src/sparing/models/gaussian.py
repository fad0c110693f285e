"""What every model of cells returns: a linear predictor, and a Gaussian description of the attributes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from sparing.models.bases import Basis
from sparing.models.calibration import Calibration
from sparing.models.classes import Classes
from sparing.models.conditional import Conditional, FromKnown
from sparing.models.summary import Summary
from sparing.models.trees import BoostedTrees

ROWS_AT_ONCE = 10_000  # rows whose functions are computed at once, to bound memory


@dataclass(frozen=True, eq=False)
class Gaussian:
    r"""Means and covariance :math:`L L^T + \Psi` of some variables, given as a matrix or by a few factors.

    Parameters
    ----------
    means : array of shape (d,)
    loadings : array of shape (d, r)
        L; with r = 0 the variables are uncorrelated.
    noise : array of shape (d,)
        The diagonal of :math:`\Psi`.
    dense : array of shape (d, d), optional
        The covariance itself, instead of factors.

    Examples
    --------
    >>> Gaussian.of_factors([0.0, 0.0], [[1.0], [2.0]], [0.5, 0.5]).covariance.tolist()
    [[1.5, 2.0], [2.0, 4.5]]
    """

    means: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray
    dense: np.ndarray | None = None

    @classmethod
    def of_factors(cls, means, loadings, noise) -> Self:
        """A Gaussian with these loadings of common factors and this noise of each variable."""
        return cls(np.asarray(means, float), np.asarray(loadings, float), np.asarray(noise, float))

    @classmethod
    def of_covariance(cls, means, covariance) -> Self:
        """A Gaussian with this covariance matrix."""
        covariance = np.asarray(covariance, float)
        return cls(np.asarray(means, float), np.zeros((len(covariance), 0)), np.zeros(len(covariance)), covariance)

    @classmethod
    def uncorrelated(cls, means, variances) -> Self:
        """A Gaussian of uncorrelated variables."""
        return cls.of_factors(means, np.zeros((len(means), 0)), variances)

    @property
    def is_uncorrelated(self) -> bool:
        """Whether it was made without correlations."""
        return self.dense is None and self.loadings.shape[1] == 0

    @property
    def variances(self) -> np.ndarray:
        """The diagonal of the covariance."""
        if self.dense is not None:
            return np.diagonal(self.dense).copy()
        return np.sum(self.loadings**2, axis=1) + self.noise

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrix, computed from the factors if necessary."""
        if self.dense is not None:
            return self.dense
        return self.loadings @ self.loadings.T + np.diag(self.noise)

    def times(self, weights: np.ndarray) -> np.ndarray:
        """The covariance times some columns, without forming the matrix."""
        if self.dense is not None:
            return self.dense @ weights
        return self.loadings @ (self.loadings.T @ weights) + self.noise[:, None] * weights

    def variances_along(self, rows: sparse.csr_array) -> np.ndarray:
        """The variance of each linear combination of the variables; a sparse row holds its coefficients."""
        if self.dense is not None:
            return np.asarray(rows.multiply(rows @ self.dense).sum(axis=1)).ravel()
        return np.sum((rows @ self.loadings) ** 2, axis=1) + rows.power(2) @ self.noise

    def column(self, variable: int) -> np.ndarray:
        """The covariances of one variable with all others, without forming the matrix."""
        if self.dense is not None:
            return self.dense[variable].copy()
        column = np.zeros(len(self.means))
        for of_factor in self.loadings.T:  # one after another, as kernels/visits.py adds them
            column += of_factor * of_factor[variable]
        column[variable] += self.noise[variable]
        return column

    def blocks(self, variables: np.ndarray) -> np.ndarray:
        """The covariances among each row of an array of variables: (n, k) gives (n, k, k)."""
        if self.dense is not None:
            return self.dense[variables[:, :, None], variables[:, None, :]]
        found = np.zeros((*variables.shape, variables.shape[1]))
        for of_factor in self.loadings.T:
            found += of_factor[variables][:, :, None] * of_factor[variables][:, None, :]
        return found + self.noise[variables][:, :, None] * np.eye(variables.shape[1])

    def simulate(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Rows drawn from this distribution."""
        if self.dense is not None:
            root = np.linalg.cholesky(self.dense)
            return self.means + generator.standard_normal((n, len(root))) @ root.T
        rows = generator.standard_normal((n, self.loadings.shape[1])) @ self.loadings.T
        return self.means + rows + generator.standard_normal(rows.shape) * np.sqrt(self.noise)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A linear predictor of the targets, with a Gaussian description of the attributes.

    Parameters
    ----------
    weights : array of shape (d, n_outputs)
    intercept : array of shape (n_outputs,)
    residual_variance : array of shape (n_outputs,)
        The model's estimate of the variance that its predictions leave unexplained on whole rows.
    attributes : Gaussian
        Means and covariance of the attributes.
    calibration : Calibration
        Turns the variance that the Gaussian leaves unexplained into that of held-out errors.
    facts : dict
        Which model was chosen, among which candidates, and why.
    basis : Basis, optional
        The functions of columns that weights and Gaussian refer to, instead of the attributes themselves.
    trees : BoostedTrees, optional
        Trees whose predictions are averaged with those of the weights. Their share is ``trees_share``, or
        ``trees_share_in_part`` for rows with a missing value, to which trees have more to add.
    target_range : pair of arrays of shape (n_outputs,), optional
        The smallest and the largest target seen, if predictions of a regressor must stay within them.
    """

    weights: np.ndarray
    intercept: np.ndarray
    residual_variance: np.ndarray
    attributes: Gaussian
    calibration: Calibration
    facts: dict[str, Any] = field(default_factory=dict)
    basis: Basis | None = None
    trees: BoostedTrees | None = None
    trees_share: float = 0.0
    trees_share_in_part: float = 0.0
    target_range: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def is_linear(self) -> bool:
        """Whether predictions are linear in the attributes."""
        return self.basis is None and self.trees is None

    def predict(self, X) -> np.ndarray:
        """Predictions for rows, dense or sparse, whole or with NaN for missing values: (n, n_outputs)."""
        return self.from_known(X).means

    def from_known(self, X) -> FromKnown:
        """Predictions for rows known in part, and the covariances of outputs that missing values leave unexplained."""
        n, m = X.shape[0], self.intercept.size
        holes = _rows_with_holes(X)
        if not holes.any():
            return FromKnown(self._from_whole(X), np.zeros((n, m, m)))
        found = FromKnown(np.empty((n, m)), np.zeros((n, m, m)))
        found.means[~holes] = self._from_whole(X[~holes])
        for rows in np.array_split(np.flatnonzero(holes), -(-int(holes.sum()) // ROWS_AT_ONCE)):
            found.means[rows], found.unexplained[rows] = self._from_parts(_dense(X[rows]))
        return found

    def _from_whole(self, X) -> np.ndarray:
        if self.is_linear:
            return np.asarray(X @ self.weights) + self.intercept
        done = [self._curves(_dense(X[at : at + ROWS_AT_ONCE])) for at in range(0, X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate([np.zeros((0, self.intercept.size)), *done])

    def _curves(self, X: np.ndarray) -> np.ndarray:
        functions = X if self.basis is None else self.basis.functions(X)
        predictions = functions @ self.weights[: functions.shape[1]] + self.intercept  # there may be none
        return self.with_trees(predictions, X)

    def _from_parts(self, X: np.ndarray) -> FromKnown:
        """Predictions for rows with missing values; all functions of a column are known or missing together."""
        rows = X
        if self.basis is not None:
            missing = np.repeat(np.isnan(X), np.diff(self.basis.starts), axis=1)
            rows = np.where(missing, np.nan, self.basis.functions(X))
            if not rows.shape[1]:  # of no column were there enough looks: one function stands for none
                rows = np.full((len(X), 1), np.nan)
        means, unexplained = self.conditional(np.ascontiguousarray(rows))
        return FromKnown(self.with_trees(means + self.center, X), unexplained)

    def with_trees(self, predictions: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The predictions of weights or curves for these rows, averaged with those of trees if there are any."""
        if self.trees is None:
            return predictions
        missing = np.isnan(X)
        share = np.where(missing.any(axis=1), self.trees_share_in_part, self.trees_share)
        share[missing.all(axis=1)] = 0.0  # trees add nothing if nothing is known
        used = share > 0.0
        if used.any():
            predictions = predictions.copy()
            predictions[used] += share[used, None] * (self.trees.predict(X[used]) - predictions[used])
        return predictions

    @property
    def center(self) -> np.ndarray:
        """The prediction if nothing is known, without trees: the mean target."""
        return self.intercept + self.attributes.means @ self.weights

    @cached_property
    def conditional(self) -> Conditional:
        """The distribution of predictions given a part of a row."""
        return Conditional(self.attributes, self.weights)

    @cached_property
    def classes(self) -> Classes:
        """Class probabilities, if the targets are -1 and +1."""
        return Classes.of(self)

    def effect(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Some values of a column, and what the column adds to the prediction at these values, without trees.

        It is linear between them, and constant outside unless the model is linear.
        """
        if self.basis is None:
            values = self.attributes.means[column] + np.array([-2.0, 0.0, 2.0]) * self.spreads[column]
            return values, (values - self.attributes.means[column])[:, None] * self.weights[column]
        functions = self.basis.columns[column]
        here = slice(*self.basis.starts[column : column + 2])
        return functions.knots, functions.values @ self.weights[here]

    @property
    def spreads(self) -> np.ndarray:
        """Standard deviations of the attributes, or of their functions."""
        return np.sqrt(self.attributes.variances)

    @property
    def importance(self) -> np.ndarray:
        """The standard deviation of what each column adds to the predictions, without trees: (d, n_outputs)."""
        if self.basis is None:
            return np.abs(self.weights) * self.spreads[:, None]
        spreads = np.concatenate([column.spreads for column in self.basis.columns])
        added = (self.weights[: spreads.size] * spreads[:, None]) ** 2
        squares = np.concatenate([np.zeros((1, self.intercept.size)), np.cumsum(added, axis=0)])
        return np.sqrt(np.maximum(np.diff(squares[self.basis.starts], axis=0), 0.0))


def _dense(X) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _rows_with_holes(X) -> np.ndarray:
    """Which rows hold NaN."""
    if hasattr(X, "toarray"):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[np.isnan(X.data)], minlength=X.shape[0]) > 0
    return np.isnan(X).any(axis=1)


class Candidate(NamedTuple):
    """The weights under one setting of a model, and the Gaussian that they follow from, computed on demand."""

    setting: str
    weights: np.ndarray
    attributes: Callable[[], Gaussian]


def fitted_model(
    summary: Summary, weights: np.ndarray, source: Candidate, facts: dict[str, Any], basis: Basis | None = None
) -> FittedModel:
    r"""A model with these weights, which may be an average over candidates, and the Gaussian of one candidate.

    With :math:`c = \Sigma w_0` for the candidate's own weights :math:`w_0`, the residual variance is
    :math:`\sigma_y^2 - 2 c^T w + w^T \Sigma w`.
    """
    attributes = source.attributes()
    explained = np.sum(weights * attributes.times(2.0 * source.weights - weights), axis=0)
    residual = np.maximum(summary.target_variances - explained, 0.0)
    intercept = summary.target_means - summary.means @ weights
    believed = Calibration.of_nothing(summary.target_variances)
    return FittedModel(weights, intercept, residual, attributes, believed, facts, basis)
