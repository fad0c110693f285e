"""Plans and models of a study: those of a learner that was told the same, bit for bit."""

import warnings
from functools import partial

import numpy as np
import pytest

from sparing import BudgetClassifier, BudgetRidge
from sparing.datasets import make_power_law
from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.study import Study, calls, settled

D = 6
NAMES = [f"a{number}" for number in range(D)]
PRICES = np.array([1.5, 2.25, 0.75, 3.0, 1.0, 2.0])
ARRAYS = ("starts", "attributes", "values", "probabilities", "targets")


@pytest.fixture(scope="module")
def data():
    return make_power_law(64, D, -1.0, random_state=0, return_X_y=True)


def drive(study, X, y, numbers):
    """Ask and tell one example after the other."""
    for number in numbers:
        ask = study.ask(f"example-{number}", who="lab")
        study.tell(ask, dict(zip(ask.names, X[number, list(ask.attributes)].tolist(), strict=True)), y=y[number].item())


def assert_same_cells(first, second):
    for name in ARRAYS:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


CASES = [
    (PairwiseMoments, {}, {"learner": "pairwise", "budget": 2}),
    (FactorModel, {"n_examples": 64}, {"learner": "factor", "budget": 3, "n_examples": 64}),
    (partial(AutoLearner, features="auto"), {"costs": PRICES}, {"prices": PRICES.tolist(), "budget": 4.0}),
    (
        PairwiseMoments,
        {"costs": PRICES, "groups": list("xxyyzz"), "total_budget": 400.0},
        {"prices": PRICES.tolist(), "groups": list("xxyyzz"), "learner": "pairwise", "budget": 5, "total": 400},
    ),
    (
        PairwiseMoments,
        {"second_moments": np.arange(1.0, 7.0)},
        {"learner": "pairwise", "budget": 2, "second_moments": np.arange(1.0, 7.0)},
    ),
    (PairwiseMoments, {"design": "uniform"}, {"learner": "pairwise", "budget": 2, "design": "uniform"}),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("learner", "options", "settings"), CASES)
def test_driven_one_by_one_a_study_equals_a_learner(tmp_path, data, learner, options, settings):
    X, y = data
    told = learner(D, budget=settings["budget"], random_state=3, **options).run(X, y)
    with Study.create(tmp_path / "study.db", attributes=NAMES, seed=3, **settings) as study:
        drive(study, X, y, range(len(y)))
        assert_same_cells(study.cells(), told.bought)
        model = study.model()
        assert np.array_equal(model.learner_.fitted.predict(X), told.fitted.predict(X))
        assert float(study.money()["spent"]) == told.spent
        assert study.plans.due(calls.state(study).plan) == told.next_plan
        assert (calls.state(study).plan >= 2) == ("design" not in options)
        study.check(replay=True)


def test_the_same_on_both_stores_and_after_every_call_on_a_new_connection(address, data):
    X, y = data
    told = PairwiseMoments(D, budget=2, random_state=3).run(X[:40], y[:40])
    Study.create(address, attributes=NAMES, seed=3, learner="pairwise", budget=2).close()
    for number in range(40):
        with Study.open(address) as study:
            drive(study, X, y, [number])
    with Study.open(address) as study:
        assert_same_cells(study.cells(), told.bought)
        assert np.array_equal(study.model().coef_, told.coef)


def test_a_study_refuses_where_a_learner_trims(tmp_path, data):
    X, y = data
    told = PairwiseMoments(D, budget=4, total_budget=42, random_state=3).run(X[:15], y[:15])
    with Study.create(tmp_path / "study.db", attributes=NAMES, budget=4, total=42, learner="pairwise", seed=3) as study:
        drive(study, X, y, range(10))
        with pytest.raises(RuntimeError, match="costs 4, but 2 of 42 is left"):
            study.ask("more", who="lab")
        assert_same_cells(study.cells(), told.bought.take(np.arange(10)))


def test_plans_follow_the_order_in_which_examples_settled(address, data):
    """Whatever comes later, corrections included, a plan is that of the first examples as they were then."""
    X, y = data
    with Study.create(address, attributes=NAMES, seed=3, learner="pairwise", budget=2) as study:
        due = study.plans.due(0)
        asks = [study.ask(f"{number}", who="lab") for number in range(due + 5)]
        answers = [
            (ask, dict(zip(ask.names, X[number, list(ask.attributes)].tolist(), strict=True)), float(y[number]))
            for number, ask in enumerate(asks)
        ]
        study.tell_many(answers[::-1][: due - 1])
        assert calls.state(study).plan == 0
        study.tell_many(answers[::-1][due - 1 :])  # passes the number at which a plan is due
        assert calls.state(study).plan == 1
        first = study.store.read(lambda connection: study.plans.plan(connection, 1)).shares
        told = list(range(due + 5))[::-1][:due]
        cells = study.cells().take(np.arange(due))
        assert np.array_equal(cells.targets.ravel(), y[told])
        assert np.array_equal(study.settings.learner.plan_after(cells).shares, first)
        study.correct("7", {asks[7].names[0]: 100.0}, expected=study.example("7").event)
        study.withdraw("8")
        event = study.store.read(lambda connection: study.plans.event_of(connection, due))
        assert_same_cells(study.cells(at=event), cells)


def test_workers_that_race_make_one_plan(address, data):
    X, y = data
    with (
        Study.create(address, attributes=NAMES, seed=3, learner="pairwise", budget=2) as study,
        Study.open(address, make_plans=False) as slow,
    ):
        due = slow.plans.due(0)
        drive(slow, X, y, range(due))
        assert calls.state(slow).plan == 0
        plan = study.settings.learner.plan_after(study.cells())
        study.plans.put_into_force(1, calls.state(study).head, due, plan)
        head = calls.state(study).head
        slow.plans.put_into_force(1, head, due, plan)
        assert calls.state(study).head == head
        assert slow.ask("more", who="lab").state == "open"
        study.check(replay=True)


def test_the_model_is_kept_until_settled_cells_change(tmp_path, data):
    X, y = data
    with Study.create(tmp_path / "study.db", attributes=NAMES, seed=3, learner="pairwise", budget=2) as study:
        drive(study, X, y, range(40))
        then, event = study.model(), calls.state(study).head
        ask = study.ask("more", who="lab")
        study.tell(ask, {ask.names[0]: 1.0})
        assert study.model() is then
        study.correct("example-0", y=50.0, expected=study.example("example-0").event)
        assert study.model() is not then
        assert not np.array_equal(study.model().coef_, then.coef_)
        assert np.array_equal(study.model(at=event).coef_, then.coef_)


def test_only_what_has_changed_is_read_again(tmp_path, data, monkeypatch):
    X, y = data
    path = tmp_path / "study.db"
    with Study.create(path, attributes=NAMES, seed=3, learner="pairwise", budget=2) as study:
        drive(study, X, y, range(60))
        study.work()
    read, real = [], settled.rows_where
    monkeypatch.setattr(settled, "rows_where", lambda *args: read.append(rows := real(*args)) or rows)
    with Study.open(path) as study:
        drive(study, X, y, range(60, 63))
        study.withdraw("example-5")
        study.correct("example-6", y=9.0, expected=study.example("example-6").event)
        kept = study.cells()
        assert [row.name for rows in read for row in rows] == [f"example-{number}" for number in (5, 6, 60, 61, 62)]
        study.store.write(lambda connection: connection.exec_driver_sql("DELETE FROM snapshot"))
    with Study.open(path) as study:
        for cells in (study.cells(), study.cells(at=calls.state(study).head)):  # from all rows
            assert_same_cells(cells.in_order(), kept.in_order())


def test_a_model_of_three_classes_predicts_labels(tmp_path, data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    with Study.create(
        tmp_path / "study.db", attributes=NAMES, budget=4, classes=["high", "low", "middle"], learner="pairwise", seed=1
    ) as study:
        drive(study, X, labels, range(len(y)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert isinstance(study.model(), BudgetClassifier)
            assert np.mean(study.model().predict(X) == labels) > 0.5
            fitted = BudgetClassifier(4, learner="pairwise", random_state=1).partial_fit(X, labels)
            assert np.array_equal(fitted.predict(X), study.model().predict(X))


def test_estimators_learn_from_cells_that_were_bought_elsewhere(data):
    X, y = data
    model = BudgetRidge(3, learner="pairwise", random_state=2).partial_fit(X, y)
    again = BudgetRidge(3, learner="pairwise").fit_cells(model.learner_.bought, names=NAMES)
    assert np.array_equal(again.coef_, model.coef_)
    assert again.feature_names_in_.tolist() == NAMES
    assert (again.cells_, again.spent_) == (model.cells_, model.spent_)
    with pytest.raises(ValueError, match="online"):
        BudgetRidge(3, learner="online").fit_cells(model.learner_.bought)
    with pytest.raises(ValueError, match="pass all classes"):
        BudgetClassifier(3).fit_cells(model.learner_.bought, classes=["a", "b", "c"])
