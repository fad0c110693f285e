"""Sketched solvers on a cluster: the solution of one machine, from products per block."""

import numpy as np
import pytest
from dask import array
from killing import killed_after
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from sparing import OnlineRegressor, SketchedLogistic, SketchedRidge, SketchedRidgeCV, distributed
from sparing.distributed.least_squares import skip
from sparing.distributed.logistic import Curved, Newton

N, D = 2000, 80


@pytest.fixture(scope="module")
def problem():
    """Ill-conditioned rows with means, whose eigenvalues decay."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) / np.arange(1, D + 1) + rng.standard_normal(D)
    return X, np.column_stack([X[:, 0] + 0.1 * rng.standard_normal(N), X[:, 1] - X[:, 2]])


def chunked(X, y, size=700):
    return array.from_array(X, chunks=(size, -1)), array.from_array(y, chunks=(size, *y.shape[1:]))


@pytest.mark.parametrize(
    ("solver", "sketch", "fit_intercept"),
    [
        ("auto", "auto", True),
        ("cholesky", "auto", False),
        ("sketch", "leverage", True),
        ("sketch", "uniform", False),
    ],
)
def test_ridge_is_that_of_one_machine(client, problem, solver, sketch, fit_intercept):
    """Iterative solvers stop at the same step, which is 1e-13 of the objective above the minimum."""
    X, y = problem
    options = {"solver": solver, "sketch": sketch, "fit_intercept": fit_intercept, "tol": 1e-13, "random_state": 3}
    ours = distributed.fit(SketchedRidge(0.5, **options), *chunked(X, y), client=client)
    theirs = SketchedRidge(0.5, **options).fit(X, y)
    close = 1e-10 if solver in ("auto", "cholesky") else 1e-7
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=close)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=10 * close)
    assert (ours.sketch_size_, ours.n_iter_) == (theirs.sketch_size_, theirs.n_iter_)
    if solver == "auto":
        exact = Ridge(0.5, solver="svd").fit(X, y)
        assert ours.coef_ == pytest.approx(exact.coef_, abs=1e-10)
        assert distributed.predict(ours, chunked(X, y)[0]).compute() == pytest.approx(exact.predict(X), abs=1e-9)


def test_where_the_ridge_dominates_the_same_row_is_drawn(client, problem):
    """A sample that holds no row is replaced by the row with the highest score."""
    X, y = problem
    options = {"alpha": 1e8, "solver": "sketch", "sketch": "leverage", "random_state": 3}
    ours = distributed.fit(SketchedRidge(**options), *chunked(X, y), client=client)
    theirs = SketchedRidge(**options).fit(X, y)
    assert ours.sketch_size_ == theirs.sketch_size_ == 1
    assert ours.effective_dimension_ == pytest.approx(theirs.effective_dimension_, rel=1e-10)


def test_numbers_left_out_are_those_that_would_be_drawn():
    """Also where half of a number of 64 bits is kept for the next normal number of 32 bits."""
    drawn, left_out = np.random.default_rng(0), np.random.default_rng(0)
    for rng in (drawn, left_out):
        rng.standard_normal(1, dtype=np.float32)
    drawn.random(10)
    skip(left_out, 10)
    assert np.array_equal(drawn.standard_normal(5, dtype=np.float32), left_out.standard_normal(5, dtype=np.float32))


def test_sparse_rows_and_one_target(client, problem):
    X, y = problem
    X = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    parts = [array.from_delayed(block, (N // 4, D), meta=X[:0]) for block in delayed_blocks(X)]
    ours = distributed.fit(SketchedRidge(2.0, tol=1e-13), array.concatenate(parts), y[:, 0], client=client)
    theirs = SketchedRidge(2.0, tol=1e-13).fit(X, y[:, 0])
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-7)
    assert ours.coef_.shape == (D,)


def delayed_blocks(X):
    from dask import delayed

    return [delayed(X[start : start + N // 4]) for start in range(0, N, N // 4)]


@pytest.mark.parametrize(("n_classes", "fit_intercept"), [(2, True), (3, True), (3, False)])
def test_logistic_regression_is_that_of_one_machine(client, problem, n_classes, fit_intercept):
    X, y = problem[0][:, :9], np.array(["one", "two", "three"])[np.digitize(problem[1][:, 1], [-0.5, 0.5])]
    y = y if n_classes == 3 else np.where(y == "one", "one", "other")
    options = {"C": 0.3, "fit_intercept": fit_intercept, "tol": 1e-12}
    ours = distributed.fit(SketchedLogistic(**options), *chunked(X, y), client=client)
    theirs = LogisticRegression(C=0.3, fit_intercept=fit_intercept, tol=1e-12, max_iter=10_000).fit(X, y)
    alone = SketchedLogistic(**options, max_iter=1000).fit(X, y)
    for of in (theirs, alone):
        assert ours.coef_ == pytest.approx(of.coef_, abs=1e-5)
        assert ours.predict_proba(X) == pytest.approx(of.predict_proba(X), abs=1e-5)
    assert ours.classes_.tolist() == alone.classes_.tolist()


class Nowhere:
    """Parts whose loss is least where Newton's method begins, though the gradient there denies it."""

    def summed(self, function, W):
        return Curved(float(W.any()), np.ones(W.size), np.eye(W.size))


def test_newtons_method_stays_where_no_step_brings_less():
    solution = Newton(Nowhere(), 1.0, (3, 1), fit_intercept=True).run(1e-8, 20)
    assert (solution.coef == 0).all()
    assert (solution.iterations, solution.converged) == (1, False)


def test_a_worker_that_dies_changes_no_bit(client, problem):
    model = SketchedRidge(0.5, solver="sketch", random_state=3)
    expected = distributed.fit(model, *chunked(*problem), client=client).coef_
    with killed_after(client, "tightened", "normal"):
        assert np.array_equal(distributed.fit(model, *chunked(*problem), client=client).coef_, expected)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SketchedRidge(radius=1.0), "radius= is for one machine"),
        (SketchedRidge(sketch="srht"), "srht"),
        (SketchedLogistic(solver="sketch"), "solver='sketch' is for one machine"),
        (SketchedRidgeCV(), "a SketchedRidgeCV cannot be fitted on many machines"),
        (OnlineRegressor(), "a OnlineRegressor cannot be fitted on many machines"),
    ],
)
def test_what_is_not_for_many_machines_is_refused(client, problem, model, words):
    with pytest.raises(ValueError, match=words):
        distributed.fit(model, *chunked(*problem), client=client)


def test_wide_rows_and_no_client_are_refused(client, problem):
    X, y = problem
    with pytest.raises(ValueError, match="fewer rows than columns"):
        distributed.fit(SketchedRidge(), *chunked(X[:50], y[:50]), client=client)
