"""Models judged by partly seen rows: by explicit inverses, and against whole rows."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from planted_cells import OUTPUTS, D, random_cells
from sparing.cells import Cells
from sparing.models import risk
from sparing.models.gaussian import Gaussian
from sparing.models.risk import explained_by_others, from_seen, seen_variances
from sparing.models.summary import summarize


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
    at, deviations = cells.attributes, np.sqrt(gaussian.variances)
    alone = norm.logpdf(cells.values, summary.means[at], deviations[at])
    expected = densities - np.bincount(cells.examples(), weights=alone, minlength=70)
    np.testing.assert_allclose(found.log_ratios, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("gaussian", REFERENCES.values(), ids=REFERENCES)
def test_variances_of_predictions_from_seen_parts_are_by_explicit_inverses(gaussian):
    cells = random_cells(70, (0, D))
    weights, summary = np.random.default_rng(2).standard_normal((D, OUTPUTS)), summarize(cells)
    found, covariance = seen_variances(cells, summary, gaussian, weights), gaussian.covariance
    for example, variances in enumerate(found):
        index = cells.attributes[cells.starts[example] : cells.starts[example + 1]]
        with_seen = (covariance @ weights)[index]
        expected = np.diag(with_seen.T @ np.linalg.inv(covariance[np.ix_(index, index)]) @ with_seen)
        np.testing.assert_allclose(variances, expected / summary.target_variances, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("gaussian", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("columns", [None, np.array([0, 0, 0, 1, 1, 2, 3, 4, 4])])
@pytest.mark.parametrize("entries", [200, 20])
def test_cells_are_predicted_from_those_of_other_columns_by_explicit_inverses(gaussian, columns, entries, monkeypatch):
    """Leaving out the cells of one column of an example after the other; several arrays of inverses, or examples that
    are too long for one."""
    monkeypatch.setattr(risk, "ENTRIES", entries)
    cells = random_cells(70, (0, D))
    summary, covariance = summarize(cells), gaussian.covariance
    owners, expected = np.arange(D) if columns is None else columns, np.zeros(70)
    for example in range(70):
        here = slice(cells.starts[example], cells.starts[example + 1])
        index = cells.attributes[here]
        distances = cells.values[here] - summary.means[index]
        for column in np.unique(owners[index]):
            left, others = owners[index] == column, owners[index] != column
            seen = covariance[np.ix_(index[others], index[others])]
            predicted = covariance[np.ix_(index[left], index[others])] @ np.linalg.solve(seen, distances[others])
            squares = distances[left] ** 2 - (distances[left] - predicted) ** 2
            expected[example] += np.sum(squares / summary.variances[index[left]])
    found = explained_by_others(cells, summary, gaussian, columns)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


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
