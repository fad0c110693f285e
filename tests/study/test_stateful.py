"""Any sequence of calls, some of them repeated, against a model in dictionaries; and faults that this must find."""

import os
import random
import shutil
import tempfile
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from model_study import UNIT, ModelStudy

from sparing.study import Study, StudyError, asks, books, calls, tells
from sparing.types import OverBudget

NAMES = st.sampled_from(["x", "y", "z"])
VISITED = st.sampled_from(["v", "w"])
PEOPLE = st.sampled_from(["ann", "bob"])
VALUES = st.sampled_from([1.0, 2.5, "unavailable", "not bought"])
TARGETS = st.none() | st.sampled_from([0.0, 1.0])
REFUSALS = (StudyError, OverBudget, ValueError)
SETTLED, TOTAL = 30, "232.50"  # examples at the beginning, so that there is a model; 40.00 is left then
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # thousands of commits: not on a real disk
pytestmark = pytest.mark.filterwarnings("ignore:the two most expensive")


@cache
def beginning() -> bytes:
    """The file of a study of which some examples are settled."""
    options = {"prices": {name: f"{cents / 100:.2f}" for name, cents in UNIT.items()}, "budget": "6.60"}
    options |= {"design": "uniform", "learner": "pairwise", "lease": 1e9, "seed": 2}
    draw = random.Random(0)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        with Study.create(f"{folder}/study.db", total=TOTAL, **options) as study:
            asks = study.ask_many([f"first-{number}" for number in range(SETTLED)])
            rows = [{name: draw.gauss(0, 1) for name in ask.names} for ask in asks]
            study.tell_many((ask, row, sum(row.values())) for ask, row in zip(asks, rows, strict=True))
            study.backup(f"{folder}/copy.db")
        return Path(f"{folder}/copy.db").read_bytes()


class Verbs(RuleBasedStateMachine):
    """All verbs, on a real file."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(dir=MEMORY)
        Path(f"{self.folder}/study.db").write_bytes(beginning())
        self.study = Study.open(f"{self.folder}/study.db")
        self.model = ModelStudy(self.study.settings, calls.state(self.study))
        self.keys = [f"{self.study.uid}-{number}" for number in range(SETTLED)]

    def any_ask(self, data) -> int:
        return data.draw(st.integers(SETTLED, len(self.keys) - 1))

    def teardown(self):
        try:
            self.study.check(replay=True)
        finally:
            self.study.close()
            shutil.rmtree(self.folder)

    def both(self, real, modelled, twice):
        """Both do the same or refuse for the same reason; a call that is sent twice answers the same."""
        try:
            expected = modelled()
        except REFUSALS as error:
            with pytest.raises(type(error)):
                real()
            return None
        answer = real()
        if twice:
            assert real() == answer
        return expected, answer

    @rule(name=NAMES, who=PEOPLE, twice=st.booleans())
    def ask(self, name, who, twice):
        done = self.both(lambda: self.study.ask(name, who=who), lambda: self.model.ask(name, who), twice)
        if done is not None:
            number, ask = done
            assert ask.key == f"{self.study.uid}-{number}"
            assert list(ask.names) == self.model.asks[number]["wanted"]
            self.keys += [ask.key] * (number == len(self.keys))

    @rule(name=VISITED, who=PEOPLE, knows=st.booleans(), twice=st.booleans())
    def visit(self, name, who, knows, twice):
        known = {"b": 0.5} if knows and name not in self.model.examples else {}
        self.model.begin_visit(name, known)
        visit = self.study.visit(name, known, budget="5.50", who=who)
        query = visit.model_visit.ask()
        wanted = [] if query is None else [self.study.settings.attributes[at] for at in query.attributes]
        done = self.both(visit.ask, lambda: self.model.ask_next(name, wanted, who), twice)
        if done is not None and done[0] is not None:
            assert done[1].key == f"{self.study.uid}-{done[0]}"
            self.keys += [done[1].key] * (done[0] == len(self.keys))
        assert done is None or (done[0] is None) == (done[1] is None)

    @precondition(lambda self: len(self.keys) > SETTLED)
    @rule(data=st.data(), y=TARGETS, twice=st.booleans())
    def tell(self, data, y, twice):
        number = self.any_ask(data)
        values = {name: data.draw(VALUES) for name in self.model.asks[number]["wanted"] if data.draw(st.booleans())}
        done = self.both(
            lambda: self.study.tell(self.keys[number], values, y), lambda: self.model.tell(number, values, y), twice
        )
        assert done is None or done[0] == done[1]

    @precondition(lambda self: len(self.keys) > SETTLED)
    @rule(data=st.data(), y=TARGETS, twice=st.booleans())
    def tell_many(self, data, y, twice):
        """Whole answers, all of them or none; the same ask may be among them twice."""
        numbers = [self.any_ask(data) for _ in range(data.draw(st.integers(1, 3)))]
        answers = [
            (n, dict.fromkeys(self.model.asks[n]["wanted"], data.draw(st.sampled_from([1.0, 2.5])))) for n in numbers
        ]
        after = deepcopy(self.model)
        done = self.both(
            lambda: self.study.tell_many([(self.keys[number], values, y) for number, values in answers]),
            lambda: [after.tell(number, values, y) for number, values in answers],
            twice,
        )
        if done is not None:
            assert done[0] == done[1]
            self.model = after

    @precondition(lambda self: len(self.keys) > SETTLED)
    @rule(data=st.data(), twice=st.booleans())
    def cancel(self, data, twice):
        number = self.any_ask(data)
        self.both(lambda: self.study.cancel(self.keys[number]), lambda: self.model.cancel(number), twice)

    @rule()
    def expire(self):
        real = books.now
        books.now = lambda: real() + 10**16
        try:
            self.study.expire()
        finally:
            books.now = real
        self.model.expire()

    @precondition(lambda self: self.model.examples)
    @rule(data=st.data(), y=TARGETS, late=st.booleans(), twice=st.booleans())
    def correct(self, data, y, late, twice):
        name = data.draw(st.sampled_from(sorted(self.model.examples)))
        asked = self.model.examples[name]["query"] or ["a"]
        values = {data.draw(st.sampled_from(asked)): data.draw(st.sampled_from([7.0, 8.0]))}
        expected = self.model.examples[name]["event"] - late
        done = self.both(
            lambda: self.study.correct(name, values, y, expected=expected),
            lambda: self.model.correct(name, values, y, expected),
            twice,
        )
        assert done is None or done[0] == done[1]

    @precondition(lambda self: self.model.examples)
    @rule(data=st.data(), twice=st.booleans())
    def withdraw(self, data, twice):
        name = data.draw(st.sampled_from(sorted(self.model.examples)))
        done = self.both(lambda: self.study.withdraw(name), lambda: self.model.withdraw(name), twice)
        assert done[0] == done[1]

    @invariant()
    def the_books_are_the_same(self):
        row = calls.state(self.study)
        assert (row.committed, row.spent, row.head) == (self.model.committed, self.model.spent, self.model.events)
        assert 0 <= row.spent <= row.committed <= row.total

    @invariant()
    def examples_are_the_same(self):
        for name, modelled in self.model.examples.items():
            example = self.study.example(name)
            known = {attribute: value for attribute, value in example.values.items() if value is not None}
            assert (known, example.y, example.event) == (modelled["values"], modelled["y"], modelled["event"])
            assert (example.state == "settled") == (modelled["state"] == "settled")
        settled = [name for name, modelled in self.model.examples.items() if modelled["state"] == "settled"]
        assert self.study.cells().n_examples == SETTLED + len(settled)


OPTIONS = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


def test_any_sequence_of_calls():
    run_state_machine_as_test(Verbs, settings=settings(max_examples=30, stateful_step_count=40, **OPTIONS))


def tell_that_is_not_idempotent(monkeypatch):
    monkeypatch.setattr(tells, "said_before", lambda books, row: [])
    monkeypatch.setattr(tells, "new_of", lambda settings, row, example, values, y, said: (values, True))


def whole_answers_that_are_not_the_first(monkeypatch):
    def untold(ledger, numbers):
        rows = [ledger.ask(number) for number in numbers]
        return {row.number: (row.number, row.example, row.holder, row.attributes, row.price) for row in rows}

    monkeypatch.setattr(books.Books, "untold", untold)


def money_released_twice(monkeypatch):
    real = asks.cancel

    def cancel(ledger, number, who):
        before = ledger.more
        real(ledger, number, who)
        ledger.more += ledger.more - before

    monkeypatch.setattr(asks, "cancel", cancel)


def money_released_on_expiry(monkeypatch):
    real = asks.expire

    def expire(ledger, number, who):
        row = ledger.ask(number)
        ledger.release(row.price - row.paid - row.released)
        real(ledger, number, who)

    monkeypatch.setattr(asks, "expire", expire)


def queries_that_depend_on_who_asks(monkeypatch):
    real = asks.first_ask

    def first_ask(ledger, options, plan, name, who):
        return real(ledger, replace(options, seed=options.seed + (who == "bob")), plan, name, who)

    monkeypatch.setattr(asks, "first_ask", first_ask)


def visits_that_enter_the_model(monkeypatch):
    real = tells.settle

    def settle(ledger, example, event):
        real(ledger, example, event)
        if example.is_visit and example.y is not None and example.settled is None:
            example.settled, ledger.changed = event, event
            ledger.settled += 1

    monkeypatch.setattr(tells, "settle", settle)


FAULTS = [
    tell_that_is_not_idempotent,
    whole_answers_that_are_not_the_first,
    money_released_twice,
    money_released_on_expiry,
    queries_that_depend_on_who_asks,
    visits_that_enter_the_model,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    quick = settings(max_examples=100, stateful_step_count=40, phases=[Phase.generate], derandomize=True, **OPTIONS)
    found = (AssertionError, pytest.fail.Exception, StudyError, ExceptionGroup)  # hypothesis may group several
    with pytest.raises(found):
        run_state_machine_as_test(Verbs, settings=quick)
