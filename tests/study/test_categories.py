"""Attributes of a study that are categories, and those that are free."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sparing import BudgetRidge
from sparing.cells import Cells
from sparing.study import Study, merge
from sparing.study.values import checked_values

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
WARDS = ["A", "B", "C"]
PRICES = {"ward": "5.00", "dose": "2.00", "age": "0.00", "weight": "1.00"}
OPTIONS = {"prices": PRICES, "budget": "6.00", "categories": {"ward": WARDS[::-1]}, "seed": 4}


def frame(n=120):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"ward": rng.choice(WARDS, n), "dose": rng.normal(size=n), "age": rng.normal(size=n)})
    table["weight"] = rng.normal(size=n)
    return table, (2.0 * (table["ward"] == "B") + table["dose"] + 0.1 * rng.normal(size=n)).to_numpy()


def fill(study, table, y, prefix="case"):
    for number, row in enumerate(table.to_dict("records")):
        ask = study.ask(f"{prefix}-{number}", who="lab")
        assert "age" in ask.names
        study.tell(ask, {name: row[name] for name in ask.names}, y=float(y[number]))


def test_a_study_learns_of_categories_and_free_attributes_what_an_estimator_does(tmp_path):
    table, y = frame()
    prices = {name: float(price) for name, price in PRICES.items()}
    model = BudgetRidge(6.0, costs=prices, random_state=4)
    for row in range(len(table)):  # one by one, as the study does; all categories are declared
        model.partial_fit(table.iloc[[row]].astype({"ward": pd.CategoricalDtype(WARDS)}), y[[row]])
    with Study.create(tmp_path / "study.db", **OPTIONS) as study:
        fill(study, table, y)
        np.testing.assert_array_equal(study.model().predict(table), model.predict(table))
        categories, adds = study.model().effect("ward")
        assert categories.tolist() == WARDS
        assert adds.argmax() == 1
        assert study.money()["spent"] == f"{model.spent_:.2f}"
        looked = {each.attribute: each for each in study.report().attributes}
        assert (looked["age"].looks, looked["age"].spent) == (len(table), "0.00")
        shown = study.table()
        assert set(shown["ward"].dropna()) == set(WARDS)
        assert study.example("case-0").values == {name: table.loc[0, name] for name in study.example("case-0").values}
        assert study.check(replay=True).queries == len(table)


def test_categories_are_told_by_name(tmp_path):
    with Study.create(tmp_path / "study.db", **OPTIONS | {"budget": "8.00"}) as study:
        ask = study.ask("x", who="lab")
        values = dict.fromkeys(ask.names, 1.0)
        for wrong in ("D", 0.0, "a"):
            with pytest.raises(ValueError, match=r"tell one of its categories \(A, B, C\)"):
                study.tell(ask, values | {"ward": wrong})
        study.tell(ask, values | {"ward": "B"})
        with pytest.raises(RuntimeError, match="ward of 'x' was told as B and is now C"):
            study.tell(ask, {"ward": "C"})
        study.correct("x", {"ward": "C"}, expected=study.example("x").event)
        assert study.example("x").values["ward"] == "C"
        study.check(replay=True)


def test_names_of_categories_may_look_like_numbers(tmp_path):
    options = {"attributes": ["stage", "x"], "budget": 2, "categories": {"stage": ["1", "2", "10"]}}
    with Study.create(tmp_path / "study.db", **options) as study:
        for told in ("2", 2, 2.0, np.int64(2)):
            assert checked_values(study.settings, {"stage": told}) == {0: 2.0}  # after "1" and "10"


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"wadr": WARDS}, "did you mean 'ward'"),
        ({"ward": ["A"]}, "two names or more"),
        ({"ward": "ABC"}, "two names or more"),
        ({"ward": ["A", "unavailable"]}, "none of them"),
        ({"ward": ["A", ""]}, "or empty"),
    ],
)
def test_what_cannot_be_categories(tmp_path, categories, message):
    with pytest.raises(ValueError, match=message):
        Study.create(tmp_path / "study.db", **OPTIONS | {"categories": categories})
    assert not (tmp_path / "study.db").exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_sheets_and_exports_name_categories(tmp_path, suffix):
    table, y = frame(30)
    with Study.create(tmp_path / "study.db", **OPTIONS) as study:
        fill(study, table, y)
        ask = next(ask for number in range(9) if "ward" in (ask := study.ask(f"new-{number}", who="lab")).names)
        study.write_sheet([ask], tmp_path / "sheet.csv")
        with (tmp_path / "sheet.csv").open(newline="") as file:
            (row,) = csv.DictReader(file)
        row |= {name: "1" for name, cell in row.items() if cell == ""} | {"ward": "D"}
        for ward in ("D", "C"):
            lines = [",".join(row), ",".join((row | {"ward": ward}).values())]
            Path(tmp_path / "sheet.csv").write_text("\n".join(lines) + "\n")
            if ward == "D":
                with pytest.raises(ValueError, match=r"line 2 of sheet.csv: ward is 'D'"):
                    study.tell_sheet(tmp_path / "sheet.csv")
        assert study.tell_sheet(tmp_path / "sheet.csv") == (1, 1)
        assert study.example(ask.example).values["ward"] == "C"
        study.export(tmp_path / "cells.npz")
        assert len(Cells.load(tmp_path / "cells.npz")) == len(study.cells())
        with np.load(tmp_path / "cells.npz") as stored:
            assert (stored["names"].tolist(), stored["categories.ward"].tolist()) == (list(PRICES), WARDS)
        study.export(tmp_path / f"cells{suffix}")
        n = study.cells().n_examples
        with Study.create(tmp_path / "other.db", **OPTIONS | {"categories": {"ward": [*WARDS, "0"]}}) as other:
            merge([tmp_path / f"cells{suffix}"], tmp_path / f"merged{suffix}")
            cells = other.cells(also=[tmp_path / f"merged{suffix}"])
            assert cells.n_examples == n
            codes = cells.values[cells.attributes == 0]  # by name: "0" comes first among the categories here
            assert np.array_equal(codes, study.cells().values[study.cells().attributes == 0] + 1)
