"""The commands of studies, as somebody with a spreadsheet uses them."""

import csv
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sparing.cli import app
from sparing.study import Study

DOCS = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
PRICES = "attribute,cost,group\nglucose,4.50,\necg,20,\nmri,180,\nsodium,1.25,blood\npotassium,1.25,blood\n"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `sparing study` in a folder with a price list; the output, or with ``fails`` the error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text(PRICES)

    def run(*arguments, fails=False):
        result = CliRunner().invoke(app, ["study", *map(str, arguments)])
        assert result.exit_code == (2 if fails else 0), result.output
        return result.stderr if fails else result.stdout

    return run


@pytest.fixture
def made(run):
    run("create", "heart.db", "--costs", "prices.csv", "--budget", "190", "--total", "2000.00", "--seed", "1")
    return run


def fill(source, target, value="1.5"):
    with Path(source).open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {name: value for name, cell in row.items() if cell == ""}
    with Path(target).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_from_a_price_list_to_a_model_by_spreadsheet(made, tmp_path):
    made("ask", "heart.db", "--many", "8", "--who", "lab", "--output", "asks.csv")
    assert len(fill("asks.csv", "answers.csv")) == 8
    assert made("import", "heart.db", "answers.csv") == "8 rows with values, 8 of them new\n"
    assert made("import", "heart.db", "answers.csv") == "8 rows with values, 0 of them new\n"
    said = made("ask", "heart.db", "--many", "50", "--who", "lab", "--output", "more.csv")
    assert re.search(r"\d of 50 asks, and no more: this query costs", said)
    assert "is left; nothing was reserved" in made("ask", "heart.db", "--many", "2", fails=True)
    with Study.open("heart.db") as study:
        key = study.asks()[0].key
        assert study.example("example-1").state == "settled"
    made("cancel", "heart.db", key, "--who", "lab")
    made("ask", "heart.db", "--open", "--output", "open.csv")
    assert key not in Path("open.csv").read_text()
    assert "8 settled" in made("status", "heart.db")
    assert "queries were drawn again" in made("check", "heart.db", "--replay")
    made("work", "heart.db", "--once")
    assert made("export", "heart.db") == "cells: sparing-cells.csv\n"
    made("merge", "sparing-cells.csv", "--output", "merged.parquet")
    assert (tmp_path / "merged.parquet").stat().st_size > 1000
    made("backup", "heart.db", "--output", "copy.db")
    assert "already exists" in made("backup", "heart.db", "--output", "copy.db", fails=True)
    assert "in order" in made("check", "copy.db")
    assert "present format" in made("upgrade", "copy.db")


def test_a_total_that_pays_for_no_example_is_refused(run):
    """Such a study was created without a word, and could then ask for nothing."""
    said = run("create", "heart.db", "--costs", "prices.csv", "--budget", "190", "--total", "150", fails=True)
    assert "the total of 150 is less than the budget of one example, 190; raise the total, or lower the budget" in said
    assert not Path("heart.db").exists()
    run("create", "heart.db", "--costs", "prices.csv", "--budget", "190", "--total", "190")


def test_one_example_by_hand(made):
    shown = made("ask", "heart.db", "patient-17", "--who", "lab")
    assert "patient-17" in shown
    with Study.open("heart.db") as study:
        ask = study.asks()[0]
    first, *others = ask.names
    assert made("tell", "heart.db", ask.key, f"{first}=5.1", "--who", "lab").startswith("event ")
    made("tell", "heart.db", ask.key, *(f"{name}=unavailable" for name in others), "--target", "1")
    event = re.search(r"settled, event (\d+)", made("correct", "heart.db", "patient-17"))[1]
    assert "not 0; look at it again" in made(
        "correct", "heart.db", "patient-17", f"{first}=5.2", "--expected", "0", fails=True
    )
    unchanged = made("correct", "heart.db", "patient-17", f"{first}=5.2", fails=True)
    assert f"nothing was changed; to replace what is shown, add --expected {event}." in unchanged
    made("correct", "heart.db", "patient-17", f"{first}=5.2", "--expected", event, "--why", "misread")
    with Study.open("heart.db") as study:
        assert study.example("patient-17").values[first] == 5.2
    made("withdraw", "heart.db", "patient-17", "--why", "consent")
    with Study.open("heart.db") as study:
        assert study.cells().n_examples == 0


def test_labels_and_plain_attributes(run):
    run("create", "plain.db", "--attributes", "a, b,c", "--budget", "2", "--classes", "ill,well")
    run("ask", "plain.db", "x")
    with Study.open("plain.db") as study:
        ask = study.asks()[0]
    assert "must be one of the classes" in run("tell", "plain.db", ask.key, "--target", "dead", fails=True)
    run("tell", "plain.db", ask.key, *(f"{name}=1" for name in ask.names), "--target", "ill")
    with Study.open("plain.db") as study:
        assert study.example("x").y == "ill"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "x.db", "--budget", "2"], "give either --costs or --attributes"),
        (["create", "x.db", "--budget", "much", "--attributes", "a,b"], "budget must be an amount of money"),
        (["create", "heart.db", "--budget", "2", "--attributes", "a,b"], "already; open it"),
        (["ask", "heart.db"], "name examples, or give --many 50 or --open"),
        (["ask", "none.db", "x"], "there is no study"),
        (["ask", "prices.csv", "x"], "no SQLite file"),
        (["ask", "mysql://x/y", "x"], "is not supported"),
        (["tell", "heart.db", "key", "a"], "attribute=value"),
        (["tell", "heart.db", "key", "--target", "x"], "--target must be a number"),
        (["import", "heart.db", "none.csv"], "there is no file 'none.csv'"),
        (["export", "heart.db", "--output", "cells.txt"], "choose another name with --output"),
        (["status", "heart.db", "--name", "other"], "name one of the studies"),
    ],
)
def test_mistakes_are_answered_in_one_line(made, arguments, message):
    said = made(*arguments, fails=True)
    assert said.count("\n") == 1
    assert message in said


def test_a_visit_is_a_dialogue_that_can_be_stopped_and_taken_up_again(made):
    with Study.open("heart.db") as study:
        asks = study.ask_many([f"case-{number}" for number in range(10)])
        study.tell_many((ask, {name: float(len(name) + at) for name in ask.names}, at) for at, ask in enumerate(asks))
        left = study.money()["left"]

    def visit(answers, *options):
        result = CliRunner().invoke(app, ["study", "visit", "heart.db", "new", *options], input=answers)
        assert result.exit_code == 0, result.output
        return result.output

    said = visit("1.5\n1.6\nstop\n", "--known", "ecg=4", "--budget", "9")
    assert said.count("next:") == 2
    assert "stopped" in said
    with Study.open("heart.db") as study:
        assert study.money()["reserved"] == "0.00"
        (first,) = [name for name in study.example("new").values if name != "ecg"][:1]
    said = visit("\n" * 5)
    assert "stop: " in said
    assert f"next: {first} " not in said
    with Study.open("heart.db") as study:
        assert float(left) - 9 <= float(study.money()["left"]) < float(left)
        assert study.table().loc["new", "state"] == "predicted"
        study.check(replay=True)
    assert "1 visits" in made("status", "heart.db")
    assert "is a visit" in made("ask", "heart.db", "new", fails=True)


def test_every_command_and_option_is_documented():
    section = DOCS.read_text(encoding="utf-8").partition("\n## `sparing study`")[2].partition("\n## ")[0]
    for name, command in typer.main.get_command(app).commands["study"].commands.items():
        assert f"`sparing study {name}" in section, f"sparing study {name} is not documented"
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert f"`{option}`" in section, f"{name} {option} is not documented"
