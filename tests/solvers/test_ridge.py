"""Ridge regression by every method, over paths and in single precision, against solutions by other means."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from ill_conditioned import make
from sparing.geometry import effective_dimension
from sparing.geometry.leverage import FIRST_SIZE
from sparing.solvers import least_squares, solve_ridge, solve_ridge_path
from sparing.solvers.choice import SHARE, gram_cost, largest_dimension, sample_rows, sketch_cost, sketch_pays

D = 600
X, Y = make()


def test_the_ball_is_kept_to():
    """Against a general solver; a ball that is large enough changes nothing."""
    X, Y = make(200, 8)
    y = Y[:, 0] - 3.0
    free = solve_ridge(X, y, 0.1, tol=1e-12)
    radius = 0.6 * np.linalg.norm(free.coef)
    bound = solve_ridge(X, y, 0.1, radius=radius, tol=1e-12)
    expected = minimize(
        lambda w: np.sum((X @ w - y) ** 2) + 0.1 * w @ w,
        np.zeros(8),
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w},
        tol=1e-12,
    )
    assert np.linalg.norm(bound.coef) == pytest.approx(radius, rel=1e-5)
    np.testing.assert_allclose(bound.coef, expected.x, atol=1e-4)
    np.testing.assert_allclose(solve_ridge(X, y, 0.1, radius=10 * radius, tol=1e-12).coef, free.coef)


def test_not_having_converged_is_said():
    assert not solve_ridge(X, Y, 1e-6, method="cg", max_iter=3).converged


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="y has 4 targets for 3 examples"):
        solve_ridge(np.ones((3, 2)), np.ones(4), 1.0)
    with pytest.raises(ValueError, match="below the ridge"):
        solve_ridge(np.ones((3, 2)), np.ones(3), 1.0, sketch_ridge=0.5)
    with pytest.raises(ValueError, match="with radius= there is no start="):
        solve_ridge(np.ones((3, 2)), np.ones(3), 1.0, method="sketch", radius=1.0, sketch_ridge=2.0)
    with pytest.raises(ValueError, match="sketch_ridge is for method='sketch'; got method='auto'"):
        solve_ridge(np.ones((3, 2)), np.ones(3), 1.0, sketch_ridge=2.0)


def test_the_condition_number_does_not_matter():
    """At one effective dimension: 30 directions far above the ridge, all others far below it."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((size, 300)))[0] for size in (2000, 300))
    iterations = []
    for condition in (1e2, 1e4, 1e6, 1e8, 1e10):
        spectrum = np.full(300, 1e-3)
        spectrum[:30] = np.geomspace(10.0, condition, 30)
        A = left * np.sqrt(spectrum) @ right.T
        y = A @ rng.standard_normal(300) / np.sqrt(condition) + rng.standard_normal(2000)
        solution = solve_ridge(A, y, 1.0, method="sketch", random_state=0)
        assert solution.converged
        assert solution.effective_dimension == pytest.approx(effective_dimension(A, 1.0), rel=0.15)
        iterations.append(solution.iterations)
        plain = solve_ridge(A, y, 1.0, method="cg", max_iter=3 * iterations[0])
        assert plain.converged == (condition == 1e2)
    assert max(iterations) <= min(iterations) + 5


def test_rows_that_carry_a_lot_need_more_than_uniform_draws():
    """Few rows carry what uniform draws never see; "auto" sees it, and mixes all rows."""
    rng = np.random.default_rng(0)
    A = 0.01 * rng.standard_normal((4000, 600))
    A[rng.choice(4000, 80, replace=False)] += 100.0 * rng.standard_normal((80, 600))
    y = rng.standard_normal(4000)
    auto, srht, leverage, uniform = (
        solve_ridge(A, y, 1.0, method="sketch", sketch=sketch, random_state=0).iterations
        for sketch in ("auto", "srht", "leverage", "uniform")
    )
    assert auto == srht < 30
    assert leverage < 30
    assert uniform > 2 * max(leverage, srht)


@pytest.mark.parametrize("sketch", ["leverage", "srht"])
def test_memory_is_that_of_the_sketch(sketch):
    """Beyond the data: the last sketch and the one before it, their products, and blocks of rows or columns."""
    A, Y = make(20_000, D)
    tracemalloc.start()
    solution = solve_ridge(A, Y, 10.0, method="sketch", sketch=sketch, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = max(solution.sketch_size, FIRST_SIZE)
    assert peak < 8 * (4 * rows * (D + rows) + 40 * (20_000 + D)) + 2**24 < A.nbytes / 2


def test_a_sketch_at_a_larger_ridge_needs_more_steps_and_fewer_rows():
    y = Y[:, 0] - 3.0
    plain = solve_ridge(X, y, 0.01, method="sketch", random_state=0)
    larger = solve_ridge(X, y, 0.01, method="sketch", sketch_ridge=1.0, random_state=0)
    assert larger.sketch_size < plain.sketch_size / 2
    assert plain.iterations < larger.iterations < 10 * plain.iterations
    np.testing.assert_allclose(X @ larger.coef, X @ plain.coef, atol=1e-3)


@pytest.mark.parametrize("times", [64, 1000])
def test_a_sketch_at_a_larger_ridge_is_as_exact_as_it_says(times):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2000, 300)) / np.arange(1, 301)
    y = A @ rng.standard_normal(300) + 0.1 * rng.standard_normal(2000)

    def objective(w):
        return np.sum((A @ w - y) ** 2) + 1e-3 * np.sum(w**2)

    exact = np.linalg.solve(A.T @ A + 1e-3 * np.eye(300), A.T @ y)
    found = solve_ridge(A, y, 1e-3, method="sketch", sketch_ridge=1e-3 * times, tol=1e-6, random_state=0)
    assert found.converged
    assert objective(found.coef) <= (1 + 1e-6) * objective(exact)


@pytest.mark.parametrize("shape", [(3000, 300), (500, 800)])
@pytest.mark.parametrize("decades", [0, 2, 6])
@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
def test_single_precision_claims_no_more_than_it_reached(shape, decades, ridge):
    rng = np.random.default_rng(0)
    A = (rng.standard_normal(shape) * np.logspace(0, -decades, shape[1]) + 3.0).astype(np.float32)
    y = (A @ rng.standard_normal(shape[1]).astype(np.float32) + rng.standard_normal(shape[0])).astype(np.float32)

    def value(w):
        return np.sum((A @ w.astype(float) - y) ** 2) + ridge * np.sum(w.astype(float) ** 2)

    solution, best = solve_ridge(A, y, ridge), solve_ridge(A.astype(float), y, ridge)
    assert best.converged
    assert not solution.converged or value(solution.coef) / value(best.coef) - 1 < 1e-6
    assert solution.converged or ridge < 1.0


@pytest.mark.parametrize(("dtype", "decades", "ridge"), [(np.float32, 8, 1e-8), (np.float64, 10, 1e-14)])
def test_a_path_claims_no_more_than_it_reached(dtype, decades, ridge):
    rng = np.random.default_rng(0)
    A = (10 * rng.standard_normal((400, 60)) * np.logspace(0, -decades, 60)).astype(dtype)
    y = (A @ (rng.standard_normal(60) * np.logspace(0, decades, 60)) + rng.standard_normal(400)).astype(dtype)
    scale = np.abs(A.astype(float)).max(axis=0)  # well-scaled columns, each with a ridge of its own
    left = np.vstack([A / scale, np.diag(np.sqrt(ridge) / scale)])
    best = np.linalg.lstsq(left, np.append(y.astype(float), np.zeros(60)), rcond=None)[1][0]
    solution = solve_ridge_path(A, y, [ridge, 100 * ridge], method="cholesky")[0]
    w = solution.coef.astype(float)
    value = np.sum((A @ w - y) ** 2) + ridge * w @ w
    assert not solution.converged or value / best - 1 < 1e-6


def test_wide_rows_end_no_worse_than_their_dual_solution():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 300))
    y, ridge = A @ rng.standard_normal(300), 1e-12
    w = solve_ridge(A, y, ridge).coef
    best = ridge * y @ np.linalg.solve(A @ A.T + ridge * np.eye(40), y)
    assert (np.sum((A @ w - y) ** 2) + ridge * w @ w) / best - 1 < 1e-6


def test_rows_of_zeros_are_no_harm():
    A = np.zeros((40, 3))
    np.testing.assert_array_equal(solve_ridge(A, np.ones(40), 1.0).coef, 0)
    np.testing.assert_array_equal(solve_ridge(A, np.ones(40), 1.0, method="sketch").coef, 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_path_is_what_its_ridges_give(form):
    A, b, ridges = X[:1000, :200], Y[:1000], [0.1, 10.0, 1.0]
    for solution, ridge in zip(solve_ridge_path(form(A), b, ridges, random_state=0), ridges, strict=True):
        assert solution.converged
        expected = solve_ridge(A, b, ridge, method="cholesky").coef
        np.testing.assert_allclose(A @ solution.coef, A @ expected, atol=1e-3)


@pytest.mark.parametrize("method", ["auto", "sketch", "cholesky", "cg"])
def test_a_path_by_each_method(method):
    ridges = [0.1, 10.0]
    for solution, ridge in zip(solve_ridge_path(X, Y, ridges, method=method, random_state=0), ridges, strict=True):
        expected = solve_ridge(X, Y, ridge, method="cholesky").coef
        np.testing.assert_allclose(X @ solution.coef, X @ expected, atol=1e-2)
        assert (solution.sketch_size > 0) == (method == "sketch")


@pytest.mark.parametrize(("n", "d"), [(1100, 1100), (7000, 950)])
def test_a_path_chooses_by_the_rule_of_a_single_ridge(n, d):
    """More than 1,000 columns where a sketch would do but, with many targets, does not pay; fewer where it does."""
    A = np.random.default_rng(0).standard_normal((n, d)) / np.arange(1, d + 1) ** 2
    y = A[:, 0] if n == 7000 else A[:, :60]
    alone = solve_ridge(A, y, 1.0, random_state=0)
    path = solve_ridge_path(A, y, [1.0], random_state=0)[0]
    assert (path.sketch_size > 0) == (alone.sketch_size > 0) == (n == 7000)


@pytest.mark.parametrize("n_ridges", [1, 10])
@pytest.mark.parametrize("d", [100, 500, 1100, 3000, 8000])
@pytest.mark.parametrize("n", [900, 5000, 50_000])
def test_the_dimension_is_estimated_only_where_it_decides_and_at_a_small_cost(n, d, n_ridges):
    largest = largest_dimension(n, d, 1, n_ridges)
    assert largest == sum(sketch_pays(n, d, dimension, 1, n_ridges) for dimension in range(1, min(n, d) + 1))
    if largest:
        m = sample_rows(largest, n, d, 1, n_ridges)
        cheapest = min(gram_cost(n, d, n_ridges), sketch_cost(n, d, 1, 1, n_ridges))
        assert 32 <= m <= 1.25 * max(32, largest)
        assert gram_cost(m, d) <= max(SHARE * cheapest, gram_cost(32, d))


def test_few_columns_need_no_estimate(monkeypatch):
    asked = []
    monkeypatch.setattr(least_squares, "rough_dimension", lambda *given: asked.append(given) or 1.0)
    solve_ridge(X[:, :200], Y, 1.0, random_state=0)
    assert not asked
    assert solve_ridge(np.tile(X, 2), Y, 1.0, random_state=0).sketch_size > 0
    assert len(asked) == 1


def test_steps_for_every_ridge_cost_more_than_factors_of_few_columns():
    assert sketch_pays(4000, 4000, 500)
    assert sketch_pays(4000, 4000, 500, n_ridges=10)
    assert sketch_pays(16_000, 1000, 300)
    assert not sketch_pays(16_000, 1000, 300, n_ridges=10)


def refined_excess(A, y, ridge, w) -> float:
    """How far twice the objective is above its minimum, relative to that: by refinement in extended precision."""
    A, y, w = (np.asarray(array, dtype=np.longdouble) for array in (A, y, w))
    inverse = np.linalg.inv((A.T @ A + ridge * np.eye(A.shape[1])).astype(float))
    best = w
    for _ in range(30):
        best = best + inverse @ (A.T @ (y - A @ best) - ridge * best)
    off = w - best
    least = np.sum((y - A @ best) ** 2) + ridge * np.sum(best**2)
    return float((np.sum((A @ off) ** 2) + ridge * np.sum(off**2)) / least)


@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
@pytest.mark.parametrize("spread", [0, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_cholesky_solution_is_as_good_as_it_says(shape, spread, seed):
    """One that need not be refined says what rounding errors may have done; one that must be is."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal(shape) * np.logspace(0, spread, shape[1])
    y = A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
    found = solve_ridge(A, y, 0.3, method="cholesky", tol=1e-8)
    assert found.converged
    assert refined_excess(A, y, 0.3, found.coef) <= max(found.residual, 1e-15)
