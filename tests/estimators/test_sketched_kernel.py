"""SketchedKernelRidge gives what scikit-learn's KernelRidge gives."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel

import sparing.estimators.sketched_kernel as module
from sparing import SketchedKernelRidge

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
    with pytest.warns(ConvergenceWarning, match="or check that the kernel is positive definite"):
        SketchedKernelRidge(1e-8, gamma=0.01, solver="cg", max_iter=2).fit(X, Y)
