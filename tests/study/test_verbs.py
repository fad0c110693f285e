"""What every verb does to examples, asks and money, on both stores."""

import math
import sqlite3

import pytest
import sqlalchemy as sa

from sparing.study import Conflict, StoreError, Study, StudyError, Taken, calls
from sparing.study import books as book_keeping
from sparing.study.store import ASK, EVENT, EXAMPLE, STUDY
from sparing.types import OverBudget

pytestmark = pytest.mark.filterwarnings("ignore:the two most expensive")
PRICES = {"a": "1.10", "b": "2.20", "c": "3.30", "d": "4.40"}


@pytest.fixture
def study(address):
    with Study.create(address, prices=PRICES, budget="6.60", total="100.00", seed=5) as study:
        yield study


def whole(ask, value=1.5):
    return dict.fromkeys(ask.names, value)


def units(study):
    """Spent and reserved, in cents."""
    money = study.money()
    return [round(100 * float(money[what])) for what in ("spent", "reserved")]


def price(*names):
    return round(100 * sum(float(PRICES[name]) for name in names))


def test_asking_reserves_and_telling_spends(study):
    ask = study.ask("x", who="lab")
    assert units(study) == [0, price(*ask.names)]
    assert ask.price == f"{price(*ask.names) / 100:.2f}"
    study.tell(ask, whole(ask), y=2.0)
    assert units(study) == [price(*ask.names), 0]
    known = study.example("x")
    assert (known.state, known.y, known.values) == ("settled", 2.0, whole(ask))
    assert study.check(replay=True).queries == 1


def test_one_holder_at_a_time(study):
    ask = study.ask("x", who="lab")
    assert study.ask("x", who="lab") == ask
    with pytest.raises(Taken, match="'lab' is working on 'x'"):
        study.ask("x", who="other")
    study.tell(ask, whole(ask), y=2.0)
    assert study.ask("x", who="lab").state == "told"
    with pytest.raises(Taken, match="settled"):
        study.ask("x", who="other")
    study.check(replay=True)


def test_answers_come_in_parts_and_in_three_kinds(study):
    ask = study.ask("x", who="lab")
    first, second, *rest = ask.names
    one = study.tell(ask, {first: 1.0})
    assert study.example("x").state == "partial"
    two = study.tell(ask.key, {second: None}, y=3.0)
    assert two > one
    if rest:
        study.tell(ask, dict.fromkeys(rest, "not bought"))
    assert study.example("x").state == "settled"
    assert units(study) == [price(first, second), 0]
    cells = study.cells()
    assert len(cells) == 1
    assert cells.values.tolist() == [1.0]
    study.check(replay=True)


def test_the_same_answer_is_booked_once_and_another_is_refused(study):
    ask = study.ask("x", who="lab")
    first, second, *_ = ask.names
    event = study.tell(ask, {first: 1.0})
    before = calls.state(study)
    assert study.tell(ask, {first: 1.0}) == event
    assert study.tell(ask, {first: 1}) == event
    with pytest.raises(Conflict, match=r"was told as 1\.0 and is now 1\.5"):
        study.tell(ask, {first: 1.5, second: 2.0})
    assert calls.state(study) == before
    last = study.tell(ask, {first: 1.0, second: 2.0}, y=1.0)  # the whole row, of which a part is known
    assert last > event
    assert study.tell(ask, {second: 2.0}) == last  # nothing new: no event
    with pytest.raises(Conflict, match="target"):
        study.tell(ask, {}, y=2.0)
    study.check(replay=True)


def test_cancelling_gives_the_same_query_again(study):
    ask = study.ask("x", who="lab")
    study.ask("y", who="lab")
    study.cancel(ask)
    study.cancel(ask)  # a lost connection: once more
    again = study.ask("x", who="other")
    assert again.names == ask.names
    assert again.key != ask.key
    with pytest.raises(Conflict, match="cancelled"):
        study.tell(ask, whole(ask))
    study.tell(again, {ask.names[0]: 1.0})
    study.cancel(again)  # only what is missing is asked for again
    third = study.ask("x", who="third")
    assert third.names == ask.names[1:]
    study.tell(third, whole(third), y=1.0)
    assert study.example("x").state == "settled"
    with pytest.raises(Conflict, match="told already"):
        study.cancel(third)
    study.check(replay=True)


def test_the_total_is_never_passed(address):
    with Study.create(address, prices={"a": "0.10", "b": "0.10"}, budget="0.20", total="0.30") as study:
        first = study.ask("x", who="lab")
        assert first.price == "0.20"
        with pytest.raises(OverBudget, match=r"costs 0.20, but 0.10 of 0.30 is left"):
            study.ask("y", who="lab")
        assert calls.state(study).examples == 1
        study.tell(first, {"a": 1.0, "b": "not bought"}, y=0.0)
        assert study.ask("y", who="lab").price == "0.20"  # three times 0.10 is 0.30
        assert study.money()["left"] == "0.00"
        study.check(replay=True)


def test_the_row_itself_refuses_to_pass_the_total(study):
    with pytest.raises((StoreError, StudyError)):
        study.store.write(lambda connection: connection.execute(sa.update(STUDY).values(committed=STUDY.c.total + 1)))


@pytest.mark.parametrize("change", [sa.update(EVENT).values(actor="me"), sa.delete(EVENT)])
def test_events_are_never_changed(study, change):
    study.ask("x", who="lab")
    with pytest.raises(StoreError, match="never changed or deleted"):
        study.store.write(lambda connection: connection.execute(change))


def test_a_lapsed_ask_keeps_its_money_and_is_told_late(address, monkeypatch):
    with Study.create(address, prices=PRICES, budget="6.60", total="100", lease=60.0) as study:
        ask = study.ask("x", who="lab")
        assert study.expire() == []
        monkeypatch.setattr(book_keeping, "now", lambda real=book_keeping.now: real() + 61_000_000)
        assert study.expire() == ["x"]
        assert units(study)[1] == price(*ask.names)
        takeover = study.ask("x", who="other")
        assert units(study)[1] == 2 * price(*ask.names)
        study.tell(ask, whole(ask, 7.0), y=1.0)  # late, and first
        assert study.example("x").state == "settled"
        study.tell(takeover, whole(takeover, 8.0), y=1.0)  # paid for as well, but the first value stands
        assert study.example("x").values == whole(ask, 7.0)
        assert units(study) == [2 * price(*ask.names), 0]
        assert study.cells().n_examples == 1
        study.check(replay=True)


def test_who_let_a_lease_end_may_go_on(address, monkeypatch):
    with Study.create(address, prices=PRICES, budget="6.60", lease=60.0) as study:
        ask = study.ask("x", who="lab")
        monkeypatch.setattr(book_keeping, "now", lambda real=book_keeping.now: real() + 61_000_000)
        study.expire()
        assert study.ask("x", who="lab") == ask
        assert units(study)[1] == price(*ask.names)
        study.check(replay=True)


def test_corrections_expect_an_event(study):
    ask = study.ask("x", who="lab")
    told = study.tell(ask, whole(ask), y=1.0)
    event = study.correct("x", {ask.names[0]: 9.0}, y=2.0, expected=told, why="misread")
    assert study.correct("x", {ask.names[0]: 9.0}, y=2.0, expected=told, why="misread") == event
    with pytest.raises(Conflict, match=f"is {event}, not {told}"):
        study.correct("x", {ask.names[0]: 8.0}, expected=told)
    assert study.tell(ask, whole(ask), y=1.0) == told  # the sheet is sent once more: the correction stands
    assert study.example("x").values[ask.names[0]] == 9.0
    assert study.cells(at=told).values.tolist() == [1.5] * len(ask.names)
    assert study.cells().values[0] == study.cells(at=event).values[0] == 9.0
    assert units(study) == [price(*ask.names), 0]
    study.check(replay=True)


def test_corrections_that_make_no_sense(study):
    ask = study.ask("x", who="lab")
    event = study.example("x").event
    with pytest.raises(Conflict, match="not told yet"):
        study.correct("x", {ask.names[0]: 9.0}, expected=event)
    event = study.tell(ask, whole(ask), y=1.0)
    with pytest.raises(ValueError, match="moves no money"):
        study.correct("x", {ask.names[0]: "not bought"}, expected=event)
    with pytest.raises(ValueError, match="no example 'z'"):
        study.correct("z", {ask.names[0]: 1.0}, expected=event)


def test_withdrawn_examples_leave_the_model_but_not_the_books(study):
    asks = [study.ask(name, who="lab") for name in "xyz"]
    for ask in asks[:2]:
        event = study.tell(ask, whole(ask), y=1.0)
    out = study.withdraw("x", why="consent")
    assert study.withdraw("x") == out
    assert study.cells().n_examples == 1
    assert study.cells(at=event).n_examples == 2
    with pytest.raises(Conflict, match="withdrawn"):
        study.ask("x", who="lab")
    gone = study.withdraw("z")
    study.tell(asks[2], whole(asks[2]))  # it was paid for, but it is not used
    assert study.withdraw("z") == gone
    assert study.asks() == []
    assert study.cells().n_examples == 1
    assert units(study)[0] == sum(price(*ask.names) for ask in asks)
    study.check(replay=True)


@pytest.mark.parametrize("value", [True, "high", math.inf, [1.0], b"1"])
def test_values_must_be_numbers(study, value):
    ask = study.ask("x", who="lab")
    with pytest.raises(ValueError, match=f"{ask.names[0]} is .*; tell a finite number"):
        study.tell(ask, {ask.names[0]: value})
    assert calls.state(study).head == 1


def test_what_else_is_refused_before_anything_is_stored(study):
    ask = study.ask("x", who="lab")
    other = next(name for name in PRICES if name not in ask.names)
    for wrong, message in [
        (lambda: study.tell(ask, {other: 1.0}), "is not in ask 0"),
        (lambda: study.tell(ask, {"nothing": 1.0}), "no column 'nothing'"),
        (lambda: study.tell("0-0", {}), "not the key of an ask"),
        (lambda: study.tell(ask, {}), "nothing was told"),
        (lambda: study.tell(ask, {}, y=math.nan), "finite number"),
        (lambda: study.tell(ask, {}, y=True), "finite number"),
        (lambda: study.ask("", who="lab"), "name must be"),
        (lambda: study.ask("x\n", who="lab"), "name must be"),
        (lambda: study.tell(f"{study.uid}-77", {}, y=1.0), "no ask 77"),
    ]:
        with pytest.raises((ValueError, Conflict), match=message):
            wrong()
    assert calls.state(study).head == 1


def test_labels(address):
    with Study.create(address, attributes=["a", "b", "c"], budget=2, classes=["ill", "well"]) as study:
        for number in range(12):
            ask = study.ask(f"{number}", who="lab")
            study.tell(ask, whole(ask, float(number)), y="ill" if number % 2 else "well")
        assert study.example("0").y == "well"
        with pytest.raises(ValueError, match="one of the classes"):
            study.tell(study.ask("z", who="lab"), {}, y="dead")
        assert set(study.model().predict([[1.0, 2.0, 3.0]])) <= {"ill", "well"}
        assert study.cells().targets[:2].ravel().tolist() == [1.0, -1.0]


def test_several_studies_share_a_database(address):
    with Study.create(address, attributes=["a", "b"], budget=2, name="one") as one:
        with Study.create(address, attributes=["a", "b"], budget=2, name="two") as two:
            ask = one.ask("x", who="lab")
            with pytest.raises(ValueError, match="not the key of an ask of this study"):
                two.tell(ask, {"a": 1.0})
            two.ask("x", who="other")
            assert calls.state(one).head == calls.state(two).head == 1
        with pytest.raises(StoreError, match="'one', 'two'"):
            Study.open(address)
        with pytest.raises(StoreError, match="already"):
            Study.create(address, attributes=["a", "b"], budget=2, name="one")


def test_check_finds_what_was_changed_behind_its_back(study):
    ask = study.ask("x", who="lab")
    study.tell(ask, whole(ask), y=1.0)
    for change, undo, found in [
        (sa.update(ASK).values(paid=ASK.c.paid - 1), sa.update(ASK).values(paid=ASK.c.paid + 1), "money spent"),
        (sa.update(EXAMPLE).values(y=2.0), sa.update(EXAMPLE).values(y=1.0), "not what its events say"),
        (sa.update(EXAMPLE).values(number=1), sa.update(EXAMPLE).values(number=0), "has no event"),
    ]:
        study.store.write(lambda connection, change=change: connection.execute(change))
        with pytest.raises(StudyError, match=found):
            study.check(replay=True)
        study.store.write(lambda connection, undo=undo: connection.execute(undo))
    study.check(replay=True)


def test_check_finds_queries_that_are_others_when_they_are_drawn_again(study):
    study.ask_many(["x", "y", "z"], who="lab")
    study.check(replay=True)
    object.__setattr__(study.settings, "seed", 6)
    with pytest.raises(StudyError, match="is another when it is drawn again"):
        study.check(replay=True)


def test_what_cannot_be_created(tmp_path):
    for options, message in [
        ({"prices": {"a": "1", "b": "x"}, "budget": 2}, "the price of 'b' must be an amount"),
        ({"prices": {"a": "1", "b": "-1"}, "budget": 2}, "the price of 'b' must be an amount"),
        ({"attributes": ["a", "a"], "budget": 2}, "twice"),
        ({"attributes": ["a", "b"], "prices": {"a": 1}, "budget": 2}, "'b' has no price"),
        ({"attributes": ["a", "b"], "prices": [1], "budget": 2}, "1 prices"),
        ({"prices": {"a": 3, "b": 3}, "budget": 2}, "nothing could ever be bought"),
        ({"attributes": ["a", "b"], "budget": 2, "learner": "online"}, "learner must be one of"),
        ({"attributes": ["a", "b"], "budget": 2, "total": "much"}, "total must be an amount"),
        ({"attributes": ["a", "b"], "budget": 2, "classes": ["x", "x"]}, "twice"),
        ({"budget": 2}, "attributes must be a list of names"),
    ]:
        with pytest.raises(ValueError, match=message):
            Study.create(tmp_path / "study.db", **options)
    assert not list(tmp_path.iterdir())
    with pytest.raises(StoreError, match="no folder"):
        Study.create(tmp_path / "nowhere" / "study.db", attributes=["a", "b"], budget=2)
    with pytest.raises(StoreError, match="there is no study"):
        Study.open(tmp_path / "study.db")
    sqlite3.connect(tmp_path / "empty.db").close()
    with pytest.raises(StoreError, match="there is no study"):
        Study.open(tmp_path / "empty.db")


def test_nobody_waits_for_another_who_makes_a_plan(address):
    Study.create(address, prices=PRICES, budget="6.60", learner="pairwise", n_examples=20, seed=5).close()
    with Study.open(address, make_plans=False) as study, Study.open(address) as other:
        asks = study.ask_many([str(number) for number in range(6)], who="lab")
        study.tell_many((ask, whole(ask), float(at)) for at, ask in enumerate(asks))
        with study.store.planning(study.id) as alone:
            assert alone
            with other.store.planning(other.id) as also:
                assert not also
            other.ask("while a plan is made")
            assert other.example("while a plan is made").plan == 0
        other.ask("later")
        assert other.example("later").plan > 0
        study.check(replay=True)
