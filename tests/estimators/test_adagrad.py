"""OnlineRegressor and OnlineClassifier: scikit-learn's checks, their own optimiser's steps, regret, bad input."""

import copy

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparing import OnlineClassifier, OnlineRegressor
from sparing.estimators.adagrad import FACTORS
from sparing.optim import comp_adagrad
from sparing.optim.prediction_losses import LOSSES

OPTIMIZERS = ("diagonal", "full", "compressed", "sketched")


@pytest.mark.filterwarnings("default::RuntimeWarning")  # some checks feed infinities on purpose
@parametrize_with_checks(
    [
        OnlineRegressor(random_state=0),
        OnlineRegressor("absolute", optimizer="diagonal", l1=0.01),
        OnlineClassifier(random_state=0),
        OnlineClassifier("hinge", optimizer="full", batch_size=4),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_the_losses(name):
    rng = np.random.default_rng(0)
    z, y = rng.standard_normal(200) * 3, rng.choice([-1.0, 1.0], 200)
    value, slope = LOSSES[name]
    numeric = (value(z + 1e-6, y) - value(z - 1e-6, y)) / 2e-6
    np.testing.assert_allclose(slope(z, y), numeric, atol=1e-5)


def make_rows(n_rows=300, n=12, seed=0):
    """Correlated attributes of low rank, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3)) @ rng.standard_normal((3, n)) + 0.1 * rng.standard_normal((n_rows, n))
    return X, X @ rng.standard_normal(n) + 0.1 * rng.standard_normal(n_rows)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_a_fit_is_the_optimiser_round_by_round(average, fit_intercept):
    X, y = make_rows()
    options = {"k": 4, "l2": 0.01, "random_state": 3}
    model = OnlineRegressor(step_size=1.0, batch_size=7, average=average, fit_intercept=fit_intercept, **options)
    model.fit(X, y)
    Z = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    init, update = comp_adagrad(1.0, k=4, l2=0.01, random_state=3)
    w = np.zeros(Z.shape[1])
    state, path = init(w), []
    for first in range(0, len(X), 7):
        path.append(w)
        rows, wanted = Z[first : first + 7], y[first : first + 7]
        w, state = update(rows.T @ (rows @ w - wanted) / len(wanted), state, w)
    expected = np.mean(path, axis=0) if average else w
    found = np.append(model.coef_, model.intercept_) if fit_intercept else model.coef_
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert model.n_iter_ == len(path)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_sparse_rows_chunks_and_passes_give_the_same(optimizer):
    X, y = make_rows()
    X[np.abs(X) < 0.5] = 0.0
    model = OnlineRegressor(optimizer=optimizer, random_state=0).fit(X, y)
    from_sparse = OnlineRegressor(optimizer=optimizer, random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(from_sparse.coef_, model.coef_, atol=1e-9)
    in_chunks = OnlineRegressor(optimizer=optimizer, random_state=0)
    for rows in np.array_split(np.arange(len(y)), 4):
        in_chunks.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(in_chunks.coef_, model.coef_)
    assert in_chunks.online_loss_ == pytest.approx(model.online_loss_)
    twice = OnlineRegressor(optimizer=optimizer, n_passes=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(twice.coef_, in_chunks.partial_fit(X, y).coef_)


@pytest.mark.parametrize(
    ("optimizer", "loss"),
    [*((optimizer, "logistic") for optimizer in OPTIMIZERS), ("compressed", "hinge"), ("compressed", "squared")],
)
def test_labels_of_three_kinds(optimizer, loss):
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((3, 8)) * 3
    labels = rng.integers(3, size=900)
    X = centres[labels] + rng.standard_normal((900, 8))
    names = np.array(["ash", "beech", "oak"])[labels]
    model = OnlineClassifier(loss, optimizer=optimizer, k=6, step_size=0.3, random_state=0).fit(X[:600], names[:600])
    assert model.score(X[600:], names[600:]) > 0.9
    assert model.online_error_ < 0.2
    pair = OnlineClassifier(loss, optimizer=optimizer, k=6, random_state=0).fit(X, names == "oak")
    assert pair.decision_function(X).shape == (900,)


def test_an_l1_term_makes_weights_zero():
    X, y = make_rows()
    y = X[:, 0]
    dense = OnlineRegressor(k=4, average=False, random_state=0).fit(X, y)
    few = OnlineRegressor(k=4, l1=2.0, average=False, random_state=0).fit(X, y)
    assert np.sum(dense.coef_ == 0) == 0
    assert np.sum(few.coef_ == 0) >= 8


def losses_of(model, X, y, w):
    """Sum over the rows, penalty included, of fixed weights."""
    return LOSSES[model.loss].value(X @ w, y).sum() + len(y) * model.l2 / 2 * w @ w


@pytest.mark.parametrize("optimizer", ["diagonal", "full", "compressed"])
@pytest.mark.parametrize(("loss", "l2"), [("logistic", 0.0), ("hinge", 0.0), ("logistic", 0.05)])
@pytest.mark.parametrize("kind", ["random", "low rank"])
def test_regret_stays_below_the_bound(kind, loss, l2, optimizer):
    """Theorems 1 to 3 against the fitted weights, whose regret and whose bound are both known exactly."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 24)) if kind == "random" else make_rows(120, 24, seed=5)[0]
    y = np.where(X @ rng.standard_normal(24) + 0.5 * rng.standard_normal(120) > 0, 1, -1)
    options = {"optimizer": optimizer, "k": 6, "l2": l2, "step_size": 0.5, "fit_intercept": False, "random_state": 0}
    model = OnlineClassifier(loss, average=True, **options)
    suffered = 0.0
    w = np.zeros(24)
    for row, target in zip(X, y, strict=True):
        suffered += losses_of(model, row[None], np.array([target]), w)
        model.partial_fit(row[None], [target], classes=[-1, 1])
        w = model.last_weights_[0]
    regret = suffered - losses_of(model, X, y, model.coef_[0])
    assert regret < model.regret_bound_
    best = optimize.minimize(lambda v: losses_of(model, X, y, v), np.zeros(24)).x
    model.coef_ = best[None]
    assert suffered - losses_of(model, X, y, best) < model.regret_bound_


def test_no_theorem_no_bound():
    X, y = make_rows(50)
    assert OnlineRegressor(optimizer="sketched").fit(X, y).regret_bound_ is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "logistic"}, "loss must be one of 'squared', 'absolute'; got 'logistic'"),
        ({"optimizer": "adam"}, "optimizer must be one of 'diagonal'"),
        ({"k": 99}, "k is 99, but there are only 13 parameters"),
        ({"k": "many"}, "k must be one of 'auto'"),
        ({"delta": -1.0}, "delta must be a positive"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"n_passes": 0}, "n_passes must be a whole number"),
        ({"optimizer": "sketched", "l1": 1.0}, "has no L1 step"),
    ],
)
def test_bad_options_are_refused(options, words):
    X, y = make_rows(20)
    with pytest.raises(ValueError, match=words):
        OnlineRegressor(**options).fit(X, y)


def test_bad_rows_leave_the_model_as_it_was():
    X, y = make_rows(60)
    model = OnlineRegressor(random_state=0).fit(X, y)
    before = model.coef_.copy()
    broken = X.copy()
    broken[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(broken, y)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="labels that were not there at first"):
        OnlineClassifier().partial_fit(X, y > 0, classes=[False, True]).partial_fit(X, np.full(60, 2))


def test_the_scaled_sketch_is_the_unscaled_one_with_other_options():
    """n = 12 is padded to 16, k = 4: eta and tau times (1/4)^1.5, delta_r times 1/4; weights and bounds agree."""
    X, y = make_rows()[:2]
    shared = {"k": 4, "delta_c": 0.2, "l2": 0.01, "fit_intercept": False, "random_state": 0}
    printed = OnlineRegressor(step_size=8.0, tau=16.0, delta_r=0.4, scaled=True, **shared).fit(X, y)
    same = OnlineRegressor(step_size=1.0, tau=2.0, delta_r=0.1, **shared).fit(X, y)
    np.testing.assert_allclose(printed.coef_, same.coef_, rtol=1e-9)
    assert printed.regret_bound_ == pytest.approx(same.regret_bound_)
    assert printed.regret_bound_ != pytest.approx(OnlineRegressor(delta_r=0.1, **shared).fit(X, y).regret_bound_)


@pytest.mark.parametrize("option", [{"scaled": True}, {"delta_r": 0.1}, {"delta_c": 0.1}])
@pytest.mark.parametrize("optimizer", ["diagonal", "full", "sketched"])
def test_options_of_the_compressed_method_are_refused_elsewhere(optimizer, option):
    with pytest.raises(ValueError, match="need optimizer='compressed'; got optimizer="):
        OnlineRegressor(optimizer=optimizer, **option).fit(*make_rows()[:2])


@pytest.mark.parametrize("average", [False, True])
def test_an_automatic_step_is_the_best_of_its_runs(average):
    """The model is the run with the least loss; before each row the one with the least loss so far predicted it."""
    X, y = make_rows()
    labels = np.where(y > 0, 1.0, -1.0)
    shared = {"k": 4, "average": average, "random_state": 0}
    runs = [OnlineClassifier(step_size=step, **shared).fit(X, labels) for step in FACTORS]
    best = runs[int(np.argmin([run.online_loss_ for run in runs]))]
    model = OnlineClassifier(**shared).fit(X, labels)
    assert model.step_size_ == [best.step_size] == best.step_size_
    np.testing.assert_array_equal(model.coef_, best.coef_)
    np.testing.assert_array_equal(model.last_weights_, best.last_weights_)
    assert model.regret_bound_ == best.regret_bound_
    value, wrong, total, sums = LOSSES["logistic"].value, 0, 0.0, np.zeros(len(FACTORS))
    followed = [OnlineClassifier(step_size=step, **{**shared, "average": False}) for step in FACTORS]
    for row, label in zip(X[:60], labels[:60], strict=True):
        scores = np.array([m.decision_function(row[None])[0] if hasattr(m, "coef_") else 0.0 for m in followed])
        leader = int(np.argmin(sums))
        total, wrong = total + value(scores[leader], label), wrong + ((scores[leader] > 0) != (label > 0))
        sums += value(scores, label)
        for m in followed:
            m.partial_fit(row[None], [label], classes=[-1.0, 1.0])
    short = OnlineClassifier(**shared).fit(X[:60], labels[:60])
    assert (short.online_loss_, short.online_error_) == (pytest.approx(total / 60), wrong / 60)


def test_automatic_steps_have_the_units_of_the_targets():
    """Predictions grow with the targets, but for the small deltas; a first target near zero does no harm."""
    X, y = make_rows(600)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()
    y[0] = 1e-12
    fits = [OnlineRegressor(random_state=0).fit(X, unit * y) for unit in (1.0, 1000.0)]
    assert fits[1].step_size_ == pytest.approx(1000 * fits[0].step_size_)
    assert np.std(fits[1].predict(X) / 1000 - fits[0].predict(X)) < 0.02
    assert all(model.score(X, unit * y) > 0.97 for model, unit in zip(fits, (1.0, 1000.0), strict=True))
    assert fits[0].regret_bound_ is None


@pytest.mark.parametrize("seed", range(3))
def test_defaults_work_on_standardised_data(seed):
    """One pass over a few hundred rows; step size 1, the former default, is as bad as R² = -5 here."""
    X, y = load_diabetes(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:300], order[300:]
    ridge = RidgeCV(np.logspace(-3, 5, 17)).fit(X[train], y[train]).score(X[test], y[test])
    assert OnlineRegressor(random_state=seed).fit(X[train], y[train]).score(X[test], y[test]) > ridge - 0.1
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:400], order[400:]
    assert OnlineClassifier(random_state=seed).fit(X[train], y[train]).score(X[test], y[test]) > 0.93


def test_a_stream_of_zeros_moves_nothing():
    X, _ = make_rows(20)
    model = OnlineRegressor(random_state=0).fit(X, np.zeros(20))
    assert not model.coef_.any()
    assert model.online_loss_ == 0.0


def test_a_step_size_may_change_between_chunks_but_not_from_or_to_auto():
    X, y = make_rows()
    model = OnlineRegressor(step_size=0.5, k=4, random_state=0).partial_fit(X[:150], y[:150])
    changed = copy.deepcopy(model).set_params(step_size=0.1).partial_fit(X[150:], y[150:])
    assert changed.step_size_ == 0.1
    assert not np.allclose(changed.coef_, model.partial_fit(X[150:], y[150:]).coef_)
    with pytest.raises(ValueError, match='from or to "auto" after the first rows; call fit'):
        changed.set_params(step_size="auto").partial_fit(X, y)
