"""`sparing predict`: a saved model on the rows of another file, whose columns are found by name."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparing import BudgetClassifier, BudgetRidge, load_model, save_model
from sparing.cli import app
from sparing.predicting import predict_rows
from sparing.tables import read_rows

RNG = np.random.default_rng(3)
NAMES = ["age", "dose", "weight"]
FRAME = pd.DataFrame(RNG.normal(size=(200, 3)), columns=NAMES)
Y = FRAME["age"] - FRAME["dose"] + 0.1 * RNG.normal(size=200)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data file and a model that `sparing fit` made of it."""
    monkeypatch.chdir(tmp_path)
    FRAME.assign(outcome=Y).to_csv("data.csv", index=False)
    result = run("fit", "data.csv", "--target", "outcome", "--budget", 2, "--features", "linear", "--quiet")
    assert result.exit_code == 0, result.output
    assert "model: sparing-fit-model.sparing" in result.output
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_predictions_are_those_of_the_model_whatever_the_file(folder, suffix):
    new = FRAME.iloc[:20].assign(patient=[f"p{i}" for i in range(20)])[["weight", "patient", "dose", "age"]]
    if suffix == "npz":
        np.savez("new.npz", X=FRAME.iloc[:20].to_numpy())
    else:
        getattr(new, f"to_{suffix}")(f"new.{suffix}", index=False)
    keep = [] if suffix == "npz" else ["--keep", "patient"]
    result = run("predict", "sparing-fit-model.sparing", f"new.{suffix}", *keep, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    written = pd.read_csv("out.csv")
    expected = load_model("sparing-fit-model.sparing").predict(FRAME.iloc[:20])
    np.testing.assert_allclose(written["prediction"], expected, rtol=1e-12)  # sums go by the layout in memory
    assert "20 rows; a model of 'outcome' that was fitted to 200 examples" in result.output
    if keep:
        assert written["patient"].tolist() == new["patient"].tolist()


def test_what_is_left_out_is_said(folder):
    new = FRAME.iloc[:5].assign(outcome=1.0, id=range(5), room="b")
    new.loc[2, "dose"] = np.nan
    new.to_csv("new.csv")
    result = run("predict", "sparing-fit-model.sparing", "new.csv", "--keep", "id")
    assert result.exit_code == 0, result.output
    assert "columns 'column 1', 'room' are not used: the model was fitted without." in result.output
    assert "column 'outcome' is what is predicted; its values were not used." in result.output
    written = pd.read_csv("sparing-predictions.csv")
    assert written["prediction"].notna().all()
    assert written["standard deviation"].argmax() == 2  # of what is known in part less is known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sparing-fit-model.sparing", "other.csv"], "no column of the model is in other.csv: it has height, sex;"),
        (["sparing-fit-model.sparing", "narrow.npz"], "has 2 columns, and the model was fitted to 3"),
        (["data.csv", "data.csv"], "data.csv is not a readable model file"),
        (["absent.sparing", "data.csv"], "there is no file 'absent.sparing'; check the path."),
        (["sparing-fit-model.sparing", "absent.csv"], "there is no file 'absent.csv'; check the path."),
        (["sparing-fit-model.sparing", "data.csv", "--keep", "agee"], "did you mean 'age'?"),
        (["sparing-fit-model.sparing", "data.csv", "--output", "data.csv"], "'data.csv' is an input"),
    ],
)
def test_wrong_input_is_one_line(folder, arguments, message):
    pd.DataFrame({"height": [1.8], "sex": ["m"]}).to_csv("other.csv", index=False)
    np.savez("narrow.npz", X=np.ones((3, 2)))
    result = run("predict", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.output.splitlines()) == 1


def test_deviations_probabilities_and_unknown_columns_where_the_model_has_them():
    model = BudgetRidge(budget=2, random_state=0).fit(FRAME, Y)
    some = FRAME[["age", "dose"]].head(3)
    made = predict_rows(model, some.assign(weigth=1.0), source="new.csv")
    assert made.columns == ["prediction", "standard deviation"]
    assert made.notes[0] == "column 'weight' is not in new.csv: taken as unknown. Is 'weigth' meant for 'weight'?"
    np.testing.assert_array_equal(np.transpose(made.rows), model.predict(some, return_std=True))
    made = predict_rows(model, some.rename(columns={"dose": "dosis"}).assign(body_weight=1.0, z=0))
    assert made.notes[0].endswith("Is 'dosis' meant for 'dose', and 'body_weight' meant for 'weight'?")
    with pytest.raises(
        ValueError, match=r"^no column of the model is in x\.csv: it has u, v; the model was fitted to age"
    ):
        predict_rows(model, pd.DataFrame({"u": [1.0], "v": [2.0]}), source="x.csv")
    with pytest.raises(ValueError, match=r"'age' was numeric when the model was fitted, but row 3 has 'big'\."):
        predict_rows(model, some.astype(object).assign(age=["1", "€118", "big"]))
    labels = np.where(Y > 0, "ill", "well")
    model = BudgetClassifier(budget=2, features="linear", random_state=0).fit(FRAME, labels)
    made = predict_rows(model, FRAME.head(3).assign(age=np.nan))
    assert made.columns == ["prediction", "probability of ill", "probability of well"]
    np.testing.assert_array_equal([row[1:] for row in made.rows], model.predict_proba(FRAME.head(3).assign(age=np.nan)))


def test_an_online_learner_predicts_whole_rows_only():
    model = BudgetRidge(budget=2, learner="online", random_state=0).fit(FRAME, Y)
    rows = FRAME.head(3).copy()
    rows.iloc[1, 0] = np.nan
    made = predict_rows(model, rows, source="new.csv")
    assert made.notes == ["1 of 3 rows miss a value; they get no prediction."]
    assert [row[0] == "" for row in made.rows] == [False, True, False]
    with pytest.raises(ValueError, match=r"new.csv has no column 'weight'; did you mean 'weigth'"):
        predict_rows(model, FRAME.rename(columns={"weight": "weigth"}), source="new.csv")


NO_FILE, NO_STUDY = "there is no file 'nofile.csv'; check", "there is no study in 'nofile.db'; check"


@pytest.mark.parametrize(
    "command",
    [
        *("fit nofile.csv", "plan nofile.csv", "compare nofile.csv", "predict model.sparing nofile.csv"),
        *("route nofile.csv", "visit nofile.csv", "study merge nofile.csv", "study import there.csv nofile.csv"),
        "study create new.db --budget 3 --costs nofile.csv",
        *(f"study {verb} nofile.db" for verb in ("ask", "status", "check", "export", "upgrade", "work")),
        *("study tell nofile.db k", "study cancel nofile.db k", "study backup nofile.db --output copy.db"),
        *(f"study {verb} nofile.db example" for verb in ("correct", "withdraw", "visit")),
    ],
)
def test_a_mistyped_path_is_reported_before_anything_slow_is_imported(command, tmp_path):
    """What takes long is importing numpy, scipy and scikit-learn."""
    code = (
        "import sys\nfrom sparing.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as stop: print(stop.code, sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    (tmp_path / "there.csv").touch()
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert done.stdout == "2 []\n"
    assert done.stderr.startswith(f"sparing: {NO_STUDY if 'nofile.db' in command else NO_FILE}")
    assert done.stderr.count("\n") == 1


def test_a_model_without_names_refuses_a_frame(tmp_path):
    model = BudgetRidge(budget=2, features="linear", random_state=0).fit(FRAME.to_numpy(), Y)
    again = load_model(save_model(model, tmp_path / "model"))
    with pytest.raises(ValueError, match="fitted without names"):
        predict_rows(again, FRAME)


def test_categories_that_were_never_seen_are_pointed_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ward": rng.choice(["A", "B"], 80), "age": rng.normal(60, 10, 80)})
    model = BudgetRidge(2, random_state=0).fit(frame, frame["age"] + 5.0 * (frame["ward"] == "A"))
    new = pd.DataFrame({"ward": ["C", "A", None, "D"], "age": [50.0, 60.0, 70.0, 80.0]})
    assert predict_rows(model, new).notes == [
        "column 'ward': 'C' and 1 more never seen when the model was fitted: taken as unknown."
    ]
    assert predict_rows(model, new[1:3]).notes == []


def test_codes_of_categories_are_found_however_they_are_written(tmp_path, monkeypatch):
    """Beside a missing value, code 1 was read as 1.0, a category never seen; so it was for `--known grade=1`."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"grade": rng.choice(["1", "2", "A"], 80), "x": rng.normal(size=80)})
    frame.assign(y=frame["grade"].map({"1": 0.0, "2": 5.0, "A": 9.0}) + frame["x"]).to_csv("data.csv", index=False)
    assert run("fit", "data.csv", "--target", "y", "--budget", 2, "--quiet").exit_code == 0
    (tmp_path / "new.csv").write_text("grade,x\n1,0\n2,0\n,0\n")
    result = run("predict", "sparing-fit-model.sparing", "new.csv")
    assert "never seen" not in result.output
    low, high, middle = pd.read_csv("sparing-predictions.csv")["prediction"]
    assert low < 1.0 < 4.0 < min(middle, high)
    model = load_model("sparing-fit-model.sparing")
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"grade": [1.0, None], "x": 0.0})), [low, middle])
    assert model.visit({"grade": 1.0, "x": 0.0}).prediction == pytest.approx(low)
    assert model.visit({"grade": "1", "x": 0.0}).prediction == pytest.approx(low)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("day", "05.04.2021", "column 'day' holds dates; got '05.04.2021': write dates as 2024-05-31."),
        ("day", "20210405", "column 'day' holds dates; got '20210405': write dates as 2024-05-31."),
        ("x", "ten", "column 'x' was numeric when the model was fitted, but row 1 has 'ten'."),
    ],
)
def test_values_of_another_kind_are_refused(tmp_path, column, value, message):
    """A date of another country had day and month exchanged, and one without hyphens was taken as nanoseconds."""
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, 60), "D")
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=60)})
    model = BudgetRidge(2, random_state=0).fit(frame, frame["x"])
    (tmp_path / "new.csv").write_text(f"{column}\n{value}\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        predict_rows(model, read_rows(tmp_path / "new.csv"))


def test_printed_predictions_are_rounded_to_what_can_be_relied_upon(tmp_path, monkeypatch):
    """They had six digits whatever their standard deviation, and numbers stood to the left."""
    monkeypatch.chdir(tmp_path)
    save_model(BudgetRidge(budget=2, random_state=0).fit(FRAME, 1000 * Y), tmp_path / "m.sparing")
    FRAME.assign(who=[f"p{i}" for i in range(len(FRAME))]).head(2).to_csv("new.csv", index=False)
    lines = run("predict", "m.sparing", "new.csv", "--keep", "who").output.splitlines()
    ((at, _),) = [(i, line) for i, line in enumerate(lines) if line.startswith("p0")]
    first = pd.read_csv("sparing-predictions.csv").iloc[0]
    decimals = max(0, 2 - int(np.floor(np.log10(first["standard deviation"]))))
    assert lines[at].split() == ["p0", *(f"{first[name]:,.{decimals}f}" for name in first.index[1:])]
    assert len(lines[at]) == len(lines[at + 1])  # numbers end below each other
    assert len(lines[at].split()[2].replace(",", "").replace(".", "").lstrip("0")) >= 3
