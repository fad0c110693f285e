"""Visits of a study: purchases at prediction time in the same books, on both stores."""

import numpy as np
import pytest

from sparing.study import Conflict, Study, Taken, calls
from sparing.types import OverBudget

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
PRICES = {"a": "1.00", "b": "2.00", "c": "3.00", "d": "4.00"}
WEIGHTS = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.5}
CASE = {"a": 0.3, "b": -1.2, "c": 0.7, "d": 2.1}


def settle(study, n=60):
    generator = np.random.default_rng(1)
    asks = study.ask_many([f"case-{number}" for number in range(n)], who="lab")
    answers = []
    for ask in asks:
        row = dict(zip(PRICES, generator.normal(size=4).tolist(), strict=True))
        y = sum(WEIGHTS[name] * value for name, value in row.items()) + 0.1 * generator.normal()
        answers.append((ask, {name: row[name] for name in ask.names}, float(y)))
    study.tell_many(answers)


@pytest.fixture
def study(address):
    options = {"learner": "pairwise", "lease": 1e9, "seed": 5}
    with Study.create(address, prices=PRICES, budget="6.00", total="1000.00", **options) as study:
        settle(study)
        yield study


def bought(visit, case=CASE):
    """Everything that the visit asks for."""
    asked = []
    while (ask := visit.ask()) is not None:
        asked.append(ask)
        visit.tell(ask, {name: case[name] for name in ask.names})
    return asked


def test_a_visit_buys_what_the_model_would(study):
    before = study.money()
    expected = study.model().visit({"c": CASE["c"]}, price_of_error=2.5)
    names = []
    while (query := expected.ask()) is not None:
        names += [study.settings.attributes[attribute] for attribute in query.attributes]
        expected.tell(query, [CASE[study.settings.attributes[attribute]] for attribute in query.attributes])
    visit = study.visit("new", {"c": CASE["c"]}, price_of_error=2.5, who="ward")
    asked = bought(visit)
    assert [name for ask in asked for name in ask.names] == names
    assert names
    assert visit.prediction == pytest.approx(expected.prediction)
    assert visit.std == pytest.approx(expected.std)
    assert (visit.why, visit.spent) == (expected.why, expected.spent)
    assert visit.known == {"c": CASE["c"]} | {name: CASE[name] for name in names}
    spent = sum(round(100 * float(ask.price)) for ask in asked)
    assert round(100 * float(study.money()["spent"])) == round(100 * float(before["spent"])) + spent
    assert study.money()["reserved"] == before["reserved"] == "0.00"
    report = study.report()
    assert report.on_visits == f"{spent / 100:.2f}"
    assert any("1 visits" in line for line in report.lines())
    row = study.table().loc["new"]
    assert (row["state"], row["plan"], row["prediction"]) == ("predicted", -1, visit.prediction)
    assert study.check(replay=True).visits == 1


def test_visited_cells_never_enter_the_model(study):
    visit = study.visit("new", budget="5.00")
    model, n = study.model(), study.cells().n_examples
    (last,) = bought(visit)[-1:]
    study.tell(last, y=4.0)
    assert study.example("new").y == 4.0
    assert study.cells().n_examples == n
    assert study.model() is model
    study.correct("new", {last.names[0]: 9.0}, expected=study.example("new").event)
    assert study.model() is model
    with pytest.raises(Conflict, match="is a visit"):
        study.ask("new")
    with pytest.raises(Conflict, match="was drawn by a plan"):
        study.visit("case-1")
    study.check(replay=True)


def test_a_visit_goes_on_where_it_stands_whoever_opens_it(study, address):
    visit = study.visit("new", price_of_error=2.5, who="ward")
    ask = visit.ask()
    settle_more = study.ask("later", who="lab")
    study.tell(settle_more, dict.fromkeys(settle_more.names, 5.0), y=100.0)  # the model of the visit stays
    with Study.open(address) as other:
        again = other.visit("new", who="ward")
        assert again.ask() == ask
        assert again.prediction == visit.prediction
        with pytest.raises(Taken, match="'ward' is working on 'new'"):
            other.visit("new", who="night shift").ask()
        with pytest.raises(Conflict, match="another price_of_error"):
            other.visit("new", price_of_error=7.0)
        with pytest.raises(Conflict, match="another known"):
            other.visit("new", {"a": 1.0})
        event = visit.tell(ask, [CASE[name] for name in ask.names])
        assert again.tell(ask, {name: CASE[name] for name in ask.names}) == event
        bought(again)
        assert visit.ask() is None
        assert (visit.prediction, visit.why) == (again.prediction, again.why)
    head = calls.state(study).head
    assert study.visit("new").ask() is None
    assert calls.state(study).head == head  # the end is noted once
    study.check(replay=True)


def test_what_is_known_comes_in_any_order_and_may_be_corrected(study):
    visit = study.visit("new", {"d": 1.0, "a": 2.0, "b": None, "c": "unavailable"})
    assert visit.known == {"a": 2.0, "d": 1.0}
    before = visit.prediction
    study.correct("new", {"a": None}, expected=study.example("new").event)
    visit = study.visit("new")
    assert visit.known == {"d": 1.0}
    assert visit.prediction != before
    assert not {name for ask in bought(visit) for name in ask.names} & {"a", "d"}
    study.check(replay=True)


def test_what_is_cancelled_lapsed_unavailable_or_declined(study, monkeypatch):
    visit = study.visit("new", who="ward")
    first = visit.ask()
    study.cancel(first)
    second = visit.ask()
    assert (second.names, second.price) == (first.names, first.price)
    assert second.key != first.key
    visit.tell(second, [None] * len(second.names))  # paid, and asked for no more
    third = visit.ask()
    assert not set(third.names) & set(second.names)
    assert study.money()["reserved"] == third.price
    visit.tell(third, dict.fromkeys(third.names, "not bought"))  # not paid, and asked for no more
    assert study.money()["reserved"] == "0.00"
    fourth = visit.ask()
    assert not set(fourth.names) & {*second.names, *third.names}
    from sparing.study import books

    real = books.now
    monkeypatch.setattr(books, "now", lambda: real() + 10**16)
    assert study.expire() == ["new"]
    monkeypatch.undo()
    taken_over = study.visit("new", who="night shift").ask()
    assert (taken_over.names, taken_over.holder) == (fourth.names, "night shift")
    assert float(study.money()["reserved"]) == 2 * float(fourth.price)
    study.tell(taken_over, dict.fromkeys(fourth.names, 1.0))
    visit.tell(fourth, dict.fromkeys(fourth.names, 1.0))  # late: paid, as it was bought
    assert float(study.money()["reserved"]) == 0
    study.withdraw("new")
    with pytest.raises(Conflict, match="withdrawn"):
        visit.ask()
    study.check(replay=True)


def test_a_late_answer_does_not_end_the_ask_that_took_over(study, monkeypatch):
    """Nothing is awaited then, but somebody is still buying: there is no second holder."""
    from sparing.study import books

    visit, real = study.visit("new", who="ward"), books.now
    late = visit.ask()
    with monkeypatch.context() as patch:
        patch.setattr(books, "now", lambda: real() + 10**16)
        study.expire()
    night = study.visit("new", who="night shift")
    taken_over = night.ask()
    visit.tell(late, dict.fromkeys(late.names, 1.0))
    with pytest.raises(Taken, match="'night shift' is working on 'new'"):
        visit.ask()
    assert night.ask().key == taken_over.key
    study.cancel(taken_over)
    assert not set(visit.ask().names) & set(late.names)
    study.check(replay=True)


def test_a_visit_never_passes_its_budget_nor_the_total(study, address):
    visit = study.visit("frugal", budget="3.00")
    asked = bought(visit)
    assert sum(float(ask.price) for ask in asked) <= 3.0
    assert visit.why == "the budget buys nothing more"
    left = round(float(study.money()["left"]))
    for number in range(left // 10):
        bought(study.visit(f"dear-{number}"))
    assert 0 <= float(study.money()["left"]) < 10
    with pytest.raises(OverBudget, match="nothing was reserved"):
        bought(study.visit("one too many"))
    study.check(replay=True)


def test_what_is_refused_begins_nothing(study, tmp_path):
    head = calls.state(study).head
    for options, message in [
        ({"known": {"e": 1.0}}, "no column 'e'"),
        ({"known": {"a": "x"}}, "a is 'x'"),
        ({"price_of_error": 1.0, "target_std": 1.0}, "not both"),
        ({"budget": "0.50"}, "the cheapest purchase costs 1"),
        ({"target_std": -1.0}, "target_std must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            study.visit("new", **options)
    with (
        Study.create(tmp_path / "empty.db", prices=PRICES, budget="6.00") as empty,
        pytest.raises(Conflict, match="yet"),
    ):
        empty.visit("new")
    assert calls.state(study).head == head


def test_visits_of_classes_and_categories(tmp_path):
    options = {"categories": {"ward": ["B", "A", "C"]}, "classes": ["ill", "well"], "seed": 3}
    prices = {"ward": "1.00", "dose": "2.00", "age": "0.00"}
    generator = np.random.default_rng(0)
    with Study.create(tmp_path / "study.db", prices=prices, budget="3.00", **options) as study:
        asks = study.ask_many([f"case-{number}" for number in range(80)])
        answers = []
        for ask in asks:
            ward, dose = str(generator.choice(["A", "B", "C"])), float(generator.normal())
            values = {"ward": ward, "dose": dose, "age": float(generator.normal())}
            label = "ill" if dose + 2.0 * (ward == "B") > 0.5 else "well"
            answers.append((ask, {name: values[name] for name in ask.names}, label))
        study.tell_many(answers)
        visit = study.visit("new", {"age": 0.0}, price_of_error=100.0)
        bought(visit, {"ward": "B", "dose": 1.5, "age": 0.0})
        assert visit.prediction == "ill"
        assert visit.proba.sum() == pytest.approx(1.0)
        assert visit.known["ward"] == "B"
        study.check(replay=True)
