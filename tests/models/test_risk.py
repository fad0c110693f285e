"""Models judged by partly seen rows: by enumeration, by explicit inverses, and against whole rows."""

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
from sparing.models.gaussian import Gaussian
from sparing.models.risk import from_seen, unbiased_losses
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


# From what was seen -------------------------------------------------------------------------------------------------


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


def conditional(cells, gaussian, means):
    """By explicit inverses, for each example: E[x | x_S] less the means, and scipy's log-density."""
    covariance, rows, densities = gaussian.covariance, [], []
    for example in range(cells.n_examples):
        here = slice(cells.starts[example], cells.starts[example + 1])
        index = cells.attributes[here]
        x = cells.values[here] - means[index]
        gain = covariance[:, index] @ np.linalg.inv(covariance[np.ix_(index, index)])
        rows.append(gain @ x)
        seen = covariance[np.ix_(index, index)]
        densities.append(multivariate_normal.logpdf(x, cov=seen) if index.size else 0.0)
    return np.array(rows), np.array(densities)


@pytest.mark.parametrize("gaussian", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("sizes", [(0, D), (0, 2), (D, D)])
def test_predictions_and_likelihoods_are_by_explicit_inverses_in_the_examples_own_order(gaussian, sizes):
    """Two outputs, some examples without cells; enough examples of all lengths for several blocks of a kernel."""
    cells = random_cells(70, sizes)
    weights, summary = np.random.default_rng(2).standard_normal((D, OUTPUTS)), summarize(cells)
    rows, densities = conditional(cells, gaussian, summary.means)
    found = from_seen(cells, summary, gaussian, weights)
    np.testing.assert_allclose(found.predictions, rows @ weights / summary.target_spreads, rtol=1e-10, atol=1e-10)
    constants = np.log(2 * np.pi) / 2 + np.log(summary.spreads[cells.attributes])  # of standardized cells
    expected = densities + np.bincount(cells.examples(), weights=constants, minlength=70)
    np.testing.assert_allclose(found.log_likelihoods, expected, rtol=1e-10, atol=1e-9)


def test_of_whole_rows_weights_are_applied_as_they_are():
    """Whatever the Gaussian: it only says what was not seen."""
    cells, weights = random_cells(20, (D, D)), np.random.default_rng(1).standard_normal((D, OUTPUTS))
    summary, rows = summarize(cells), np.empty((20, D))
    rows[cells.examples(), cells.attributes] = cells.values
    for gaussian in REFERENCES.values():
        found = from_seen(cells, summary, gaussian, weights).predictions
        np.testing.assert_allclose(found, (rows - summary.means) @ weights / summary.target_spreads, atol=1e-9)


def test_no_linear_predictor_from_what_was_seen_is_better_than_that_of_the_true_gaussian():
    """20,000 rows of which the same three of nine were seen: least squares on these rows is hardly better.

    Least squares on the seen columns has the least error there is on these rows; the conditional mean exceeds it by
    about 4 / 20,000 of it, as four numbers are estimated.
    """
    rng, gaussian, n = np.random.default_rng(0), REFERENCES["rank 3"], 20_000
    own = rng.standard_normal((D, 1))
    X = gaussian.simulate(n, rng)
    y = X @ own + 0.5 * rng.standard_normal((n, 1))
    cells = Cells(D)
    cells.extend(np.full(n, 3), np.tile([1, 4, 7], n), X[:, [1, 4, 7]].ravel(), y)
    summary = summarize(cells)._replace(means=gaussian.means, target_means=gaussian.means @ own)
    predictions = from_seen(cells, summary, gaussian, own).predictions * summary.target_spreads
    error = np.mean((y - summary.target_means - predictions) ** 2)
    seen = np.column_stack([np.ones(n), X[:, [1, 4, 7]]])
    least = np.mean((y - seen @ np.linalg.lstsq(seen, y, rcond=None)[0]) ** 2)
    assert least <= error < least * (1 + 20 / n)
