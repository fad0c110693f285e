"""Data frames of mixed types: a column is one purchase, under its own name, whatever its type."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge
from sparing.checks import by_name
from sparing.estimators.columns import learn_columns
from sparing.estimators.packing import packed, unpacked

EFFECTS = {"Adelie": 0.0, "Gentoo": 3.0, "Chinstrap": -2.0}
NUMBERS = pd.DataFrame(np.random.default_rng(1).standard_normal((120, 3)), columns=["glucose", "insulin", "age"])
TARGET = NUMBERS.to_numpy() @ [1.0, 2.0, 3.0]


def penguins(n=900, seed=0):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 400, n)
    frame = pd.DataFrame(
        {
            "species": rng.choice(list(EFFECTS), n),
            "bill": rng.standard_normal(n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n), categories=["m", "f", "x"]),
            "tagged": rng.uniform(size=n) < 0.5,
            "day": pd.Timestamp("2020-02-01") + pd.to_timedelta(days, "D"),
        }
    )
    y = frame["species"].map(EFFECTS).to_numpy() + frame["bill"] + (frame["sex"] == "m") + 0.01 * days
    return frame, y.to_numpy() + 0.2 * rng.standard_normal(n)


def on_indicators(frame, y):
    """Least squares on whole rows, with indicators."""
    dense = frame.assign(day=(frame["day"] - frame["day"].min()) / pd.Timedelta(days=1))
    model = make_column_transformer((OneHotEncoder(sparse_output=False), ["species", "sex"]), remainder="passthrough")
    dense = model.fit_transform(dense).astype(float)
    return LinearRegression().fit(dense, y).predict(dense)


@pytest.mark.parametrize("learner", ["auto", "pairwise", "factor"])
def test_a_column_is_one_purchase(learner):
    """Text was refused: encoded by hand, a budget of three bought three indicators."""
    X, y = penguins()
    model = BudgetRidge(3, learner=learner, random_state=0).fit(X, y)
    assert model.cells_ == 3 * len(X)
    assert model.n_features_in_ == model.learner_.n_attributes == 5
    assert model.feature_names_in_.tolist() == list(X)
    best = np.mean((on_indicators(X, y) - y) ** 2)
    assert np.mean((model.predict(X) - y) ** 2) < best + 0.05 * y.var()
    species, adds = model.effect("species")
    assert species.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    np.testing.assert_allclose(adds - adds[0], [0.0, -2.0, 3.0], atol=0.4)
    with pytest.raises(AttributeError, match="categories, curves or trees instead of weights"):
        _ = model.coef_


def test_the_same_numbers_are_learnt_without_any_text():
    """Plain frames are learnt from as before: as their arrays are."""
    frame, array = (BudgetRidge(2, random_state=0).fit(rows, TARGET) for rows in (NUMBERS, NUMBERS.to_numpy()))
    np.testing.assert_array_equal(frame.predict(NUMBERS), array.predict(NUMBERS.to_numpy()))
    assert frame.learner_.levels is None


def test_classes_and_lasso_take_columns_too():
    X, y = penguins()
    model = BudgetClassifier(3, random_state=0).fit(X, np.where(y > 1.0, "large", "small"))
    assert model.score(X, np.where(y > 1.0, "large", "small")) > 0.8
    values, adds = model.effect("species")
    assert values[adds.ravel().argmax()] in ("Gentoo", "Chinstrap")
    assert BudgetLasso(3, random_state=0).fit(X, y).score(X, y) > 0.8


def test_chunks_of_declared_categories_are_learnt_as_one_frame():
    X, y = penguins()
    X["species"] = pd.Categorical(X["species"], categories=sorted(EFFECTS))
    X["day"] = X["day"].dt.day_of_year
    whole = BudgetRidge(3, random_state=0).fit(X, y)
    parts = BudgetRidge(3, random_state=0, n_examples=len(X))
    for rows in (slice(0, 50), slice(50, 400), slice(400, None)):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


def test_later_chunks_may_not_bring_categories_or_columns_of_which_the_first_knew_nothing():
    X, y = penguins()
    X["day"] = 0.0
    first = X["species"] != "Gentoo"
    model = BudgetRidge(3, random_state=0).partial_fit(X[first], y[first])
    bought = model.cells_
    with pytest.raises(ValueError, match=r"'species' has the category 'Gentoo'.*CategoricalDtype"):
        model.partial_fit(X, y)
    assert model.cells_ == bought
    with pytest.warns(UserWarning, match="no value at all"):
        model = BudgetRidge(3, random_state=0).partial_fit(X.assign(day=np.nan), y)
    with pytest.raises(ValueError, match="'day' has values, but had none"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("rows", "named", "values"),
    [
        (["a", "b", None, "a"], "category", [0, 1, np.nan, 0]),
        (pd.Categorical([7, 5, None, 7]), "category", [1, 0, np.nan, 1]),
        (pd.array(["a", None, "b", "a"], "string"), "category", [0, np.nan, 1, 0]),
        ([1, "a", None, 1], "category", [0, 1, np.nan, 0]),
        ([True, None, False, True], "number", [1, np.nan, 0, 1]),
        (pd.array([1, None, 3, 4], "Int64"), "number", [1, np.nan, 3, 4]),
        (pd.array([True, None, False, True], "boolean"), "number", [1, np.nan, 0, 1]),
        (pd.to_datetime([f"2020-02-{day}" for day in (26, 24, 25, 28)]), "date", [2, 0, 1, 4]),
        ([date(2020, 3, 1), date(2020, 2, 28), None, date(2020, 2, 28)], "date", [2, 0, np.nan, 0]),
        ([None, None, None, None], "nothing", [0, 0, 0, 0]),
    ],
    ids=str,
)
def test_what_a_column_is(rows, named, values):
    frame = pd.DataFrame({"it": rows, "x": np.arange(4.0)})
    columns, _ = learn_columns(frame)
    assert columns.kinds == [named, "number"]
    np.testing.assert_array_equal(columns.encode(frame)["it"], values)
    arrays = {}
    again = unpacked(json.loads(json.dumps(packed(columns, arrays, "columns"))), arrays)
    np.testing.assert_array_equal(again.encode(frame), columns.encode(frame))
    np.testing.assert_array_equal(again.levels, columns.levels)
    there = frame["it"].notna()
    numbers = [columns.number(0, value) for value in frame["it"][there]]
    np.testing.assert_array_equal(numbers, np.array(values, float)[there])


def test_a_category_that_was_never_seen_is_an_unavailable_value():
    X, _ = penguins()
    columns, _ = learn_columns(X)
    X.loc[:4, "species"] = "Emperor"
    found = columns.encode(X)
    assert found["species"].isna().tolist() == [True] * 5 + [False] * 895
    assert found.drop(columns="species").notna().all(axis=None)


def test_what_is_no_use_is_named_and_never_bought():
    X, y = penguins(200)
    X.insert(1, "name", [f"penguin {i}" for i in range(200)])
    X["empty"], X["number"] = np.nan, np.arange(200)[::-1]
    with pytest.warns(UserWarning, match="leave it out") as caught:
        model = BudgetRidge(3, random_state=0).fit(X, y)
    assert sorted(str(warning.message) for warning in caught) == [
        "column 'empty' has no value at all, and is never bought; leave it out.",
        "column 'name' is text that differs in every row, like an identifier, and is never bought; leave it out.",
        "column 'number' is a different whole number in every row; if it is an identifier, leave it out.",
    ]
    (note,) = learn_columns(X[["number"]].astype(str))[1]
    assert note.endswith("never bought; turn it into numbers.")
    looks = np.bincount(model.learner_.bought.attributes, minlength=8)
    assert ((looks == 0) == X.columns.isin(["name", "empty"])).all()
    assert model.predict(X).shape == (200,)
    assert model.effect("name")[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("values", [[[1, 2]] * 40, [{"a": 1}] * 40, pd.to_timedelta(range(40), "D")], ids=str)
def test_what_is_neither_number_nor_text_is_refused_by_name(values):
    frame = pd.DataFrame({"x": np.arange(40.0), "odd": values, "z": np.arange(40.0)})
    with pytest.raises(ValueError, match="column 'odd' holds values of kind"):
        BudgetRidge(2).fit(frame, np.arange(40.0))


def test_what_is_no_frame_of_distinct_names_is_refused():
    """Both ended in an error of another library."""
    with pytest.raises(ValueError, match="two columns are named 'age'; rename one of them"):
        BudgetRidge(2).fit(NUMBERS.set_axis(["age", "b", "age"], axis=1), TARGET)
    with pytest.raises(ValueError, match="Expected a 2-dimensional container but got"):
        BudgetRidge(2).fit(NUMBERS["age"], TARGET)


def test_tables_of_arrow_are_taken_like_frames():
    """So are those of polars, which convert themselves in the same way."""
    X, y = penguins(200)
    table = pyarrow.Table.from_pandas(X, preserve_index=False)
    model = BudgetRidge(3, random_state=0).fit(table, y)
    np.testing.assert_array_equal(model.predict(table), BudgetRidge(3, random_state=0).fit(X, y).predict(X))


def test_text_where_numbers_were_is_refused_by_name():
    model = BudgetRidge(2, random_state=0).fit(NUMBERS, TARGET)
    with pytest.raises(ValueError, match=r"column 'age' was numeric when the model was fitted, but row 1 has 'old'"):
        model.predict(NUMBERS.astype({"age": object}).assign(age="old"))
    X, y = penguins()
    model = BudgetRidge(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X.drop(columns="sex")), model.predict(X.assign(sex=None)))


def test_online_learners_refuse_categories_with_what_to_do():
    X, y = penguins()
    with pytest.raises(ValueError, match=r"'species' is categorical, .* Turn the column into indicators first"):
        BudgetRidge(2, learner="online").fit(X, y)


# Options by name ----------------------------------------------------------------------------------------------------

PRICES = {"age": 0.0, "insulin": 2.0, "glucose": 1.0}


@pytest.mark.parametrize(
    "costs", [PRICES, pd.Series(PRICES), [1.0, 2.0, 0.0], pd.Series(PRICES).sort_values()], ids=str
)
def test_prices_are_found_by_name(costs):
    """A Series was taken by position, whatever its names."""
    model = BudgetRidge(3.0, costs=costs, random_state=0).fit(NUMBERS, TARGET)
    looks = np.bincount(model.learner_.bought.attributes, minlength=3)
    assert model.learner_.buyer.shop.costs.tolist() == [1.0, 2.0, 0.0]
    assert looks[2] == len(NUMBERS)
    assert model.spent_ == looks @ [1.0, 2.0, 0.0]
    assert clone(model).get_params()["costs"] is not None


def test_panels_and_moments_are_found_by_name():
    options = {
        "groups": {"age": "p", "glucose": "p"},
        "second_moments": pd.Series({"age": 3.0, "glucose": 1, "insulin": 2}),
    }
    learner = BudgetRidge(3, random_state=0, **options).fit(NUMBERS, TARGET).learner_
    assert learner.buyer.shop.items.tolist() == [0, 1, 0]
    assert learner.second_moments.tolist() == [1.0, 2.0, 3.0]
    online = {"learner": "online", "second_moments": options["second_moments"], "scale": None}
    assert BudgetRidge(2, random_state=0, **online).fit(NUMBERS, TARGET).second_moments_.tolist() == [1.0, 2.0, 3.0]


def test_columns_without_names_have_numbers():
    model = BudgetRidge(3.0, costs={2: 0.0, 0: 1.0, 1: 2.0}, random_state=0).fit(NUMBERS.to_numpy(), TARGET)
    assert model.learner_.buyer.shop.costs.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"costs": PRICES | {"glucse": 1.0}},
            "costs names 'glucse', but there is no such column; did you mean 'glucose'?",
        ),
        ({"costs": {"age": 1.0}}, "costs has no value for 'glucose', 'insulin'; name every column"),
        ({"costs": PRICES | {"age": "$2"}}, "costs must be numbers, without a sign of money: could not convert"),
        ({"costs": PRICES | {"age": -1.0}}, "costs must be non-negative and finite; got -1.0"),
        (
            {"costs": pd.Series([1.0, 2.0, 3.0])},
            "costs names 0, but there is no such column; the columns are 'glucose', ",
        ),
        ({"costs": pd.Series([1.0] * 4, ["age", "age", "glucose", "insulin"])}, "costs names some column twice"),
        ({"groups": {"agge": "p"}}, "groups names 'agge', but there is no such column; did you mean 'age'?"),
        ({"second_moments": {"age": 1.0}}, "second_moments has no value for 'glucose', 'insulin'"),
    ],
    ids=str,
)
def test_bad_names_are_refused_and_nothing_is_bought(options, message):
    model = BudgetRidge(2.0, **options)
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        model.fit(NUMBERS, TARGET)
    assert not hasattr(model, "learner_")


def test_options_without_names_are_left_alone():
    values = np.ones(3)
    assert by_name("costs", values, range(3)) is values
    assert by_name("costs", None, range(3)) is None
    assert by_name("groups", {1: "a"}, range(3), otherwise=None) == [None, "a", None]


def test_a_purchase_that_is_too_dear_is_named():
    with pytest.warns(UserWarning, match=r"will never be made: 'insulin' \(5\)\."):
        BudgetRidge(2.0, costs=PRICES | {"insulin": 5.0}, random_state=0).fit(NUMBERS, TARGET)


# Holes --------------------------------------------------------------------------------------------------------------


def test_without_a_budget_all_that_is_there_is_learnt_from():
    """A third is missing at random: the error is near that of whole rows, where whole rows are 1 in 8."""
    X, y = penguins()
    holes = X.mask(np.random.default_rng(0).uniform(size=X.shape) < 0.33)
    model = BudgetRidge(None, random_state=0).fit(holes, y)
    assert (model.cells_, model.spent_) == (holes.notna().sum(axis=None), 0.0)
    assert model.score(X, y) > 0.95
    assert model.report_["risk"] < 0.2
    few = BudgetRidge(3, random_state=0, pay_for_missing=False).fit(holes, y)
    assert few.cells_ == few.spent_ < model.cells_
    assert few.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "online"}, "budget=None, .* needs a learner that keeps"),
        ({"costs": np.ones(3)}, "budget=None buys nothing .* so costs= has no effect"),
    ],
    ids=str,
)
def test_without_a_budget_options_that_need_one_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BudgetRidge(None, **options).fit(NUMBERS, TARGET)


def test_online_learners_pay_for_what_they_ask_and_have_nothing_free():
    with pytest.raises(ValueError, match="pay_for_missing= is an option of learners that keep"):
        BudgetRidge(2, learner="online", pay_for_missing=False).fit(NUMBERS, TARGET)
    with pytest.raises(ValueError, match=r"an online learner .* has no free ones; .* small price"):
        BudgetRidge(2.0, learner="online", costs=[1.0, 1.0, 0.0]).fit(NUMBERS, TARGET)


def notes_on(**columns):
    return learn_columns(pd.DataFrame(columns))[1]


def test_a_column_of_one_value_is_pointed_out_whatever_its_type():
    """A constant text was left unbought without a word, and a constant number was paid for again and again."""
    assert notes_on(
        place=["Rome"] * 30, code=[1] * 29 + [None], left=[False] * 30, day=pd.to_datetime(["2024-01-01"] * 30)
    ) == [
        "column 'place' is 'Rome' wherever it is known, so nothing can be learnt from it, and it is never bought; "
        "leave it out.",
        "column 'code' is 1.0 wherever it is known, so nothing can be learnt from it, and it is never bought; "
        "leave it out.",
        "column 'left' is False wherever it is known, so nothing can be learnt from it, and it is never bought; "
        "leave it out.",
        "column 'day' is '2024-01-01 00:00:00' wherever it is known, so nothing can be learnt from it, and it is "
        "never bought; leave it out.",
    ]
    assert notes_on(code=[1] * 19) == []  # so few rows may be alike by chance


def test_one_cell_with_a_unit_does_not_make_numbers_an_identifier():
    """The advice was to leave the column out."""
    numbers = [str(1.25 * i) for i in range(40)]
    (note,) = notes_on(dose=[*numbers[:-1], "12 mg"])
    assert "never bought, though 39 of 40 values are numbers, but not '12 mg'; make them numbers" in note


@pytest.mark.parametrize("repeats", [1, 2])
def test_numbers_with_a_unit_are_pointed_out(repeats):
    (note,) = notes_on(dose=[f"{1.25 * i} mg/l" for i in range(30)] * repeats)
    assert (
        f"though {30 * repeats} of {30 * repeats} values are numbers with the unit 'mg/l', such as '0.0 mg/l'" in note
    )
    assert notes_on(size=["1 cm", "2 cm", "3 cm"] * 20) == []  # a few sizes are categories
    (note,) = notes_on(street=[f"{i} {'abcdefghij'[i % 10]}-street" for i in range(60)])
    assert "like an identifier" in note


def test_a_text_among_numbers_is_blamed_on_its_own_column():
    """The first column was named if all of them were objects."""
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    columns, _ = learn_columns(X)
    with pytest.raises(ValueError, match=r"column 'b' was numeric .*'old'\. Pass numbers, and NaN for what is unknown"):
        columns.encode(X.astype(object).assign(b=["old", 1.0]))


@pytest.mark.filterwarnings("ignore:column")
def test_columns_of_which_nothing_can_be_learnt_are_not_bought():
    """They were announced as useless and bought all the same; the other columns lost a share of the money."""
    X, y = penguins(200)
    odd = X.assign(tag=[f"tag {i % 100}" for i in range(200)], unit=7.0, day=pd.Timestamp("2024-01-01"))
    assert learn_columns(odd[["tag"]])[1] == [
        "column 'tag' is text with 100 distinct values, each in fewer than 5 rows, so nothing can be learnt from it, "
        "and it is never bought; leave it out, or write numbers as 1234.5 and dates as 2024-05-31."
    ]
    for panels in (None, {"tag": "all", "unit": "all", X.columns[0]: "all"}):
        model = BudgetRidge(3, groups=panels, random_state=0).fit(odd, y)
        looks = np.bincount(model.learner_.bought.attributes, minlength=odd.shape[1])
        useless = odd.columns.isin(["day"] if panels else ["tag", "unit", "day"])
        np.testing.assert_array_equal(looks == 0, useless)
        assert [model.effect(name)[1].any() for name in ("tag", "unit", "day")] == [False] * 3
        assert model.predict(odd.head()).tolist() == model.predict(odd.head().assign(unit=9.0, tag="new")).tolist()
    model.partial_fit(odd, y)  # a constant column stays useless


def test_of_first_rows_and_to_online_learners_a_constant_column_is_not_useless():
    X = pd.DataFrame({"a": [1.0] * 30, "b": np.arange(30.0) % 7, "c": np.arange(30.0) % 5})
    y = np.arange(30.0)
    with pytest.warns(UserWarning, match="looks at it are wasted"):
        model = BudgetRidge(2, random_state=0).partial_fit(X, y)
    model.partial_fit(X.assign(a=y), y)
    assert np.bincount(model.learner_.bought.attributes, minlength=3).all()
    with pytest.warns(UserWarning, match="looks at it are wasted"):
        model = BudgetRidge(2, learner="online", fit_intercept=False, random_state=0).fit(X, y)
    assert model.learner_.looks[0]
