"""`sparing fit` with classes: the rule that finds them, and accuracy, log loss and AUC with their errors."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from typer.testing import CliRunner

from sparing import BudgetClassifier, load_model
from sparing.cli import app
from sparing.judging import area, judge, measure, probabilities
from sparing.tables.tasks import labels_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 4))
LOGITS = 2.0 * X[:, 0] - X[:, 1]
ILL = RNG.random(400) < 1 / (1 + np.exp(-LOGITS))
THREE = np.where(ILL, "ill", np.where(X[:, 2] > 0, "odd", "well"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def written(**columns):
    pd.DataFrame(X, columns=list("abcd")).assign(**columns).to_csv("data.csv", index=False)


FIT = ["fit", "data.csv", "--budget", 3, "--features", "linear", "--target"]


def test_two_classes_are_named_and_judged(run):
    written(state=np.where(ILL, "ill", "well"))
    result = run(*FIT, "state")
    assert result.exit_code == 0, result.output
    assert "is a class (its values are not numbers): 'ill', 'well'. Positive weights speak for 'well'." in result.output
    for word in ("On 40 rows that were held out", "other 360", "accuracy 0.", "log loss 0.", "AUC 0.", " ± "):
        assert word in result.output
    assert "R²" not in result.output
    assert json.loads(Path("sparing-fit-model.json").read_text())["classes"] == ["ill", "well"]
    model = load_model("sparing-fit-model.sparing")
    assert isinstance(model, BudgetClassifier)
    assert run("predict", "sparing-fit-model.sparing", "data.csv").exit_code == 0
    predictions = pd.read_csv("sparing-predictions.csv")["prediction"]
    assert predictions.tolist() == model.predict(pd.DataFrame(X, columns=list("abcd"))).tolist()


@pytest.mark.parametrize("features", ["linear", "additive"])
def test_many_classes_are_learnt_and_drawn(run, features, tmp_path):
    written(state=THREE)
    result = run(*FIT, "state", "--features", features)
    assert result.exit_code == 0, result.output
    assert "'ill', 'odd', 'well'." in result.output
    assert "AUC (mean of one class against the rest)" in result.output
    described = json.loads(Path("sparing-fit-model.json").read_text())
    assert len(described["intercept"]) == 3
    if "weights" in described:
        assert {name: len(weights) for name, weights in described["weights"].items()} == dict.fromkeys("abcd", 3)
    assert (tmp_path / "sparing-fit.png").stat().st_size > 10_000


def test_the_task_can_be_said(run):
    written(state=ILL.astype(int))
    assert "R²" in run(*FIT, "state", "--task", "regression").output
    assert "is a class (it has two distinct values): 0, 1." in run(*FIT, "state").output
    refused = run(*FIT, "state", "--penalty", "lasso")
    assert refused.exit_code == 2
    assert "leave out --penalty lasso, or pass --task regression." in refused.stderr
    written(state=THREE)
    refused = run(*FIT, "state", "--task", "regression")
    assert (refused.exit_code, "no numbers to regress on; leave out --task regression." in refused.stderr) == (2, True)
    assert "must be one of 'auto', 'regression', 'classification'" in run(*FIT, "state", "--task", "both").stderr


@pytest.mark.parametrize(
    ("values", "task", "expected"),
    [
        (["b", "a"] * 9, "auto", ["b", "a"] * 9),
        ([True, False] * 9, "auto", [True, False] * 9),
        ([0.5, 1.5] * 9, "auto", ["0.5", "1.5"] * 9),
        ([0.0, 2.0] * 9, "auto", [0, 2] * 9),
        ([1, 2, 3] * 20, "auto", [1, 2, 3] * 20),
        ([1, 2, 3] * 19, "auto", None),  # too few rows to take numbers for classes
        ([1, 2, 3.5] * 20, "auto", None),
        (list(range(11)) * 99, "auto", None),
        ([1, 2, 3] * 9, "classification", [1, 2, 3] * 9),
        ([1, 2] * 9, "regression", None),
        ([1, 2.0] * 9, "auto", [1, 2] * 9),
        (["x", 1] * 9, "auto", ["x", "1"] * 9),
    ],
)
def test_the_rule(values, task, expected):
    labels, why = labels_of(values, "y", task)
    assert (None if labels is None else labels.tolist()) == expected
    assert why


def test_too_many_classes_are_refused():
    with pytest.raises(ValueError, match="has 101 classes, over 100"):
        labels_of([str(i) for i in range(101)] * 2, "y", "auto")


def test_a_class_does_not_repeat_the_warnings_of_its_fit(run):
    """The model that is judged on held-out rows warned again of the same columns."""
    written(state=THREE, name=[f"n{at}" for at in range(len(X))])
    assert run(*FIT, "state").stderr.count("column 'name' is text that differs in every row") == 1


# Measures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [ILL, THREE], ids=["two", "three"])
def test_measures_are_those_of_scikit_learn(labels):
    model = BudgetClassifier(budget=3, features="linear", random_state=0).fit(X, labels)
    found = {measure.name.split()[0]: measure.value for measure in measure(model, X, labels)}
    chances = probabilities(model, X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert found["accuracy"] == accuracy_score(labels, model.predict(X))
    assert found["log"] == pytest.approx(log_loss(labels, chances))
    scores = model.decision_function(X)
    if scores.ndim == 1:
        assert found["AUC"] == pytest.approx(roc_auc_score(labels, scores))
    else:
        each = [roc_auc_score(labels == label, scores[:, k]) for k, label in enumerate(model.classes_)]
        assert found["AUC"] == pytest.approx(np.mean(each))


def test_the_error_of_an_area_is_its_standard_deviation_over_samples():
    """DeLong's estimate against 400 samples of 60; their standard deviation is known to 4 percent."""
    found = []
    for _ in range(400):
        positive = np.arange(60) < 15
        found.append(area(RNG.standard_normal(60) + positive, positive))
    areas, errors = np.array(found).T
    assert errors.mean() == pytest.approx(areas.std(), rel=0.15)


def test_ties_count_half_and_one_example_of_a_class_is_no_certainty():
    scores, positive = np.array([1.0, 1.0, 2.0]), np.array([True, False, False])
    assert area(scores, positive)[0] == roc_auc_score(positive, scores)
    assert area(scores, positive)[1] >= 0.5


def test_an_online_learner_has_no_log_loss_and_rare_classes_do_not_stop_it():
    labels = np.where(np.arange(400) == 7, "once", THREE)
    model = BudgetClassifier(budget=3, learner="online", random_state=0)
    verdict = judge(model, X, labels)
    assert [measure.name.split()[0] for measure in verdict.measures] == ["accuracy", "AUC"]
    assert not hasattr(model, "classes_")  # a copy was fitted
