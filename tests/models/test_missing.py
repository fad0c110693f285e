"""Means under holes that no design made: by explicit EM, and against the truth where holes follow what is seen."""

import numpy as np
import pytest

from sparing.cells import Cells
from sparing.learners import AutoLearner
from sparing.models.bases import Kind, learn_basis
from sparing.models.calibration import Calibration
from sparing.models.gaussian import FittedModel, Gaussian
from sparing.models.missing import ITERATIONS, with_conditional_means
from sparing.models.selection import affordable_families, select

D = 4


def correlated(n, seed=0):
    """Rows of which the first attribute is always seen, and others mostly where it is small; with two targets."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((D, D))
    X = rng.standard_normal((n, D)) @ root + 5.0
    Y = X @ rng.standard_normal((D, 2)) + rng.standard_normal((n, 2))
    holes = rng.logistic(size=X.shape) + 3.0 * (X[:, :1] - 5.0) / X[:, 0].std() > 1.0
    holes[:, 0] = False
    return np.where(holes, np.nan, X), Y, X


def cells_of(X, Y):
    cells = Cells(X.shape[1], n_outputs=Y.shape[1])
    for row, y in zip(X, Y, strict=True):
        seen = np.flatnonzero(np.isfinite(row))
        cells.append(seen, row[seen], y)
    return cells


def test_means_are_those_of_explicit_em():
    holes, Y, X = correlated(60)
    covariance = np.cov(X.T)
    weights, noise = np.arange(8.0).reshape(D, 2) / 4.0 - 1.0, np.array([1.0, 2.0])
    start = np.nanmean(holes, axis=0)
    known = Calibration(Y.var(axis=0), 1.0, noise)
    gaussian = Gaussian.of_covariance(start, covariance)
    model = FittedModel(weights, Y.mean(axis=0) - start @ weights, noise, gaussian, known)
    found = with_conditional_means(model, cells_of(holes, Y))
    cross = covariance @ weights
    joint = np.block([[covariance, cross], [cross.T, weights.T @ cross + np.diag(noise)]])
    rows, means = np.column_stack([holes, Y]), np.concatenate([start, Y.mean(axis=0)])
    for _ in range(ITERATIONS):
        completed = []
        for row in rows:
            seen = np.isfinite(row)
            inverse = np.linalg.inv(joint[np.ix_(seen, seen)])
            completed.append(means + joint[:, seen] @ inverse @ (row - means)[seen])
        means = np.mean(completed, axis=0)
    np.testing.assert_allclose(found.attributes.means, means[:D], rtol=1e-9)
    np.testing.assert_allclose(found.intercept, model.intercept - (means[:D] - start) @ weights, rtol=1e-9)


def test_whole_rows_leave_the_model_as_it_was():
    _, Y, X = correlated(200)
    learner = AutoLearner(D, budget=None, n_outputs=2).run(X, Y)
    plain = select(learner.bought.in_order(), affordable_families(learner.bought))
    np.testing.assert_allclose(learner.fitted.intercept, plain.intercept, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(learner.fitted.weights, plain.weights)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_holes_that_follow_what_is_seen_do_not_bias_predictions(seed):
    """Averages of what is seen are off by half a standard deviation of predictions; here it is under a tenth."""
    holes, Y, X = correlated(3000, seed)
    learner = AutoLearner(D, budget=None, n_outputs=2).run(holes, Y)
    biased = select(learner.bought.in_order(), affordable_families(learner.bought))
    errors = [abs((model.predict(X) - Y).mean(axis=0) / Y.std(axis=0)).max() for model in (learner.fitted, biased)]
    assert errors[0] < 0.1
    assert errors[0] < 0.5 * errors[1]


def test_functions_of_columns_have_means_too():
    holes, Y, X = correlated(800)
    cells = cells_of(holes, Y[:, :1])
    basis = learn_basis(Kind("winsorized", 1), cells)
    functions = basis.functions(X)
    gaussian = Gaussian.of_covariance(np.zeros(basis.size), np.cov(functions.T))
    weights = np.ones((basis.size, 1))
    known = Calibration(Y[:, :1].var(axis=0), 1.0, np.ones(1))
    model = FittedModel(weights, np.zeros(1), np.ones(1), gaussian, known, basis=basis)
    found = with_conditional_means(model, cells)
    before = np.abs(functions.mean(axis=0)).max()
    assert np.abs(functions.mean(axis=0) - found.attributes.means).max() < 0.5 * before


def test_of_nothing_there_is_nothing_to_condition_on():
    learner = AutoLearner(3, budget=None).run(np.full((20, 3), np.nan), np.arange(20.0))
    assert learner.intercept == pytest.approx(9.5)
