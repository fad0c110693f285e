"""Routes, visits, and many visits at once."""

import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sparing import BudgetClassifier, BudgetRidge, BudgetSVR
from sparing.prediction import Visit, many
from sparing.sources import ArraySource
from sparing.types import Ledger, OverBudget, Query


@pytest.fixture(scope="module")
def ridge():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return BudgetRidge(budget=5, features="linear", random_state=0).fit(X[:342], y[:342]), X[342:], y[342:]


@pytest.fixture(scope="module")
def two():
    X, y = load_breast_cancer(return_X_y=True)
    return BudgetClassifier(budget=8, features="additive", random_state=0).fit(X[:400], y[:400]), X[400:], y[400:]


@pytest.fixture(scope="module")
def three():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return BudgetClassifier(budget=6, features="additive", random_state=0).fit(X[:120], y[:120]), X[120:], y[120:]


def through(visit, row):
    """Tell a visit what it asks for."""
    asked = []
    while (query := visit.ask()) is not None:
        asked.append(query.attributes.tolist())
        visit.tell(query, row[query.attributes])
    return asked


# Routes -------------------------------------------------------------------------------------------------------------


def test_a_route_is_greedy_and_its_errors_are_those_of_predict(ridge):
    """Each purchase is the best per price of those left, by the variances that predict gives for such rows."""
    model, X, _ = ridge
    prices = np.arange(1.0, 11.0)
    row, spent = np.full((1, 10), np.nan), 0.0

    def error(rows):
        return model.predict(pd.DataFrame(rows, columns=X.columns), return_std=True)[1][0]

    assert model.route(costs=prices).start == pytest.approx(error(row))
    for purchase in model.route(costs=prices)[:5]:
        gains = {}
        for column in np.flatnonzero(np.isnan(row[0])):
            trial = row.copy()
            trial[0, column] = 0.0
            gains[X.columns[column]] = (error(row) ** 2 - error(trial) ** 2) / prices[column]
        assert purchase.columns == (max(gains, key=gains.get),)
        column = X.columns.get_loc(purchase.name)
        row[0, column], spent = 0.0, spent + prices[column]
        assert purchase.error == pytest.approx(error(row))
        assert (purchase.price, purchase.total) == (prices[column], spent)


def test_prices_by_name_by_series_and_by_position_are_the_same(ridge):
    model, X, _ = ridge
    prices = pd.Series(np.arange(1.0, 11.0), index=X.columns)
    expected = repr(model.route(costs=prices.to_numpy()))
    assert repr(model.route(costs=prices[::-1])) == repr(model.route(costs=prices.to_dict())) == expected
    assert list(model.route(costs=prices).to_frame()) == ["name", "columns", "price", "total", "error"]


def test_panels_are_bought_together_and_what_is_known_is_not_sold(ridge):
    model, X, _ = ridge
    groups = [None] * 4 + ["blood"] * 6
    route = model.route(known=["bmi", "s1"], groups=groups)
    assert sorted(name for purchase in route for name in purchase.columns) == sorted(set(X) - {"bmi", "s1"})
    (blood,) = [purchase for purchase in route if len(purchase.columns) > 1]
    assert (blood.price, blood.name[:6]) == (5.0, "blood:")


@pytest.mark.parametrize("which", ["two", "three"])
def test_routes_of_classes_end_with_fewer_errors(which, request):
    model, *_ = request.getfixturevalue(which)
    route = model.route()
    assert route.measure == "error rate"
    assert route.start > 0.3
    assert route[-1].error < 0.1
    assert all(a.error >= b.error for a, b in pairwise(route))


# Visits -------------------------------------------------------------------------------------------------------------


def test_a_visit_knows_what_predict_knows(ridge, two, three):
    for model, X, _ in (ridge, two, three):
        rows = np.asarray(X)
        visit = model.visit(budget=4)
        asked = through(visit, rows[0])
        seen = np.full((1, rows.shape[1]), np.nan)
        seen[0, np.concatenate(asked)] = rows[0, np.concatenate(asked)]
        seen = pd.DataFrame(seen, columns=X.columns) if isinstance(X, pd.DataFrame) else seen
        assert visit.spent == 4.0
        assert visit.why == "the budget buys nothing more"
        if model is ridge[0]:
            mean, std = model.predict(seen, return_std=True)
            np.testing.assert_allclose([visit.prediction, visit.std], [mean[0], std[0]], rtol=1e-9)
            assert visit.proba is None
        else:
            np.testing.assert_allclose(visit.proba, model.predict_proba(seen)[0], rtol=1e-9, atol=1e-12)
            assert visit.prediction == model.predict(seen)[0]
            assert visit.std is None


def test_a_visit_stops_when_it_is_sure_enough(ridge):
    model, X, _ = ridge
    sure = model.visit({"bmi": X.iloc[0]["bmi"], 8: X.iloc[0].iloc[8]}, target_std=model.route()[3].error)
    through(sure, X.to_numpy()[0])
    assert 0 < sure.spent < 10
    assert sure.why == f"the standard deviation is at most {model.route()[3].error:g}"
    assert set(sure.known) > {"bmi", "s5"}


def test_the_price_of_an_error_decides_how_much_is_bought(two):
    """Rule 7: more for dearer errors; nothing at all where certainty would not pay for the cheapest look."""
    model, X, _ = two
    spent = [model.buy(X, price_of_error=price).spent.mean() for price in (0.5, 10, 100, 1000)]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[-1] > 2 * spent[1]


def test_looking_ahead_sees_what_one_purchase_cannot_change():
    """At odds of e, looks of D² = 0.1 each change no label alone, ten of them do."""
    from sparing.models.classes import Classes

    classes = Classes(np.array([0.5, 0.5]), np.zeros((1, 1)))
    now = np.log([[1 / (1 + np.e), np.e / (1 + np.e)]])
    gains = [0.2689414213699951 - classes.expected_errors(now, np.diag([0.0, 0.1 * looks]))[0] for looks in (1, 10)]
    assert gains[0] == pytest.approx(0.00003, abs=0.00001)
    assert gains[1] / 10 == pytest.approx(0.0034, abs=0.0002)


def test_three_classes_ask_by_what_was_seen(three):
    model, X, _ = three
    orders = {tuple(np.concatenate(through(model.visit(budget=3), row))) for row in X}
    assert len({order[0] for order in orders}) == 1  # nothing is known at first
    assert len(orders) > 1


def test_what_could_not_be_had_is_paid_for_and_not_asked_again(two):
    model, X, _ = two
    visit = model.visit(budget=3)
    first = visit.ask()
    visit.tell(first, [np.nan])
    assert visit.spent == 1.0
    nothing = model.predict_proba(np.full((1, 30), np.nan))[0]
    np.testing.assert_allclose(visit.proba, nothing, rtol=1e-12)
    assert first.attributes[0] not in np.concatenate(through(visit, X[0]))


def test_an_offer_says_what_a_query_costs_and_is_worth(two):
    model, _, _ = two
    visit = model.visit(costs=np.full(30, 2.5))
    assert visit.offer is None
    visit.ask()
    assert visit.offer.price == 2.5
    assert visit.offer.after == pytest.approx(model.route()[0].error)
    assert visit.offer.before > visit.offer.after


@pytest.mark.parametrize("which", ["ridge", "two", "three"])
def test_a_saved_visit_goes_on_where_it_was(which, request):
    model, X, _ = request.getfixturevalue(which)
    row = np.asarray(X)[3].copy()
    row[::4] = np.nan
    visit = model.visit({0: 0.1}, budget=7)
    for _ in range(3):
        query = visit.ask()
        visit.tell(query, row[query.attributes])
    saved = json.loads(json.dumps(visit.state()))
    again = Visit.from_state(model, saved)
    assert again.spent == visit.spent
    assert through(again, row) == through(visit, row)
    np.testing.assert_array_equal(again.prediction, visit.prediction)


# Many ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["ridge", "two", "three"])
def test_many_at_once_are_the_same_as_one_after_another(which, request, monkeypatch):
    """To the last bit, with holes, panels and prices."""
    monkeypatch.setattr(many, "FEW", 0)
    model, X, _ = request.getfixturevalue(which)
    rows = np.asarray(X)[:10].copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    d = rows.shape[1]
    options = {"costs": 1.0 + np.arange(d) % 3, "groups": [c // 2 if c < 6 else None for c in range(d)], "budget": 12}
    options["price_of_error"] = 60.0 if which != "ridge" else 0.01
    together = model.buy(rows, **options)
    for case, row in enumerate(rows):
        visit = model.visit(**options)
        through(visit, row)
        assert together.spent[case] == visit.spent
        assert together.predictions[case] == visit.prediction
        there = np.flatnonzero(~np.isnan(together.values[case]))
        assert len(visit.known) == there.size
        if which == "ridge":
            assert together.std[case] == visit.std
        else:
            np.testing.assert_array_equal(together.proba[case], visit.proba)


def test_every_purchase_is_booked_and_nothing_else_is_read(two):
    model, X, _ = two
    reads = []

    class Watched(ArraySource):
        def read(self, example, attributes):
            reads.extend((example, int(attribute)) for attribute in attributes)
            return super().read(example, attributes)

    ledger = Ledger(costs=np.ones(30))
    bought = model.buy(Watched(X), price_of_error=50, ledger=ledger)
    assert ledger.spent == bought.spent.sum() == bought.cells.sum() == len(reads) == len(set(reads))
    assert {(case, column) for case, column in np.argwhere(~np.isnan(bought.values))} == set(reads)
    with pytest.raises(OverBudget, match="more than the ledger has left"):
        model.buy(X, price_of_error=50, ledger=Ledger(costs=np.ones(30), total=5))


# Columns of any kind ------------------------------------------------------------------------------------------------


def test_a_visit_takes_categories_and_free_columns_by_name():
    """Text is told as it is; a category that was never seen is unknown; free columns are asked for first."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"ward": rng.choice(["A", "B"], 600), "age": rng.normal(size=600), "dose": rng.normal(size=600)})
    y = 3.0 * (X["ward"] == "B") + X["age"] + 0.1 * rng.normal(size=600)
    model = BudgetRidge(5.0, costs={"ward": 4.0, "age": 0.0, "dose": 1.0}, random_state=0).fit(X, y)
    visit = model.visit({"dose": 0.5})
    assert visit.ask().attributes.tolist() == [1]
    visit.tell(visit.ask(), 0.25)
    assert visit.spent == 0.0
    visit.tell(visit.ask(), ["B"])
    assert (visit.spent, visit.known) == (4.0, {"dose": 0.5, "age": 0.25, "ward": "B"})
    row = pd.DataFrame({"ward": ["B"], "age": [0.25], "dose": [0.5]})
    assert visit.prediction == pytest.approx(model.predict(row)[0], abs=1e-9)
    again = Visit.from_state(model, json.loads(json.dumps(visit.state())))
    assert (again.prediction, again.known) == (visit.prediction, visit.known)
    assert model.visit({"ward": "C"}).known == {}
    with pytest.raises(ValueError, match="'age' is numeric; got 'old'"):
        model.visit({"age": "old"})
    bought = model.buy(X[:20], price_of_error=100)
    np.testing.assert_allclose(bought.predictions, model.predict(X[:20]), atol=0.2)


def test_known_values_may_be_a_series_and_routes_go_by_its_names(ridge):
    model = ridge[0]
    some = pd.Series({"bmi": 0.05, "age": -0.02})
    assert model.visit(some).known == model.visit(dict(some)).known == {"bmi": 0.05, "age": -0.02}
    assert list(model.route(some)) == list(model.route(["age", "bmi"])) != list(model.route(None))


# Bad input ----------------------------------------------------------------------------------------------------------


def test_bad_input_is_refused_with_words(ridge, two):
    model, X, _ = ridge
    with pytest.raises(ValueError, match="did you mean 'bmi'"):
        model.route(known=["bmj"])
    with pytest.raises(ValueError, match="costs has no value for 'age'"):
        model.route(costs={"bmi": 1.0})
    with pytest.raises(ValueError, match="not both"):
        model.visit(price_of_error=1.0, target_std=1.0)
    with pytest.raises(ValueError, match="for regressors"):
        two[0].visit(target_std=1.0)
    with pytest.raises(ValueError, match="cheapest purchase costs 3"):
        model.visit(costs=np.full(10, 3.0), budget=2)
    with pytest.raises(ValueError, match="positive"):
        model.visit(price_of_error=-1.0)
    with pytest.raises(ValueError, match="infinite"):
        model.visit({"bmi": np.inf})
    with pytest.raises(ValueError, match="a column twice"):
        model.visit({"bmi": 1.0, 2: 1.0})
    with pytest.raises(ValueError, match="a column twice"):
        model.visit(pd.Series([1.0, 2.0], index=["bmi", "bmi"]))
    with pytest.raises(ValueError, match="or a Series; got list"):
        model.visit([1.0, 2.0])
    for known in ("bmi", 2, np.int64(2)):
        with pytest.raises(ValueError, match=re.escape(f"pass [{known!r}]")):
            model.route(known=known)
    with pytest.raises(ValueError, match="3 columns"):
        model.buy(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="strictly between"):
        model.predict_interval(X, 1.0)


def test_a_refused_answer_changes_nothing(two):
    model, X, _ = two
    visit = model.visit(budget=3)
    query = visit.ask()
    for values, words in (([1.0, 2.0], "got 2 values"), ([np.inf], "infinite")):
        with pytest.raises(ValueError, match=words):
            visit.tell(query, values)
    assert visit.spent == 0.0
    assert visit.ask().attributes.tolist() == query.attributes.tolist()
    visit.tell(query, X[0, query.attributes])
    with pytest.raises(ValueError, match="told before"):
        visit.tell(query, X[0, query.attributes])
    with pytest.raises(ValueError, match="never asked"):
        visit.tell(Query(1, np.array([0, 1])), [1.0, 2.0])
    assert visit.spent == 1.0


def test_online_learners_have_no_description_of_the_attributes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    model = BudgetRidge(2, learner="online", random_state=0).fit(X, X[:, 0])
    for call in (model.route, model.visit, lambda: model.buy(X), lambda: model.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="online learner does not have"):
            call()
    with pytest.raises(ValueError, match="a row with NaN needs a description of the attributes"):
        model.predict(np.full((1, 4), np.nan))
    assert not hasattr(BudgetClassifier(2, learner="online"), "predict_proba")
    with pytest.raises(ValueError, match="use BudgetRidge"):
        BudgetSVR(2, random_state=0).fit(X, X[:, 0]).route()


def test_a_state_of_another_model_is_refused(ridge, two):
    state = ridge[0].visit(budget=3).state()
    for damaged in (state, {"known": []}, state | {"known": None}):
        with pytest.raises(ValueError, match="of another model, or damaged"):
            Visit.from_state(two[0], damaged)
