"""Many answers in one call, on both stores: whole ones are booked by the database itself, others one by one."""

import pytest
import sqlalchemy as sa

from sparing.study import Conflict, Study, calls
from sparing.study.store import ASK, EVENT, EXAMPLE

pytestmark = pytest.mark.filterwarnings("ignore:the two most expensive")
PRICES = {"a": "1.10", "b": "2.20", "c": "3.30", "d": "4.40"}


def create(address, name="study"):
    return Study.create(address, prices=PRICES, budget="6.60", total="1000.00", seed=5, name=name, lease=1e6)


@pytest.fixture
def study(address):
    with create(address) as study:
        yield study


def whole(ask, value=1.5):
    return dict.fromkeys(ask.names, value)


def test_many_at_once_are_all_or_nothing(study):
    asks = study.ask_many(["x", "y", "x"], who="lab")
    assert asks[0] == asks[2]
    before = calls.state(study)
    with pytest.raises(Conflict):
        study.tell_many([(asks[0], whole(asks[0], 1.0), 1.0), (asks[0], whole(asks[0], 2.0), 1.0)])
    assert calls.state(study) == before
    events = study.tell_many([(ask, whole(ask), 1.0) for ask in asks])
    assert events[0] == events[2] != events[1]
    assert study.cells().n_examples == 2
    study.check(replay=True)


def tables(study):
    """All rows of a study, but for its number and for clocks."""

    def look(connection):
        return [
            connection.execute(sa.select(*columns).where(table.c.study == study.id).order_by(table.c.number)).all()
            for table in (EVENT, EXAMPLE, ASK)
            for columns in [[each for each in table.c if each.name not in ("study", "at", "until", "body")]]
        ]

    return study.store.read(look)


def test_whole_answers_are_booked_as_if_they_came_one_by_one(address, monkeypatch):
    """Two studies in one database, since neither may change the other."""
    found = []
    for name in ("at once", "one by one"):
        with create(address, name) as study:
            asks = study.ask_many([f"x-{number}" for number in range(40)], who="lab")
            asks += study.ask_many([f"y-{number}" for number in range(5)], who="ward")
            answers = [(ask, whole(ask, 0.1 * at), at) for at, ask in enumerate(asks[::-1])]
            if name == "one by one":
                monkeypatch.setattr(calls, "tell_whole", lambda *_: None)
            events = study.tell_many(answers[:-2])
            assert study.tell_many(answers[:-2]) == events  # sent twice, booked once
            study.check(replay=True)
            state = calls.state(study)
            found.append((events, state.spent, state.committed, state.settled, state.changed, tables(study)))
    assert found[0] == found[1]


def test_one_answer_that_is_not_whole_is_booked_in_its_turn(study):
    asks = study.ask_many([f"x-{number}" for number in range(4)], who="lab")
    part = {asks[1].names[0]: 2.0}
    events = study.tell_many([(asks[0], whole(asks[0]), 1.0), (asks[1], part, None), (asks[2], whole(asks[2]), 2.0)])
    assert events == list(range(events[0], events[0] + 3))
    assert [study.example(f"x-{number}").state for number in range(4)] == ["settled", "partial", "settled", "asked"]
    missing = dict.fromkeys(asks[3].names)
    study.tell_many([(asks[3], missing, 1.0), (asks[1], whole(asks[1], 2.0), 1.0)], who="other")
    assert study.cells().n_examples == 4
    study.check(replay=True)


def test_a_whole_answer_to_an_ask_that_was_taken_over(study):
    first = study.ask("x", who="lab")
    study.cancel(first)
    second = study.ask("x", who="ward")
    with pytest.raises(Conflict, match="was cancelled"):
        study.tell_many([(first, whole(first), 1.0)])
    with pytest.raises(Conflict, match="there is no ask 9"):
        study.tell_many([(f"{study.uid}-9", whole(first), 1.0)])
    study.tell_many([(second, whole(second), 1.0)])
    assert [ask.state for state in ("told", "cancelled") for ask in study.asks(state=state)] == ["told", "cancelled"]
    study.check(replay=True)
