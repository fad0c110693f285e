"""Rare classes, weights of classes and weights of rows."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR

RNG = np.random.default_rng(0)
LINES = {"features": "linear", "random_state": 0}


def two_classes(n, rare, d=6, seed=0):
    """Normal classes with one covariance: what logistic regression and discriminant analysis are right for."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rare
    mixing = np.eye(d) + 0.3 * np.random.default_rng(1).standard_normal((d, d))
    return (rng.standard_normal((n, d)) + np.outer(y, np.linspace(2.0, 0.0, d))) @ mixing, y


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_a_class_of_one_in_a_hundred_is_found_as_by_logistic_regression(weight):
    """Within three standard errors of a recall from about 300 positives; the sign rule finds none of them."""
    X, y = two_classes(10_000, 0.01)
    X_test, y_test = two_classes(30_000, 0.01, seed=1)
    theirs = recall_score(y_test, LogisticRegression(class_weight=weight).fit(X, y).predict(X_test))
    model = BudgetClassifier(budget=3, class_weight=weight, **LINES).fit(X, y)
    ours = recall_score(y_test, model.predict(X_test))
    assert abs(ours - theirs) < 3 * np.sqrt(theirs * (1 - theirs) / y_test.sum()) + 0.02
    assert theirs > 0.2
    if weight is None:
        assert not (model.learner_.fitted.predict(X_test) > 0).any()


def test_weights_of_classes_move_the_odds_and_nothing_else():
    X, y = two_classes(3000, 0.1)
    plain = BudgetClassifier(budget=3, **LINES).fit(X, y)
    moved = BudgetClassifier(budget=3, class_weight={True: 4.0, False: 0.5}, **LINES).fit(X, y)
    np.testing.assert_array_equal(moved.coef_, plain.coef_)
    np.testing.assert_allclose(moved.decision_function(X) - plain.decision_function(X), np.log(8.0))
    balanced = BudgetClassifier(budget=3, class_weight="balanced", **LINES).fit(X, y)
    np.testing.assert_allclose(balanced.decision_function(X) - plain.decision_function(X), -logit(y.mean()), rtol=1e-9)
    chances = expit(plain.decision_function(X))  # what odds are for: of all with 20 to 40 percent, about so many
    some = (chances > 0.2) & (chances < 0.4)
    assert abs(y[some].mean() - chances[some].mean()) < 3 * np.sqrt(0.25 / some.sum())


def test_many_classes_have_weights_too():
    X, y = two_classes(3000, 0.3)
    labels = np.where(y, "ill", np.where(X[:, 1] > 2.5, "odd", "well"))
    plain = BudgetClassifier(budget=4, **LINES).fit(X, labels)
    weighted = BudgetClassifier(budget=4, class_weight={"odd": 5.0}, **LINES).fit(X, labels)
    moved = weighted.decision_function(X) - plain.decision_function(X)
    np.testing.assert_allclose(moved - moved[:, :1], np.tile([0.0, np.log(5.0), 0.0], (3000, 1)), atol=1e-9)
    odd = labels == "odd"
    assert np.mean(weighted.predict(X)[odd] == "odd") > np.mean(plain.predict(X)[odd] == "odd")


@pytest.mark.parametrize("labels", [2, 3])
def test_a_plain_model_predicts_the_same(labels):
    X, y = two_classes(2000, 0.2)
    y = y.astype(int) + (labels == 3) * (X[:, 2] > 1)
    model = BudgetClassifier(budget=3, class_weight="balanced", **LINES).fit(X, y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
    ours, plain = model.decision_function(X), model.to_sklearn().decision_function(X)
    if labels == 3:  # log-probabilities, which have a part in common
        ours, plain = (scores - scores[:, :1] for scores in (ours, plain))
    np.testing.assert_allclose(plain, ours, rtol=1e-7, atol=1e-9)


def test_an_online_learner_weights_the_examples():
    X, y = two_classes(20_000, 0.03)
    options = {"budget": 4, "learner": "online", "random_state": 0}
    plain = BudgetClassifier(**options).fit(X, y)
    balanced = BudgetClassifier(class_weight="balanced", **options).fit(X, y)
    by_rows = BudgetClassifier(**options).fit(X, y, sample_weight=np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean())))
    np.testing.assert_allclose(balanced.decision_function(X), by_rows.decision_function(X), rtol=1e-9)
    assert recall_score(y, plain.predict(X)) < 0.1
    assert recall_score(y, balanced.predict(X)) > 0.7
    assert recall_score(~y, ~balanced.predict(X)) > 0.7
    with pytest.raises(ValueError, match="not for partial_fit of an online learner"):
        BudgetClassifier(class_weight="balanced", **options).partial_fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", "must be None, 'balanced' or a dict"),
        ({"maybe": 2.0}, "has a weight for 'maybe', but the classes are"),
        ({True: -1.0}, "class_weight of True must be a positive finite number"),
    ],
)
def test_bad_weights_of_classes_are_refused_before_anything_is_bought(weight, message):
    X, y = two_classes(100, 0.5)
    model = BudgetClassifier(budget=3, class_weight=weight)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "learner_")


# Weights of rows ----------------------------------------------------------------------------------------------------

X, Y = RNG.standard_normal((400, 5)), RNG.standard_normal(400)
Y += np.where(np.arange(400) % 2, X[:, 0], -X[:, 0])
HALF = np.where(np.arange(400) % 2, 1.0, 0.0)
ESTIMATORS = [
    BudgetRidge(budget=3, **LINES),
    BudgetRidge(budget=3, learner="pairwise", alpha=0.1, random_state=0),
    BudgetRidge(budget=3, learner="factor", random_state=0),
    BudgetLasso(budget=3, random_state=0),
    BudgetRidge(budget=3, learner="online", random_state=0),
    BudgetSVR(budget=3, random_state=0),
    BudgetClassifier(budget=3, **LINES),
]


def target(model):
    return Y > 0 if isinstance(model, BudgetClassifier) else Y


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_a_row_of_weight_zero_is_not_there(model):
    y = target(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few looks
        weighted = model.fit(X, y, sample_weight=HALF)
        bought, found = (
            weighted.cells_,
            weighted.decision_function(X) if hasattr(y, "any") and y.dtype == bool else (weighted.predict(X)),
        )
        few = model.fit(X[HALF > 0], y[HALF > 0])
    expected = few.decision_function(X) if y.dtype == bool else few.predict(X)
    np.testing.assert_array_equal(found, expected)
    assert bought == few.cells_


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_weights_decide_what_is_learnt_and_chunks_do_not_matter(model):
    y, rows = target(model), HALF + 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        even = model.fit(X, y, sample_weight=1.05 - HALF).coef_.ravel()[0]
        odd = model.fit(X, y, sample_weight=rows).coef_.ravel()[0]
        chunks = type(model)(**model.get_params() | {"n_examples": 400})
        for part in (slice(0, 7), slice(7, 390), slice(390, 400)):
            classes = {"classes": np.unique(y)} if y.dtype == bool and part.start == 0 else {}
            chunks.partial_fit(X[part], y[part], sample_weight=rows[part], **classes)
    assert odd > 0 > even
    np.testing.assert_array_equal(chunks.coef_.ravel()[0], odd)


def test_bad_weights_of_rows_are_refused_before_anything_is_bought():
    model = BudgetRidge(budget=3)
    for wrong, message in [
        (HALF[1:], "sample_weight has 399 weights for 400 examples"),
        (-HALF, "sample_weight must be finite and not negative"),
        (HALF * np.nan, "sample_weight must be finite"),
        (HALF * 0.0, "zero everywhere"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, sample_weight=wrong)
    assert not hasattr(model, "learner_")


def test_no_bound_holds_for_weighted_examples():
    options = {"learner": "online", "design": "uniform", "step_size": "theory", "radius": 1.0, "fit_intercept": False}
    scaled, y = X / np.abs(X).max(), np.clip(Y, -1, 1)
    model = BudgetRidge(budget=3, random_state=0, scale=np.ones(5), **options)
    assert model.fit(scaled, y).bound_ is not None
    assert model.fit(scaled, y, sample_weight=HALF + 0.5).bound_ is None
