"""The error on whole rows that is estimated from parts of them: exact where all is known, and against whole rows."""

from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from scipy.stats import truncnorm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from planted_cells import planted, uniform_cells
from sparing import BudgetRidge
from sparing.models import families
from sparing.models.gaussian import Gaussian, fitted_model
from sparing.models.honest_risk import UNSEEN_DOUBT, WholeRowRisk, seen_share, whole_row_risk
from sparing.models.imputed import uncorrelated
from sparing.models.selection import select
from sparing.models.summary import summarize


def model_of(cells, weights, gaussian):
    summary = summarize(cells)
    candidate = uncorrelated("", summary, weights)._replace(attributes=lambda: gaussian)
    return summary, fitted_model(summary, weights, candidate, {})


def test_the_seen_share_is_that_of_the_looks_where_attributes_are_uncorrelated_and_alike():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 8)), rng.standard_normal(50)
    gaussian = Gaussian.of_covariance(np.zeros(8), np.eye(8))
    for looks in (2, 4, 8):
        summary, model = model_of(uniform_cells(X, y, looks), np.ones((8, 1)), gaussian)
        assert seen_share(uniform_cells(X, y, looks), summary, model) == pytest.approx(looks / 8, rel=1e-9)
    summary, nothing = model_of(uniform_cells(X, y, 2), np.zeros((8, 1)), gaussian)
    assert seen_share(uniform_cells(X, y, 2), summary, nothing) == 1.0


def test_what_seen_parts_explain_is_divided_by_their_share():
    """Targets +1 and -1 predicted as half: three quarters explained of parts that are four fifths, so 15/16."""
    n = 100_000
    targets = np.tile([1.0, -1.0], n // 2)[:, None]
    found = whole_row_risk(targets, 0.5 * targets, np.zeros(len(targets)), 0.8)
    assert found.center == pytest.approx(1 / 16 * (1 + 1 / n))
    assert found.spread == pytest.approx(np.hypot(UNSEEN_DOUBT * 3 / 16, 0.05 / 4), rel=1e-4)  # all examples agree
    gains = np.mean((0.5**2 - 0.4**2) * targets[:30] ** 2, axis=1)
    better = whole_row_risk(targets, 0.5 * targets, gains, 1.0)
    assert better.center == pytest.approx(0.4**2 * (1 + 1 / n))


def test_of_the_mean_target_the_error_is_that_of_a_mean_of_so_many():
    """Nothing is explained: the error is one and a chi-squared variable over n, whose deviation is the root of 2."""
    generator = np.random.default_rng(0)
    for n in (10, 40):
        found = whole_row_risk(generator.standard_normal((n, 1)), np.zeros((n, 1)), np.zeros(n), 1.0)
        assert found.center == pytest.approx(1 + 1 / n)
        assert found.spread == pytest.approx(np.hypot(0.05, np.sqrt(2) / n))


def test_the_spread_of_examples_is_that_of_a_ratio_of_means():
    """Against the bootstrap of the same ratio: 2,000 draws, whose standard deviation is within 2 per cent or so."""
    rng = np.random.default_rng(1)
    targets = rng.standard_normal((400, 1))
    predictions = 0.7 * targets + 0.4 * rng.standard_normal((400, 1))
    drawn = rng.integers(0, 400, (2000, 400))
    losses, squares = ((targets - predictions) ** 2)[:, 0], (targets**2)[:, 0]
    ratios = losses[drawn].mean(axis=1) / squares[drawn].mean(axis=1)
    found = whole_row_risk(targets, predictions, np.zeros(len(targets)), 1.0)
    spread = np.sqrt(found.spread**2 - (0.05 * found.center) ** 2)
    assert spread == pytest.approx(ratios.std(), rel=0.08)


@pytest.mark.parametrize(("center", "spread"), [(0.4, 0.01), (0.05, 0.1), (-0.3, 0.2), (-2.0, 0.9)])
def test_no_r2_is_above_one(center, spread):
    facts = WholeRowRisk(center, spread).facts
    low, high = facts["r2_interval"]
    assert low < facts["r2"] < high <= 1.0
    assert facts["risk"] > 0
    assert facts["r2"] == 1.0 - facts["risk"]
    risk = truncnorm(-center / spread, np.inf, center, spread)
    assert (facts["risk"], facts["risk_error"]) == pytest.approx((risk.mean(), risk.std()))
    assert (1 - high, 1 - low) == pytest.approx(risk.ppf([0.05, 0.95]), abs=1e-12)
    drawn = WholeRowRisk(center, spread).draw(20_000, np.random.default_rng(0))
    assert (drawn.mean(), drawn.std()) == pytest.approx((risk.mean(), risk.std()), rel=0.03)


def test_intervals_of_r2_cover_the_r2_on_whole_rows():
    """Twenty planted data sets of 250 rows, two to six looks: at least 16 of the intervals, which 18 would on average.

    That fewer do has a probability of 0.04 if they cover in 90 per cent of the cases; it is seeded.
    """
    covered = []
    for seed in range(20):
        X, y = planted(2250, d=12, seed=seed, noise=1.0)
        cells = uniform_cells(X[:250], y[:250], 2 + seed % 5, seed)
        model = select(cells.in_order(), [families.full_covariance("ridge")])
        r2 = 1 - np.mean((y[250:] - model.predict(X[250:])[:, 0]) ** 2) / np.mean((y[250:] - y[:250].mean()) ** 2)
        low, high = model.facts["r2_interval"]
        covered.append(low <= r2 <= high)
    assert np.sum(covered) >= 16


@pytest.mark.parametrize(("n", "budget"), [(10, 3), (12, 10), (20, 5)])
def test_intervals_of_r2_from_few_rows_cover_the_r2_of_score(n, budget):
    """Forty draws of a few patients: at least 31 of the intervals hold, which 36 would on average (probability 0.02 of
    fewer). Without the terms for few examples it was about half of them."""
    X, y = load_diabetes(return_X_y=True)
    covered = []
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(len(y))
        few, others = order[:n], order[n:]
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)
            model = BudgetRidge(budget, random_state=seed).fit(X[few], y[few])
        low, high = model.report_["r2_interval"]
        covered.append(low <= model.score(X[others], y[others]) <= high)
    assert np.sum(covered) >= 31


def test_of_wide_data_the_interval_says_that_little_is_known():
    """Thirty rows of a hundred columns: a target that is noise has an interval that holds zero and ends below 1."""
    rng = np.random.default_rng(3)
    for seed in range(5):
        X, y = rng.standard_normal((30, 100)), rng.standard_normal(30)
        competing = [families.factor("ridge"), families.pairwise_moments("ridge")]
        facts = select(uniform_cells(X, y, 20, seed).in_order(), competing).facts
        low, high = facts["r2_interval"]
        assert low <= 0.05
        assert high <= 1.0
