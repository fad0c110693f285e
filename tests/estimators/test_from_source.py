"""Estimators take sources: Parquet files, tables of a database, functions."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from sklearn.exceptions import ConvergenceWarning

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, load_model, save_model
from sparing.sources import CallableSource, ParquetSource, SQLSource

N, D = 1200, 8
GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((N, D))
WARD = GENERATOR.choice(["A", "B", "C"], N)
FRAME = pd.DataFrame(X, columns=[f"x{at}" for at in range(D)])
FRAME["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(GENERATOR.integers(0, 100, N), "D")
FRAME["ward"] = WARD
Y = X @ [2.0, -1.0, 1.0, 0, 0, 0, 0, 1.0] + 2.0 * (WARD == "B") + 0.1 * GENERATOR.standard_normal(N)
NUMBERS = FRAME.columns[:D].tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("big")
    table = FRAME.assign(y=Y, side=np.where(Y > 0, "high", "low"))
    table[:600].to_parquet(made / "a.parquet", row_group_size=20)
    table[600:].to_parquet(made / "b.parquet", row_group_size=20)
    return made


def source_of(folder, *, drop=()):
    return ParquetSource(str(folder / "*.parquet"), drop=["side", *drop])


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso])
def test_a_few_columns_of_each_row_group(cls, folder):
    model = cls(5, random_state=0, features="linear").fit(source_of(folder), target="y")
    assert model.score(FRAME, Y) > 0.9
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert model.cells_ == model.spent_ == 5 * N
    assert model.n_iter_ == N
    assert np.unique(model.learner_.bought.blocks).size == 60
    categories, adds = model.effect("ward")
    assert categories.tolist() == ["A", "B", "C"]
    assert adds[1] - adds[0] == pytest.approx(2.0, abs=0.3)


def test_all_examples_of_a_row_group_share_a_query(folder):
    model = BudgetRidge(4, random_state=0, learner="pairwise").fit(source_of(folder), target="y")
    cells = model.learner_.bought
    seen = np.zeros((N, D + 2), bool)
    seen[cells.examples(), cells.attributes] = True
    for block in np.unique(cells.blocks):
        assert (seen[cells.blocks == block] == seen[cells.blocks == block][0]).all()
    assert len({row.tobytes() for row in seen}) > 20


def test_the_same_seed_gives_the_same_model_and_files_keep_it(folder, tmp_path):
    one, two = (BudgetRidge(4, random_state=3, learner="pairwise").fit(source_of(folder), target="y") for _ in range(2))
    np.testing.assert_array_equal(one.predict(FRAME), two.predict(FRAME))
    save_model(one, tmp_path / "model.sparing")
    np.testing.assert_array_equal(load_model(tmp_path / "model.sparing").predict(FRAME), one.predict(FRAME))
    assert load_model(tmp_path / "model.sparing").learner_.bought.blocks.size == N


def test_whole_rows_of_some_groups_are_whole_rows(folder):
    """With every column bought, what is learnt is what the same rows in memory give."""
    source = source_of(folder, drop=["day", "ward"]).take(range(40))
    options = {"learner": "pairwise", "alpha": 1.0}
    model = BudgetRidge(None, **options).fit(source, target="y")
    np.testing.assert_allclose(model.coef_, BudgetRidge(None, **options).fit(X[:800], Y[:800]).coef_, rtol=1e-9)


def test_classes(folder):
    source, labels = ParquetSource(str(folder / "*.parquet"), drop=["y"]).split_target("side")
    model = BudgetClassifier(5, random_state=0, learner="pairwise").fit(source, labels)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.score(FRAME, labels) > 0.8
    whole = ParquetSource(str(folder / "*.parquet"), drop=["y"])
    named = BudgetClassifier(5, random_state=0, learner="pairwise").fit(whole, target="side")
    np.testing.assert_array_equal(model.predict(FRAME), named.predict(FRAME))


def test_a_table_in_a_database_is_learnt_as_the_frame_is(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'ward.db'}")
    FRAME.assign(y=Y, id=range(N)).to_sql("ward", engine, index=False)
    options = {"learner": "pairwise", "random_state": 0}
    model = BudgetRidge(5, **options).fit(SQLSource(engine, "ward", key="id"), target="y")
    expected = BudgetRidge(5, **options).fit(FRAME, Y)
    np.testing.assert_array_equal(model.learner_.bought.values, expected.learner_.bought.values)
    np.testing.assert_array_equal(model.predict(FRAME), expected.predict(FRAME))
    assert model.spent_ == expected.spent_


def test_a_function_is_learnt_as_the_array_is():
    source = CallableSource(lambda example, attributes: X[example, attributes], n_examples=N, n_attributes=D)
    options = {"learner": "pairwise", "random_state": 0, "costs": np.arange(1.0, D + 1), "budget": 15.0}
    np.testing.assert_array_equal(BudgetRidge(**options).fit(source, Y).coef_, BudgetRidge(**options).fit(X, Y).coef_)


def test_prices_by_name_and_a_total(folder):
    source = source_of(folder, drop=["day", "ward"])
    prices = dict.fromkeys(NUMBERS, 1.0) | {"x0": 3.0}
    model = BudgetRidge(4.0, costs=prices, total_budget=2_000.0, learner="pairwise", random_state=0)
    model.fit(source, target="y")
    assert model.spent_ <= 2_000.0
    looks = np.bincount(model.learner_.bought.attributes, minlength=D)
    assert model.spent_ == looks @ [3.0, *[1.0] * (D - 1)]
    assert looks.all()


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (lambda folder: BudgetRidge().fit(source_of(folder)), "a source needs targets from one place"),
        (lambda folder: BudgetRidge().fit(source_of(folder), Y, target="y"), "a source needs targets from one place"),
        (lambda folder: BudgetRidge().fit(source_of(folder), target="z"), "there is no column 'z'"),
        (lambda folder: BudgetRidge().fit(source_of(folder), Y[:-1]), "y has 1199 targets for the 1200 examples"),
        (lambda folder: BudgetRidge().fit(FRAME, Y, target="y"), "target='y' names a column of a source"),
        (lambda folder: BudgetRidge().partial_fit(source_of(folder), Y), "partial_fit takes rows in memory"),
        (lambda folder: BudgetRidge().fit(source_of(folder), Y, np.arange(N)), "sample_weight is zero for some"),
        (
            lambda folder: BudgetRidge(learner="online").fit(source_of(folder, drop=["ward"]), target="y"),
            "an online learner, chosen because it was asked for, takes rows in memory",
        ),
        (
            lambda folder: BudgetRidge().fit(CallableSource(len, n_examples=3, n_attributes=2), target="y"),
            "a CallableSource has no columns",
        ),
    ],
)
def test_what_cannot_be_learnt_is_refused(fit, said, folder):
    with pytest.raises(ValueError, match=said):
        fit(folder)


def test_row_groups_that_are_too_few_are_said(folder):
    with pytest.warns(ConvergenceWarning, match="2 blocks at a budget of 3 leave columns that are never read; 4 would"):
        BudgetRidge(3, learner="pairwise").fit(source_of(folder).take([0, 1]), target="y")
