"""Budget estimators with online learners: what a fit cost, which learner it took, and what it leaves behind."""

import numpy as np
import pytest

from online_estimators import BUDGET, LABELS, D, N, X, Y, every_estimator, fit, learn, make
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR, theory
from sparing.learners import AELR, AERR, DDAELR, DDAERR, PlugInSVR, TwoPhasedDDAELR, TwoPhasedDDAERR

# What it cost, and what is left behind ----------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("budget", [2, 5, D])
def test_the_books(cls, budget):
    model = fit(cls, budget=budget)
    assert N < model.cells_ <= model.draws_ <= budget * N
    assert model.spent_ == float(model.cells_)
    assert model.n_iter_ == N
    assert model.cells_ == model.learner_.cells + 60 * budget  # the pilot, a tenth, buys distinct values


@every_estimator
def test_during_the_pilot_the_model_is_the_mean_target(cls):
    y = np.where(LABELS == "low", 1.0, -1.0) if cls is BudgetClassifier else Y
    model = learn(make(cls, pilot=100), [0, 50])
    assert model.n_iter_ == 50
    assert model.cells_ == 50 * BUDGET
    assert model.learner_ is model.radius_ is model.scale_ is model.bound_ is None
    assert not model.coef_.any()
    np.testing.assert_allclose(model.intercept_, y[:50].mean())


@pytest.mark.parametrize(("cls", "algorithm"), [(BudgetRidge, "AERR"), (BudgetLasso, "AELR")])
def test_the_bound_is_the_theorems(cls, algorithm):
    options = {"step_size": "theory", "fit_intercept": False, "scale": np.ones(D), "radius": 2.0}
    known = {"n_attributes": D, "n_examples": N, "budget": BUDGET, "radius": 2.0}
    known["norm_bound"] = np.sqrt(D) if cls is BudgetRidge else 1.0  # entries within [-1, 1]
    small = X / np.abs(X).max()
    moments = np.mean(small**2, axis=0)
    uniform = make(cls, design="uniform", **options).fit(small, Y)
    assert uniform.bound_ == pytest.approx(theory.risk_bound(algorithm, **known))
    informed = make(cls, second_moments=moments, **options).fit(small, Y)
    assert informed.bound_ == pytest.approx(theory.risk_bound("DD" + algorithm, second_moments=moments, **known))
    for change in ({"step_size": "adaptive"}, {"fit_intercept": True}, {"design": "two-phase"}):
        assert make(cls, **({"design": "uniform"} | options | change)).fit(small, Y).bound_ is None


@pytest.mark.parametrize(
    ("cls", "uniform", "informed", "two_phased"),
    [
        (BudgetRidge, AERR, DDAERR, TwoPhasedDDAERR),
        (BudgetLasso, AELR, DDAELR, TwoPhasedDDAELR),
        (BudgetClassifier, AERR, DDAERR, TwoPhasedDDAERR),
    ],
)
def test_designs_choose_the_learner(cls, uniform, informed, two_phased):
    moments = np.linspace(1.0, 2.0, D)
    assert type(fit(cls, design="uniform").learner_) is uniform
    assert fit(cls, design="uniform").second_moments_ is None
    for design in ("auto", "moments"):
        model = fit(cls, design=design, second_moments=moments, scale=None, fit_intercept=False)
        assert type(model.learner_) is informed
        assert model.learner_.floor == 0
        np.testing.assert_array_equal(model.second_moments_, moments)
    for design in ("auto", "two-phase"):
        model = fit(cls, design=design)
        assert type(model.learner_) is two_phased
        assert model.learner_.in_phase_two
        assert model.learner_.n_pilot == 60  # a tenth
        assert model.learner_.floor > 0
    priced = fit(cls, design="two-phase", costs=np.ones(D), budget=4.0)
    assert type(priced.learner_) is informed
    assert priced.learner_.floor > 0


def test_the_tube_loss_has_its_own_learner():
    for design in ("uniform", "two-phase"):
        model = fit(BudgetSVR, design=design, tube=0.3, accuracy=0.2)
        assert type(model.learner_) is PlugInSVR
        assert (model.learner_.tube, model.learner_.accuracy) == (0.3, 0.2)
    assert np.ptp(fit(BudgetSVR, design="uniform").second_moments_) == 0


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [None, np.linspace(1.0, 2.0, D)], ids=["units", "scaled"])
def test_the_learner_begins_with_the_moments_of_the_pilot(cls, fit_intercept, scale):
    """At full budget the pilot sees all of its rows.

    Variances are about the means, centered or not; second moments are those of the attributes as the model sees them.
    They are shrunk toward their mean by one look and, where attributes are scaled, increased by 1/200: what 200 looks
    at zeros leave open. Two-phased learners have a confidence term for that, and do not shrink.
    """
    rows = X[:200] + 1.0
    model = make(cls, budget=D, pilot=200, scale=scale, fit_intercept=fit_intercept).partial_fit(rows, Y[:200])
    learner = model.learner_
    np.testing.assert_array_equal(learner.looks, 200)
    np.testing.assert_allclose(learner.means, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(learner.variances, rows.var(axis=0), rtol=1e-12)
    squares = rows.var(axis=0) if fit_intercept else np.mean(rows**2, axis=0)
    squares = squares if scale is None else squares / scale**2
    shrunk = (200 * squares + squares.mean()) / 201
    if scale is None:
        expected = shrunk
    elif cls is BudgetSVR:
        expected = shrunk + 1 / 200
    else:
        expected = squares
        assert learner.confidence_width * 13 / 6 == pytest.approx(1 / 200)
    np.testing.assert_allclose(model.second_moments_, expected, rtol=1e-12)
    assert learner.n_rounds == 0
    assert model.n_iter_ == 200
