"""SketchedKernelRidge gives what scikit-learn's KernelRidge gives."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from threadpoolctl import threadpool_info

import sparing.estimators.sketched_kernel as module
from sparing import SketchedKernelRidge
from sparing.geometry import effective_dimension
from sparing.linalg.gram import Gram
from sparing.solvers import solve_kernel_ridge

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1100, 4))
Y = np.column_stack([np.sin(X).sum(axis=1), X[:, 0] * X[:, 1]]) + 0.1 * RNG.standard_normal((1100, 2))
NEW = RNG.standard_normal((50, 4))


@pytest.mark.parametrize("solver", ["auto", "sketch", "cholesky", "cg"])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf", "gamma": 0.2},
        {"kernel": "polynomial", "degree": 2, "gamma": 0.5},
        {"kernel": "laplacian", "gamma": 0.1},
        {"kernel": "linear"},
    ],
    ids=lambda options: options["kernel"],
)
def test_it_is_kernel_ridge(solver, kernel):
    expected = KernelRidge(alpha=0.5, **kernel).fit(X, Y).predict(NEW)
    model = SketchedKernelRidge(0.5, solver=solver, random_state=0, **kernel).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-4 * np.abs(expected).max())
    assert (0 < model.sketch_size_ < len(X)) == (solver == "sketch")


def test_auto_draws_landmarks_where_a_factor_would_cost_more(monkeypatch):
    monkeypatch.setattr("sparing.solvers.kernel.SMALL", len(X) - 1)
    assert 0 < SketchedKernelRidge(0.5, gamma=0.2, random_state=0).fit(X, Y).sketch_size_ < len(X)
    monkeypatch.undo()
    assert SketchedKernelRidge(0.5, gamma=0.2).fit(X, Y).sketch_size_ == 0


@pytest.mark.parametrize("solver", ["cholesky", "sketch"])
def test_kernels_that_are_not_symmetric_are_refused(solver):
    K = np.exp(-0.2 * np.square(X[:, None] - X).sum(axis=2))
    K[:, : len(X) // 2] *= 1.5
    with pytest.raises(ValueError, match="not symmetric"):
        SketchedKernelRidge(kernel="precomputed", solver=solver, random_state=0).fit(K, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_few_columns_are_those_with_many(dtype):
    K = np.cov(RNG.standard_normal((30, 60))).astype(dtype)
    V = RNG.standard_normal((30, 9)).astype(dtype)
    scale = RNG.random(30).astype(dtype)
    np.testing.assert_allclose(Gram(K, scale=scale) @ V[:, :2], (Gram(K, scale=scale) @ V)[:, :2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(Gram(K).columns(np.array([3, 7])), K[:, [3, 7]])


def test_one_target_weights_and_sparse_rows():
    weights = RNG.integers(0, 3, len(X)).astype(float)
    few = X * (np.abs(X) > 1)
    expected = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.2).fit(few, Y[:, 0], weights).predict(NEW)
    for form in (few, sparse.csr_array(few)):
        for solver in ("cholesky", "sketch"):
            model = SketchedKernelRidge(0.5, gamma=0.2, solver=solver, random_state=0).fit(form, Y[:, 0], weights)
            np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-4)


def test_callable_and_precomputed_kernels():
    few, y = X[:150], Y[:150]
    expected = KernelRidge(alpha=0.5, kernel="laplacian", gamma=0.1).fit(few, y).predict(NEW)

    def kernel(a, b, gamma):
        return np.exp(-gamma * np.abs(a - b).sum())

    model = SketchedKernelRidge(0.5, kernel=kernel, kernel_params={"gamma": 0.1}).fit(few, y)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-5)
    for solver in ("auto", "nystrom"):
        model = SketchedKernelRidge(0.5, kernel="precomputed", solver=solver, random_state=0)
        model.fit(laplacian_kernel(few, gamma=0.1), y)
        np.testing.assert_allclose(model.predict(laplacian_kernel(NEW, few, gamma=0.1)), expected, atol=0.05)


def test_few_steps_whatever_the_condition_number():
    """From alpha 1 to 1e-6 the condition number grows by a million; plain steps do not get there."""
    steps = []
    for alpha in (1.0, 1e-2, 1e-4, 1e-6):
        K = rbf_kernel(X, gamma=0.02)
        solution = solve_kernel_ridge(K, Y, alpha, method="sketch", random_state=0)
        assert solution.converged
        steps.append(solution.iterations)
        assert solution.effective_dimension == pytest.approx(effective_dimension(K, alpha, gram=True), rel=0.1)
    assert max(steps) < 30
    assert not solve_kernel_ridge(K, Y, 1e-6, method="cg", max_iter=10 * max(steps)).converged


def test_matrices_that_are_not_stored(monkeypatch):
    """Beyond the limit the same system is solved from blocks, and "auto" goes over to the landmarks alone."""
    expected = SketchedKernelRidge(0.5, gamma=0.2, solver="cholesky").fit(X, Y).predict(NEW)
    monkeypatch.setattr(module, "MOST_STORED", 1000)
    blocks = SketchedKernelRidge(0.5, gamma=0.2, solver="sketch", random_state=0).fit(X, Y)
    np.testing.assert_allclose(blocks.predict(NEW), expected, atol=1e-4)
    landmarks = SketchedKernelRidge(0.5, gamma=0.2, random_state=0).fit(X, Y)
    assert len(landmarks.X_fit_) == len(landmarks.dual_coef_) == landmarks.sketch_size_ < 600
    error = np.mean((landmarks.predict(NEW) - expected) ** 2) / np.var(expected)
    assert error < 1e-3


def test_singular_kernels_are_no_harm():
    twice = np.concatenate([X[:600], X[:600]])
    y = np.concatenate([Y[:600], Y[:600]])
    expected = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.2).fit(twice, y).predict(NEW)
    model = SketchedKernelRidge(1e-3, gamma=0.2, solver="sketch", random_state=0).fit(twice, y)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-3)


def test_what_goes_wrong_is_said():
    for options, message in (
        ({"alpha": 0.0}, "alpha must be a positive finite number"),
        ({"solver": "fast"}, "solver must be one of"),
        ({"kernel": "precomputed"}, "must be square"),
    ):
        with pytest.raises(ValueError, match=message):
            SketchedKernelRidge(**options).fit(X, Y)
    with pytest.raises(ValueError, match="not symmetric"):
        solve_kernel_ridge(np.triu(np.ones((3, 3))), np.ones(3), 1.0)
    with pytest.warns(ConvergenceWarning, match="or check that the kernel is positive definite"):
        SketchedKernelRidge(1e-8, gamma=0.01, solver="cg", max_iter=2).fit(X, Y)


def test_an_indefinite_kernel_never_passes_for_solved():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 400)))[0]
    K = basis @ np.diag(np.append(-0.5, np.linspace(1.0, 5.0, 399))) @ basis.T
    assert not solve_kernel_ridge((K + K.T) / 2, Y[:400], 0.1, method="cholesky", tol=1e-6).converged
    assert not solve_kernel_ridge(np.array([[0.0, 1.0], [1.0, 0.0]]), [1.0, 2.0], 0.1).converged


def test_fits_in_threads_leave_the_threads_of_blas_as_they_were():
    K = rbf_kernel(X[:600], gamma=0.2)
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda ridge: solve_kernel_ridge(K, Y[:600], ridge), np.linspace(1.0, 2.0, 16)))
    assert [pool["num_threads"] for pool in threadpool_info()] == before
