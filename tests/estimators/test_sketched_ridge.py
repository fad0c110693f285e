"""SketchedRidge gives what scikit-learn's Ridge gives, whatever the spectrum, and says how."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from sparing import SketchedRidge, SketchedRidgeCV
from sparing.geometry import effective_dimension
from sparing.geometry.leverage import FIRST_SIZE
from sparing.solvers import solve_ridge, solve_ridge_path

N, D = 3000, 600
SOLVERS = ("auto", "sketch", "cholesky", "cg")


def make(n=N, d=D, power=2.0, seed=0, density=1.0):
    """Examples whose second moments fall as i^-power, in a random basis; two targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** (-power / 2)
    if density < 1:
        X *= rng.random((n, d)) < density
    else:
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    coef = rng.standard_normal((d, 2))
    return X, X @ coef + 0.1 * rng.standard_normal((n, 2)) + 3.0


X, Y = make()
WEIGHTS = np.random.default_rng(1).integers(0, 3, N)


def objective(model, X, y, alpha, weights=1.0):
    residual = y - model.predict(X)
    return np.sum(weights * residual**2) + alpha * np.sum(model.coef_**2)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_it_is_ridge(solver, fit_intercept, weights):
    """To 1e-8 of the objective of scikit-learn's own Cholesky solution as it comes; at a finer tol, to all digits."""
    alpha, options = 0.5, {"fit_intercept": fit_intercept}
    expected = Ridge(alpha, solver="cholesky", **options).fit(X, Y[:, 0], weights)
    model = SketchedRidge(alpha, solver=solver, random_state=0, **options).fit(X, Y[:, 0], weights)
    w = 1.0 if weights is None else weights
    best = objective(expected, X, Y[:, 0], alpha, w)
    assert -1e-12 < objective(model, X, Y[:, 0], alpha, w) / best - 1 < 1e-8
    model.set_params(tol=1e-11).fit(X, Y[:, 0], weights)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-4)
    assert model.intercept_ == pytest.approx(expected.intercept_, abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_in_several_targets_out(solver):
    X, Y = make(density=0.05)
    both = [SketchedRidge(0.1, solver=solver, random_state=0).fit(form, Y) for form in (X, sparse.csr_array(X))]
    expected = Ridge(0.1).fit(X, Y)
    for model in both:
        assert model.coef_.shape == (2, D)
        assert model.intercept_.shape == (2,)
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=2e-4)
        assert objective(model, X, Y, 0.1) / objective(expected, X, Y, 0.1) - 1 < 1e-8


@pytest.mark.parametrize("sketch", ["auto", "leverage", "uniform", "srht"])
@pytest.mark.parametrize("shape", [(3000, 600), (700, 2500)], ids=["tall", "wide"])
def test_sketches_of_both_kinds_and_shapes(sketch, shape):
    X, Y = make(*shape, power=3.0)
    model = SketchedRidge(0.1, solver="sketch", sketch=sketch, random_state=0).fit(X, Y)
    expected = Ridge(0.1).fit(X, Y)
    assert objective(model, X, Y, 0.1) / objective(expected, X, Y, 0.1) - 1 < 1e-8
    assert 0 < model.sketch_size_ < min(shape) // 2
    assert model.effective_dimension_ == pytest.approx(effective_dimension(X - X.mean(axis=0), 0.1), rel=0.15)


def test_the_condition_number_does_not_matter():
    """At one effective dimension: 30 directions far above the ridge, all others far below it."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((size, 600)))[0] for size in (3000, 600))
    iterations = []
    for condition in (1e2, 1e4, 1e6, 1e8, 1e10):
        spectrum = np.full(600, 1e-3)
        spectrum[:30] = np.geomspace(10.0, condition, 30)
        A = left * np.sqrt(spectrum) @ right.T
        y = A @ rng.standard_normal(600) / np.sqrt(condition) + rng.standard_normal(3000)
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
    model = SketchedRidge(0.1, radius=radius).fit(X, Y)
    assert (np.linalg.norm(model.coef_, axis=1) <= radius * (1 + 1e-12)).all()


def test_auto_takes_what_is_fastest():
    rng = np.random.default_rng(0)
    small = SketchedRidge(random_state=0).fit(X[:, :20], Y)
    assert small.sketch_size_ == 0
    assert small.n_iter_ <= 2
    assert small.effective_dimension_ == pytest.approx(effective_dimension(X[:, :20] - X[:, :20].mean(axis=0), 1.0))
    assert 0 < SketchedRidge(random_state=0).fit(*make(d=2 * D)).sketch_size_ < D
    isotropic = rng.standard_normal((3000, 2 * D))
    assert SketchedRidge(random_state=0).fit(isotropic, Y).sketch_size_ == 0
    plain = SketchedRidge(random_state=0).fit(sparse.random_array((3000, 600), density=0.02, rng=rng, format="csr"), Y)
    assert plain.effective_dimension_ is None
    assert 2 < plain.n_iter_ <= 50


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_numbers_is_kept(dtype):
    model = SketchedRidge(1.0, random_state=0).fit(X.astype(dtype), Y.astype(dtype))
    assert model.coef_.dtype == model.predict(X.astype(dtype)).dtype == dtype
    expected = Ridge(1.0).fit(X, Y)
    np.testing.assert_allclose(model.predict(X.astype(dtype)), expected.predict(X), atol=1e-3)


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


def test_columns_far_from_zero_do_no_harm():
    moved = X + 1e4
    for form in (moved, sparse.csr_array(moved)):
        model = SketchedRidge(1.0, random_state=0).fit(form, Y)
        assert objective(model, moved, Y, 1.0) / objective(Ridge(1.0).fit(moved, Y), moved, Y, 1.0) - 1 < 1e-6


def test_the_seed_decides():
    models = [SketchedRidge(solver="sketch", random_state=seed).fit(X, Y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert not np.array_equal(models[0].coef_, models[2].coef_)


def test_not_having_converged_is_said():
    with pytest.warns(ConvergenceWarning, match="raise max_iter, tol or alpha, or pass solver='cholesky'"):
        SketchedRidge(1e-6, solver="cg", max_iter=3).fit(X, Y)
    assert not solve_ridge(X, Y, 1e-6, method="cg", max_iter=3).converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a positive finite number; got 0.0"),
        ({"alpha": -1.0}, "alpha must be a positive"),
        ({"solver": "fast"}, "method must be one of 'auto'"),
        ({"sketch": "none"}, "sketch must be one of 'auto', 'leverage'"),
        ({"radius": 0.0}, "radius must be a positive"),
        ({"tol": 0.0}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SketchedRidge(**options).fit(X[:10, :3], Y[:10])


def test_bad_data_is_refused():
    for rows, y, message in (
        (np.full((3, 2), np.nan), np.ones(3), "NaN"),
        (np.ones((3, 2)), np.ones(4), "inconsistent numbers"),
        (np.ones((0, 2)), np.ones(0), "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            SketchedRidge().fit(rows, y)
    with pytest.raises(ValueError, match="y has 4 targets for 3 examples"):
        solve_ridge(np.ones((3, 2)), np.ones(4), 1.0)
    with pytest.raises(ValueError, match="below the ridge"):
        solve_ridge(np.ones((3, 2)), np.ones(3), 1.0, sketch_ridge=0.5)
    with pytest.raises(ValueError, match="with radius= there is no start="):
        solve_ridge(np.ones((3, 2)), np.ones(3), 1.0, radius=1.0, sketch_ridge=2.0)
    with pytest.raises(ValueError, match="at least one non-zero"):
        SketchedRidge().fit(np.ones((3, 2)), np.ones(3), sample_weight=np.zeros(3))


def test_rows_of_zeros_are_no_harm():
    A = np.zeros((40, 3))
    np.testing.assert_array_equal(solve_ridge(A, np.ones(40), 1.0).coef, 0)
    np.testing.assert_array_equal(solve_ridge(A, np.ones(40), 1.0, method="sketch").coef, 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_path_is_what_its_ridges_give(form):
    ridges = [0.1, 10.0, 1.0]
    for solution, ridge in zip(solve_ridge_path(form(X), Y, ridges, random_state=0), ridges, strict=True):
        assert solution.converged
        expected = solve_ridge(X, Y, ridge, method="cholesky").coef
        np.testing.assert_allclose(X @ solution.coef, X @ expected, atol=1e-3)


def test_cross_validation_is_scikit_learns():
    few, y, alphas = X[:300, :40], Y[:300, 0], [1e-3, 1.0, 1e3]
    model = SketchedRidgeCV(alphas, cv=KFold(4)).fit(few, y)
    expected = [cross_val_score(Ridge(alpha), few, y, cv=KFold(4)) for alpha in alphas]
    np.testing.assert_allclose(model.cv_scores_.T, expected, atol=1e-6)
    assert model.alpha_ == alphas[np.argmax(np.mean(expected, axis=1))]
    np.testing.assert_allclose(model.predict(few), Ridge(model.alpha_).fit(few, y).predict(few), atol=1e-5)
    with pytest.raises(ValueError, match="alphas must be a positive"):
        SketchedRidgeCV([1.0, 0.0]).fit(few, y)


def test_cross_validation_goes_by_the_options():
    """A ball that binds lowers the score of the smallest ridge in every fold; a solver that is unknown is refused."""
    few, y = X[:300, :40], Y[:300, 0]
    free = SketchedRidgeCV([1e-3, 1.0], solver="cholesky").fit(few, y)
    bound = SketchedRidgeCV([1e-3, 1.0], solver="cholesky", radius=0.3 * np.linalg.norm(free.coef_)).fit(few, y)
    assert (bound.cv_scores_[:, 0] < free.cv_scores_[:, 0]).all()
    with pytest.raises(ValueError, match="method must be one of"):
        SketchedRidgeCV(solver="fast").fit(few, y)
    with pytest.warns(ConvergenceWarning), pytest.raises(AssertionError):
        np.testing.assert_allclose(
            SketchedRidgeCV([1e-3, 1.0], solver="cg", max_iter=1).fit(few, y).cv_scores_, free.cv_scores_, atol=1e-6
        )


@pytest.mark.parametrize("method", ["auto", "sketch", "cholesky", "cg"])
def test_a_path_by_each_method(method):
    ridges = [0.1, 10.0]
    for solution, ridge in zip(solve_ridge_path(X, Y, ridges, method=method, random_state=0), ridges, strict=True):
        expected = solve_ridge(X, Y, ridge, method="cholesky").coef
        np.testing.assert_allclose(X @ solution.coef, X @ expected, atol=1e-2)
        assert (solution.sketch_size > 0) == (method == "sketch")


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
