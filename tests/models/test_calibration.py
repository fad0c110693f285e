"""Slope and explained share of a model's predictions, against least squares on whole rows."""

from dataclasses import replace

import numpy as np
import pytest

from sparing.cells import Cells
from sparing.models import pairwise
from sparing.models.calibration import calibrate

RNG = np.random.default_rng(0)
N, D = 4000, 5
X = RNG.standard_normal((N, 2)) @ RNG.standard_normal((2, D)) + 0.6 * RNG.standard_normal((N, D))
Y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 1.5 * RNG.standard_normal(N)


def store(looks):
    cells = Cells(D)
    for row, y in zip(X, Y, strict=True):
        seen = np.sort(RNG.choice(D, looks, replace=False))
        cells.append(seen, row[seen], y, probabilities=looks / D)
    return cells


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
def test_of_whole_rows_it_is_what_least_squares_says(factor):
    """Whatever the length of the weights: the slope makes up for it."""
    cells = store(D)
    fitted = pairwise.given_model(cells, "ridge", 1e-9)
    found = calibrate(cells, replace(fitted, weights=factor * fitted.weights))
    predictions = X @ fitted.weights[:, 0] * factor
    slope = np.cov(predictions, Y)[0, 1] / predictions.var(ddof=1)
    assert found.slope[0] == pytest.approx(slope, rel=1e-3)  # sure to 1 - 1/n
    assert found.explained[0] == pytest.approx(np.corrcoef(predictions, Y)[0, 1] ** 2, rel=1e-3)


def test_a_model_whose_own_covariance_is_wrong_is_corrected_by_the_cells():
    """Attributes are taken for uncorrelated, and of another variance."""
    cells = store(3)
    fitted = pairwise.given_model(cells, "ridge", 0.01)
    wrong = replace(fitted, attributes=replace(fitted.attributes, dense=np.eye(D) * 0.5))
    predictions = X @ fitted.weights[:, 0]
    found = calibrate(cells, wrong)
    assert found.slope[0] == pytest.approx(np.cov(predictions, Y)[0, 1] / predictions.var(), rel=0.1)
    assert found.explained[0] == pytest.approx(np.corrcoef(predictions, Y)[0, 1] ** 2, rel=0.1)


def test_a_risk_that_was_estimated_from_held_out_examples_bounds_what_is_explained():
    cells = store(D)
    fitted = pairwise.given_model(cells, "ridge", 1e-9)
    sober = replace(fitted, facts={"risk": 0.9, "risk_error": 0.02})
    found, before = calibrate(cells, sober), calibrate(cells, fitted)
    predicted = before.explained / before.slope**2  # of the target's variance
    assert 2 * found.slope * predicted - predicted == pytest.approx(1.0 - 0.88)  # what these weights leave is r
    assert found.explained < before.explained


def test_no_weights_explain_nothing():
    fitted = pairwise.given_model(store(3), "ridge", 1.0)
    found = calibrate(store(3), replace(fitted, weights=0.0 * fitted.weights))
    assert (found.slope[0], found.explained[0]) == (0.0, 0.0)
