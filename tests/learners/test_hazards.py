"""Numerical hazards: outliers, overflow, cancellation, and queries of other learners. Each of these was once a bug."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from sparing import BudgetRidge
from sparing.kernels.sampling import FAN, tree_draw, tree_levels
from sparing.learners import AELR, AERR, DDAERR, AnalyticLearner, AnalyticLoss, TwoPhasedDDAERR, squared_loss

RNG = np.random.default_rng(4)
D = 20
X = RNG.standard_normal((2_000, D))
Y = X @ RNG.standard_normal(D) / 4


@pytest.mark.parametrize("outlier", [1e3, 1e5, 1e7, 1e11, 1e40])
@pytest.mark.parametrize("cls", [AERR, AELR])
def test_one_outlier_does_not_drown_the_average(cls, outlier):
    wild = X.copy()
    wild[1_000] *= outlier
    learner, weights = cls(D, budget=5, radius=1.0, step_size=0.05), []
    for x, y in zip(wild, Y, strict=True):
        weights.append(learner.last_coef)
        learner.run(x[None], [y])
    np.testing.assert_allclose(learner.coef, np.mean(weights, axis=0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("step_size", [0.05, "adaptive", "adagrad"])
@pytest.mark.parametrize("cls", [AERR, AELR])
def test_absurd_values_are_not_stepped_along(cls, step_size):
    learner = cls(D, budget=5, radius=1.0, step_size=step_size).run(X[:100], Y[:100])
    before = learner.last_coef
    with pytest.warns(RuntimeWarning, match="1 gradients in 1 examples"):
        learner.run(np.full((1, D), 1e200), [1.0])
    np.testing.assert_array_equal(learner.last_coef, before)
    assert np.isfinite(learner.run(X[100:], Y[100:]).coef).all()


def test_a_slope_that_overflows_makes_no_step():
    cosh = AnalyticLoss("cosh", np.sinh, [n % 2 / float(np.prod(np.arange(1.0, n + 1))) for n in range(40)])
    learner = AnalyticLearner(200, budget=8, radius=1.0, loss=cosh)
    query = learner.ask()
    with np.errstate(over="ignore"):
        learner.tell(query, np.ones(query.attributes.size), 800.0)
    assert not learner.last_coef.any()
    attributes = learner.ask().attributes
    assert 0 <= attributes.min() <= attributes.max() < 200


def test_a_tree_of_nan_is_never_left():
    starts = tree_levels(50)
    tree = np.full(starts[-1], np.nan)
    assert 0 <= tree_draw(tree, starts, 1.0, np.empty(FAN)) < starts[1]


def test_only_the_learners_own_queries_are_told():
    learner, other = (AERR(D, budget=5, radius=1.0, step_size=0.1, random_state=seed) for seed in (1, 2))
    for stranger in (other.ask(), replace(learner.ask(), attributes=np.array([10_000]))):
        with pytest.raises(ValueError, match="its own queries"):
            learner.tell(stranger, np.zeros(stranger.attributes.size), 0.0)
    assert learner.n_rounds == 0


def test_improved_draws_reach_attributes_that_only_the_floor_looks_at():
    w = np.array([0.5, 0.5, 0.0, 1.0])
    Z = RNG.standard_normal((40_000, 4))
    moments = np.array([1.0, 1.0, 1.0, 0.0])
    options = {"budget": 4, "radius": 5.0, "step_size": 0.002, "split": "even", "inner": "improved"}
    learner = DDAERR(4, second_moments=moments, floor=0.2, **options).run(Z, Z @ w)
    np.testing.assert_allclose(learner.last_coef, w, atol=0.1)


def test_a_bound_speaks_of_what_has_been_done():
    ball = X / np.linalg.norm(X, axis=1).max()
    learner = AERR(D, budget=5, radius=1.0, n_examples=2_000)
    assert learner.run(ball[:3], Y[:3]).bound is None
    assert learner.run(ball[3:], Y[3:]).bound > 0
    two = TwoPhasedDDAERR(
        D, budget=5, radius=1.0, n_examples=2_000, pilot=500, epsilon="theory", warm_start=False, floor=0
    )
    assert two.run(ball[:100], Y[:100]).bound is None
    assert two.run(ball[100:], Y[100:]).bound > 0


def test_the_model_is_there_when_phase_two_begins():
    learner = TwoPhasedDDAERR(D, budget=5, radius=1.0, pilot=500, step_size="adaptive").run(X[:500], Y[:500])
    assert learner.in_phase_two
    assert np.linalg.norm(learner.coef) > 0.1
    np.testing.assert_array_equal(learner.coef, learner.last_coef)


def test_variances_survive_large_offsets():
    spreads = np.linspace(1.0, 0.01, D)
    learner = TwoPhasedDDAERR(
        D, budget=10, radius=1.0, pilot=2_000, center=True, step_size="adaptive", epsilon=1e-12, warm_start=False
    )
    learner.run(X * spreads + 1e8, Y)
    np.testing.assert_allclose(learner.second_moments, spreads**2, rtol=0.2)


def test_known_variances_do_not_make_offset_data_worse():
    """Means of four; both designs see the same looks' worth of a well-behaved problem."""
    scores = {}
    for known in (None, np.var(X, axis=0)):
        options = {"learner": "online", "second_moments": known}
        models = [BudgetRidge(5, random_state=seed, **options).fit(X + 100.0, Y) for seed in range(4)]
        scores[known is None] = np.mean([model.score(X + 100.0, Y) for model in models])
    assert scores[False] > scores[True] - 0.1


def test_learners_with_ready_made_losses_can_be_pickled():
    learner = AnalyticLearner(D, budget=6, radius=1.0, loss=squared_loss()).run(X[:50], Y[:50])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).coef, learner.coef)
