"""SketchedRidge gives what scikit-learn's Ridge gives, whatever the spectrum, and says how."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from ill_conditioned import make
from sparing import SketchedRidge, SketchedRidgeCV
from sparing.geometry import effective_dimension

N, D = 3000, 600
SOLVERS = ("auto", "sketch", "cholesky", "cg")


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
@pytest.mark.parametrize("shape", [(3000, 600), (700, 1400)], ids=["tall", "wide"])
def test_sketches_of_both_kinds_and_shapes(sketch, shape):
    X, Y = make(*shape, power=3.0)
    model = SketchedRidge(0.1, solver="sketch", sketch=sketch, random_state=0).fit(X, Y)
    expected = Ridge(0.1).fit(X, Y)
    assert objective(model, X, Y, 0.1) / objective(expected, X, Y, 0.1) - 1 < 1e-8
    assert 0 < model.sketch_size_ < min(shape) // 2
    assert model.effective_dimension_ == pytest.approx(effective_dimension(X - X.mean(axis=0), 0.1), rel=0.15)


def test_the_ball_is_kept_to():
    X, Y = make(200, 8)
    radius = 0.6 * np.linalg.norm(SketchedRidge(0.1).fit(X, Y).coef_, axis=1).min()
    model = SketchedRidge(0.1, radius=radius).fit(X, Y)
    np.testing.assert_allclose(np.linalg.norm(model.coef_, axis=1), radius, rtol=1e-5)


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
    with pytest.raises(ValueError, match="at least one non-zero"):
        SketchedRidge().fit(np.ones((3, 2)), np.ones(3), sample_weight=np.zeros(3))


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
