"""Visits of many cases at once, which are compiled, against visits one by one; sources that may fail."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sparing import BudgetClassifier, BudgetRidge
from sparing.prediction import many
from sparing.sources import ArraySource, CallableSource, ParquetSource, SQLSource
from sparing.types import Ledger, RefusedPurchase, UnknownPurchase


@pytest.mark.parametrize(("error", "cells"), [(RefusedPurchase, 0), (UnknownPurchase, 1)])
def test_what_may_have_been_bought_is_booked_and_what_was_refused_is_not(error, cells):
    """A source that fails at the first purchase."""

    def sell(case, columns):
        raise error("closed") if error is RefusedPurchase else error("no answer", "key")

    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetClassifier(budget=6, features="linear", random_state=0).fit(X[:200], y[:200])
    ledger, source = Ledger(costs=np.ones(30)), CallableSource(sell, n_examples=3, n_attributes=30)
    with pytest.raises(error):
        model.buy(source, ledger=ledger, costs=np.ones(30), budget=2)
    assert ledger.cells == cells


class Together(ArraySource):
    """Answers for many cases at once, and counts how often it is asked."""

    asked = 0

    def read_batch(self, examples, queries):
        self.asked += 1
        return [self.read(example, query) for example, query in zip(examples, queries, strict=True)]


def test_a_source_that_answers_for_many_is_asked_once_in_each_round():
    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetClassifier(budget=6, features="linear", random_state=0).fit(X[:200], y[:200])
    source, ledger, costs = Together(X[200:]), Ledger(costs=np.arange(1.0, 31.0)), np.arange(1.0, 31.0)
    bought = model.buy(source, ledger=ledger, costs=costs, price_of_error=400)
    assert source.asked == bought.cells.max() > bought.cells.min()
    assert ledger.spent == bought.spent.sum()
    alone = model.buy(X[200:], costs=costs, price_of_error=400)
    np.testing.assert_array_equal(bought.values, alone.values)
    np.testing.assert_array_equal(bought.proba, alone.proba)


def test_columns_of_a_table_are_found_by_name_and_their_text_is_known(tmp_path):
    """The table has another order of columns than the model, and one more; so has the file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"ward": rng.choice(["A", "B"], 300), "age": rng.normal(size=300), "dose": rng.normal(size=300)}
    )
    model = BudgetRidge(2, random_state=0).fit(frame, 3.0 * (frame["ward"] == "B") + frame["age"])
    other = frame[["dose", "age", "ward"]].assign(name="x")
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.StaticPool)
    other.to_sql("cases", engine, index_label="id")
    other.to_parquet(tmp_path / "cases.parquet")
    expected = model.buy(frame, budget=2)
    for source in (SQLSource(engine, "cases", key="id"), ParquetSource(tmp_path / "cases.parquet")):
        bought = model.buy(source, budget=2)
        np.testing.assert_array_equal(bought.predictions, expected.predictions)
        with pytest.raises(ValueError, match="there is no column 'age'"):
            model.buy(source.only(["dose", "ward"]), budget=2)
    engine.dispose()
    named = Together(frame[["age", "dose"]].to_numpy())
    named.names = ["age", "dose"]
    with pytest.raises(ValueError, match=r"columns \['age', 'dose'\]; pass those of the model, in its order: \['ward'"):
        model.buy(named, budget=2)


def with_an_infinite_value():
    """A model, three cases, and the column that it buys second, which is infinite in the second case."""
    X, y = load_breast_cancer(return_X_y=True)
    model, rows = BudgetClassifier(budget=6, features="linear", random_state=0).fit(X[:200], y[:200]), X[200:203].copy()
    second = model.route()[1].columns[0]
    rows[1, second] = np.inf
    return model, rows, second


@pytest.mark.parametrize(("few", "spent"), [(0, 4.0), (3, 3.0)])
def test_an_infinite_value_is_refused_and_not_paid_for(few, spent, monkeypatch):
    """A ledger without costs has a price of one for every column, as ``buy`` has by default.

    Two looks at each of three cases: the second one of the second case is refused, whether all first looks come before
    or not.
    """
    monkeypatch.setattr(many, "FEW", few)
    (model, rows, second), ledger = with_an_infinite_value(), Ledger()
    with pytest.raises(ValueError, match=rf"in row 1 the value of {second} is infinite. It was not paid for"):
        model.buy(rows, ledger=ledger, budget=2)
    assert ledger.spent == spent
    for costs in (np.full(30, 2.0), np.ones(29)):
        with pytest.raises(ValueError, match="the ledger has other prices"):
            model.buy(rows, ledger=Ledger(costs=costs))


class Unchecked(Together):
    """Answers for many cases with whatever is there."""

    def read_batch(self, examples, queries):
        return [self.X[example, query] for example, query in zip(examples, queries, strict=True)]


def test_of_a_batch_with_an_infinite_value_nothing_is_paid_for():
    """It was taken for a number, and the probabilities of its case were NaN."""
    (model, rows, second), ledger = with_an_infinite_value(), Ledger()
    with pytest.raises(ValueError, match=f"infinity, in row 1, column {second}"):
        model.buy(Unchecked(rows), ledger=ledger, budget=2)
    assert ledger.spent == 3.0  # the first looks at three cases


def of_wine(**options):
    """Columns that are repeated, and columns that are others with another sign, are worth the same."""
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X, X[:, :4], X.max(axis=0) - X])
    return BudgetClassifier(budget=6, features="linear", random_state=0, **options).fit(X, y), X


def of_two_targets(**options):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, X @ np.arange(10.0) + np.random.default_rng(0).standard_normal(len(X))])
    return BudgetRidge(budget=5, random_state=0, **options).fit(X, Y), X


CASES = {
    "equal columns": of_wine,
    "factors, weights": lambda: of_wine(learner="factor", class_weight="balanced"),
    "curves": lambda: of_two_targets(features="additive"),
    "factors": lambda: of_two_targets(learner="factor", features="linear"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("setting", [{"FEW": 0}, {"FEW": 0, "MOST_BYTES": 1}, {}])
def test_many_visits_buy_what_visits_one_by_one_buy(case, setting, monkeypatch):
    """Free columns, panels and holes: compiled, where memory is short so that few cases go on together, and for few."""
    for name, value in setting.items():
        monkeypatch.setattr(many, name, value)
    model, X = CASES[case]()
    rows, d = X[::20].copy(), X.shape[1]
    rows[np.random.default_rng(0).random(rows.shape) < 0.3] = np.nan
    prices = {"costs": np.arange(d) % 4, "groups": [None] * 4 + ["A"] * 3 + [None] * (d - 7)}
    price = 30.0 if hasattr(model, "classes_") else 0.02
    for options in (prices | {"price_of_error": price}, {"budget": 5}, prices | {"budget": 9, "price_of_error": price}):
        bought = model.buy(rows, **options)
        for at, row in enumerate(rows):
            visit = model.visit(**options)
            while (query := visit.ask()) is not None:
                visit.tell(query, row[query.attributes])
            assert bought.spent[at] == visit.spent
            assert set(visit.known) == set(np.flatnonzero(~np.isnan(bought.values[at])))
            np.testing.assert_array_equal(bought.predictions[at], visit.prediction)
            if visit.proba is not None:
                np.testing.assert_array_equal(bought.proba[at], visit.proba)
            else:
                np.testing.assert_array_equal(bought.std[at], visit.std)
        assert bought.spent.max() > 0
