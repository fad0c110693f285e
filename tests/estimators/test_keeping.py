"""Budget estimators with keeping learners: the same model for any chunks, its cost, and its report."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Ridge

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.learners import DDAERR, AutoLearner, FactorModel, PairwiseMoments, PlugInSVR, TwoPhasedDDAERR

D, N = 10, 160
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, D)) * np.linspace(3.0, 0.2, D) + RNG.standard_normal((N, 1))
Y = X @ RNG.standard_normal(D) + 2.0 + 0.1 * RNG.standard_normal(N)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))]
COSTS = np.round(np.linspace(0.5, 2.5, D), 1)
GROUPS = ["p", "p", None, None, "q", "q", "q", None, None, None]
LEARNT = ("coef_", "intercept_", "n_iter_", "cells_", "draws_", "spent_")

CASES = [
    (BudgetRidge, {"learner": "pairwise"}),
    (BudgetRidge, {"learner": "factor", "costs": COSTS, "budget": 5.0}),
    (BudgetRidge, {"alpha": 0.3, "costs": COSTS, "groups": GROUPS, "budget": 8.0, "total_budget": 600.0}),
    (BudgetLasso, {"learner": "pairwise", "design": "uniform"}),
    (BudgetClassifier, {"learner": "pairwise"}),
    (BudgetRidge, {"groups": GROUPS, "budget": 5}),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case[0].__name__, *case[1]]))


def target(cls):
    return LABELS if cls is BudgetClassifier else Y


def make(case, **more):
    cls, options = case
    return cls(**({"budget": 4, "random_state": 1} | options | more))


def fit(case, X=X, **more):
    return make(case, **more).fit(X, target(case[0]))


def learn(model, cuts):
    y = target(type(model))
    named = {"classes": np.unique(y)} if isinstance(model, BudgetClassifier) else {}
    for first, last in pairwise(cuts):
        model.partial_fit(X[first:last], y[first:last], **named)
    return model


def assert_same(left, right):
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


# The same result however rows come ----------------------------------------------------------------------------------


@every_case
def test_chunks_give_what_fit_gives(case):
    expected = fit(case)
    assert np.abs(expected.coef_).sum() > 0
    for cuts in ([0, N], [0, 1, 29, 31, 32, 33, 90, N], range(N + 1)):
        assert_same(learn(make(case, n_examples=N), cuts), expected)


@every_case
def test_without_n_examples_chunks_agree_with_each_other(case):
    assert_same(learn(make(case), [0, 17, N]), learn(make(case), [0, 80, 81, N]))


@every_case
def test_layout_does_not_matter(case, tmp_path):
    np.save(tmp_path / "X.npy", X)
    expected = fit(case)
    for layout in (sparse.csr_array(X), np.asfortranarray(X), np.load(tmp_path / "X.npy", mmap_mode="r")):
        assert_same(fit(case, layout), expected)


@every_case
def test_unpickled_goes_on_as_if_uninterrupted(case):
    half = pickle.loads(pickle.dumps(learn(make(case, n_examples=N), [0, 70])))
    assert_same(learn(half, [70, N]), fit(case))


@every_case
def test_a_second_fit_starts_anew_and_a_clone_has_the_options_alone(case):
    model = fit(case, random_state=9)
    copy = clone(model)
    assert not hasattr(copy, "coef_")
    assert not hasattr(copy, "report_")
    assert_same(model.set_params(random_state=1).fit(X, target(case[0])), fit(case))
    assert not np.array_equal(copy.fit(X, target(case[0])).coef_, model.coef_)


@every_case
def test_data_frames_bring_their_names(case):
    pandas = pytest.importorskip("pandas")
    names = [f"test {i}" for i in range(D)]
    frame = pandas.DataFrame(X, columns=names)
    model = make(case).fit(frame, pandas.Series(target(case[0])))
    assert model.feature_names_in_.tolist() == names
    assert_same(model, fit(case))
    if case[0] is not BudgetClassifier:
        np.testing.assert_allclose(model.predict(frame), fit(case).predict(X), atol=1e-12)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[names[::-1]])


# What it cost -------------------------------------------------------------------------------------------------------


@every_case
def test_the_books(case):
    model = fit(case)
    costs = np.ones(D) if model.costs is None else COSTS
    bought = model.learner_.bought
    spent = np.bincount(bought.examples(), weights=costs[bought.attributes], minlength=N)
    assert spent.max() <= model.budget * (1 + 1e-9)
    assert spent.sum() == pytest.approx(model.spent_)
    assert spent.sum() <= (model.total_budget or np.inf) * (1 + 1e-9)
    assert model.cells_ == model.draws_ == len(bought)
    assert model.n_iter_ == bought.n_examples == N
    if model.groups is not None:
        seen = np.zeros((N, D), bool)
        seen[bought.examples(), bought.attributes] = True
        for panel in ([0, 1], [4, 5, 6]):
            assert (np.ptp(seen[:, panel].astype(int), axis=1) == 0).all()


def test_the_total_is_spent_to_the_last_penny_and_then_nothing_is_read():
    """Rows after that are infinite: a look at them would be an error."""
    rows = X.copy()
    rows[50:] = np.inf
    model = make(CASES[0], total_budget=4 * 50).fit(rows, Y)
    assert model.spent_ == model.cells_ == len(model.learner_.bought) == 200
    assert model.n_iter_ == N
    assert np.diff(model.learner_.bought.starts)[50:].max() == 0


def test_an_online_learner_spends_about_its_budget():
    """Its money holds in expectation: draws of the same value are paid once, and whole looks leave a part unspent."""
    costs = np.linspace(0.5, 1.5, D)
    model = BudgetRidge(5.0, learner="online", costs=costs, random_state=0).fit(X, Y)
    assert type(model.learner_) is DDAERR
    assert 0.5 * 5.0 < model.spent_ / N < 1.05 * 5.0
    assert model.spent_ == pytest.approx(costs @ model.learner_.looks)
    assert model.report_["families"] == ["online"]
    with pytest.raises(ValueError, match=r"needs two looks\. Raise the budget"):
        BudgetRidge(1.5, learner="online", costs=costs).fit(X, Y)


# Which learner, and what it says ------------------------------------------------------------------------------------


def test_options_choose_the_learner():
    def chosen(cls=BudgetRidge, **options):
        return type(cls(4, random_state=0, **options).fit(X, Y).learner_)

    assert chosen() is AutoLearner
    assert chosen(alpha=0.5) is PairwiseMoments
    assert chosen(learner="pairwise") is PairwiseMoments
    assert chosen(learner="factor") is FactorModel
    assert chosen(design="adaptive") is AutoLearner
    assert chosen(learner="online") is TwoPhasedDDAERR
    assert chosen(cls=BudgetSVR) is chosen(cls=BudgetSVR, learner="online") is PlugInSVR


@pytest.mark.parametrize("learner", ["auto", "pairwise"])
def test_at_full_budget_alpha_is_scikit_learns(learner):
    model = BudgetRidge(D, learner=learner, alpha=0.4, random_state=0).fit(X, Y)
    plain = Ridge(alpha=0.4 * N).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-8)
    assert model.intercept_ == pytest.approx(plain.intercept_, rel=1e-8)
    np.testing.assert_allclose(model.to_sklearn().predict(X), plain.predict(X), rtol=1e-8)
    few = BudgetLasso(D, learner=learner, alpha=2.0, random_state=0).fit(X, Y)
    net = ElasticNet(alpha=2.5, l1_ratio=0.8).fit(X, Y)  # with a ridge of 0.5, about that of its noise
    assert ((few.coef_ == 0) == (net.coef_ == 0)).mean() >= 0.8
    assert (few.coef_ == 0).any()


def test_the_report_says_what_was_chosen_out_of_what_and_why():
    model = BudgetRidge(4, random_state=0).fit(X, Y)
    report = model.report_
    assert {"setting", "why", "candidates", "risk", "risk_error", "families"} <= report.keys()
    used = [candidate for candidate in report["candidates"] if candidate["used"]]
    best = min(used, key=lambda candidate: candidate["excess"])
    assert report["setting"] == f"{best['family']}: {best['setting']}"
    assert best["setting"] in report["why"]
    online = BudgetRidge(4, learner="online", random_state=0).fit(X, Y).report_
    assert online["why"] == "TwoPhasedDDAERR: an online learner, because it was asked for"
    assert "because the tube loss" in BudgetSVR(4, random_state=0).fit(X, Y).report_["why"]


def test_three_classes_learn_from_the_same_looks():
    model = fit(CASES[4])
    scores = model.decision_function(X)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == scores.T[:, :D].shape == (3, D)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.cells_ == 4 * N
    assert model.score(X, LABELS) > 0.5  # the largest class has a third
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize("learner", ["auto", "pairwise", "factor"])
def test_few_looks_beat_the_mean_by_far(learner):
    """R^2 is 0 for the mean; four looks of ten at 160 examples gave above 0.9 over five seeds."""
    scores = [BudgetRidge(4, learner=learner, random_state=seed).fit(X, Y).score(X, Y) for seed in range(2)]
    assert min(scores) > 0.8
