"""Progress: parts that add up to one, whatever is learnt, and a bar for work that takes long."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, progress
from sparing.cli import app
from sparing.learners import AutoLearner

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 6))
Y = np.abs(X[:, 0]) + X[:, 1]
MODELS = {
    "curves and trees": BudgetRidge(3),
    "lines": BudgetRidge(3, features="linear"),
    "lasso": BudgetLasso(3),
    "one model, no choice": BudgetRidge(3, learner="pairwise"),
    "online": BudgetRidge(3, learner="online"),
    "classes": BudgetClassifier(3),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_parts_of_a_fit_add_up_to_one_and_change_nothing(model):
    parts = []
    y = np.where(Y > 1.0, "high", "low") if isinstance(model, BudgetClassifier) else Y
    told = clone(model).set_params(random_state=0, verbose=parts.append).fit(X, y)
    untold = clone(model).set_params(random_state=0).fit(X, y)
    assert sum(parts) == pytest.approx(1.0)
    assert min(parts) >= 0.0
    np.testing.assert_array_equal(told.predict(X), untold.predict(X))


def test_a_long_choice_is_told_in_small_parts():
    """Buying by plan, scouts of curves, families on every fold, trees: no step is over three tenths."""
    parts = []
    learner = AutoLearner(6, budget=6, features="auto", random_state=1).run(X, X[:, 0] * X[:, 1] + X[:, 2])
    model = learner.solve(parts.append)
    assert model.trees_share > 0.0  # or the stage of the trees would end at once
    assert sum(parts) == pytest.approx(1.0)
    assert len(parts) >= 4 * 4 + 4 * 4
    assert max(parts) < 0.3
    assert learner.solve(parts.append) is model
    assert sum(parts) == pytest.approx(1.0)  # it was fitted before: no part was told


def test_a_bar_is_shown_on_a_terminal_and_only_for_what_takes_long(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal then
    with progress.progress_bar(True, "working") as report:
        report(0.5)
    assert "working" not in capsys.readouterr().err
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    for shown in (True, False):
        with progress.progress_bar(shown, "working") as report:
            report(0.5)
        plain = re.sub(r"\x1b\[[0-9;?]*\w", "", capsys.readouterr().err)
        assert ("working" in plain and "50%" in plain) == shown


@pytest.mark.parametrize(
    ("command", "module"), [("fit", "sparing.cli.fit_and_plan"), ("compare", "sparing.cli.comparing")]
)
def test_the_bar_is_there_while_imports_and_reading_take_long(monkeypatch, tmp_path, command, module):
    """It began after them: on a busy machine nothing was seen for seven seconds."""
    order = []

    @contextmanager
    def bar(*_, **__):
        order.append("bar")
        yield progress.unnoticed

    def read(*_, **__):
        order.append("read")
        raise ValueError("enough")

    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n")
    monkeypatch.setattr(f"{module}.progress_bar", bar)
    monkeypatch.setattr("sparing.tables.read_table", read)
    result = CliRunner().invoke(
        app, [command, str(tmp_path / "t.csv"), "--target", "y", "--output", str(tmp_path / "o")]
    )
    assert (result.exit_code, order) == (2, ["bar", "read"]), result.output


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    BudgetRidge(3, random_state=0, verbose=True).fit(X, Y)
    assert capsys.readouterr() == ("", "")
