"""Extreme units: powers of two change no bit of a model, and values times 1e200 are learnt like the values."""

import warnings
from functools import cache

import numpy as np
import pytest

from planted_cells import planted
from sparing import BudgetLasso, BudgetRidge
from sparing.cells import Cells
from sparing.learners import PairwiseMoments
from sparing.models.scaling import EXTREME, extreme_units, in_moderate_units

X, Y = planted(150, d=6)
Y = Y + np.abs(X[:, 0] - X[:, 0].mean())
MODELS = {
    "auto": BudgetRidge(3, random_state=0),
    "curves": BudgetRidge(3, features="additive", random_state=0),
    "lines": BudgetRidge(3, features="linear", random_state=0),
    "lasso": BudgetLasso(3, random_state=0),
    "pairwise": BudgetRidge(3, learner="pairwise", random_state=0),
    "factor": BudgetRidge(3, learner="factor", random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS)


@cache
def plain(model):
    """Predictions from values in ordinary units."""
    return MODELS[model].fit(X, Y).predict(X)


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@every_model
@pytest.mark.parametrize(("x", "y"), [(10, -10), (700, 0), (-700, -700)])
def test_powers_of_two_change_no_bit(model, x, y):
    scaled = MODELS[model].fit(np.ldexp(X, x), np.ldexp(Y, y)).predict(np.ldexp(X, x))
    np.testing.assert_array_equal(np.ldexp(scaled, -y), plain(model))


@every_model
@pytest.mark.parametrize(("x", "y"), [(1e200, 1.0), (1e-200, 1e-200), (1.0, 1e200)])
def test_extreme_units_are_only_units(model, x, y):
    scaled = MODELS[model].fit(X * x, Y * y).predict(X * x)
    np.testing.assert_allclose(scaled / y, plain(model), rtol=1e-6, atol=1e-6)


def test_one_extreme_column_leaves_the_others_alone():
    model = MODELS["lines"].fit(X, Y)
    ordinary, units = model.coef_, np.array([0, 0, 900, 0, -900, 0])
    np.testing.assert_array_equal(np.ldexp(model.fit(np.ldexp(X, units), Y).coef_, units), ordinary)


def test_what_is_described_is_in_the_units_of_the_data():
    ordinary, scaled = (MODELS["lines"].fit(np.ldexp(X, e), np.ldexp(Y, e)).learner_.fitted for e in (0, 300))
    np.testing.assert_array_equal(np.ldexp(scaled.attributes.means, -300), ordinary.attributes.means)
    np.testing.assert_array_equal(np.ldexp(scaled.attributes.covariance, -600), ordinary.attributes.covariance)
    np.testing.assert_array_equal(np.ldexp(scaled.residual_variance, -600), ordinary.residual_variance)
    huge = MODELS["lines"].fit(np.ldexp(X, 700), Y).learner_.fitted
    assert np.isinf(huge.attributes.variances).all()  # beyond what a number can hold


def test_the_effect_of_a_column_is_in_its_own_unit():
    model, bent = BudgetRidge(6, features="additive", random_state=0), np.abs(X[:, 0] - X[:, 0].mean())
    ordinary = model.fit(X, bent).effect(0)
    scaled = model.fit(np.ldexp(X, 700), np.ldexp(bent, 500)).effect(0)
    assert ordinary[0].size > 3  # a curve, not a line
    for ours, theirs, unit in zip(ordinary, scaled, (700, 500), strict=True):
        np.testing.assert_array_equal(np.ldexp(theirs, -unit), ours)


def test_only_extreme_units_are_taken_out():
    cells = Cells(3)
    cells.append([0, 1, 2], [3.0, -(2.0**700), 2.0**-800], 1e-300)
    units = extreme_units(cells)
    assert units.attributes.tolist() == [0, 701, -799]
    moderate = in_moderate_units(cells, units)
    assert moderate.values.tolist() == [3.0, -0.5, 0.5]
    assert 0.5 <= moderate.targets[0, 0] < 1.0
    assert cells.values[1] == -(2.0**700)
    cells = Cells(2)
    cells.append([0, 1], [0.0, np.ldexp(0.9, EXTREME)], 0.0)
    assert not extreme_units(cells).any


def test_a_ridge_in_the_attributes_own_units_is_refused_there():
    learner = PairwiseMoments(6, budget=3, ridge=1.0).run(X * 1e200, Y)
    with pytest.raises(ValueError, match="too large or small to be squared"):
        _ = learner.coef
