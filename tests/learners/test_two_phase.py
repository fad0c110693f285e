"""Two-phased learners: what a recalled pilot does, and what is known of the cells seen."""

import numpy as np
import pytest

from sparing import designs
from sparing.compare.algorithms import ALGORITHMS, Setting
from sparing.learners import AELR, AERR, DDAERR, TwoPhasedDDAELR, TwoPhasedDDAERR

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


@both_penalties
@pytest.mark.parametrize("epsilon", ["zero", 0.3])
def test_improved_inner_draws_follow_the_upper_estimates(cls, epsilon):
    """Weights w_j / (n p_j) with p written out; an attribute that phase one saw only as zero is not nearly ignored."""
    rare = X.copy()
    rare[:200, 0] = 0.0  # phase one is 100 rows
    learner = cls(D, pilot=100, inner="improved", epsilon=epsilon, **OPTIONS).run(rare[:250], Y[:250])
    first = cls(D, pilot=101, inner="improved", epsilon=epsilon, **OPTIONS).run(rare[:100], Y[:100])
    counts, squares = first.looks, first.variances + first.means**2
    assert squares[0] == 0.0
    upper = (counts * squares + squares.max()) / (counts + 1) + (0.0 if epsilon == "zero" else 13 / 6 * epsilon)
    masses = np.abs(learner.last_coef) * np.sqrt(upper)
    drawn, query = learner.drawn, learner.ask()
    j = query.attributes[drawn.inner]
    expected = learner.last_coef[j] / (drawn.inner.size * masses[j] / masses.sum())
    np.testing.assert_allclose(drawn.inner_weights[:, 0], expected, rtol=1e-9)
    again = cls.from_state(learner.state())
    np.testing.assert_array_equal(learner.run(rare[250:], Y[250:]).coef, again.run(rare[250:], Y[250:]).coef)


def test_improved_inner_draws_where_phase_one_saw_only_zeros():
    rows = np.vstack([np.zeros((100, D)), X[:200]])
    learner = TwoPhasedDDAERR(D, pilot=100, inner="improved", **OPTIONS).run(rows, np.append(np.zeros(100), Y[:200]))
    assert np.isfinite(learner.coef).all()
    assert learner.coef.any()


@pytest.mark.parametrize(("cls", "uniform"), [(TwoPhasedDDAERR, AERR), (TwoPhasedDDAELR, AELR)])
def test_each_phase_has_its_step(cls, uniform):
    """Phase one is AERR or AELR with its own step; phase two is as if both had the step of phase two."""
    options = {"budget": 4, "radius": 2.0, "step_size": 0.01}
    learner = cls(D, pilot=100, step_scale=3.0, pilot_step_scale=0.5, n_examples=300, **options)
    alone = uniform(D, step_scale=0.5, n_examples=100, **options).run(X[:99], Y[:99])
    np.testing.assert_allclose(learner.run(X[:99], Y[:99]).coef, alone.coef, rtol=1e-12)
    learner.run(X[99:101], Y[99:101])
    assert learner.in_phase_two
    assert learner.state()["options.step"] == pytest.approx(0.03)
    same = cls(D, pilot=100, step_scale=3.0, **options).run(X[:99], Y[:99])
    assert same.state()["options.step"] == pytest.approx(0.03)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_bad_step_of_phase_one_is_refused(scale):
    with pytest.raises(ValueError, match="pilot_step_scale must be a positive"):
        TwoPhasedDDAERR(D, pilot_step_scale=scale, **OPTIONS)


@pytest.mark.parametrize(("name", "inner"), [("TwoPhasedDDAERR", "improved"), ("TwoPhasedDDAELR", "paper")])
def test_what_is_compared_bounds_its_inner_draws(name, inner):
    setting = Setting(D, 4, 1.0, 1.0, np.ones(D), 1.0, 1.0, 0)
    assert ALGORITHMS[name].make(setting).inner == inner


@both_penalties
@pytest.mark.parametrize("inner", ["paper", "improved"])
def test_renewed_estimates_are_those_of_all_cells_seen(cls, inner):
    """Tallied by hand, at the last doubling of the examples (40, 80, 160); q follows them, and a saved learner too."""
    learner = cls(D, pilot=40, renew=True, inner=inner, **OPTIONS)
    cells, expected = [[] for _ in range(D)], {}
    for t, (x, y) in enumerate(zip(X[:250], Y[:250], strict=True)):
        query = learner.ask()
        for i in query.attributes:
            cells[i].append(x[i])
        learner.tell(query, x[query.attributes], y)
        counts, squares = np.array([len(c) for c in cells]), np.array([np.mean(np.square(c or [0.0])) for c in cells])
        expected[t + 1] = designs.estimated_moments(counts, squares)
        if t == 100:
            learner = cls.from_state(learner.state())
    np.testing.assert_allclose(learner.second_moments, expected[160], rtol=1e-9)
    assert abs(learner.second_moments - expected[40]).max() > 0.01
    drawn, query = learner.drawn, learner.ask()
    q = designs.confident(expected[160], 0.0, learner.penalty, floor=learner.floor)[query.attributes[drawn.point]]
    np.testing.assert_allclose(drawn.point_weights, 1.0 / (drawn.point.size * q), rtol=1e-9)
    assert learner.bound is None
    np.testing.assert_array_equal(
        learner.coef, cls(D, pilot=40, renew=True, inner=inner, **OPTIONS).run(X[:250], Y[:250]).coef
    )
