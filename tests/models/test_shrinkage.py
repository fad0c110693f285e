"""Shrinkage toward the mean target: by the slope of held-out targets, and by what pairs of cells say of whole rows."""

from itertools import combinations

import numpy as np
import pytest

from sparing.cells import Cells
from sparing.models import families
from sparing.models.cross_validation import Fits, cross_validate, splits
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.selection import select
from sparing.models.shrinkage import beyond_expected_pairs, largest_slopes, supported_slopes
from sparing.models.summary import summarize


def cells_of(X, y, looks):
    """The cells of these columns of each row."""
    cells = Cells(X.shape[1])
    for row, target, seen in zip(X, y, looks, strict=True):
        cells.append(list(seen), row[list(seen)], target)
    return cells


def given(weights):
    """A family of one candidate, with these weights of uncorrelated attributes."""

    def candidates(cells, summary):
        return [Candidate("given", weights, lambda: Gaussian.uncorrelated(summary.means, summary.variances))]

    return [families.Family("given", candidates, 0, lambda size: 0.0)]


# Slopes -------------------------------------------------------------------------------------------------------------


def by_hand(y, f, a, groups):
    """The slope less four squared standard errors over the slope, with one regression for each group left out."""

    def slope(kept):
        return np.sum((a * y * f)[kept]) / np.sum((a * f * f)[kept])

    b, n = slope(groups >= 0), len(set(groups))
    left_out = np.array([slope(groups != g) for g in sorted(set(groups))])
    return max(b - 4.0 * (n - 1) / n * np.sum((left_out - b) ** 2) / b, 0.0)


@pytest.mark.parametrize("blocks", [None, np.arange(60) // 5])
def test_slopes_are_those_of_a_jackknife_by_hand(blocks):
    rng = np.random.default_rng(0)
    f, a = rng.standard_normal((60, 2)), rng.uniform(0.5, 2.0, 60)
    y = f * [0.8, 1.5] + rng.standard_normal((60, 2))
    groups = np.arange(60) if blocks is None else blocks
    expected = [by_hand(y[:, o], f[:, o], a, groups) for o in range(2)]
    np.testing.assert_allclose(supported_slopes(y, f, a, blocks), expected)
    assert min(expected) > 0.3


def test_a_slope_that_one_example_makes_or_that_is_negative_is_none():
    y, f = np.zeros((50, 3)), np.zeros((50, 3))
    y[0, 0] = f[0, 0] = 100.0  # one example alone
    rng = np.random.default_rng(0)
    f[:, 1], y[:, 1] = rng.standard_normal(50), rng.standard_normal(50)
    y[:, 1] -= f[:, 1]
    assert supported_slopes(y, f, np.ones(50)).tolist() == [0.0, 0.0, 0.0]


def test_noise_is_rarely_and_a_weak_signal_mostly_followed():
    """At a t statistic of 3.3 on average a slope is followed in about nine of ten draws; without one, in 2.3 %."""
    rng, followed = np.random.default_rng(0), {0.0: 0, 1.0: 0}
    for slope in followed:
        for _ in range(400):
            f = 0.33 * rng.standard_normal((100, 1))
            y = slope * f + rng.standard_normal((100, 1))
            followed[slope] += bool(supported_slopes(y, f, np.ones(100)).any())
    assert followed[0.0] <= 20
    assert followed[1.0] >= 340


# Whole rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_pairs_of_all_draws_give_the_variance_of_whole_rows_exactly(k):
    """Every pair of every row is seen equally often: the mean over all draws is the difference of covariances."""
    rng = np.random.default_rng(k)
    X, w = rng.standard_normal((5, 4)) @ rng.standard_normal((4, 4)), rng.standard_normal(4)
    draws = [(row, seen) for row in X for seen in combinations(range(4), k)]
    cells = cells_of(np.array([row for row, _ in draws]), np.zeros(len(draws)), [seen for _, seen in draws])
    summary = summarize(cells)._replace(means=X.mean(axis=0))
    gaussian = Gaussian.of_covariance(X.mean(axis=0), np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1)
    found = beyond_expected_pairs(cells, Fits([], summary, []), gaussian, w * 4 / k).mean()
    beyond = np.cov(X.T, bias=True) - gaussian.covariance
    np.fill_diagonal(beyond, 0.0)
    np.testing.assert_allclose(found, w @ beyond @ w)


def test_functions_of_one_column_are_no_pair():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((30, 3)), 2, axis=1)
    cells = cells_of(X, np.zeros(30), [range(6)] * 30)
    fits = Fits([], summarize(cells), [], np.repeat(np.arange(3), 2))
    one_each = cells_of(X[:, ::2], np.zeros(30), [range(3)] * 30)
    alone = Fits([], summarize(one_each), [])
    found = beyond_expected_pairs(cells, fits, Gaussian.uncorrelated(np.zeros(6), np.ones(6)), np.ones(6))
    expected = beyond_expected_pairs(one_each, alone, Gaussian.uncorrelated(np.zeros(3), np.ones(3)), 2.0 * np.ones(3))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("loading", "slope"), [(0.0, 1.0), (1.0, 0.5)])
def test_columns_more_correlated_than_the_model_has_it_are_noticed(loading, slope):
    """Twenty columns of one factor, modelled as uncorrelated, with weights for half of the target."""
    rng = np.random.default_rng(0)
    X = loading * rng.standard_normal((2000, 1)) + rng.standard_normal((2000, 20))
    y = slope * X.sum(axis=1)
    cells = cells_of(X, y, rng.permuted(np.tile(np.arange(20), (2000, 1)), axis=1)[:, :5]).in_order()
    judged = cross_validate(splits(cells, 0.0), given(np.ones((20, 1))))
    assert largest_slopes(judged, 0, [0])[0] == pytest.approx(slope, rel=0.2)


def test_a_variance_that_is_not_known_is_not_relied_on():
    """Three factors behind 300 columns, 7 looks at each: whole rows were said to be known, with errors up to 31."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        X = rng.standard_normal((700, 3)) @ rng.standard_normal((3, 300)) + rng.standard_normal((700, 300))
        y = X[:, :8].sum(axis=1)
        looks = np.argsort(rng.random((400, 300)), axis=1)[:, :5]
        competing = [families.mean_imputed(), families.pairwise_moments("ridge")]
        model = select(cells_of(X[:400], y[:400], looks).in_order(), competing)
        assert np.mean((model.predict(X[400:])[:, 0] - y[400:]) ** 2) < 1.02 * y[400:].var()


# The model ----------------------------------------------------------------------------------------------------------


def test_weights_that_are_twice_too_large_are_halved_and_noise_is_not_followed():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((1000, 8)), rng.standard_normal((8, 1))
    y = X @ w[:, 0] + rng.standard_normal(1000)
    looks = [range(8)] * 1000

    model = select(cells_of(X, y, looks).in_order(), given(2.0 * w))
    np.testing.assert_allclose(model.weights, w, rtol=0.1)
    assert model.facts["shrinkage"] == pytest.approx([0.5], rel=0.1)
    assert "shrunk toward the mean target (factor 0." in model.facts["why"]
    noise = select(cells_of(X, rng.standard_normal(1000), looks).in_order(), given(w))
    assert not noise.weights.any()
    assert "the mean target is used" in noise.facts["why"]
