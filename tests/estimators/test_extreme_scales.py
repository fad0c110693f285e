"""Units do not matter to online learners; sizes that cannot be squared are refused, in words."""

import numpy as np
import pytest

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.learners import AELR, AERR

D, N = 8, 300
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = X @ np.arange(1.0, D + 1) + 3.0
every_regressor = pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR])


def make(cls, **options):
    return cls(4, learner="online", random_state=0, **options)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso])
@pytest.mark.parametrize("options", [{}, {"step_size": "theory"}, {"step_size": "adagrad"}, {"design": "uniform"}])
def test_powers_of_two_change_nothing(cls, options):
    plain = make(cls, **options).fit(X, Y)
    assert np.abs(plain.coef_).max() > 0.05
    units = 2.0 ** np.array([10, -10, 40, -40, 0, 3, 100, -100])
    for of_y in (1024.0, 2.0**-60, 2.0**200):
        scaled = make(cls, **options).fit(X * units, Y * of_y)
        np.testing.assert_array_equal(scaled.coef_ * units / of_y, plain.coef_)
        assert scaled.intercept_ / of_y == plain.intercept_


@every_regressor
@pytest.mark.parametrize(
    ("of_x", "of_y", "message"),
    [
        (
            1e200,
            1.0,
            r"attribute 0 has values of about \de\+200, which cannot be squared; rescale it to between 1e-140",
        ),
        (1e-200, 1.0, r"attribute 0 has values of about \de-200, which cannot be squared"),
        (1.0, 1e150, r"output 0 has values of about \de\+151, which cannot be squared; .* and 1e\+75"),
        (1.0, 1e200, r"output 0 has values of about \de\+201"),
        (1.0, 1e-200, r"output 0 has values of about \de-199"),
    ],
)
def test_sizes_that_cannot_be_squared_are_refused(cls, of_x, of_y, message):
    """Without a warning, which the tests turn into errors; and what came before is as it was."""
    with pytest.raises(ValueError, match=message):
        make(cls).fit(X * of_x, Y * of_y)
    begun = X[:5] * min(of_x, 1.0), Y[:5] * min(of_y, 1.0)  # within the pilot
    model = make(cls, n_examples=N).partial_fit(*begun)
    before = model.cells_, model.n_iter_
    with pytest.raises(ValueError, match="cannot be squared"):
        model.partial_fit(X * of_x, Y * of_y)
    assert (model.cells_, model.n_iter_) == before
    again = make(cls, n_examples=N).partial_fit(*begun)
    np.testing.assert_array_equal(model.partial_fit(X, Y).coef_, again.partial_fit(X, Y).coef_)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR, BudgetClassifier])
def test_a_vanishing_column_beside_others_is_as_good_as_zero(cls):
    rows = X * np.where(np.arange(D) == 2, 1e-200, 1.0)
    y = Y > 3.0 if cls is BudgetClassifier else Y
    model = make(cls).fit(rows, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(rows, y) > 0.2


@pytest.mark.parametrize("cls", [AERR, AELR])
@pytest.mark.parametrize(("of_x", "of_y"), [(1.0, 1e150), (1e200, 1.0)])
def test_learners_say_when_they_take_no_step(cls, of_x, of_y):
    learner = cls(D, budget=4, radius=1.0, step_size="adaptive")
    with pytest.warns(RuntimeWarning, match=r"gradients in 300 examples were 1e\+100 or larger, .* Rescale X or y"):
        learner.run(X * of_x, Y * of_y)
    assert np.isfinite(learner.coef).all()
