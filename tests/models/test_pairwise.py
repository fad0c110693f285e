"""Pairwise moments: at full budget scikit-learn's models; below it, averages by brute force."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from sparing.cells import Cells
from sparing.learners import PairwiseMoments
from sparing.models.families import mean_target
from sparing.models.pair_moments import pair_moments
from sparing.models.pairwise import (
    RIDGES,
    USUAL_RIDGE,
    RepairedCovariance,
    lasso_candidates,
    lasso_path,
    ridge_candidates,
)
from sparing.models.summary import summarize

D, N = 8, 300
RNG = np.random.default_rng(11)
X = RNG.standard_normal((N, D)) @ (np.eye(D) + 0.4 * RNG.standard_normal((D, D))) + RNG.normal(size=D)
W = np.array([2.0, -1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0])
Y = X @ W + 3.0 + 0.3 * RNG.standard_normal(N)


def learn(X=X, Y=Y, **options):
    return PairwiseMoments(X.shape[1], **({"budget": X.shape[1], "random_state": 0} | options)).run(X, Y)


# At full budget -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 5.0])
@pytest.mark.parametrize("design", ["adaptive", "uniform"])
def test_at_full_budget_it_is_ridge_regression(ridge, design):
    plain = Ridge(alpha=ridge * N).fit(X, Y)
    learner = learn(ridge=ridge, design=design)
    np.testing.assert_allclose(learner.coef, plain.coef_, rtol=1e-8, atol=1e-8)
    assert learner.intercept == pytest.approx(plain.intercept_, rel=1e-8, abs=1e-8)
    assert learner.cells == N * D


def test_several_targets_at_full_budget():
    both = np.column_stack([Y, X[:, 0] ** 2])
    learner, plain = learn(Y=both, ridge=0.2, n_outputs=2), Ridge(alpha=0.2 * N).fit(X, both)
    np.testing.assert_allclose(learner.coef, plain.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(learner.intercept, plain.intercept_, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.02, 0.3, 1.5])
def test_at_full_budget_lasso_is_an_elastic_net_with_the_ridge_of_its_noise(alpha):
    learner = learn(penalty="lasso", alpha=alpha)
    cells = learner.bought
    ridge = USUAL_RIDGE * RepairedCovariance(pair_moments(cells, summarize(cells)), summarize(cells), "raw").noise
    net = ElasticNet(alpha=alpha + ridge, l1_ratio=alpha / (alpha + ridge), tol=1e-12, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(learner.coef, net.coef_, atol=1e-6)
    np.testing.assert_array_equal(learner.coef == 0, net.coef_ == 0)
    assert learner.intercept == pytest.approx(net.intercept_, abs=1e-6)


def test_that_ridge_vanishes_with_many_examples():
    """It falls as the root of n: at 20,000 independent attributes of unit variance it is 0.5 sqrt(8 / 20000) = 0.01."""
    X = np.random.default_rng(0).standard_normal((20_000, D))
    y = X @ W + np.random.default_rng(1).standard_normal(20_000)
    plain = Lasso(alpha=0.3).fit(X, y)
    np.testing.assert_allclose(learn(X, y, penalty="lasso", alpha=0.3).coef, plain.coef_, atol=0.03)


def test_the_lasso_path_is_scikit_learns():
    covariance, c = X.T @ X / N, X.T @ np.column_stack([Y, -2.0 * Y + X[:, 3]]) / N
    fractions = (1.0, 0.6, 0.2, 0.03)
    settings, found = zip(*lasso_path(covariance, c, fractions), strict=True)
    assert settings[1:3] == ("lasso 0.6 of the largest penalty", "lasso 0.2 of the largest penalty")
    for fraction, weights in zip(fractions, found, strict=True):
        for output, y in enumerate((Y, -2.0 * Y + X[:, 3])):
            alpha = fraction * np.abs(c[:, output]).max()
            plain = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
            np.testing.assert_allclose(weights[:, output], plain.coef_, atol=1e-6)
    assert not any(weights.any() for _, weights in lasso_path(covariance, 0.0 * c))


# Below it -----------------------------------------------------------------------------------------------------------


def by_hand(cells):
    """Pairwise averages about the means of what was seen, the slow way."""
    d, seen = cells.n_attributes, [{} for _ in range(cells.n_examples)]
    for example, attribute, value in zip(cells.examples(), cells.attributes, cells.values, strict=True):
        seen[example][attribute] = value
    y = cells.targets - cells.targets.mean(axis=0)
    means = np.array([np.mean([row[i] for row in seen if i in row]) for i in range(d)])
    C, c = np.zeros((d, d)), np.zeros((d, y.shape[1]))
    for i in range(d):
        c[i] = np.mean([(row[i] - means[i]) * y[e] for e, row in enumerate(seen) if i in row], axis=0)
        for j in range(d):
            C[i, j] = np.mean([(r[i] - means[i]) * (r[j] - means[j]) for r in seen if i in r and j in r])
    return means, C, c


@pytest.mark.parametrize("budget", [2, 4])
def test_weights_solve_the_repaired_averages(budget):
    learner = learn(X[:200], Y[:200], budget=budget, ridge=0.3, design="uniform")
    means, C, c = by_hand(learner.bought)
    values, vectors = np.linalg.eigh(C)
    assert budget > 2 or values[0] < 0  # or the repair would not be seen
    repaired = (vectors * np.maximum(values, 0)) @ vectors.T + 0.3 * np.eye(D)
    weights = np.linalg.solve(repaired, c)[:, 0]
    np.testing.assert_allclose(learner.coef, weights, rtol=1e-8, atol=1e-10)
    assert learner.intercept == pytest.approx(learner.bought.targets.mean() - means @ weights)


def test_ridges_of_units_by_looks_solve_in_those_units():
    cells = learn(X[:80], Y[:80], budget=3, ridge=1.0).bought
    summary = summarize(cells)
    moments = pair_moments(cells, summary)
    repaired = RepairedCovariance(moments, summary, "looks")
    units = np.sqrt(summary.variances / summary.counts * summary.counts.mean())
    scaled = moments.attributes / np.outer(units, units)
    values, vectors = np.linalg.eigh(scaled)
    C = (vectors * np.maximum(values, 0)) @ vectors.T * np.outer(units, units)
    expected = np.linalg.solve(C + 0.7 * np.diag(units**2), moments.targets)
    np.testing.assert_allclose(repaired.ridge(0.7), expected, rtol=1e-8)
    gaussian = repaired.gaussian(summary.means, 0.7)
    np.testing.assert_allclose(gaussian.covariance, C + 0.7 * np.diag(units**2), rtol=1e-8, atol=1e-10)


def test_candidates_solve_with_the_covariance_they_give():
    """Ridges are multiples of the noise, in units of looks: so c = Sigma w for each of them."""
    cells = learn(X[:80], Y[:80], budget=3, ridge=1.0).bought
    summary = summarize(cells)
    moments, candidates = pair_moments(cells, summary), ridge_candidates(cells, summary)
    assert len({candidate.setting for candidate in candidates}) == len(candidates) == len(RIDGES)
    for candidate in candidates:
        np.testing.assert_allclose(candidate.attributes().times(candidate.weights), moments.targets, rtol=1e-7)


def test_the_noise_is_measured_by_eigenvalues_or_by_counts():
    cells = learn(X[:200], Y[:200], budget=2, ridge=1.0, design="uniform").bought
    summary = summarize(cells)
    moments = pair_moments(cells, summary)
    s2 = summary.variances
    assert moments.counts.min() > 0
    by_counts = np.sqrt(max(sum(s2[i] * s2[j] / moments.counts[i, j] for j in range(D)) for i in range(D)))
    expected = max(-np.linalg.eigvalsh(moments.attributes)[0], by_counts)
    assert RepairedCovariance(moments, summary, "raw").noise == pytest.approx(expected)


def test_targets_at_once_are_targets_one_by_one():
    options = {"budget": 3, "ridge": 0.4, "design": "uniform"}
    both = learn(Y=np.column_stack([Y, Y**2]), n_outputs=2, **options)
    for output, y in enumerate((Y, Y**2)):
        alone = learn(Y=y, **options)
        np.testing.assert_allclose(both.coef[output], alone.coef, rtol=1e-10)
        assert both.intercept[output] == pytest.approx(alone.intercept, rel=1e-10)


def test_half_of_the_attributes_are_nearly_enough():
    """Without noise in the targets, four looks of eight at 300 examples: R^2 was 0.985 to 0.995 over ten seeds."""
    for design in ("adaptive", "uniform"):
        learner = learn(Y=X @ W, budget=4, design=design)
        error = X @ learner.coef + learner.intercept - X @ W
        assert np.var(error) < 0.06 * np.var(X @ W)


@pytest.mark.parametrize("budget", [4, 10])
def test_standard_errors_are_of_the_size_of_the_bootstraps(budget):
    """The median ratio to the spread of 80 resamples, each known to 8 per cent: 0.78 at 4 looks, 1.05 at all."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 10))
    y = X @ rng.standard_normal(10) + rng.standard_normal(400)
    learner = learn(X, y, budget=budget, ridge=0.3, design="uniform")
    resampled = [
        PairwiseMoments(10, budget=budget, ridge=0.3).fit_cells(learner.bought.take(rng.integers(0, 400, 400))).coef
        for _ in range(80)
    ]
    ratio = np.median(learner.standard_errors() / np.std(resampled, axis=0))
    assert 0.6 < ratio < 1.4
    assert learner.standard_errors().shape == (10,)


def test_standard_errors_of_whole_rows_are_those_of_least_squares():
    learner = learn(ridge=1e-9)
    residual = Y - X @ learner.coef - learner.intercept
    covariance = np.linalg.inv(np.cov(X.T, bias=True)) * np.mean(residual**2) / N
    np.testing.assert_allclose(learner.standard_errors(), np.sqrt(np.diag(covariance)), rtol=0.05)


# Choosing -----------------------------------------------------------------------------------------------------------


def test_what_was_chosen_is_said():
    usual = learn(budget=3).fitted.facts
    assert usual["setting"] == f"pairwise: ridge {USUAL_RIDGE:g} of the noise"
    facts = learn(budget=3, penalty="lasso").fitted.facts
    assert {candidate["family"] for candidate in facts["candidates"]} == {"pairwise", "mean target"}
    assert len(facts["candidates"]) == 10
    assert any(candidate["used"] for candidate in facts["candidates"])
    assert facts["setting"].startswith("pairwise: ")
    assert "of 10 models with lines" in facts["why"]
    given = learn(ridge=2.0).fitted.facts
    assert given == {"setting": "ridge 2", "families": ["pairwise"], "why": "it was asked for"}


def test_few_examples_are_not_judged():
    learner = learn(X[:9], Y[:9], budget=3, penalty="lasso")
    assert learner.fitted.facts["why"] == "there are too few examples to choose by"
    assert np.isfinite(learner.coef).all()


def test_the_model_is_the_average_of_what_it_says_it_took():
    learner = learn(X[:60], Y[:60], budget=3, penalty="lasso", random_state=2)
    cells = learner.bought.in_order()
    candidates = [*lasso_candidates(cells, summarize(cells)), *mean_target().candidates(cells, summarize(cells))]
    used = [c for c, fact in zip(candidates, learner.fitted.facts["candidates"], strict=True) if fact["used"]]
    np.testing.assert_allclose(learner.coef, np.mean([c.weights[:, 0] for c in used], axis=0), rtol=1e-12)


def test_an_attribute_that_was_never_seen_has_no_weight():
    cells = Cells(3)
    for x, y in zip(X[:40], Y[:40], strict=True):
        cells.append([0, 2], x[:2], y)
    for options in ({}, {"ridge": 0.1}, {"penalty": "lasso"}):
        weights = PairwiseMoments(3, budget=2, **options).fit_cells(cells).coef
        assert weights[1] == 0
        assert weights[[0, 2]].any()
