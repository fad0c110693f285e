"""Curves and trees in the estimators: their accuracy, what they report, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge

D, N = 6, 900
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2 * N, D))
Y = 2.0 * np.abs(X[:, 0]) + np.sin(2.0 * X[:, 1]) + X[:, 2] + 0.3 * RNG.standard_normal(2 * N)
TOGETHER = 3.0 * X[:, 0] * X[:, 1] + X[:, 2]
NAMES = ["age", "weight", "height", "pulse", "sodium", "iron"]


def make(features="additive", cls=BudgetRidge, **options):
    return cls(4, features=features, random_state=0, **options)


@pytest.fixture(scope="module")
def curved():
    return make().fit(pd.DataFrame(X[:N], columns=NAMES), Y[:N])


@pytest.fixture(scope="module")
def boosted():
    model = make("auto").fit(X[:N], TOGETHER[:N])
    assert model.report_["trees_share"] > 0
    return model


def error(model):
    return np.mean((model.predict(X[N:]) - Y[N:]) ** 2) / Y[N:].var()


def named(rows):
    return pd.DataFrame(rows, columns=NAMES)


# What they are worth ------------------------------------------------------------------------------------------------


def test_curves_predict_what_lines_cannot(curved):
    """|x|, a sine and a line: 0.61 of the variance is left by lines, and about 0.2 by curves."""
    bent = np.mean((curved.predict(named(X[N:])) - Y[N:]) ** 2) / Y[N:].var()
    straight = error(make("linear").fit(X[:N], Y[:N]))
    assert bent < 0.6 * straight
    assert curved.report_["features"].startswith("curves (")
    assert curved.report_["trees_share"] == 0.0


def test_lines_are_kept_where_they_are_right():
    y = X @ np.arange(1.0, D + 1)
    model = make().fit(X[:N], y[:N])
    assert model.report_["features"] == "lines"
    np.testing.assert_array_equal(model.coef_, make("linear").fit(X[:N], y[:N]).coef_)


def test_a_classifier_has_a_curved_boundary():
    """Inside a ring or outside: about half are right by lines; the two classes are as frequent."""
    labels = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 2 * np.log(2.0), "in", "out")
    right = {
        features: make(features, BudgetClassifier).fit(X[:N], labels[:N]).score(X[N:], labels[N:])
        for features in ("linear", "auto")
    }
    assert right["linear"] < 0.6
    assert right["auto"] > right["linear"] + 0.2


def test_predictions_stay_within_the_targets_seen(curved, boosted):
    for predictions, seen in (
        (curved.predict(named(1e3 * X[N:])), Y[:N]),
        (boosted.predict(1e3 * X[N:]), TOGETHER[:N]),
    ):
        assert seen.min() <= predictions.min() < predictions.max() <= seen.max()


def test_lines_go_where_they_go():
    y = X @ np.arange(1.0, D + 1)
    assert make("linear").fit(X[:N], y[:N]).predict(1e3 * X[N:]).max() > 100 * y.max()


# What they show -----------------------------------------------------------------------------------------------------


def test_effects_and_the_intercept_add_up_to_the_prediction(curved):
    """On all rows, as curves are constant outside their knots; and they are centred over the looks, about over rows."""
    total = np.full(N, curved.intercept_)
    for column in range(D):
        values, part = curved.effect(column)
        assert values.shape == part.shape
        total += np.interp(X[N:, column], values, part)
        assert abs(np.interp(X[:N, column], values, part).mean()) < 0.1
    predicted = curved.predict(named(X[N:]))
    np.testing.assert_allclose(np.clip(total, Y[:N].min(), Y[:N].max()), predicted, rtol=1e-9, atol=1e-9)


def test_the_effect_of_a_line_is_its_weight():
    model = make("linear").fit(X[:N], Y[:N])
    for column in range(D):
        values, part = model.effect(column)
        np.testing.assert_allclose(np.diff(part) / np.diff(values), model.coef_[column], rtol=1e-9)


def test_an_effect_is_found_by_name(curved):
    for number, name in enumerate(NAMES):
        for mine, other in zip(curved.effect(number), curved.effect(name), strict=True):
            np.testing.assert_array_equal(mine, other)
    with pytest.raises((KeyError, ValueError), match="did you mean"):
        curved.effect("wieght")
    for wrong in (D, -1, "nothing at all"):
        with pytest.raises((KeyError, ValueError, IndexError)):
            curved.effect(wrong)


def test_there_are_no_weights_and_that_is_said(curved):
    with pytest.raises(AttributeError, match=r"curves or trees instead of weights.*features='linear'"):
        _ = curved.coef_
    assert not hasattr(curved, "coef_")
    assert np.isfinite(curved.intercept_)
    with pytest.raises(ValueError, match="curves or trees is no linear model; pass features='linear'"):
        curved.to_sklearn()


def test_two_outputs_have_a_curve_each():
    both = np.column_stack([Y, -3.0 * np.abs(X[:, 3])])
    model = make().fit(X[:N], both[:N])
    predictions = model.predict(X[N:])
    assert predictions.shape == both[N:].shape
    total = np.tile(model.intercept_, (N, 1))
    for column in range(D):
        values, parts = model.effect(column)
        assert parts.shape == (2, values.size)
        total += np.column_stack([np.interp(X[N:, column], values, part) for part in parts])
    np.testing.assert_allclose(np.clip(total, both[:N].min(axis=0), both[:N].max(axis=0)), predictions, atol=1e-9)
    for output in range(2):
        assert np.var(predictions[:, output] - both[N:, output]) < 0.5 * both[N:, output].var()


# Kept, and cut ------------------------------------------------------------------------------------------------------


def test_pickled_they_predict_the_same(boosted):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(boosted)).predict(X[N:]), boosted.predict(X[N:]))


def test_sparse_rows_have_the_predictions_of_dense_ones(boosted):
    rows = np.where(np.abs(X[N:]) < 0.5, 0.0, X[N:])
    for kind in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_array_equal(boosted.predict(kind(rows)), boosted.predict(rows))


def test_in_chunks_it_is_the_same_as_at_once(boosted):
    model = make("auto", n_examples=N)
    for rows in np.array_split(np.arange(N), 4):
        model.partial_fit(X[rows], TOGETHER[rows])
    np.testing.assert_array_equal(model.predict(X[N:]), boosted.predict(X[N:]))


# Refused ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"learner": "pairwise"}, {"learner": "factor"}, {"alpha": 1.0}, {"learner": "online"}]
)
def test_curves_need_the_learner_that_chooses(options):
    with pytest.raises(ValueError, match="features='additive' needs learner='auto' and alpha='auto'"):
        make(**options).fit(X[:50], Y[:50])
    fitted = make("auto", **options).fit(X[:50], Y[:50])
    assert np.isfinite(fitted.coef_).all()  # by default there are lines where there cannot be curves


def test_a_lasso_has_lines():
    with pytest.raises(ValueError, match="has no lasso"):
        make(cls=BudgetLasso).fit(X[:50], Y[:50])
    assert np.isfinite(make("auto", BudgetLasso).fit(X[:50], Y[:50]).coef_).all()


def test_features_are_named():
    with pytest.raises(ValueError, match="features must be"):
        make("curves").fit(X[:50], Y[:50])
