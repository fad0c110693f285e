"""The commands `route` and `visit`, driven by a script in place of a person."""

import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from sparing import BudgetRidge
from sparing.cli.route_and_visit import column_of, hold_visit, prices_of, show_route, standing, values_in
from sparing.estimators import save_model
from sparing.plotting import plot_route
from sparing.predicting import predict_rows, refuse_unseen


@pytest.fixture(scope="module")
def model():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return BudgetRidge(budget=5, features="linear", random_state=0).fit(X, y)


def answering(monkeypatch, *answers):
    """Let ``input`` give these answers, and then the end of the file."""
    left = list(answers)

    def reply(prompt):
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr("builtins.input", reply)


def test_a_visit_shows_prediction_price_and_worth_after_each_answer(model, monkeypatch, capsys):
    answering(monkeypatch, "0.05", "what?", "-0.01", "")
    visit = model.visit(budget=3)
    hold_visit(visit, list(model.feature_names_in_), [])
    lines = capsys.readouterr().out.splitlines()
    route = model.route()
    assert lines[0] == standing(model.visit(), [])
    assert lines[1].startswith(f"next: {route[0].name} for 1.00; error to expect")
    assert any("is numeric; got 'what?'." in line for line in lines)
    assert lines[-1] == "stop: the budget buys nothing more"
    assert visit.known[route[0].name] == 0.05
    assert (visit.spent, len(visit.known)) == (3.0, 2)


def test_a_misspelt_category_is_asked_for_again(monkeypatch, capsys):
    """It was paid for and taken as unavailable, without a word."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ward": rng.choice(["north", "south"], 80), "x": rng.normal(size=80)})
    model = BudgetRidge(2, random_state=0).fit(frame, 5.0 * (frame["ward"] == "north") + frame["x"])
    answering(monkeypatch, "nroth", "north", "")
    visit = model.visit()
    hold_visit(visit, list(frame), [], partial(refuse_unseen, model))
    assert "column 'ward' has no category 'nroth' in the model; did you mean 'north'?" in capsys.readouterr().out
    assert visit.known == {"ward": "north"}


def test_a_visit_can_be_stopped(model, monkeypatch, capsys):
    for answers in (("stop",), ()):
        answering(monkeypatch, *answers)
        visit = model.visit()
        hold_visit(visit, list(model.feature_names_in_), [])
        assert capsys.readouterr().out.splitlines()[-1] == "stopped"
        assert visit.spent == 0.0


def test_a_route_is_shown_with_every_purchase(model, capsys, tmp_path):
    route = model.route()
    show_route(route)
    shown = capsys.readouterr().out
    assert all(purchase.name in shown for purchase in route)
    assert plot_route(route, tmp_path / "route.png", title="diabetes").stat().st_size > 5000


def test_prices_come_from_a_file_by_name(model, tmp_path):
    names = list(model.feature_names_in_)
    file = tmp_path / "prices.csv"
    file.write_text("attribute,cost,group\n" + "".join(f"{n},{i + 1},{'s' * (n[0] == 's')}\n" for i, n in
                                                       reversed(list(enumerate(names)))))  # fmt: skip
    options = prices_of(model, file)
    np.testing.assert_array_equal(options["costs"], np.arange(1.0, 11.0))
    assert max(len(purchase.columns) for purchase in model.route(**options)) == 7  # sex, s1, ..., s6


def test_values_that_are_known_are_read_as_pairs():
    assert values_in("age=54,bmi = 31.5") == {"age": 54.0, "bmi": 31.5}
    assert values_in("ward=B") == {"ward": "B"}
    names = ["a", "a=b", "ward=B"]
    assert values_in("a=b=3, a = b=3=4, ward=B=1", names) == {"a=b": 3.0, "a": "b=3=4", "ward=B": 1.0}
    assert values_in("ward=B", names) == {"ward": "B"}  # which is then refused: no such column
    for text in ("age", "age=", "=3"):
        with pytest.raises(ValueError, match="name=value"):
            values_in(text)
    with pytest.raises(ValueError, match="a column twice"):
        values_in("age=54, age=55")


def test_columns_without_names_go_by_number(model):
    X, y = load_diabetes(return_X_y=True)
    nameless = BudgetRidge(budget=5, features="linear", random_state=0).fit(X, y)
    assert (column_of(nameless, "2"), column_of(model, "2"), column_of(nameless, "bmi")) == (2, "2", "bmi")
    with pytest.raises(ValueError, match="have no names: pass a number"):
        nameless.route([column_of(nameless, "bmi")])


def test_large_numbers_are_written_as_prices_are():
    """A house stood there as 3.6367e+05 ± 1.28e+05."""
    visit = SimpleNamespace(proba=None, prediction=363_672.4, std=128_047.0, spent=0.0, edge="")
    assert standing(visit, []) == "prediction 363,672 ± 128,047, spent 0.00"


def test_predictions_at_the_edge_of_the_targets_seen_are_pointed_out(monkeypatch, capsys):
    """An extreme case was predicted as exactly the largest target, without a word."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = 1e6 * (X["a"] + X["b"])
    model = BudgetRidge(2, random_state=0).fit(X, y)
    rows = pd.DataFrame({"a": [9.0, 0.0, -9.0], "b": [9.0, 0.0, -9.0]})
    found = predict_rows(model, rows)
    assert [row[0] for row in found.rows] == [y.max(), pytest.approx(0.0, abs=1e5), y.min()]
    ends = f"({y.min():,.0f} to {y.max():,.0f})"
    assert found.notes == [
        f"2 predictions lie at the edge of the targets seen {ends}, beyond which the model does not predict."
    ]
    assert predict_rows(model, rows[:1]).notes[0].startswith("1 prediction lies at the edge")
    assert predict_rows(model, rows[1:2]).notes == []
    answering(monkeypatch, "9", "9")
    hold_visit(model.visit(), ["a", "b"], [])
    shown = capsys.readouterr().out
    assert shown.count("(the largest target seen; predictions stay within their range), spent 2.00") == 1
    assert "target seen" not in shown.splitlines()[0]
    assert model.visit({"a": -9.0, "b": -9.0}).edge == "the least"


def test_answers_are_numbers_as_tables_write_them(monkeypatch, capsys):
    """A model of a file with decimal commas refused answers with decimal commas."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)) + 100.0, columns=["area", "fee", "ward"])
    X["ward"] = rng.choice(["5 %", "6 %"], 80)
    model = BudgetRidge(3, random_state=0).fit(X, X["area"] + X["fee"] + (X["ward"] == "5 %"))
    visit = model.visit()
    answers = {"area": iter(["1,200", "80,5"]), "fee": iter(["big", "118,00 €"]), "ward": iter(["5 %"])}
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers[prompt.strip(" :")]))
    hold_visit(visit, list(X), [], partial(refuse_unseen, model))
    shown = capsys.readouterr().out
    assert "column 'area' is numeric; write '1,200' as 1200 or as 1.2, whichever is meant." in shown
    assert "column 'fee' is numeric; got 'big'." in shown
    told = model.visit({"area": 80.5, "fee": 118.0, "ward": "5 %"})
    assert (visit.prediction, visit.known["ward"]) == (pytest.approx(told.prediction), "5 %")


def test_a_column_of_which_a_part_is_named_is_suggested():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["living_area", "rooms"])
    model = BudgetRidge(2, random_state=0).fit(X, X["rooms"])
    with pytest.raises(ValueError, match="there is no column 'area'; did you mean 'living_area'"):
        model.route(["area"])


def test_a_reader_that_goes_away_is_no_error(model, tmp_path):
    """Behind `| head` the command ended with [Errno 32] Broken pipe."""
    save_model(model, tmp_path / "m.sparing")
    code = (
        "import sys; from sparing.cli import app; from sparing.cli import route_and_visit as r\n"
        "def gone(*_): raise BrokenPipeError(32, 'Broken pipe')\n"
        "r.hold_visit = gone; app(['visit', sys.argv[1]])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.sparing")], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
