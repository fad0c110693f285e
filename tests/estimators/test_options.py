"""Options of the budget estimators: written down once, documented, and refused where they would have no effect."""

import inspect
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import sparing
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.learners import keepers

D, N = 6, 80
X = np.random.default_rng(0).standard_normal((N, D))
Y = X @ np.arange(1.0, D + 1)
LABELS = np.where(Y > 0, "up", "down")
ESTIMATORS = [BudgetRidge, BudgetLasso, BudgetSVR, BudgetClassifier]
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)

SKETCHED = [sparing.SketchedRidge, sparing.SketchedLogistic]
TRUE_OR_FALSE = [
    *((cls, {"pay_for_missing": "no"}) for cls in (BudgetRidge, BudgetLasso, BudgetClassifier)),
    *((cls, {"fit_intercept": "no", "learner": "online"}) for cls in ESTIMATORS),
    *((cls, {"fit_intercept": "no"}) for cls in (*SKETCHED, sparing.OnlineRegressor, sparing.OnlineClassifier)),
    (sparing.OnlineRegressor, {"scaled": "yes"}),
    (sparing.OnlineRegressor, {"average": 2}),
]


@pytest.mark.parametrize(("cls", "options"), TRUE_OR_FALSE)
def test_what_is_true_or_false_is_no_text(cls, options):
    """Text such as "no" counted as true."""
    name, value = next(iter(options.items()))
    budget = {"budget": 3} if cls in ESTIMATORS else {}
    with pytest.raises(ValueError, match=re.escape(f"{name} must be True or False; got {value!r}.")):
        cls(**budget, **options).fit(X, LABELS if "Class" in cls.__name__ or "Log" in cls.__name__ else Y)


ONLINE_ONLY = [
    ({"radius": 1.0}, "radius="),
    ({"step_size": "adaptive"}, "step_size="),
    ({"scale": None}, "scale="),
    ({"scale": np.ones(D)}, "scale="),
    ({"pilot": 5}, "pilot="),
    ({"fit_intercept": False}, "fit_intercept="),
    ({"design": "moments", "second_moments": np.ones(D)}, "design='moments'"),
    ({"design": "two-phase"}, "design='two-phase'"),
]
KEEPING_ONLY = [
    ({"groups": [0, 0, 1, 1, 2, 2]}, "groups="),
    ({"total_budget": 90}, "total_budget="),
    ({"design": "adaptive"}, "design='adaptive'"),
]


def target(cls):
    return LABELS if cls is BudgetClassifier else Y


def refuse(model, message):
    """The fit fails with this message and leaves nothing that looks like a model."""
    for verb in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=re.escape(message)):
            getattr(model, verb)(X, target(type(model)))
        assert not [name for name in ("coef_", "cells_", "learner_", "report_") if hasattr(model, name)]


# An option never changes the learner ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetClassifier])
@pytest.mark.parametrize(("options", "name"), ONLINE_ONLY)
def test_options_of_online_learners_are_refused_by_others(cls, options, name):
    for learner in ("auto", "pairwise", "factor"):
        message = (
            f"{name} is an option of online learners; pass learner='online', or leave it out: learner={learner!r} "
            "keeps what it buys and has no such option."
        )
        refuse(cls(3, learner=learner, **options), message)
    cls(3, learner="online", random_state=0, **options).fit(X, target(cls))


@pytest.mark.parametrize(("options", "name"), KEEPING_ONLY)
def test_options_of_learners_that_keep_are_refused_by_online_ones(options, name):
    message = (
        f"{name} is an option of learners that keep what they buy; leave it out: the learner here is an online one"
    )
    refuse(BudgetRidge(3, learner="online", **options), f"{message}, because it was asked for.")
    refuse(BudgetSVR(3, **options), f"{message}, because the tube loss is learnt online only.")


@pytest.mark.parametrize("learner", ["auto", "online"])
@pytest.mark.parametrize(("options", "name"), ONLINE_ONLY)
def test_the_tube_loss_has_all_options_of_online_learners(learner, options, name):
    model = BudgetSVR(3, learner=learner, random_state=0, **options).fit(X, Y)
    assert np.abs(model.coef_).sum() > 0


@pytest.mark.parametrize("learner", ["pairwise", "factor"])
def test_the_tube_loss_is_learnt_online_only(learner):
    message = f"learner={learner!r} is not for this estimator: the tube loss is learnt online only; pass learner='onl"
    refuse(BudgetSVR(3, learner=learner), message)


@every_estimator
@pytest.mark.parametrize("design", ["uniform", "two-phase"])
def test_second_moments_are_refused_by_designs_that_do_not_use_them(cls, design):
    model = cls(3, learner="online", design=design, second_moments=np.ones(D))
    refuse(model, f"design={design!r} does not use second_moments=; leave out one of the two.")


def test_factor_models_have_no_penalty():
    refuse(BudgetRidge(3, learner="factor", alpha=1.0), "learner='factor' has no penalty alpha=; pass learner='pairw")
    refuse(BudgetLasso(3, learner="factor"), "learner='factor' has no lasso; pass learner='pairwise' for one.")


def test_wide_data_are_learnt_online():
    d = 20_001
    wide = sparse.csr_array((np.ones(40), (np.arange(40), np.arange(40))), shape=(40, d))
    with pytest.warns(Warning, match="looks"):
        model = BudgetLasso(random_state=0, pilot=None).fit(wide, np.arange(40.0))
    assert model.report_["why"] == "TwoPhasedDDAELR: an online learner, because there are more than 20,000 attributes"
    with pytest.raises(ValueError, match=r"total_budget= is .* because there are more than 20,000 attributes"):
        BudgetLasso(total_budget=9).fit(wide, np.arange(40.0))


# The usual budget ----------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("learner", ["auto", "online"])
@pytest.mark.parametrize("d", [3, D])
def test_the_usual_budget_is_five_attributes_or_all(cls, learner, d):
    options = {"learner": learner, "features": "linear", "random_state": 0}
    usual = cls(**options).fit(X[:, :d], target(cls))
    given = cls(min(5, d), **options).fit(X[:, :d], target(cls))
    np.testing.assert_array_equal(usual.coef_, given.coef_)
    assert usual.cells_ == given.cells_ <= min(5, d) * N
    assert usual.budget == "auto"


# When the model is solved for ----------------------------------------------------------------------------------------


@pytest.fixture
def solved(monkeypatch):
    """The number of examples of every selection that is made."""
    calls, select = [], keepers.select
    monkeypatch.setattr(keepers, "select", lambda cells, *more: calls.append(cells.n_examples) or select(cells, *more))
    return calls


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetClassifier])
def test_fit_solves_and_only_fit(cls, solved):
    model = cls(3, random_state=0).fit(X, target(cls))
    assert solved == [N]
    assert model.predict(X).shape == (N,)
    assert model.effect(D - 1)[0].size + np.size(model.intercept_) + len(model.report_) > 3
    pickle.loads(pickle.dumps(model)).predict(X)
    assert solved == [N]


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetClassifier])
def test_partial_fit_leaves_solving_to_the_first_use(cls, solved):
    model = cls(3, random_state=0)
    for first in range(0, N, 20):
        model.partial_fit(X[first : first + 20], target(cls)[first : first + 20])
    assert solved == []
    assert (model.n_iter_, model.cells_, model.spent_) == (N, 3 * N, 3.0 * N)
    assert model.predict(X).shape == (N,)
    assert len(model.effect(D - 1)) == 2
    assert solved == [N]


# Nothing is read that is not bought ----------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("learner", ["auto", "online"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_infinity_is_met_only_where_it_is_bought(cls, learner, kind):
    """One bad cell a row, of 80: a fit that read all rows would find every one of them; of 3 looks in 6, about half."""
    found = 0
    for row in range(N):
        rows = X.copy()
        rows[row, row % D] = np.inf
        model = cls(3, learner=learner, random_state=0)
        try:
            model.partial_fit(kind(rows), target(cls))
        except ValueError as error:
            assert f"X contains infinity, in row {row}, column {row % D};" in str(error)  # noqa: PT017
            found += 1
        else:
            assert model.cells_ > 2 * N
    assert 0.25 * N < found < 0.75 * N


@every_estimator
@pytest.mark.parametrize("learner", ["auto", "online"])
@pytest.mark.parametrize("rows_before", [1, N])
def test_a_refused_chunk_changes_nothing(cls, learner, rows_before):
    """In the pilot of an online learner, in the chunk in which it ends, and after it."""
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(N)
    begun = X[shuffled[:rows_before]], target(cls)[shuffled[:rows_before]]
    more = {"classes": ["up", "down"]} if cls is BudgetClassifier else {}
    options = {"learner": learner, "features": "linear", "random_state": 0}
    model = cls(3, **options).partial_fit(*begun, **more)
    before = model.cells_, model.n_iter_, model.coef_
    for rows in (X.copy(), sparse.lil_array(X)):
        rows[-1] = np.inf  # the last row: all before it have been learnt from
        with pytest.raises(ValueError, match=f"X contains infinity, in row {N - 1},"):
            model.partial_fit(rows, target(cls))
        assert (model.cells_, model.n_iter_) == before[:2]
        np.testing.assert_array_equal(model.coef_, before[2])
    again = cls(3, **options).partial_fit(*begun, **more).partial_fit(X, target(cls))
    model.partial_fit(X, target(cls))
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert (model.cells_, model.spent_) == (again.cells_, again.spent_)


# Written down once, and documented -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in sparing.__all__ if isinstance(getattr(sparing, name), type)])
def test_every_parameter_is_documented(name):
    cls = getattr(sparing, name)
    text = inspect.getdoc(cls)
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    headings = [line for line in section.splitlines() if line and line[0] != " "]
    described = [word for line in headings for word in line.partition(" : ")[0].split(", ")]
    assert set(inspect.signature(cls).parameters) == set(described)
    assert "{" + "options}" not in text
    assert "{" + "results}" not in text


@every_estimator
def test_every_attribute_of_a_fit_is_documented(cls):
    model = cls(3, random_state=0).fit(X, target(cls))
    public = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    text = inspect.getdoc(cls).partition("Attributes\n----------\n")[2]
    missing = {name for name in public - {"n_features_in_"} if not re.search(rf"\b{name}\b", text)}
    assert not missing


@every_estimator
def test_options_are_kept_as_they_were_given(cls):
    scale = np.ones(D)
    model = cls(3, learner="online", scale=scale, random_state=0)
    assert model.scale is scale
    assert list(model.get_params()) == sorted(inspect.signature(cls).parameters)
    before = {name: id(value) for name, value in model.get_params().items()}
    model.fit(X, target(cls))
    assert {name: id(value) for name, value in model.get_params().items()} == before
    copy = clone(model).fit(X, target(cls))
    np.testing.assert_array_equal(copy.coef_, model.coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)
    assert repr(cls(3, alpha=2.0)) == f"{cls.__name__}(alpha=2.0, budget=3)"
