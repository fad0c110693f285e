"""Sheets, exports, merging, backups and reports."""

import csv
import sys

import numpy as np
import pandas as pd
import pytest

from sparing.files import InputError
from sparing.study import Conflict, Study, calls, merge

pytestmark = [
    pytest.mark.filterwarnings("ignore:the two most expensive"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
PRICES = {"glucose": "4.50", "ecg": "20.00", "mri": "180.00", "age": "0.10"}


def create(path, **options):
    return Study.create(path, **{"prices": PRICES, "budget": "190.00", "seed": 1, "learner": "pairwise"} | options)


@pytest.fixture
def study(tmp_path):
    with create(tmp_path / "study.db", total="10000.00") as study:
        yield study


def answered(study, n, prefix="patient"):
    generator = np.random.default_rng(n)
    for number in range(n):
        ask = study.ask(f"{prefix}-{number}", who="lab")
        values = dict(zip(ask.names, generator.normal(size=len(ask.names)).tolist(), strict=True))
        study.tell(ask, values, y=float(generator.normal()))


def sheet_rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)


# Sheets ---------------------------------------------------------------------------------------------------------------


def test_a_sheet_goes_out_and_comes_back_in_parts_in_any_order_and_twice(study, tmp_path):
    asks = [study.ask(f"patient-{number}", who="lab") for number in range(6)]
    out, back = tmp_path / "asks.csv", tmp_path / "answers.csv"
    study.write_sheet(asks, out)
    rows = sheet_rows(out)
    for ask, row in zip(asks, rows, strict=True):
        assert (row["key"], row["example"], row["price"]) == (ask.key, ask.example, ask.price)
        assert [name for name in PRICES if row[name] == ""] == [name for name in PRICES if name in ask.names]
    rows[0] |= {"target": "1.5"} | dict.fromkeys(asks[0].names, "7.25")
    rows[1] |= dict.fromkeys(asks[1].names, "2") | {"target": "0"}
    rows[1] |= {asks[1].names[0]: "unavailable", asks[1].names[1]: "Not Bought"}
    rows[2] |= {asks[2].names[0]: "3"}
    write_rows(back, rows[::-1], separator=";")
    assert study.tell_sheet(back) == (3, 3)
    assert study.tell_sheet(back) == (3, 0)
    assert study.example("patient-0").values == dict.fromkeys(asks[0].names, 7.25)
    assert list(study.example("patient-1").values.values())[:2] == ["unavailable", "not bought"]
    assert [study.example(f"patient-{n}").state for n in (2, 3)] == ["partial", "asked"]
    rows[2] |= dict.fromkeys(asks[2].names[1:], "4") | {"target": "2"}
    rows[3] |= dict.fromkeys(asks[3].names, "4") | {"target": "2"}
    write_rows(back, rows)
    assert study.tell_sheet(back) == (4, 2)
    assert study.example("patient-2").state == "settled"
    study.write_sheet(study.asks(), out)
    assert [row["example"] for row in sheet_rows(out)] == ["patient-4", "patient-5"]
    study.check(replay=True)


def test_a_sheet_of_a_partly_told_ask_shows_what_is_known(study, tmp_path):
    ask = study.ask("patient-0", who="lab")
    study.tell(ask, {ask.names[0]: 0.1}, y=2.0)
    study.write_sheet(study.asks(), tmp_path / "asks.csv")
    row = sheet_rows(tmp_path / "asks.csv")[0]
    assert (row[ask.names[0]], row["target"], row[ask.names[1]]) == ("0.1", "2.0", "")
    head = calls.state(study).head
    assert study.tell_sheet(tmp_path / "asks.csv") == (1, 0)
    assert calls.state(study).head == head


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row, ask: row | {ask.names[0]: "5,1"}, r"line 2 of answers.csv: \w+ is '5,1'; give a number"),
        (lambda row, ask: row | {ask.names[0]: "inf"}, r"line 2 of answers.csv: \w+ is 'inf'; give a number"),
        (
            lambda row, ask: row | {"key": "nonsense", ask.names[0]: "1"},
            "line 2 of answers.csv: 'nonsense' is not the key",
        ),
        (lambda row, ask: {**row, "target": "high"}, "line 2 of answers.csv: the target is 'high'"),
        (lambda row, ask: {**row, "target": "inf"}, "line 2 of answers.csv: the target is 'inf'"),
        (
            lambda row, ask: row | {"example": "patient-1", ask.names[0]: "1"},
            "line 2 of answers.csv: its key is that of 'patient-0', but its example is 'patient-1'",
        ),
        (lambda row, ask: {**row, "glucoze": "5"}, "a column 'glucoze', which is no attribute"),
        (lambda row, ask: {"example": "x", "glucose": "5"}, "no column 'key'"),
    ],
)
def test_bad_sheets_change_nothing(study, tmp_path, change, message):
    ask = study.ask("patient-0", who="lab")
    study.write_sheet([ask], tmp_path / "asks.csv")
    write_rows(tmp_path / "answers.csv", [change(sheet_rows(tmp_path / "asks.csv")[0], ask)])
    with pytest.raises(ValueError, match=message):
        study.tell_sheet(tmp_path / "answers.csv")
    assert calls.state(study).head == 1


def test_an_empty_sheet_is_named(study, tmp_path):
    (tmp_path / "answers.csv").write_text("\n")
    with pytest.raises(InputError, match=r"answers\.csv is empty"):
        study.tell_sheet(tmp_path / "answers.csv")


def test_decimal_commas_where_semicolons_separate(study, tmp_path):
    ask = study.ask("patient-0", who="lab")
    study.write_sheet([ask], tmp_path / "asks.csv")
    (row,) = sheet_rows(tmp_path / "asks.csv")
    write_rows(tmp_path / "answers.csv", [row | dict.fromkeys(ask.names, "5,25") | {"target": "-0,5"}], separator=";")
    assert study.tell_sheet(tmp_path / "answers.csv") == (1, 1)
    assert study.example("patient-0").values == dict.fromkeys(ask.names, 5.25)
    assert study.example("patient-0").y == -0.5


def test_a_sheet_with_one_conflict_is_refused_whole(study, tmp_path):
    asks = [study.ask(f"patient-{number}", who="lab") for number in range(2)]
    study.tell(asks[1], {asks[1].names[0]: 1.0})
    study.write_sheet(asks, tmp_path / "asks.csv")
    rows = sheet_rows(tmp_path / "asks.csv")
    write_rows(tmp_path / "answers.csv", [rows[0] | {asks[0].names[0]: "1"}, rows[1] | {asks[1].names[0]: "2"}])
    with pytest.raises(Conflict, match=r"line 3 of answers.csv: .* was told as 1.0 and is now 2.0"):
        study.tell_sheet(tmp_path / "answers.csv")
    assert study.example("patient-0").state == "asked"


# Exports --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_exports_come_together_in_one_model(tmp_path, suffix):
    files, everything = [], []
    for site, n in (("a", 30), ("b", 25)):
        with create(tmp_path / f"{site}.db", seed=len(files)) as study:
            answered(study, n)
            ask = study.ask("nothing", who="lab")
            study.tell(ask, dict.fromkeys(ask.names), y=1.0)  # no value was available
            files.append(tmp_path / f"{site}{suffix}")
            study.export(files[-1])
            everything.append(study.cells())
    together = tmp_path / f"both{suffix}"
    assert merge([*files, files[0]], together) == 57
    with Study.open(tmp_path / "a.db") as study:
        cells = study.cells(also=[together])
        merged = type(cells).merge(everything).in_order()
        for name in ("starts", "attributes", "values", "probabilities", "targets"):
            assert np.array_equal(getattr(cells.in_order(), name), getattr(merged, name)), name
        assert np.array_equal(study.model(also=[files[1]]).coef_, study.settings.fitted(merged).coef_)
        changed = study.correct("patient-0", y=99.0, expected=study.example("patient-0").event)
        assert changed
        study.export(tmp_path / f"newer{suffix}")
    with pytest.raises(Conflict, match=r"'patient-0' of study .* differs between"):
        merge([files[0], tmp_path / f"newer{suffix}"], tmp_path / f"more{suffix}")
    assert not (tmp_path / f"more{suffix}").exists()


def test_merging_without_sqlalchemy_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ImportError, match=r'pip install "sparing\[sql\]"'):
        merge([tmp_path / "cells.csv"], tmp_path / "all.csv")


def test_exported_lines_have_the_chance_of_each_look(study, tmp_path):
    answered(study, 5)
    study.export(tmp_path / "cells.csv")
    frame = pd.read_csv(tmp_path / "cells.csv")
    plan = study.settings.learner.buyer.plan
    chances = [plan.inclusion[study.settings.numbers[name]] for name in frame["attribute"]]
    assert np.array_equal(frame["chance"], chances)
    assert len(frame) == len(study.cells())


def test_files_that_are_no_exports(study, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 broken")
    for name, error in (("x.csv", ValueError), ("x.parquet", InputError), ("none.csv", FileNotFoundError)):
        with pytest.raises(error):
            study.cells(also=[tmp_path / name])
    with pytest.raises(InputError, match=r"neither \.csv nor \.parquet"):
        study.export(tmp_path / "cells.txt")


def test_a_backup_is_a_whole_study(study, tmp_path):
    answered(study, 10)
    study.ask("open", who="lab")
    study.backup(tmp_path / "copy.db")
    with pytest.raises(InputError, match="already exists"):
        study.backup(tmp_path / "copy.db")
    with pytest.raises(InputError, match="is an input"):
        study.backup(tmp_path / "study.db", force=True)
    study.ask("later", who="lab")
    with Study.open(tmp_path / "copy.db") as copy:
        assert copy.uid == study.uid
        assert copy.check(replay=True).examples == 11
        assert len(copy.asks()) == 1
    assert not list(tmp_path.glob(".sparing-*"))


# What it says ---------------------------------------------------------------------------------------------------------


def test_the_report_adds_up(study):
    assert "none yet" in " ".join(study.report().lines())
    answered(study, 40)
    ask = study.ask("late", who="lab")
    study.tell(ask, {ask.names[0]: None})
    report = study.report(forecast=True)
    assert report.examples == {"settled": 40, "partial": 1}
    assert report.asks == {"told": 40, "open": 1}
    assert sum(each.looks for each in report.attributes) == len(study.cells())
    assert sum(each.unavailable for each in report.attributes) == 1
    assert sum(round(100 * float(each.spent)) for each in report.attributes) == round(
        100 * float(report.money["spent"])
    )
    assert report.forecast[-1].spend == 10000.0
    lines = report.lines()
    assert any("10000.00 total" in line for line in lines)
    assert any("of the error of the mean" in line for line in lines)


def test_the_table_has_a_row_for_each_example(study):
    answered(study, 3)
    study.ask("open", who="lab")
    frame = study.table()
    assert frame.index.tolist() == ["patient-0", "patient-1", "patient-2", "open"]
    assert frame["state"].tolist() == ["settled"] * 3 + ["asked"]
    assert frame[list(PRICES)].notna().to_numpy().sum() == len(study.cells())


def test_a_mark_that_does_not_say_whether_a_value_was_paid_for_is_refused(study, tmp_path):
    """It was booked as unavailable, for its price."""
    ask, file = study.ask("patient"), tmp_path / "asks.csv"
    study.write_sheet([ask], file)
    (row,) = sheet_rows(file)
    for mark in ("n/a", "NA", "nan"):
        write_rows(file, [row | dict.fromkeys(ask.names, mark)])
        with pytest.raises(
            InputError, match=f"is '{mark}'; .*'unavailable' if it was paid for, 'not bought' if it was"
        ):
            study.tell_sheet(file)
    write_rows(file, [row | dict.fromkeys(ask.names, "-")])
    assert study.tell_sheet(file) == (0, 0)


def test_what_a_study_can_never_buy_is_named(tmp_path):
    """It was numbered, from zero, although names are known."""
    with (
        pytest.warns(UserWarning, match=r"will never be made: 'ecg' \(20\), 'mri' \(180\)\."),
        create(tmp_path / "study.db", budget="5"),
    ):
        pass
