"""Messy tables: text, dates, missing values, free columns; fitted, planned and reported by column."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparing.cli import app
from sparing.fitting import fit_table
from sparing.planning import bought_pilot
from sparing.plotting import plot_curves
from sparing.tables import read_prices, read_table

N = 400


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    """Files are written to a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """Text, dates and flags beside numbers; a third of all cells is missing, and so are two targets."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ward": rng.choice(["A", "B", "C"], N),
            "age": rng.integers(20, 90, N).astype(float),
            "glucose": rng.normal(100.0, 20.0, N),
            "smoker": rng.choice(["yes", "no"], N),
            "admitted": (pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D")).astype(str),
            "weight": rng.normal(70.0, 10.0, N),
        }
    )
    y = frame["ward"].map({"A": 0.0, "B": 4.0, "C": -3.0}) + 0.05 * frame["age"] + 0.03 * frame["glucose"]
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.3)
    frame["stay"] = y.round(3)
    frame.loc[[3, 7], "stay"] = np.nan
    frame.to_csv("patients.csv", index=False, na_rep="?")
    return frame


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_columns_are_kept_as_they_are(patients):
    table = read_table("patients.csv", "stay", as_is=True)
    assert table.names == list(table.X.columns) == ["ward", "age", "glucose", "smoker", "admitted", "weight"]
    assert (table.n_dropped, table.X.shape) == (2, (N - 2, 6))
    kept = patients[patients["stay"].notna()].drop(columns="stay")
    np.testing.assert_array_equal(table.X.isna(), kept.isna())
    assert table.X["admitted"].dtype.kind == "M"
    assert read_table("patients.csv", "stay", as_is=True, drop_missing=True).X.notna().all(axis=None)
    encoded = read_table("patients.csv", "stay", as_is=True, encode=True, drop=["admitted"])
    assert encoded.names == ["age", "glucose", "weight", "ward=A", "ward=B", "ward=C", "smoker=no", "smoker=yes"]


def test_fit_takes_a_table_full_of_holes_and_reports_by_column(patients, tmp_path):
    """It was refused, and --drop-missing left 1 row in 8."""
    result = run("fit", "patients.csv", "--target", "stay", "--budget", 3, "--output", "out")
    assert result.exit_code == 0, result.output
    assert "1,194 of 2,388 values bought (50.0%) for 1,194.00" in result.output
    assert "of them were missing, and paid for." in result.output
    assert "left out: 2 rows without a target\n" in result.output
    report = pd.read_csv(tmp_path / "out-weights.csv")
    assert sorted(report["attribute"]) == sorted(patients.columns.drop("stay"))
    assert report["attribute"][0] == "ward"
    ward = json.loads((tmp_path / "out-model.json").read_text())["curves"]["ward"]
    assert ward["at"] == ["A", "B", "C"]
    assert np.argsort(ward["adds"]).tolist() == [2, 0, 1]
    assert (tmp_path / "out-curves.png").stat().st_size > 10_000
    assert re.search(r"^ward +categories", result.output, re.MULTILINE)


def test_without_a_budget_fit_learns_from_all_that_is_there(patients):
    result = run("fit", "patients.csv", "--target", "stay", "--budget", "none", "--output", "out")
    assert result.exit_code == 0, result.output
    there = int(patients[patients["stay"].notna()].drop(columns="stay").notna().sum(axis=None))
    assert f"{there:,} of 2,388 values" in result.output
    assert "nothing was bought" in result.output
    refused = run("fit", "patients.csv", "--target", "stay", "--budget", "nine")
    assert (refused.exit_code, refused.stderr) == (2, "sparing: --budget must be a number, or none; got 'nine'.\n")


def test_prices_are_those_of_columns_and_may_be_zero(patients):
    lines = ["attribute;cost", "smoker;1", "ward;2,5", "age;0", "glucose;4", "admitted;0", "weight;1"]
    Path("prices.csv").write_text("\n".join(lines))
    table = read_table("patients.csv", "stay", as_is=True)
    prices = read_prices("prices.csv", table.names)
    assert prices.costs.tolist() == [2.5, 0.0, 4.0, 1.0, 0.0, 1.0]
    report = fit_table(table, budget=6.5, prices=prices, pay_for_missing=False)
    by_column = {bought.attribute: bought for bought in report.attributes}
    assert by_column["age"].looks == table.X["age"].notna().sum()
    assert by_column["age"].spent == 0.0
    assert sum(bought.spent for bought in report.attributes) == pytest.approx(report.model.spent_)
    assert report.model.spent_ <= 6.5 * (N - 2)
    paid = fit_table(table, budget=6.5, prices=prices)
    assert paid.model.cells_ > len(paid.model.learner_.bought)  # some were unavailable, and paid for
    assert sum(bought.spent for bought in paid.attributes) == pytest.approx(paid.model.spent_)


def test_what_is_too_expensive_has_a_weight_of_zero_in_words(patients):
    Path("prices.csv").write_text("attribute,cost\nsmoker,1\nward,1\nage,1\nglucose,9\nadmitted,1\nweight,1\n")
    table = read_table("patients.csv", "stay", as_is=True)
    with pytest.warns(UserWarning, match="'glucose' \\(9\\)"):
        report = fit_table(table, budget=3, prices=read_prices("prices.csv", table.names))
    (glucose,) = [bought for bought in report.attributes if bought.attribute == "glucose"]
    assert (glucose.looks, report.weight_in_words(glucose)) == (0, "0")


def test_missing_values_cost_nothing_if_that_is_asked_for(patients):
    result = run("fit", "patients.csv", "--target", "stay", "--budget", 3, "--free-missing", "--output", "out")
    assert result.exit_code == 0, result.output
    assert "paid for" not in result.output
    with np.load("out-cells.npz") as cells:
        assert cells["names"].tolist() == ["ward", "age", "glucose", "smoker", "admitted", "weight"]
        assert cells["categories.smoker"].tolist() == ["no", "yes"]
    report = pd.read_csv("out-weights.csv")
    assert f"for {report['spent'].sum():,.2f}, of 398 examples" in result.output


def test_what_cannot_be_learnt_from_is_named_by_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["id"], frame["empty"] = [f"case {i}" for i in range(60)], None
    frame.assign(y=frame["a"]).to_csv("data.csv", index=False)
    result = run("fit", "data.csv", "--target", "y", "--budget", 2, "--quiet")
    assert result.exit_code == 0, result.output
    assert "warning: column 'id' is text that differs in every row" in result.stderr
    assert "warning: column 'empty' has no value at all" in result.stderr


def test_text_that_is_meant_as_numbers_or_dates_is_pointed_out(tmp_path, monkeypatch):
    """A few words among numbers, or dates of a country, cost a column its meaning without a word."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]).assign(y=rng.normal(size=60))
    frame["age"] = [str(20 + i) if i % 7 else "old" for i in range(60)]
    frame["day"] = [f"{1 + i % 28}.{1 + i % 11}.2024" for i in range(60)]
    frame.loc[1:2, "day"] = "1.1.2024"  # or it would look like an identifier
    frame["ward"] = rng.choice(["A", "B"], 60)
    frame.to_csv("data.csv", index=False)
    warned = run("fit", "data.csv", "--target", "y", "--budget", 2, "--quiet").stderr.splitlines()
    assert [line.split(";")[0].split(",")[0] for line in warned] == [
        "sparing: warning: column 'age' is text",
        "sparing: warning: column 'day' is text with 58 distinct values",
    ]
    assert "though 51 of 60 values are numbers, but not 'old'; make them numbers" in warned[0]
    assert "write numbers as 1234.5 and dates as 2024-05-31" in warned[1]
    with pytest.warns(UserWarning, match="is text") as caught:
        bought_pilot("data.csv", "y", 2, None, 60, 0)
    assert [f"sparing: warning: {warning.message}" for warning in caught] == warned


# Planning -----------------------------------------------------------------------------------------------------------


def test_a_plan_takes_text_and_holes_and_buys_by_column(patients):
    pilot = bought_pilot("patients.csv", "stay", 3, None, 200, 0)
    assert pilot.levels.tolist() == [3, 0, 0, 2, 0, 0]
    assert np.diff(pilot.cells.starts).max() == 3
    result = run("plan", "patients.csv", "--target", "stay", "--budget", 3, "--spends", "600,1200", "--repetitions", 2)
    assert result.exit_code == 0, result.output
    assert "6 attributes" in result.output
    assert "Expected error" in result.output


def test_a_plan_goes_on_from_a_model(patients):
    """Its categories and prices are known; a list of other prices replaces them."""
    Path("prices.csv").write_text("attribute,cost\n" + "".join(f"{name},2\n" for name in patients.columns[:-1]))
    given = ("--target", "stay", "--budget", 6, "--costs", "prices.csv", "--quiet")
    assert run("fit", "patients.csv", *given).exit_code == 0
    pilot = bought_pilot("sparing-fit-model.sparing", None, 6, None, 100, 0)
    assert pilot.levels.tolist() == [3, 0, 0, 2, 0, 0]
    assert pilot.prices.costs.tolist() == [2.0] * 6
    result = run("plan", "sparing-fit-model.sparing", "--budget", 6, "--spends", "1200,2400", "--repetitions", 2)
    assert result.exit_code == 0, result.output


def test_targets_far_out_are_pointed_out(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(y=rng.normal(size=60))
    for far, said in ((0, False), (2, True)):
        frame.loc[: far - 1, "y"] = 500.0
        frame.to_csv(tmp_path / "table.csv", index=False)
        lines = fit_table(read_table(tmp_path / "table.csv", "y"), budget=2).lines()
        assert any(line.startswith("Targets farther than") and ": 2." in line for line in lines) == said


@pytest.mark.usefixtures("in_a_folder")
def test_rows_left_out_are_counted_by_reason():
    text = "a,b,y\n" + "1,2,3\n4,,5\n7,8,\n" * 2 + ",,\n1,3,7\n"
    Path("t.csv").write_text(text)
    assert read_table("t.csv", "y", drop=["b"], drop_missing=True).lines() == [
        "5 rows, 1 attributes, target 'y'",
        "left out as asked: b",
        "left out: 3 rows without a target",
    ]
    assert read_table("t.csv", "y", drop_missing=True).lines()[-1] == (
        "left out: 3 rows without a target, 2 rows with a missing value"
    )


@pytest.mark.usefixtures("in_a_folder")
def test_dates_are_no_target():
    """They were said to be too many classes."""
    days = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    pd.DataFrame({"a": range(120), "b": range(120), "day": days}).to_csv("t.csv", index=False)
    result = run("fit", "t.csv", "--target", "day", "--budget", 2)
    assert result.exit_code == 2
    assert result.stderr.startswith("sparing: the target 'day' holds dates; choose another, or turn it into numbers")


def test_fit_names_what_was_never_bought(patients):
    """It gave their number only."""
    Path("prices.csv").write_text("attribute,cost\nsmoker,1\nward,1\nage,1\nglucose,9\nadmitted,1\nweight,1\n")
    table = read_table("patients.csv", "stay", as_is=True)
    with pytest.warns(UserWarning, match="'glucose' \\(9\\)"):
        report = fit_table(table, budget=3, prices=read_prices("prices.csv", table.names))
    assert "No value bought of 'glucose': more expensive than the budget for one example." in report.lines()
    table.X["id"], table.X["empty"] = [f"i{at}" for at in range(len(table.y))], np.nan
    table.X.loc[table.X["age"].notna(), "glucose"] = np.nan
    names = [*table.names, "id", "empty"]
    with pytest.warns(UserWarning, match="is never bought"):
        report = fit_table(replace(table, names=names), budget=3, total_budget=3.0)
    never = {bought.attribute for bought in report.attributes if not bought.looks and not bought.spent}
    said = [line for line in report.lines() if line.startswith("No value bought of")]
    assert {"id", "empty"} < never
    assert "No value bought of 'id', 'empty': nothing to learn from." in said
    assert any(line.endswith(": never drawn; more rows or a larger budget may reach it.") for line in said)


@pytest.mark.usefixtures("in_a_folder")
def test_a_target_that_cannot_be_squared_is_refused():
    """It was learnt from, with a warning that an overflow was encountered in square."""
    pd.DataFrame({"a": range(60), "b": range(60), "y": [1e308, *range(59)]}).to_csv("t.csv", index=False)
    result = run("fit", "t.csv", "--target", "y", "--budget", 2)
    assert (result.exit_code, result.stderr) == (
        2,
        "sparing: the target 'y' has the value 1e+308, whose square is infinite; correct it, or leave out its row.\n",
    )


def test_a_column_that_was_never_bought_has_no_curve_in_the_picture(patients, monkeypatch):
    Path("prices.csv").write_text("attribute,cost\nsmoker,1\nward,1\nage,1\nglucose,9\nadmitted,1\nweight,1\n")
    table, drawn = read_table("patients.csv", "stay", as_is=True), []
    with pytest.warns(UserWarning, match="'glucose' \\(9\\)"):
        report = fit_table(table, budget=3, prices=read_prices("prices.csv", table.names))
    monkeypatch.setattr("sparing.plotting.save_picture", lambda figure, path: drawn.append(figure))
    plot_curves(report, Path("curves.png"))
    titles = sorted(axes.get_title("left") for axes in drawn[0].axes if axes.get_visible())
    assert titles == ["admitted", "age", "smoker", "ward", "weight"]


@pytest.mark.usefixtures("in_a_folder")
def test_a_name_with_a_comma_can_be_left_out():
    """Its parts were taken for two names, so such a column could neither be dropped nor be known."""
    pd.DataFrame({"a": range(60), "b, net": range(60), "c": range(60), "y": range(60)}).to_csv("t.csv", index=False)
    result = run("fit", "t.csv", "--target", "y", "--budget", 2, "--drop", '"b, net"')
    assert result.exit_code == 0, result.output
    assert "60 rows, 2 attributes" in result.output


@pytest.mark.usefixtures("in_a_folder")
def test_names_and_holes_that_hide_the_way_on_are_explained():
    """A name with a comma was suggested as if it could be typed as it is, and dropping all rows was the advice."""
    frame = pd.DataFrame({"area, m2": range(60), "b": range(60), "empty": np.nan, "y": range(60)})
    frame.loc[3, "b"] = np.nan
    frame.to_csv("t.csv", index=False)
    result = run("compare", "t.csv", "--target", "y", "--budget", 2, "--drop", "area, m2")
    assert "did you mean 'area, m2'? A name with a comma stands in double quotes." in result.stderr
    said = r"missing 61 values, at least one in every row; fill them, or leave columns out with drop=\['empty'\]"
    with pytest.raises(ValueError, match=said):
        read_table("t.csv", "y")


@pytest.mark.usefixtures("in_a_folder")
def test_two_enormous_targets_are_two_classes():
    """They were whole numbers too large for NumPy, and an unknown label type to scikit-learn."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    frame.assign(y=1e308 * np.sign(rng.normal(size=80))).to_csv("t.csv", index=False)
    result = run("fit", "t.csv", "--target", "y", "--budget", 2)
    assert result.exit_code == 0, result.output
    assert "'-1e+308', '1e+308'" in result.stdout


@pytest.mark.usefixtures("in_a_folder")
def test_nothing_learnt_is_zero_and_no_curve():
    """A constant column beside curves had a curve, and effects of nothing were minus zero."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90), "same": 1.0})
    frame.assign(y=frame["a"] + 2.0 * (frame["b"] == "x")).to_csv("t.csv", index=False)
    said = run("fit", "t.csv", "--target", "y", "--budget", 2).stdout
    assert re.search(r"same +0 +0 ", said), said
    frame.assign(y=rng.normal(size=90)).to_csv("t.csv", index=False)
    assert "-0 " not in run("fit", "t.csv", "--target", "y", "--budget", 2, "--force").stdout


def test_a_total_budget_that_ends_early_and_a_spreadsheet_are_explained(patients):
    """Buying ended without a word, and of a spreadsheet only the ends of other names were said."""
    table = read_table("patients.csv", "stay", as_is=True)
    said = "The total budget of 90.00 was used up before all examples had their share."
    for budget in (3, "auto"):
        assert fit_table(table, budget=budget, total_budget=90).lines()[0].endswith(said)
    assert "used up" not in fit_table(table, budget=3, total_budget=9000).lines()[0]
    Path("t.xlsx").write_bytes(b"PK")
    assert "t.xlsx is of an unknown kind; save the sheet as CSV" in run("fit", "t.xlsx", "--target", "y").stderr


@pytest.mark.usefixtures("in_a_folder")
def test_words_among_the_numbers_of_a_target_are_named():
    """The target was said to have too many classes, or was taken for classes without a word."""
    rng = np.random.default_rng(0)
    for rows in (60, 380):
        frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
        frame["y"] = [f"€{price:,}" for price in rng.permutation(10**6)[:rows]]
        frame.loc[[1, 40], "y"], frame.loc[9, "y"], frame.loc[5, "y"] = "on request", "sold", "-"
        frame.to_csv("t.csv", index=False)
        said = (
            f"sparing: the target 'y' is a number in {rows - 4} of {rows} rows, but 'on request', '-', 'sold' in rows "
            "2, 6, 10, 41; leave these fields empty, and their rows are left out"
        )
        assert run("fit", "t.csv", "--target", "y", "--budget", 2).stderr == (
            f"{said}, or pass --task classification if the numbers are classes.\n"
        )
        assert run("compare", "t.csv", "--target", "y", "--budget", 2).stderr == f"{said}.\n"
    frame.loc[[1, 5, 9, 40], "y"] = ""
    frame.to_csv("t.csv", index=False)
    assert run("fit", "t.csv", "--target", "y", "--budget", 2).exit_code == 0
