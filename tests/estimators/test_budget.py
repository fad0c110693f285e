"""Budget estimators with online learners: the same model however rows come, what it cost, and how good it is."""

import pickle
from itertools import pairwise

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR, theory
from sparing.learners import AELR, AERR, DDAELR, DDAERR, PlugInSVR, TwoPhasedDDAELR, TwoPhasedDDAERR

D, N, BUDGET = 12, 600, 4
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, D)) * np.linspace(3.0, 0.2, D) * (RNG.random((N, D)) < 0.6)
Y = X @ RNG.standard_normal(D) + 2.0 + 0.1 * RNG.standard_normal(N)
LABELS = np.where(np.median(Y) < Y, "high", "low")
LEARNT = ("coef_", "intercept_", "n_iter_", "cells_", "draws_", "spent_", "radius_", "scale_", "second_moments_")

REGRESSORS = [BudgetRidge, BudgetLasso, BudgetSVR]
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)
every_estimator = pytest.mark.parametrize("cls", [*REGRESSORS, BudgetClassifier])


def target(cls):
    return LABELS if cls is BudgetClassifier else Y


def make(cls, **options):
    return cls(**({"budget": BUDGET, "learner": "online", "random_state": 1} | options))


def fit(cls, X=X, **options):
    return make(cls, **options).fit(X, target(cls))


def learn(model, cuts, X=X):
    """``partial_fit`` over the chunks between the cuts."""
    y = target(type(model))
    named = {"classes": np.unique(y)} if isinstance(model, BudgetClassifier) else {}
    for first, last in pairwise(cuts):
        model.partial_fit(X[first:last], y[first:last], **named)
    return model


def assert_same(left, right):
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


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


# What it cost, and what is left behind ----------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("budget", [2, 5, D])
def test_the_books(cls, budget):
    model = fit(cls, budget=budget)
    assert N < model.cells_ <= model.draws_ <= budget * N
    assert model.spent_ == float(model.cells_)
    assert model.n_iter_ == N
    assert model.cells_ == model.learner_.cells + 60 * budget  # the pilot, a tenth, buys distinct values


@every_estimator
def test_during_the_pilot_the_model_is_the_mean_target(cls):
    y = np.where(LABELS == "low", 1.0, -1.0) if cls is BudgetClassifier else Y
    model = learn(make(cls, pilot=100), [0, 50])
    assert model.n_iter_ == 50
    assert model.cells_ == 50 * BUDGET
    assert model.learner_ is model.radius_ is model.scale_ is model.bound_ is None
    assert not model.coef_.any()
    np.testing.assert_allclose(model.intercept_, y[:50].mean())


@pytest.mark.parametrize(("cls", "algorithm"), [(BudgetRidge, "AERR"), (BudgetLasso, "AELR")])
def test_the_bound_is_the_theorems(cls, algorithm):
    options = {"step_size": "theory", "fit_intercept": False, "scale": np.ones(D), "radius": 2.0}
    known = {"n_attributes": D, "n_examples": N, "budget": BUDGET, "radius": 2.0}
    known["norm_bound"] = np.sqrt(D) if cls is BudgetRidge else 1.0  # entries within [-1, 1]
    small = X / np.abs(X).max()
    moments = np.mean(small**2, axis=0)
    uniform = make(cls, design="uniform", **options).fit(small, Y)
    assert uniform.bound_ == pytest.approx(theory.risk_bound(algorithm, **known))
    informed = make(cls, second_moments=moments, **options).fit(small, Y)
    assert informed.bound_ == pytest.approx(theory.risk_bound("DD" + algorithm, second_moments=moments, **known))
    for change in ({"step_size": "adaptive"}, {"fit_intercept": True}, {"design": "two-phase"}):
        assert make(cls, **({"design": "uniform"} | options | change)).fit(small, Y).bound_ is None


@pytest.mark.parametrize(
    ("cls", "uniform", "informed", "two_phased"),
    [
        (BudgetRidge, AERR, DDAERR, TwoPhasedDDAERR),
        (BudgetLasso, AELR, DDAELR, TwoPhasedDDAELR),
        (BudgetClassifier, AERR, DDAERR, TwoPhasedDDAERR),
    ],
)
def test_designs_choose_the_learner(cls, uniform, informed, two_phased):
    moments = np.linspace(1.0, 2.0, D)
    assert type(fit(cls, design="uniform").learner_) is uniform
    assert fit(cls, design="uniform").second_moments_ is None
    for design in ("auto", "moments"):
        model = fit(cls, design=design, second_moments=moments, scale=None, fit_intercept=False)
        assert type(model.learner_) is informed
        assert model.learner_.floor == 0
        np.testing.assert_array_equal(model.second_moments_, moments)
    for design in ("auto", "two-phase"):
        model = fit(cls, design=design)
        assert type(model.learner_) is two_phased
        assert model.learner_.in_phase_two
        assert model.learner_.n_pilot == 60  # a tenth
        assert model.learner_.floor > 0
    priced = fit(cls, design="two-phase", costs=np.ones(D), budget=4.0)
    assert type(priced.learner_) is informed
    assert priced.learner_.floor > 0


def test_the_tube_loss_has_its_own_learner():
    for design in ("uniform", "two-phase"):
        model = fit(BudgetSVR, design=design, tube=0.3, accuracy=0.2)
        assert type(model.learner_) is PlugInSVR
        assert (model.learner_.tube, model.learner_.accuracy) == (0.3, 0.2)
    assert np.ptp(fit(BudgetSVR, design="uniform").second_moments_) == 0


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetSVR])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [None, np.linspace(1.0, 2.0, D)], ids=["units", "scaled"])
def test_the_learner_begins_with_the_moments_of_the_pilot(cls, fit_intercept, scale):
    """At full budget the pilot sees all of its rows.

    Variances are about the means, centered or not; second moments are those of the attributes as the model sees them,
    shrunk toward their mean by one look.
    """
    rows = X[:200] + 1.0
    model = make(cls, budget=D, pilot=200, scale=scale, fit_intercept=fit_intercept).partial_fit(rows, Y[:200])
    learner = model.learner_
    np.testing.assert_array_equal(learner.looks, 200)
    np.testing.assert_allclose(learner.means, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(learner.variances, rows.var(axis=0), rtol=1e-12)
    squares = rows.var(axis=0) if fit_intercept else np.mean(rows**2, axis=0)
    squares = squares if scale is None else squares / scale**2
    np.testing.assert_allclose(model.second_moments_, (200 * squares + squares.mean()) / 201, rtol=1e-12)
    assert learner.n_rounds == 0
    assert model.n_iter_ == 200


# Several outputs and classes ----------------------------------------------------------------------------------------


@every_regressor
def test_several_outputs_learn_from_the_same_looks(cls):
    both = make(cls).fit(X, np.column_stack([Y, Y, -Y]))
    assert both.coef_.shape == (3, D)
    assert both.intercept_.shape == (3,)
    assert both.predict(X).shape == (N, 3)
    np.testing.assert_array_equal(both.coef_[0], both.coef_[1])
    assert both.score(X, np.column_stack([Y, Y, -Y])) > 0.3
    assert both.cells_ <= BUDGET * N
    assert make(cls).fit(X, Y[:, None]).predict(X).shape == (N, 1)


def test_two_classes_have_one_weight_vector():
    model = fit(BudgetClassifier)
    scores = model.decision_function(X)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.coef_.shape == (1, D)
    assert scores.shape == (N,)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "low", "high"))
    assert model.score(X, LABELS) > 0.75


def test_three_classes_have_three():
    y = np.array(["a", "b", "c"])[(X[:, :3] / X[:, :3].std(axis=0)).argmax(axis=1)]
    model = make(BudgetClassifier).fit(X, y)
    scores = model.decision_function(X)
    assert model.coef_.shape == (3, D)
    assert scores.shape == (N, 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, y) > 1.3 * max(np.mean(y == label) for label in "abc")


def test_classes_may_come_late():
    y = np.array([7, 3, 5])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = make(BudgetClassifier, n_examples=N)
    order = np.argsort(y, kind="stable")  # the first chunk holds one class only
    model.partial_fit(X[order[:30]], y[order[:30]], classes=[3, 5, 7])
    model.partial_fit(X[order[30:]], y[order[30:]])
    assert model.classes_.tolist() == [3, 5, 7]
    assert_same(model, make(BudgetClassifier).fit(X[order], y[order]))


# In company ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "plain"),
    [(BudgetRidge, Ridge), (BudgetLasso, Lasso), (BudgetSVR, LinearSVR), (BudgetClassifier, SGDClassifier)],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_to_sklearn_is_a_plain_fitted_model(cls, plain, fit_intercept, tmp_path):
    model = fit(cls, fit_intercept=fit_intercept)
    joblib.dump(model.to_sklearn(), tmp_path / "plain.joblib")
    for copy in (model.to_sklearn(), joblib.load(tmp_path / "plain.joblib")):
        assert type(copy) is plain
        assert copy.fit_intercept is fit_intercept
        assert copy.n_features_in_ == D
        for rows in (X, sparse.csr_array(X)):
            if cls is BudgetClassifier:
                np.testing.assert_allclose(copy.decision_function(rows), model.decision_function(X), atol=1e-12)
                np.testing.assert_array_equal(copy.predict(rows), model.predict(X))
            else:
                np.testing.assert_allclose(copy.predict(rows), model.predict(X), atol=1e-12)


@pytest.mark.parametrize(
    ("cls", "plain"), [(BudgetRidge, Ridge), (BudgetLasso, LinearRegression), (BudgetSVR, LinearRegression)]
)
def test_to_sklearn_of_several_outputs(cls, plain):
    model = make(cls).fit(X, np.column_stack([Y, -Y]))
    assert type(model.to_sklearn()) is plain
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(model.to_sklearn().predict(rows), model.predict(X), atol=1e-12)


def test_to_sklearn_of_three_classes():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = make(BudgetClassifier).fit(X, y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@every_estimator
def test_clones_have_the_options_and_nothing_else(cls):
    model = fit(cls, design="uniform")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.get_params()["design"] == "uniform"
    assert not hasattr(copy, "coef_")
    assert_same(copy.set_params(design="auto").fit(X, target(cls)), fit(cls))


@every_estimator
def test_pipeline_and_grid_search(cls):
    pipeline = make_pipeline(StandardScaler(), make(cls))
    search = GridSearchCV(pipeline, {f"{cls.__name__.lower()}__budget": [2, 8]}, cv=3, error_score="raise")
    search.fit(X, target(cls))
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0]  # four times the looks
    assert search.predict(X).shape == (N,)
