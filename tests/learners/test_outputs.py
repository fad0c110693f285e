"""Several outputs at once share the looks and nothing else: the units of one do not matter to another."""

import numpy as np
import pytest

from learner_cases import ONLINE, D, N, X, Y, label, make
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.learners import AER, OnlineLasso, OnlineRidge, TwoPhasedDDAERR

UNITS = np.array([1.0, 1e6, 1e-6])
TARGETS = np.column_stack([Y, X @ np.linspace(-1.0, 1.0, D), X[:, 0] - X[:, 3] + 2.0])
NO_UNITS = (
    "AELSVR",
    "AESVR",
    "AnalyticLearner",
    "PlugInSVR",
)  # whose loss has a tube or a scale in the units of the target
every_squared_loss = pytest.mark.parametrize(
    "case", [case for case in ONLINE if case[0].__name__ not in NO_UNITS], ids=label
)


def assert_equal_by_output(left, right):
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9 * np.abs(other).max())


@every_squared_loss
def test_units_of_an_output_change_only_its_own(case):
    """With the radius in the units of each output, all of them scale, whatever the step size."""
    radii = np.array([3.0, 2.0, 1.0])
    plain = make(case, n_outputs=3, radius=radii).run(X, TARGETS)
    scaled = make(case, n_outputs=3, radius=radii * UNITS).run(X, TARGETS * UNITS)
    assert (np.abs(plain.coef).max(axis=1) > 0).all()
    assert_equal_by_output(scaled.coef / UNITS[:, None], plain.coef)
    assert_equal_by_output(np.atleast_1d(scaled.intercept) / UNITS, np.atleast_1d(plain.intercept))


@pytest.mark.parametrize("cls", [OnlineRidge, OnlineLasso])
@pytest.mark.parametrize("more", [{}, {"step_size": "adaptive"}, {"step_size": "adagrad"}])
def test_with_whole_rows_each_output_is_learnt_as_if_alone(cls, more):
    """There the looks are the same for all, so nothing is left that they could share."""
    options = {"n_examples": N, "center": True} | more
    together = cls(D, n_outputs=3, radius=[3.0, 2.0, 1.0], **options).run(X, TARGETS)
    alone = [cls(D, radius=B, **options).run(X, y) for B, y in zip((3.0, 2.0, 1.0), TARGETS.T, strict=True)]
    assert_equal_by_output(together.coef, [learner.coef for learner in alone])


@every_squared_loss
def test_every_output_stays_in_its_own_ball(case):
    """The output of the widest ball fills it; the others are not squeezed by it."""
    radii = np.array([0.5, 0.05, 0.005])
    learner = make(case, n_outputs=3, radius=radii, **({} if case[0] is AER else {"step_scale": 50.0})).run(X, TARGETS)
    scale = 1.0 if learner.scale is None else learner.scale
    norms = np.linalg.norm(learner.last_coef * scale, 2 if learner.penalty == "ridge" else 1, axis=1)
    assert (norms <= radii * (1 + 1e-9)).all()
    assert (norms > 0.2 * radii).all()


def test_a_radius_per_output_is_saved_and_bad_ones_are_refused():
    learner = TwoPhasedDDAERR(D, budget=4, radius=[1.0, 2.0], n_outputs=2, n_examples=N).run(X[:50], TARGETS[:50, :2])
    again = TwoPhasedDDAERR.from_state(learner.state())
    for each in (learner, again):
        each.run(X[50:], TARGETS[50:, :2])
    np.testing.assert_array_equal(again.coef, learner.coef)
    for wrong in ([1.0], [1.0, -2.0], [1.0, np.nan], np.ones((2, 1))):
        with pytest.raises(ValueError, match="one for each of the 2 outputs"):
            TwoPhasedDDAERR(D, budget=4, radius=wrong, n_outputs=2)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso])
@pytest.mark.parametrize("step_size", ["auto", "theory", "adagrad"])
@pytest.mark.parametrize("design", ["uniform", "two-phase"])
def test_online_estimators_predict_each_output_in_its_units(cls, step_size, design):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, D))
    targets = rows @ rng.standard_normal((D, 3)) + [0.0, 5.0, -5.0]
    options = {"learner": "online", "step_size": step_size, "design": design, "random_state": 0}
    plain = cls(4, **options).fit(rows, targets).predict(rows)
    scaled = cls(4, **options).fit(rows, targets * UNITS).predict(rows)
    assert_equal_by_output((scaled / UNITS).T, plain.T)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR])
def test_a_small_output_beside_a_large_one_is_learnt(cls):
    """With the tube loss too. Alone it is learnt to within 0.05 to 0.15 of its variance."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4000, D))
    targets = rows @ rng.standard_normal((D, 2)) * [1e6, 1.0]
    predictions = cls(5, learner="online", random_state=0).fit(rows, targets).predict(rows)
    assert np.mean((targets[:, 1] - predictions[:, 1]) ** 2) < 0.25 * targets[:, 1].var()


def test_classes_of_very_different_frequency_are_all_learnt():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6000, 6))
    labels = np.where(rows[:, 0] > 1.8, "rare", np.where(rows[:, 1] > 0, "up", "down"))
    model = BudgetClassifier(4, learner="online", random_state=0).fit(rows, labels)
    scores = model.decision_function(rows)
    rare = list(model.classes_).index("rare")
    assert scores[labels == "rare", rare].mean() > scores[labels != "rare", rare].mean() + 0.1
