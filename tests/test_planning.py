"""`sparing fit` and `sparing plan`: the model of a file and where the money went; what a pilot says of a spend."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

from sparing.cells import Cells
from sparing.cli import app
from sparing.fitting import Report, fit_table
from sparing.learners import PairwiseMoments
from sparing.models.gaussian import Gaussian
from sparing.planning import advice, plan, relative_error
from sparing.tables import read_prices, read_table

D, N = 8, 300
RNG = np.random.default_rng(4)
FACTOR = RNG.standard_normal((N, 2))
X = FACTOR @ RNG.standard_normal((2, D)) + 0.5 * RNG.standard_normal((N, D))
Y = X[:, 0] - X[:, 3] + 0.3 * RNG.standard_normal(N)
NAMES = [f"test{i}" for i in range(D)]
COSTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 1.0, 1.0])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A data file and its price list, in the working folder."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(X, columns=NAMES).assign(outcome=Y).to_csv("data.csv", index=False)
    groups = ["", "", "", "", "", "blood", "blood", ""]
    pd.DataFrame({"attribute": NAMES, "cost": COSTS, "group": groups}).to_csv("prices.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_fit_writes_a_model_its_spend_and_the_cells(files):
    result = run("fit", "data.csv", "--target", "outcome", "--budget", 9, "--costs", "prices.csv", "--output", "out")
    assert result.exit_code == 0, result.output
    assert "Estimated R²" in result.output
    model = json.loads((files / "out-model.json").read_text())
    weights = pd.read_csv(files / "out-weights.csv")
    assert sorted(weights.attribute) == NAMES
    cells = Cells.load(files / "out-cells.npz")
    assert weights.looks.sum() == len(cells)
    assert weights.spent.sum() == pytest.approx(model["spent"])
    assert model["spent"] <= 9 * N
    predicted = X @ [model["weights"][name] for name in NAMES] + model["intercept"]
    assert np.mean((Y - predicted) ** 2) < 0.3 * Y.var()  # the factors alone explain most of it
    assert (files / "out.png").stat().st_size > 10_000


def test_fit_at_full_budget_is_ridge_regression(files):
    table = read_table("data.csv", "outcome")
    report = fit_table(table, budget=D, learner="pairwise")
    whole = Ridge(alpha=1e-3).fit(X, Y)
    assert np.corrcoef(X @ report.model.coef_, whole.predict(X))[0, 1] > 0.99


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_effects_of_an_online_learner_are_weights_times_standard_deviations(files, penalty):
    """At full budget the pilot sees whole rows, and the rest about as much: variances are near those of the table."""
    table = read_table("data.csv", "outcome")
    report = fit_table(table, budget=D, learner="online", penalty=penalty)
    learner = report.model.learner_
    for bought in report.attributes:
        i = NAMES.index(bought.attribute)
        assert bought.effect == bought.weight * np.sqrt(learner.variances[i])
        assert abs(bought.effect) == pytest.approx(abs(bought.weight) * X[:, i].std(), rel=0.15)
        assert bought.looks == learner.looks[i]
        assert bought.spent == bought.looks
    assert sum(bought.spent for bought in report.attributes) == report.model.spent_
    effects = [abs(bought.effect) for bought in report.attributes]
    assert effects == sorted(effects, reverse=True)
    name = {"ridge": "TwoPhasedDDAERR", "lasso": "TwoPhasedDDAELR"}[penalty]
    assert report.lines()[-1] == f"Learner: {name}. {name}: an online learner, because it was asked for."
    assert "cells" not in report.writers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("test3,", "other,"), "has no price for 'test3'"),
        (lambda text: text.replace("4.0", "dear"), "line 5 of prices.csv has the cost 'dear'"),
        (lambda text: text.replace("attribute,cost", "name,price"), "has no columns attribute and cost"),
    ],
)
def test_price_lists_are_checked(files, change, message):
    path = files / "prices.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=message):
        read_prices(path, NAMES)
    result = run("fit", "data.csv", "--target", "outcome", "--costs", "prices.csv")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "factors"])
def test_the_error_of_weights_is_that_on_data_of_the_model(dense):
    world = Gaussian.of_factors(np.zeros(D + 1), RNG.standard_normal((D + 1, 2)), np.full(D + 1, 0.5))
    if dense:
        world = Gaussian.of_covariance(world.means, world.covariance)
    weights, covariance = RNG.standard_normal(D), world.covariance
    exact = weights @ covariance[:D, :D] @ weights - 2 * weights @ covariance[:D, D] + covariance[D, D]
    assert relative_error(world, weights) == pytest.approx(exact / covariance[D, D], rel=1e-12)
    drawn = world.simulate(400_000, np.random.default_rng(0))
    measured = np.mean((drawn[:, -1] - drawn[:, :-1] @ weights) ** 2) / drawn[:, -1].var()
    assert relative_error(world, weights) == pytest.approx(measured, rel=0.02)  # some six standard errors


def test_a_plan_falls_with_the_spend_and_is_reproducible():
    pilot = PairwiseMoments(D, budget=4, design="uniform", random_state=1).run(X, Y).bought
    options = {"budget": 4, "spends": [400, 8000], "repetitions": 3}
    little, much = plan(pilot, **options)
    assert much.few < little.few
    assert much.whole < little.whole
    assert (little.few_examples, little.whole_examples) == (100, 50)
    assert plan(pilot, **options) == [little, much]
    assert "better buy" in advice([little, much]) or "does not decide" in advice([little, much])


def test_a_plan_foresees_what_the_whole_data_gives():
    """The error it expects is that which the learner then has, within the spread of both (seeded, 10 runs)."""
    pilot = PairwiseMoments(D, budget=4, design="uniform", random_state=1).run(X, Y).bought
    foreseen = plan(pilot, budget=4, spends=[4 * 200], repetitions=6)[0]
    errors = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(N)
        train, test = order[:200], order[200:]
        learner = PairwiseMoments(D, budget=4, random_state=seed).run(X[train], Y[train])
        predicted = X[test] @ learner.coef + learner.intercept
        errors.append(np.mean((Y[test] - predicted) ** 2) / Y[test].var())
    assert abs(foreseen.few - np.mean(errors)) < 3 * np.hypot(foreseen.few_deviation, np.std(errors))


def test_plan_on_the_command_line(files):
    common = ("--target", "outcome", "--costs", "prices.csv", "--spends", "500,2000", "--repetitions", 2)
    result = run("plan", "data.csv", "--budget", 9, "--pilot", 200, "--samples", 0.1, *common)
    assert result.exit_code == 0, result.output
    assert "whole rows for an excess risk of 0.1" in result.output
    assert (files / "sparing-plan.png").stat().st_size > 10_000
    run("fit", "data.csv", "--target", "outcome", "--budget", 4, "--output", "out", "--quiet")
    again = run("plan", "out-cells.npz", "--budget", 4, "--spends", "400,800", "--repetitions", 2, "--force")
    assert again.exit_code == 0, again.output


def test_fit_and_plan_say_which_files_they_replace(files):
    for command in (
        ("fit", "data.csv", "--target", "outcome", "--budget", 4, "--quiet"),
        ("plan", "sparing-fit-cells.npz", "--budget", 4, "--spends", "400,800", "--repetitions", 2, "--quiet"),
    ):
        first, second = run(*command), run(*command, "--force")
        assert first.output.splitlines()[-1].startswith(f"picture: sparing-{command[0]}")
        assert second.output.splitlines() == [f"{line} (replaced)" for line in first.output.splitlines()]


def test_names_are_shown_as_they_are(files):
    pd.DataFrame(X, columns=[f"{name} [mg]" for name in NAMES]).assign(outcome=Y).to_csv("units.csv", index=False)
    result = run("fit", "units.csv", "--target", "outcome", "--budget", 4)
    assert all(f"{name} [mg]" in result.output for name in NAMES)


def test_what_cannot_be_learnt_from_is_refused_and_little_is_warned_of(files):
    pd.read_csv("data.csv").head(9).to_csv("few.csv", index=False)
    refused = run("fit", "few.csv", "--target", "outcome", "--budget", 4)
    assert (refused.exit_code, refused.output.splitlines()) == (2, [refused.stderr.strip()])
    assert "9 rows are too few to learn from and to estimate an error; pass 10 or more" in refused.stderr
    little = run("fit", "data.csv", "--target", "outcome", "--budget", 4, "--total-budget", 2)
    assert little.exit_code == 0, little.output
    (line,) = little.stderr.splitlines()
    assert line.startswith("sparing: warning: 300 examples at a budget of 4")
    assert "about 0.25 looks; expect little" in line
    nothing = run("fit", "data.csv", "--target", "outcome", "--budget", 4, "--total-budget", 0.5, "--force")
    assert (nothing.exit_code, "a total budget of 0.5 buys no value at all" in nothing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("r2", "interval", "words"),
    [
        (0.6, (0.5, 0.7), "Estimated R² on whole rows 0.60 (90 % interval 0.50 to 0.70), from bought values that were"),
        (0.1, (-0.1, 0.2), "0.10 (90 % interval -0.10 to 0.20), from bought values that were held out: not clearly"),
        (-0.3, (-0.4, -0.2), "(90 % interval -0.40 to -0.20), from bought values that were held out: no better than"),
    ],
)
def test_an_estimate_is_put_into_words(r2, interval, words):
    facts = {"r2": r2, "r2_interval": interval}
    bought = {"budget": 4, "cells_": 400, "spent_": 400.0, "learner_": None}
    model = SimpleNamespace(report_=facts, n_iter_=100, n_features_in_=8, **bought)
    assert words in " ".join(Report(model, None, []).lines())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--spends", "400,abc"], "--spends must be numbers, separated by commas; got '400,abc'."),
        (["--budget", "2.5"], "budget must be a whole number, 2 or more; got 2.5."),
    ],
)
def test_what_a_plan_cannot_read_is_named(files, options, message):
    result = run("plan", "data.csv", "--target", "outcome", *options)
    assert (result.exit_code, result.stderr) == (2, f"sparing: {message}\n")


def test_a_plan_needs_a_pilot():
    few = PairwiseMoments(D, budget=4).run(X[:10], Y[:10]).bought
    with pytest.raises(ValueError, match="a plan needs a pilot of 30 examples or more"):
        plan(few, budget=4)
