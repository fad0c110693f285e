"""Risk on whole rows from partly seen ones: by enumeration, by explicit inverses, and against whole rows."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from planted_cells import OUTPUTS, D, random_cells
from sparing.cells import Cells
from sparing.learners import PairwiseMoments
from sparing.models import risk
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.risk import complete, completed_losses, unbiased_losses, unidentified
from sparing.models.summary import summarize

few = settings(max_examples=25, deadline=None)


def purchases(x, y, sets, chances=None):
    """Cells of one row, bought once for each set of attributes."""
    cells = Cells(x.size, n_outputs=y.size)
    for attributes in sets:
        told = None if chances is None else chances[list(attributes)]
        cells.append(attributes, x[list(attributes)], y, probabilities=told)
    return cells


# Unbiased estimates -------------------------------------------------------------------------------------------------


def row_and_weights(d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d), rng.standard_normal(2), rng.standard_normal((3, d, 2)), rng.standard_normal(d + 2)


@few
@given(st.integers(2, 5), st.data(), st.integers(0, 10**6))
def test_if_every_look_was_made_as_often_the_mean_is_the_squared_error(d, data, seed):
    looks = data.draw(st.integers(2, d))
    x, y, W, means = row_and_weights(d, seed)
    cells = purchases(x, y, combinations(range(d), looks))
    summary = summarize(cells)._replace(means=means[:d], target_means=means[d:])
    truth = ((x - summary.means) @ W - (y - summary.target_means)) ** 2
    estimates = unbiased_losses(cells, summary, W)
    np.testing.assert_allclose(estimates.mean(axis=1), truth, rtol=1e-12, atol=1e-12)
    for weights, judged in zip(W, estimates, strict=True):
        np.testing.assert_array_equal(unbiased_losses(cells, summary, weights), judged)
    if looks == d:
        np.testing.assert_allclose(estimates, np.repeat(truth[:, None], cells.n_examples, 1), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("d", "looks", "examples"), [(3, 2, 1), (3, 2, 4), (4, 2, 3), (4, 3, 4), (5, 2, 3)])
def test_over_all_sequences_of_looks_the_mean_is_the_squared_error(d, looks, examples):
    """Known chances: exact for any number of examples, though a pair may be missing from all of them."""
    x, y, W, means = row_and_weights(d, 7)
    sequences = list(product(combinations(range(d), looks), repeat=examples))
    total = np.zeros((3, 2))
    for sets in sequences:
        cells = purchases(x, y, sets, np.full(d, looks / d))
        summary = summarize(cells)._replace(means=means[:d], target_means=means[d:])
        total += unbiased_losses(cells, summary, W).mean(axis=1)
    truth = ((x - means[:d]) @ W - (y - means[d:])) ** 2
    np.testing.assert_allclose(total / len(sequences), truth, rtol=1e-5, atol=1e-5)  # single precision of chances


def test_with_one_look_nothing_is_known_of_pairs():
    x = np.array([1.0, 2.0])
    cells = purchases(x, np.zeros(1), [(0,), (1,)])
    losses = unbiased_losses(cells, summarize(cells)._replace(means=np.zeros(2)), np.ones((2, 1)))
    assert np.mean(losses) == pytest.approx(np.sum(x**2))  # (1 + 2)^2 less the pairs


JUDGED = {
    "one price": {"budget": 4},
    "several prices": {"budget": 4.0, "costs": np.linspace(0.5, 2.0, 10)},
    "one costs nearly all": {"budget": 100.0, "costs": [97.0, *[1.0] * 9]},
    "panels": {"budget": 5, "groups": [0, 0, 1, 1, 2, 2, 3, 3, None, None]},
}


def judge(options, n=4000):
    """Truth, estimate and its standard error, for weights near the best ones, which oppose each other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 10)) + 0.7 * rng.standard_normal((n, 10))
    weights = rng.standard_normal(10)[None, :, None] + 0.1 * rng.standard_normal((3, 10, 1))
    y = X @ weights.mean(axis=0) + 0.5 * rng.standard_normal((n, 1))
    cells = PairwiseMoments(10, design="uniform", ridge=1.0, **options).run(X, y).bought
    summary = summarize(cells)._replace(means=X.mean(axis=0), target_means=y.mean(axis=0))
    truths = np.mean(((X - summary.means) @ weights - y + summary.target_means) ** 2, axis=(1, 2))
    losses = unbiased_losses(cells, summary, weights)[:, :, 0]
    return truths, losses.mean(axis=1), losses.std(axis=1) / np.sqrt(n)


@pytest.mark.parametrize("options", JUDGED.values(), ids=JUDGED)
def test_bought_cells_judge_as_whole_rows_do(options):
    """Within two standard errors; products of single chances are off by 3 to 8 of them in the last two cases."""
    truths, means, errors = judge(options)
    assert (np.abs(means - truths) < 2 * errors).all()


def test_of_very_many_attributes_pairs_have_products_of_chances(monkeypatch):
    monkeypatch.setattr(risk, "COUNTED_PAIRS", 0)
    truths, means, errors = judge(JUDGED["one price"])
    assert (np.abs(means - truths) < 4 * errors).all()


def test_pairs_never_seen_are_doubted():
    """By a double sum. Attributes 0 and 1 exclude each other; all other pairs were seen."""
    sets = [(0, 2, 3), (1, 2, 3), (0, 2, 3), (1, 2, 3)]
    x, y, W, _ = row_and_weights(4, 3)
    cells = purchases(x, y, sets)
    summary = summarize(cells)._replace(variances=np.arange(1.0, 5.0))
    part = 2.0 * W[:, 0] * W[:, 1] * np.sqrt(1.0 * 2.0)
    np.testing.assert_allclose(unidentified(cells, summary, W), part[:, None] * part[None, :], rtol=1e-12)
    cells.append((0, 1), x[:2], y)
    assert not unidentified(cells, summary, W).any()


def test_an_estimate_that_lacks_a_pair_says_how_far_it_may_be_off():
    """The dear attribute is never seen with those of middle price: more than five times the errors of losses alone."""
    rng, costs = np.random.default_rng(0), np.array([97.0, *[2.0] * 3, *[8.0] * 4])
    X = rng.standard_normal((2000, 1)) + 0.5 * rng.standard_normal((2000, 8))
    y, weights = X.sum(axis=1, keepdims=True), np.ones((1, 8, 1))
    cells = PairwiseMoments(8, budget=100.0, costs=costs, design="uniform", ridge=1.0).run(X, y).bought
    summary = summarize(cells)
    losses = unbiased_losses(cells, summary, weights)
    noise, doubt = float(losses.std()) / np.sqrt(2000), float(np.sqrt(unidentified(cells, summary, weights).item()))
    assert losses.mean() < -5 * noise  # the truth is zero
    assert abs(losses.mean()) < 4 * np.hypot(noise, doubt)


# Completed rows -----------------------------------------------------------------------------------------------------


def references():
    """A dense one; factors more than an example's cells, fewer, and none."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((D, D))
    means = rng.standard_normal(D)
    found = {"dense": Gaussian.of_covariance(means, A @ A.T + 0.3 * np.eye(D))}
    for rank in (12, 3, 1, 0):
        found[f"rank {rank}"] = Gaussian.of_factors(means, rng.standard_normal((D, rank)), rng.uniform(0.2, 1.5, D))
    return found


REFERENCES = references()


def by_length(cells):
    return cells.take(np.argsort(np.diff(cells.starts), kind="stable"))


def conditional(cells, gaussian, means):
    """By explicit inverses, for each example: E[x | x_S] less the means, Cov(x | x_S), and scipy's log-density."""
    covariance, rows, rests, densities = gaussian.covariance, [], [], []
    for example in range(cells.n_examples):
        here = slice(cells.starts[example], cells.starts[example + 1])
        index = cells.attributes[here]
        x = cells.values[here] - means[index]
        gain = covariance[:, index] @ np.linalg.inv(covariance[np.ix_(index, index)])
        rows.append(gain @ x)
        rests.append(covariance - gain @ covariance[index])
        seen = covariance[np.ix_(index, index)]
        densities.append(multivariate_normal.logpdf(x, cov=seen) if index.size else 0.0)
    return np.array(rows), np.array(rests), np.array(densities)


@pytest.mark.parametrize("gaussian", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("sizes", [(0, D), (0, 2), (D, D)])
def test_completed_rows_and_their_likelihood_are_by_explicit_inverses(gaussian, sizes):
    """Two outputs, some examples without cells; enough examples for several blocks of a kernel."""
    cells = by_length(random_cells(70, sizes))
    summary = summarize(cells)
    rows, _, densities = conditional(cells, gaussian, summary.means)
    completion = complete(cells, summary, gaussian)
    np.testing.assert_allclose(completion.solved @ gaussian.covariance, rows, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        completion.targets, (cells.targets - summary.target_means) / summary.target_spreads, atol=1e-12
    )
    constant = np.log(2 * np.pi) / 2 + np.log(summary.spreads[cells.attributes])  # of standardized cells
    expected = (densities.sum() + constant.sum()) / 70
    assert completion.log_likelihoods.mean() == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("gaussian", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("sizes", [(0, D), (0, 2), (D, D)])
def test_completed_losses_are_by_explicit_inverses(gaussian, sizes):
    cells, rng = by_length(random_cells(70, sizes, seed=1)), np.random.default_rng(2)
    summary = summarize(cells)
    own, *others = rng.standard_normal((4, D, OUTPUTS))
    rows, _, _ = conditional(cells, gaussian, summary.means)
    y, covariance = cells.targets - summary.target_means, gaussian.covariance

    def unseen(v):
        return np.maximum([c @ covariance @ c - np.mean((rows @ c) ** 2) for c in v.T], 0.0)

    candidates = [own, *others, 0 * own]
    expected = [
        np.mean(((y - rows @ w) ** 2 + unseen(w - own) - unseen(own)) / summary.target_variances, axis=1)
        for w in candidates
    ]
    reference = Candidate("", own, lambda: gaussian)
    seen, rest = completed_losses(complete(cells, summary, gaussian), summary, reference, candidates)
    found = seen + rest[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found[-1], np.mean(y**2 / summary.target_variances, axis=1))  # no weights, no doubt


def test_if_the_reference_holds_expected_losses_are_the_risk():
    """Exactly, with what is unseen by explicit inverses: over the law of x and y given the cells of one example."""
    rng, gaussian = np.random.default_rng(0), REFERENCES["dense"]
    covariance, own, w, noise = gaussian.covariance, *rng.standard_normal((2, D)), 0.7
    seen = [0, 2, 5]
    gain = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    rest = covariance - gain @ covariance[seen]
    row = gain @ rng.standard_normal(3)
    risk = ((own - w) @ row) ** 2 + (own - w) @ rest @ (own - w) + noise  # of (own'x + e - w'x)^2 given x_S
    squares = ((own - w) @ row) ** 2 + own @ rest @ own + noise  # of (y - w'x_hat)^2
    assert squares + (w - own) @ rest @ (w - own) - own @ rest @ own == pytest.approx(risk, rel=1e-12)


def test_completed_losses_judge_as_whole_rows_do_and_vary_less():
    """3,000 rows of the reference's own law, three looks of nine: within five standard errors."""
    rng, gaussian = np.random.default_rng(0), REFERENCES["rank 3"]
    own, noise = rng.standard_normal((D, 1)), 0.5
    X = gaussian.simulate(3000, rng)
    y = X @ own + noise * rng.standard_normal((3000, 1))
    cells = PairwiseMoments(D, budget=3, design="uniform", ridge=1.0).run(X, y).bought
    summary = summarize(cells)
    candidates = [own, 0 * own, own + 0.3 * rng.standard_normal((D, 1))]
    completion = complete(cells, summary, gaussian)
    seen, rest = completed_losses(completion, summary, Candidate("", own, lambda: gaussian), candidates)
    found = seen + rest[:, None]
    for losses, w in zip(found, candidates, strict=True):
        truth = np.mean((y - y.mean() - (X - X.mean(axis=0)) @ w) ** 2) / y.var()
        error = losses.std() / np.sqrt(3000)
        assert abs(losses.mean() - truth) < 5 * error
    unbiased = unbiased_losses(cells, summary, own) / y.var()
    assert found[0].std() < 0.5 * unbiased.std()
