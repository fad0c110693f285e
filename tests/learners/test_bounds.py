"""With theory's step sizes no learner's mean excess risk passes the bound that it states.

The data have finitely many points, so that risk and optimum are exact; they and the runs are those of
``benchmarks/bounds.py``, which prints the ratios for more settings.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bounds.py"
bounds = SimpleNamespace(**runpy.run_path(str(BENCHMARK)))
KINDS = ("aligned", "noisy", "steep")

every_theorem = pytest.mark.parametrize("theorem", bounds.THEOREMS)
every_data = pytest.mark.parametrize("kind", KINDS)


@every_data
@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_the_data_are_what_the_theorems_assume(kind, penalty):
    points = bounds.make_points(kind, 8, penalty)
    assert np.linalg.norm(points.X, 2 if penalty == "ridge" else np.inf, axis=1).max() <= 1 + 1e-12
    assert np.abs(points.y).max() <= bounds.RADIUS
    assert points.chances.sum() == pytest.approx(1)
    assert points.chances.min() > 0


@every_data
@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_the_optimum_is_one(kind, penalty):
    """It lies in the ball, and none of many other points of the ball is better; the certificate covers the rest."""
    points = bounds.make_points(kind, 8, penalty)
    best = bounds.best_weights(points)
    order = 2 if penalty == "ridge" else 1
    assert np.linalg.norm(best, order) <= bounds.RADIUS * (1 + 1e-12)
    assert 0 <= bounds.gap(points, best) + 1e-15 < 1e-9
    rng = np.random.default_rng(0)
    for spread in (1.0, 0.1, 0.001):
        others = best + spread * rng.standard_normal((200, 8))
        others *= np.minimum(1, bounds.RADIUS / np.linalg.norm(others, order, axis=1))[:, None]
        assert min(points.risk(w) for w in others) > points.risk(best) - 1e-9


@every_theorem
@every_data
@pytest.mark.parametrize(("d", "budget", "n_examples"), [(8, 3, 300), (8, 8, 2_000), (12, 5, 10_000)])
def test_mean_excess_risk_stays_below_the_bound(theorem, kind, d, budget, n_examples):
    """Three standard errors above the mean of 20 runs. Measured: about 0.2 at most, for the theorems are cautious."""
    found = bounds.measure(
        theorem, bounds.make_points(kind, d, bounds.penalty_of(theorem)), budget, n_examples, runs=20
    )
    assert found.ratio > -1e-9  # nothing beats the optimum of the ball
    assert found.ratio + 3 * found.error < 1


@every_theorem
def test_the_bound_asks_for_more_than_doing_nothing(theorem):
    """On these data zero weights would break every bound, so that the test above can fail."""
    points = bounds.make_points("steep", 8, bounds.penalty_of(theorem))
    found = bounds.measure(theorem, points, 3, 50_000, runs=3)
    assert found.bound_over_zero < 0.5
    assert found.ratio + 3 * found.error < 1


@pytest.mark.parametrize(("uniform", "informed"), [("AERR", "DDAERR"), ("AELR", "DDAELR")])
def test_known_moments_give_less_risk_and_a_smaller_bound_on_steep_data(uniform, informed):
    """Measured: about half of both. Standard errors are below 1 % of the means."""
    points = bounds.make_points("steep", 16, bounds.penalty_of(informed))
    worse, better = (bounds.measure(name, points, 3, 20_000, runs=20) for name in (uniform, informed))
    assert better.bound_over_zero < 0.8 * worse.bound_over_zero
    assert better.ratio * better.bound_over_zero < 0.8 * worse.ratio * worse.bound_over_zero
