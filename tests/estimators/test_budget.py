"""Budget estimators with online learners: the same model however rows come, and in whatever units."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from online_estimators import D, N, X, Y, assert_same, every_estimator, every_regressor, fit, learn, make, target
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge

# The same result however rows come -------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize(
    "cuts", [[0, N], [0, 1, 29, 59, 60, 61, 300, N], range(N + 1)], ids=["whole", "chunks", "rows"]
)
def test_chunks_give_what_fit_gives(cls, cuts):
    assert_same(learn(make(cls, n_examples=N), list(cuts)), fit(cls))


@every_estimator
def test_without_n_examples_chunks_agree_with_each_other(cls):
    rows, halves = learn(make(cls), list(range(N + 1))), learn(make(cls), [0, N // 2, N])
    assert_same(rows, halves)
    assert np.abs(rows.coef_).sum() > 0


@every_estimator
def test_layout_does_not_matter(cls, tmp_path):
    expected = fit(cls)
    np.save(tmp_path / "X.npy", X)
    fixed = X.copy()
    fixed.flags.writeable = False
    layouts = [
        sparse.csr_matrix(X),
        sparse.csr_array(X),
        sparse.csc_array(X),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1].copy()[::-1],
        fixed,
        np.load(tmp_path / "X.npy", mmap_mode="r"),
    ]
    for layout in layouts:
        assert_same(fit(cls, layout), expected)


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    once = sparse.coo_array(X)
    twice = sparse.csr_array(
        (
            np.repeat(once.data / 2, 2),
            np.repeat(once.col, 2),
            np.concatenate([[0], 2 * np.cumsum((X != 0).sum(axis=1))]),
        ),
        shape=X.shape,
    )
    assert twice.nnz == 2 * once.nnz
    assert_same(fit(BudgetRidge, twice), fit(BudgetRidge))


@pytest.mark.parametrize("dtype", ["f4", ">f8", "f2", "g"])
def test_any_float_is_read_as_it_is(dtype):
    single = X.astype(dtype)
    assert_same(fit(BudgetRidge, single), fit(BudgetRidge, single.astype(np.float64)))


@every_estimator
def test_data_frames_bring_their_names(cls):
    pandas = pytest.importorskip("pandas")
    names = [f"test {i}" for i in range(D)]
    frame = pandas.DataFrame(X, columns=names)
    model = make(cls).fit(frame, pandas.Series(target(cls)))
    assert model.feature_names_in_.tolist() == names
    assert_same(model, fit(cls))
    if cls is not BudgetClassifier:
        np.testing.assert_allclose(model.predict(frame), fit(cls).predict(X), atol=1e-12)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[names[::-1]])
    with pytest.raises(ValueError, match="same order"):
        model.partial_fit(frame[names[::-1]], target(cls))


@every_estimator
def test_unpickled_goes_on_as_if_uninterrupted(cls):
    for cut in (20, 200):  # within the pilot and after it
        half = pickle.loads(pickle.dumps(learn(make(cls, n_examples=N), [0, cut])))
        assert_same(learn(half, [cut, N]), fit(cls))


@every_estimator
def test_the_seed_decides(cls):
    assert_same(fit(cls, random_state=5), fit(cls, random_state=5))
    assert not np.array_equal(fit(cls, random_state=5).coef_, fit(cls, random_state=6).coef_)


@every_estimator
def test_a_second_fit_starts_anew(cls):
    model = fit(cls)
    model.fit(X[:100], target(cls)[:100])
    assert_same(model, make(cls).fit(X[:100], target(cls)[:100]))


# Units ------------------------------------------------------------------------------------------------------------


@every_estimator
def test_units_of_an_attribute_do_not_matter(cls):
    units = np.ones(D)
    units[[0, 5]] = 1000.0, 1e-3
    plain, scaled = fit(cls), fit(cls, X * units)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.scale_ / units, plain.scale_, rtol=1e-12)
    assert scaled.cells_ == plain.cells_


@every_estimator
def test_offsets_go_into_the_intercept(cls):
    offsets = np.linspace(-1e6, 1e6, D)
    plain, moved = fit(cls), fit(cls, X + offsets)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(moved.intercept_ + moved.coef_ @ offsets, plain.intercept_, atol=1e-3)


@every_regressor
def test_predictions_shift_with_the_targets(cls):
    shifted = make(cls).fit(X, Y + 1e4)
    np.testing.assert_allclose(shifted.predict(X) - 1e4, fit(cls).predict(X), atol=1e-6)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso])
def test_predictions_scale_with_the_targets(cls):
    np.testing.assert_allclose(make(cls).fit(X, 1000.0 * Y).predict(X), 1000.0 * fit(cls).predict(X), rtol=1e-8)


@every_estimator
def test_without_intercept(cls):
    model = fit(cls, fit_intercept=False)
    assert np.all(np.asarray(model.intercept_) == 0)
    assert not np.allclose(model.coef_, fit(cls).coef_)


def test_a_given_scale_and_radius_are_used():
    scale = np.linspace(1.0, 2.0, D)
    model = fit(BudgetRidge, scale=scale, radius=0.25)
    np.testing.assert_array_equal(model.scale_, scale)
    assert model.radius_ == 0.25
    assert 0.2 < np.linalg.norm(model.coef_ * scale) <= 0.25 * (1 + 1e-9)
    assert fit(BudgetRidge, scale=None).scale_ is None


def test_alpha_sets_the_radius_that_it_implies():
    """Moving alpha by 100 moves the radius by 10 for ridge and by 100 for lasso."""
    for cls, ratio in ((BudgetRidge, 10.0), (BudgetLasso, 100.0)):
        assert fit(cls, alpha=0.01).radius_ == pytest.approx(ratio * fit(cls, alpha=1.0).radius_)
    first = Y[:60]  # the pilot is a tenth of the examples
    assert fit(BudgetRidge, alpha=4.0).radius_ == pytest.approx(np.sqrt(np.var(first) / 4.0))
    assert fit(BudgetLasso, alpha=4.0).radius_ == pytest.approx(np.var(first) / 8.0)
