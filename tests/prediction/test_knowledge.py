"""Look by look is the same as all at once: against the batch form, explicit inverses and scikit-learn-free formulas."""

import numpy as np
import pytest

from sparing.models.calibration import Calibration
from sparing.models.gaussian import FittedModel, Gaussian
from sparing.prediction.knowledge import Knowledge

D, OUTPUTS = 8, 2
RNG = np.random.default_rng(11)
MEANS, WEIGHTS = RNG.standard_normal(D), RNG.standard_normal((D, OUTPUTS))
FACTORS = Gaussian.of_factors(MEANS, RNG.standard_normal((D, 3)), RNG.uniform(0.2, 1.0, D))
FORMS = {"factors": FACTORS, "dense": Gaussian.of_covariance(MEANS, FACTORS.covariance)}


def gains(known, variables):
    """What looks at each row of variables would explain of the outputs' covariances."""
    outputs = known.outputs_of(variables)
    return np.swapaxes(outputs, 1, 2) @ outputs


def fitted(gaussian):
    ones = np.ones(OUTPUTS)
    return FittedModel(WEIGHTS, np.array([0.5, -1.0]), ones, gaussian, Calibration(10 * ones, 1.0, ones))


@pytest.fixture(params=FORMS.values(), ids=list(FORMS))
def model(request):
    return fitted(request.param)


def test_the_running_form_agrees_with_the_batch_form(model):
    looks, X = (5, 0, 3, 7), RNG.standard_normal((6, D))
    known = Knowledge.of_nothing(model).after(looks)
    distances = known.distances(np.zeros((6, 0)), X[:, looks])
    seen = np.full((6, D), np.nan)
    seen[:, looks] = X[:, looks]
    expected = model.from_known(seen)
    np.testing.assert_allclose(known.predictions(distances), expected.means, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(known.unexplained, expected.unexplained[0], rtol=1e-10, atol=1e-10)


def test_what_is_left_of_variances_and_covariances_is_that_of_inverses(model):
    S, looks = model.attributes.covariance, [2, 6]
    known = Knowledge.of_nothing(model).after(looks)
    left = S - S[:, looks] @ np.linalg.inv(S[np.ix_(looks, looks)]) @ S[looks]
    np.testing.assert_allclose(known.variances, left.diagonal(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(known.with_outputs, left @ WEIGHTS, rtol=1e-10, atol=1e-10)


def test_looks_share_their_rows_and_never_spoil_those_of_others(model):
    """Memory is O(d) per look along a chain; whoever goes another way from a shared stage gets rows of their own."""
    first = Knowledge.of_nothing(model).after([4])
    one, other = first.after([1, 6]), first.after([2, 0, 7])
    assert one.room is first.room is not other.room
    for known in (one, other, one.after([3, 5, 2]), one):
        alone = Knowledge.of_nothing(model).after(known.looks)
        np.testing.assert_array_equal(known.rows, alone.rows)
        np.testing.assert_array_equal(known.outputs, alone.outputs)


def test_the_gain_of_a_panel_is_the_chain_of_its_members(model):
    known = Knowledge.of_nothing(model).after([4])
    panels = np.array([[0, 1, 2], [7, 3, 5]])
    for panel, gain in zip(panels, gains(known, panels), strict=True):
        chain, now = np.zeros((OUTPUTS, OUTPUTS)), known
        for variable in panel:
            chain += gains(now, np.array([[variable]]))[0]
            now = now.after([variable])
        np.testing.assert_allclose(gain, chain, rtol=1e-8)
        np.testing.assert_allclose(gain, known.unexplained - now.unexplained, rtol=1e-8, atol=1e-9)


def test_a_variable_that_others_determine_adds_nothing():
    S = np.array([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    gaussian, ones = Gaussian.of_covariance(np.zeros(3), S), np.ones(1)
    model = FittedModel(np.ones((3, 1)), 0 * ones, ones, gaussian, Calibration(9 * ones, 1.0, ones))
    known = Knowledge.of_nothing(model).after([0])
    assert gains(known, np.array([[1], [2]]))[0] == 0.0
    again = known.after([1])
    np.testing.assert_allclose(again.unexplained, known.unexplained)
    assert np.isfinite(again.distances(np.zeros((1, 0)), np.array([[1.0, 1.0]]))).all()
