"""AER against its own text, and its projection against a generic solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from learner_cases import kernel_parts
from sparing.kernels import state as kernel
from sparing.kernels.shrunk import project, threshold
from sparing.learners import AER


def make_data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, X @ np.linspace(1.0, -1.0, d) + 0.1 * rng.normal(size=n)


def nearest_in_ball(w, radius):
    """Duchi et al. 2008: sort, then the largest threshold that the sum allows."""
    if np.abs(w).sum() <= radius:
        return w
    sizes = np.sort(np.abs(w).ravel())[::-1]
    levels = (np.cumsum(sizes) - radius) / np.arange(1, sizes.size + 1)
    theta = levels[np.flatnonzero(sizes > levels)[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - theta, 0.0)


def transcribed(learner, X, y):
    """The algorithm line by line, on whole vectors, with the learner's own queries."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t, (row, target) in enumerate(zip(X, y, strict=True), start=1):
        query, draws = learner.ask(), learner.drawn
        values = row[query.attributes]
        point = np.zeros(w.size)
        np.add.at(point, query.attributes[draws.point], draws.point_weights * values[draws.point])
        drawn = query.attributes[draws.inner]
        p = np.abs(w) / np.abs(w).sum() if w.any() else w
        inner = np.mean(w[drawn] * row[drawn] / p[drawn]) if drawn.size else 0.0
        total += w
        w = nearest_in_ball((1 - 1 / t) * w - (inner - target) * point / (learner.alpha * t), learner.radius)
        learner.tell(query, values, target)
        np.testing.assert_allclose(learner.last_coef, w, atol=1e-10)
    np.testing.assert_allclose(learner.coef, total / len(y), atol=1e-10)


@pytest.mark.parametrize(("radius", "alpha"), [(0.5, 0.05), (3.0, 0.5), (1e6, 1.0)])
def test_every_round_is_that_of_the_text(radius, alpha):
    """A ball that always binds, one that sometimes does, one that never does."""
    X, y = make_data(300, 7)
    transcribed(AER(7, budget=4, radius=radius, alpha=alpha, random_state=3), X, y)


def test_half_the_budget_goes_to_each_estimate():
    X, y = make_data(5, 9)
    learner = AER(9, budget=6, radius=1.0, alpha=1.0).run(X, y)
    query, drawn = learner.ask(), learner.drawn
    assert (drawn.point.size, drawn.inner.size) == (3, 3)
    w = learner.last_coef[query.attributes[drawn.inner]]
    np.testing.assert_allclose(drawn.inner_weights[:, 0], np.sign(w) * np.abs(learner.last_coef).sum() / 3)


def test_folding_changes_nothing():
    """Shrinking 2^-20 times takes a million rounds; the scale is brought there by hand, in the saved state."""
    X, y = make_data(400, 6)
    plain = AER(6, budget=4, radius=100.0, alpha=2.0).run(X[:200], y[:200])
    state, tiny = plain.state(), 2.0**-20
    model, *_ = kernel_parts(plain)
    model.numbers[[kernel.SCALE, kernel.SCALE_SUM]] *= tiny
    model.rows[:, :, kernel.WEIGHT] /= tiny
    kernel.rebuild(model, kernel.ABSOLUTE)
    folded = AER.from_state(state | {f"model.{name}": array for name, array in model._asdict().items()})
    plain.run(X[200:], y[200:])
    folded.run(X[200:], y[200:])
    assert folded.state()["model.numbers"][kernel.SCALE] > 0.1
    np.testing.assert_allclose(folded.last_coef, plain.last_coef, rtol=1e-12)
    np.testing.assert_allclose(folded.coef, plain.coef, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_projection_against_a_generic_solver(seed):
    """minimise ||u - w||^2 over the ball, as u = plus - minus with plus + minus summing to at most the radius."""
    w = np.random.default_rng(seed).normal(size=6)
    radius = 0.6 * np.abs(w).sum()
    ball = {"type": "ineq", "fun": lambda z: radius - z.sum()}
    options = {"ftol": 1e-15, "maxiter": 1000}
    found = minimize(
        lambda z: np.sum((z[:6] - z[6:] - w) ** 2),
        np.zeros(12),
        bounds=[(0, None)] * 12,
        constraints=ball,
        method="SLSQP",
        options=options,
    ).x
    np.testing.assert_allclose(projected(w[:, None], radius)[:, 0], found[:6] - found[6:], atol=1e-6)


def projected(w, radius):
    learner = AER(len(w), budget=2, radius=radius, alpha=1.0, n_outputs=w.shape[1])
    learner.begin()
    model, _, _, options = kernel_parts(learner)
    kernel.restart(model, w, options)
    for c in range(w.shape[1]):
        project(model, c, radius, kernel.SHRUNK)
    sizes, shares = np.abs(kernel.weights(model)), model.numbers[kernel.SHARE]
    np.testing.assert_allclose(model.numbers[kernel.SIZE], sizes.sum(axis=0), rtol=1e-14)
    if w.shape[1] > 1:
        np.testing.assert_allclose(sizes.sum(axis=0) * shares, 1.0)
    return kernel.weights(model)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 30.0])
def test_projection_against_sorting(radius):
    w = np.random.default_rng(5).standard_cauchy((40, 2))
    expected = [nearest_in_ball(column, radius) for column in w.T]
    np.testing.assert_allclose(projected(w, radius).T, expected, atol=1e-12)


def test_threshold_of_equal_weights():
    rows = np.ones((4, 1, 2))
    assert threshold(rows, 0, 4.0, 1.0) == 0.75


def test_an_unavailable_value_costs_the_step_and_no_time():
    """t counts steps: the round after a lost one is the same as if nothing had been lost."""
    X, y = make_data(50, 5)
    learner = AER(5, budget=4, radius=1.0, alpha=1.0).run(X, y)
    before, query = learner.last_coef, learner.ask()
    values = X[0, query.attributes]
    values[learner.drawn.inner[0]] = np.nan
    learner.tell(query, values, y[0])
    assert (learner.last_coef == before).all()
    assert learner.state()["model.numbers"][kernel.GRADIENTS] == 50.0
    assert learner.n_rounds == 51


def test_it_learns_ridge_regression():
    """The minimiser of the regularised loss by linear algebra; a tenth of the zero model's excess is left."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60_000, 6)) / np.sqrt(6)
    y = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    alpha = 0.05
    best = np.linalg.solve(X.T @ X / len(y) + alpha * np.eye(6), X.T @ y / len(y))

    def objective(w):
        return np.mean((X @ w - y) ** 2) / 2 + alpha / 2 * w @ w

    learner = AER(6, budget=4, radius=5.0, alpha=alpha).run(X, y)
    excess = (objective(learner.coef) - objective(best)) / (objective(np.zeros(6)) - objective(best))
    assert 0 <= excess < 0.1


def test_bad_alpha_is_refused():
    with pytest.raises(ValueError, match="alpha must be a positive"):
        AER(5, budget=2, radius=1.0, alpha=0.0)
    with pytest.raises(TypeError, match="step_size"):
        AER(5, budget=2, radius=1.0, alpha=1.0, step_size=0.1)
