"""Two-phased learners: what a recalled pilot does, and what is known of the cells seen."""

import numpy as np
import pytest

from sparing import designs
from sparing.learners import DDAERR, TwoPhasedDDAELR, TwoPhasedDDAERR

RNG = np.random.default_rng(8)
D = 8
X = RNG.standard_normal((300, D)) * np.linspace(2.0, 0.1, D) + 0.5
Y = X @ RNG.standard_normal(D)
PILOT = {
    "counts": np.full(D, 40.0),
    "means": X[:40].mean(axis=0),
    "variances": X[:40].var(axis=0),
    "target_means": Y[:40].mean(),
    "n_examples": 40,
}
OPTIONS = {"budget": 4, "radius": 2.0, "step_size": "adaptive", "n_examples": 300}

both_penalties = pytest.mark.parametrize("cls", [TwoPhasedDDAERR, TwoPhasedDDAELR])


@both_penalties
@pytest.mark.parametrize("center", [False, True])
def test_a_recalled_pilot_completes_phase_one(cls, center):
    learner = cls(D, center=center, **OPTIONS)
    first = learner.ask()
    learner.recall(**PILOT)
    assert learner.in_phase_two
    assert (learner.n_pilot, learner.n_rounds, learner.cells) == (40, 0, 0)
    squares = PILOT["variances"] + (not center) * PILOT["means"] ** 2
    np.testing.assert_allclose(learner.second_moments, designs.estimated_moments(PILOT["counts"], squares), rtol=1e-12)
    drawn, query = learner.drawn, learner.ask()
    q = designs.confident(learner.second_moments, 0.0, learner.penalty, floor=learner.floor)
    chosen = q[query.attributes[drawn.point]]
    np.testing.assert_allclose(drawn.point_weights, 1.0 / (drawn.point.size * chosen), rtol=1e-12)
    assert first.round == query.round == 0
    again = cls.from_state(learner.state())
    np.testing.assert_array_equal(learner.run(X, Y).coef, again.run(X, Y).coef)


@both_penalties
def test_a_recalled_pilot_is_the_moments_of_a_learner_that_knows_them(cls):
    """Phase two draws as a learner with known moments does, as long as both have zero weights to draw by."""
    two = cls(D, floor=0.2, **OPTIONS)
    two.recall(**PILOT)
    known = DDAERR(D, second_moments=np.square(two.second_moments) if two.penalty == "lasso" else two.second_moments,
                   floor=0.2, **OPTIONS)  # fmt: skip
    np.testing.assert_array_equal(two.ask().attributes, known.ask().attributes)


def test_the_theorem_is_told_of_the_recalled_pilot():
    """Theory's epsilon and step follow the pilot's size; the bound is there after the remaining examples."""
    exact = {"epsilon": "theory", "warm_start": False, "floor": 0, "norm_bound": 12.0, "step_size": "theory"}
    recalled = TwoPhasedDDAERR(D, **OPTIONS | exact)
    recalled.recall(**PILOT)
    own = TwoPhasedDDAERR(D, pilot=40, **OPTIONS | exact)
    assert recalled.confidence_width == own.confidence_width > 0
    assert recalled.run(X[40:-1], Y[40:-1]).bound is None
    assert recalled.run(X[-1:], Y[-1:]).bound > 0


def test_recall_after_phase_one_only_sets_the_running_moments():
    learner = TwoPhasedDDAERR(D, pilot=20, **OPTIONS).run(X[:50], Y[:50])
    estimates, n_pilot = learner.second_moments, learner.n_pilot
    learner.recall(**PILOT)
    assert learner.n_pilot == n_pilot
    np.testing.assert_array_equal(learner.second_moments, estimates)
    np.testing.assert_array_equal(learner.means, PILOT["means"])


def test_means_variances_and_looks_are_those_of_the_cells_seen():
    learner, cells = TwoPhasedDDAERR(D, pilot=200, center=True, **OPTIONS), [[] for _ in range(D)]
    assert not learner.variances.any()
    for x, y in zip(X[:150], Y[:150], strict=True):
        query = learner.ask()
        for i in query.attributes:
            cells[i].append(x[i])
        learner.tell(query, x[query.attributes], y)
    np.testing.assert_array_equal(learner.looks, [len(values) for values in cells])
    np.testing.assert_allclose(learner.means, [np.mean(values) for values in cells], rtol=1e-10)
    np.testing.assert_allclose(learner.variances, [np.var(values) for values in cells], rtol=1e-10)


@both_penalties
@pytest.mark.parametrize("step_size", ["adaptive", "adagrad"])
def test_phase_two_has_room_for_its_squared_gradients_after_only_looking(cls, step_size):
    """0.1.0 forgot the column of squares here, and wrote into the weights of the next attribute."""
    learner = cls(D, warm_start=False, pilot=40, **OPTIONS | {"step_size": step_size}).run(X, Y)
    zero, loss = np.mean(Y**2), np.mean((X @ learner.coef - Y) ** 2)
    assert np.isfinite(learner.coef).all()
    assert loss < zero
