"""Kernel ridge regression from a kernel matrix."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_info, threadpool_limits

from sparing.geometry import effective_dimension
from sparing.linalg.gram import Gram
from sparing.solvers import proximal_point, solve_kernel_ridge

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1100, 4))
Y = np.column_stack([np.sin(X).sum(axis=1), X[:, 0] * X[:, 1]]) + 0.1 * RNG.standard_normal((1100, 2))


def test_kernels_that_are_not_symmetric_are_refused():
    with pytest.raises(ValueError, match="not symmetric"):
        solve_kernel_ridge(np.triu(np.ones((3, 3))), np.ones(3), 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_few_columns_are_those_with_many(dtype):
    K = np.cov(RNG.standard_normal((30, 60))).astype(dtype)
    V = RNG.standard_normal((30, 9)).astype(dtype)
    scale = RNG.random(30).astype(dtype)
    np.testing.assert_allclose(Gram(K, scale=scale) @ V[:, :2], (Gram(K, scale=scale) @ V)[:, :2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(Gram(K).columns(np.array([3, 7])), K[:, [3, 7]])


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


def test_an_indefinite_kernel_never_passes_for_solved():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 400)))[0]
    K = basis @ np.diag(np.append(-0.5, np.linspace(1.0, 5.0, 399))) @ basis.T
    assert not solve_kernel_ridge((K + K.T) / 2, Y[:400], 0.1, method="cholesky", tol=1e-6).converged
    assert not solve_kernel_ridge(np.array([[0.0, 1.0], [1.0, 0.0]]), [1.0, 2.0], 0.1).converged


def test_fits_in_threads_leave_the_threads_of_blas_as_they_were():
    K = rbf_kernel(X[:600], gamma=0.2)
    with threadpool_limits(2), ThreadPoolExecutor(4) as executor:
        before = [pool["num_threads"] for pool in threadpool_info()]
        list(executor.map(lambda ridge: solve_kernel_ridge(K, Y[:600], ridge), np.linspace(1.0, 2.0, 16)))
        assert [pool["num_threads"] for pool in threadpool_info()] == before
    assert max(before) == 2  # or there was nothing to restore


def test_landmarks_for_a_larger_ridge():
    """Fewer landmarks, more steps, the same solution: by conjugate gradients and by proximal steps."""
    K = rbf_kernel(X[:700], gamma=0.3)
    expected = np.linalg.solve(K + 0.1 * np.eye(700), Y[:700])
    plain = solve_kernel_ridge(K, Y[:700], 0.1, method="sketch", random_state=0)
    larger = solve_kernel_ridge(K, Y[:700], 0.1, method="sketch", sketch_ridge=5.0, random_state=0)
    steps = proximal_point(K, Y[:700], 0.1, larger=0.8, gram=True, tol=1e-12, random_state=0)
    assert larger.sketch_size < 0.5 * plain.sketch_size
    assert larger.iterations > plain.iterations
    for found in (plain, larger, steps, proximal_point(K, Y[:700], 0.1, gram=True, tol=1e-12, random_state=0)):
        assert found.converged
        np.testing.assert_allclose(K @ found.coef, K @ expected, atol=1e-3)
    assert proximal_point(K, Y[:700, 0], 0.1, larger=0.8, gram=True, random_state=0).coef.shape == (700,)
    assert not proximal_point(K, Y[:700], 0.1, larger=0.8, gram=True, max_iter=3, random_state=0).converged


def test_ridges_that_are_not_larger_are_refused():
    K = np.eye(3)
    with pytest.raises(ValueError, match=r"sketch_ridge is 0\.5, below the ridge 1\.0"):
        solve_kernel_ridge(K, np.ones(3), 1.0, method="sketch", sketch_ridge=0.5)
    with pytest.raises(ValueError, match="sketch_ridge is for method='sketch'; got method='auto'"):
        solve_kernel_ridge(K, np.ones(3), 1.0, sketch_ridge=2.0)
    with pytest.raises(ValueError, match=r"larger is 0\.5, below the ridge 1\.0"):
        proximal_point(K, np.ones(3), 1.0, larger=0.5, gram=True)
    with pytest.raises(ValueError, match="square, symmetric"):
        proximal_point(np.triu(np.ones((3, 3))), np.ones(3), 1.0, gram=True)
