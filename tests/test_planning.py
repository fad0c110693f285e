"""`sparing fit` and `sparing plan`: the model of a file and its spend by attribute; forecasts from a pilot."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from sparing.cells import Cells
from sparing.cli import app
from sparing.fitting import FitReport, fit_table
from sparing.learners import AutoLearner, PairwiseMoments
from sparing.models.forecast import (
    REDUCIBLE,
    RIDGES,
    UNKNOWN,
    World,
    mean_exponent,
    possible_world,
    relative_error,
    ridge_error,
    ridge_weights,
)
from sparing.models.gaussian import Gaussian
from sparing.models.honest_risk import WholeRowRisk
from sparing.planning import advice, plan
from sparing.tables import read_prices, read_table

D, N = 8, 300
RNG = np.random.default_rng(4)
FACTOR = RNG.standard_normal((N, 2))
X = FACTOR @ RNG.standard_normal((2, D)) + 0.5 * RNG.standard_normal((N, D))
Y = X[:, 0] - X[:, 3] + 0.3 * RNG.standard_normal(N)
NOISE = np.random.default_rng(5).standard_normal(N)  # in 1 of 40 such targets a signal was found
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


def a_world(noise=0.5):
    attributes = Gaussian.of_factors(RNG.standard_normal(D), RNG.standard_normal((D, 2)), np.full(D, 0.5))
    return World(attributes, RNG.standard_normal(D), noise)


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "factors"])
def test_the_error_of_weights_is_that_on_data_of_the_world(dense):
    world, weights = a_world(), RNG.standard_normal(D)
    if dense:
        attributes = Gaussian.of_covariance(world.attributes.means, world.attributes.covariance)
        world = world._replace(attributes=attributes)
    X, y = world.simulate(400_000, np.random.default_rng(0))
    measured = np.var(y - X @ weights) / y.var()
    assert relative_error(world, weights) == pytest.approx(measured, rel=0.02)  # some six standard errors
    assert relative_error(world, world.weights) == pytest.approx(world.noise / world.target_variance, rel=1e-12)


def test_the_error_of_ridge_regression_is_that_on_new_rows():
    world, generator = a_world(), np.random.default_rng(1)
    X, y = world.simulate(30, generator)
    ridge = make_pipeline(StandardScaler(), RidgeCV(RIDGES)).fit(X, y)
    others, truth = world.simulate(400_000, generator)
    measured = np.mean((truth - ridge.predict(others)) ** 2) / truth.var()
    assert ridge_error(world, X, y) == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize(("n", "d"), [(40, 8), (12, 30), (8, 8), (3, 5)])
def test_ridge_regression_is_that_of_scikit_learn(n, d):
    """With a constant column, whose weight is zero."""
    rows = 3.0 + RNG.standard_normal((n, d)) * np.geomspace(1, 100, d)
    rows[:, 1] = 7.0
    targets = rows[:, 0] + RNG.standard_normal(n)
    scaler, ridge = make_pipeline(StandardScaler(), RidgeCV(RIDGES)).fit(rows, targets)
    assert ridge_weights(rows, targets) == pytest.approx(ridge.coef_ / scaler.scale_, rel=1e-6, abs=1e-9)


def a_pilot(n=N, looks=4):
    return PairwiseMoments(D, budget=looks, design="uniform", random_state=1).run(X[:n], Y[:n]).bought


def test_a_plan_falls_with_the_spend_and_is_reproducible():
    options = {"budget": 4, "spends": [400, 8000], "repetitions": 9}
    little, much = plan(a_pilot(), **options)
    assert much.few < little.few
    assert much.whole < little.whole
    for error, (low, high) in ((much.few, much.few_interval), (much.whole, much.whole_interval)):
        assert 0 < low < error < high
    assert (little.few_examples, little.whole_examples) == (100, 50)
    assert plan(a_pilot(), **options) == [little, much]
    assert "better buy" in advice([little, much]) or "does not decide" in advice([little, much])


def test_at_the_pilots_own_spend_the_forecast_is_near_the_error_that_fit_estimates():
    """Three quarters of the pilot, from which it was estimated, count as all, but for a mean exponent of 0.125."""
    pilot = a_pilot()
    model = AutoLearner(D, budget=4, features="auto").fit_cells(pilot).fitted
    (own,) = plan(pilot, budget=4, spends=[4 * N], repetitions=2)
    assert own.few == pytest.approx(model.facts["risk"] * 0.75 ** (0.125 * np.log(2)), rel=0.15)


def test_many_looks_that_found_lines_leave_little_to_be_found_and_classes_stay_noisy():
    """150 looks per attribute are three times those that halve the exponent of lines; one row in two is 75."""
    pilot, short = a_pilot(), a_pilot(N // 2)
    classes = PairwiseMoments(D, budget=4, design="uniform").run(X, np.sign(Y)).bought
    nothing = PairwiseMoments(D, budget=4, design="uniform").run(X, NOISE).bought
    found = [AutoLearner(D, budget=4, features="linear").fit_cells(cells).fitted for cells in (pilot, short, classes)]
    assert mean_exponent(found[0], pilot) == pytest.approx(0.8 / 4)
    assert mean_exponent(found[1], short) == pytest.approx(0.8 / 2.5)
    assert mean_exponent(found[2], classes) == 0.1
    mean_target = AutoLearner(D, budget=4, features="linear").fit_cells(nothing).fitted
    assert not mean_target.weights.any()
    assert mean_exponent(mean_target, nothing) == pytest.approx(0.8 / 4)


def test_the_more_a_model_was_shrunk_the_less_is_said_of_its_noise():
    """Mean logarithms of the noise over the error, between those of unshrunk lines and of the mean target."""
    fitted = AutoLearner(D, budget=4, features="linear").fit_cells(a_pilot()).fitted
    exact = WholeRowRisk(0.5, 1e-6)
    for kept in (1.0, 0.5):
        model = replace(fitted, facts=fitted.facts | {"shrinkage": [kept], "risk_distribution": exact})
        generator, logs = np.random.default_rng(0), []
        for _ in range(2000):
            world = possible_world(model, generator)
            logs.append(np.log(0.5 * world.target_variance / world.noise))
        assert np.mean(logs) == pytest.approx(kept * REDUCIBLE + (1 - kept) * UNKNOWN, rel=0.1)


def test_a_long_pilot_that_found_nothing_promises_little_and_says_so():
    """Targets that are noise, 150 looks per attribute: what ten times as many looks find is close to nothing."""
    nothing = PairwiseMoments(D, budget=4, design="uniform").run(X, NOISE).bought
    found = plan(nothing, budget=4, spends=[4 * N, 40 * N], repetitions=20)
    for prospect in found:
        assert not prospect.informative
        assert prospect.few > 0.65
        assert prospect.few_interval[1] > 0.98
        assert prospect.whole_interval[1] > 0.98
    assert "found nothing that predicts the target" in advice(found)


def test_no_spend_promises_more_than_ten_times_the_pilot():
    """Up to the noise of 2,000 draws."""
    near, far = plan(a_pilot(), budget=4, spends=[10 * 4 * N, 1000 * 4 * N], repetitions=2)
    assert far.few == pytest.approx(near.few, rel=0.1)


def test_a_plan_does_not_promise_less_than_the_noise():
    """A target of which 0.6 is noise: medians of forecasts far beyond the pilot, of six pilots of 200 rows."""
    generator = np.random.default_rng(0)
    weights = np.full(D, 1.0)
    attributes = Gaussian.of_covariance(np.zeros(D), np.eye(D))
    world = World(attributes, weights, 1.5 * D)
    few, whole, covered = [], [], []
    for seed in range(6):
        rows, targets = world.simulate(200, generator)
        pilot = PairwiseMoments(D, budget=4, design="uniform", random_state=seed).run(rows, targets).bought
        (found,) = plan(pilot, budget=4, spends=[40_000], repetitions=20, random_state=seed)
        few.append(found.few)
        whole.append(found.whole)
        covered.append(found.whole_interval[0] <= 0.6 <= found.whole_interval[1])
    assert np.median(few) > 0.38
    assert np.mean(whole) > 0.5
    assert np.sum(covered) >= 4  # of 5.4 on average: fewer have a probability of 0.02


def test_a_short_and_wide_pilot_can_be_planned_from():
    rows = RNG.standard_normal((40, 120))
    pilot = PairwiseMoments(120, budget=6, design="uniform").run(rows, rows[:, 0] + RNG.standard_normal(40)).bought
    few, many = plan(pilot, budget=6, spends=[120, 60_000], repetitions=3)
    assert np.isnan(few.whole)  # a single row
    assert few.few >= many.few > 0
    assert many.whole_interval[1] >= many.whole > 0


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
    bought = {"budget": 4, "cells_": 400, "spent_": 400.0, "learner_": None, "total_budget": None}
    model = SimpleNamespace(report_=facts, n_iter_=100, n_features_in_=8, **bought)
    assert words in " ".join(FitReport(model, None, []).lines())
    model.budget = None
    assert words.replace("bought ", "") in " ".join(FitReport(model, None, []).lines())


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
