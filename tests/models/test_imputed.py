"""Regression on mean-imputed rows: scikit-learn's, on rows that are filled in explicitly."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from planted_cells import planted, uniform_cells
from sparing.cells import Cells
from sparing.learners import MeanImputed
from sparing.models.folds import FOLDS
from sparing.models.imputed import RIDGES, imputed_candidates, imputed_errors, uncorrelated
from sparing.models.summary import summarize


def filled_in(cells, summary):
    """Rows of standardized attributes, zero where nothing was seen, and standardized targets."""
    rows = np.zeros((cells.n_examples, cells.n_attributes))
    index = cells.attributes
    rows[cells.examples(), index] = (cells.values - summary.means[index]) / summary.spreads[index]
    return rows, (cells.targets - summary.target_means) / summary.target_spreads


@pytest.mark.parametrize("looks", [2, 5, 8])
def test_candidates_are_ridge_regressions_on_mean_imputed_rows(looks):
    X, y = planted(120, d=8)
    cells = Cells(8, n_outputs=2)
    bought = uniform_cells(X, y, looks)
    cells.extend(np.diff(bought.starts), bought.attributes, bought.values, np.column_stack([y, y**2]))
    summary = summarize(cells)
    rows, targets = filled_in(cells, summary)
    candidates = imputed_candidates(cells, summary)
    assert [candidate.setting for candidate in candidates] == [f"ridge {ridge:g}" for ridge in RIDGES]
    often = np.sqrt(summary.counts / summary.counts.mean())  # a ridge over the looks is one for columns in these units
    for ridge, candidate in zip(RIDGES, candidates, strict=True):
        plain = often[:, None] * Ridge(alpha=ridge, fit_intercept=False).fit(rows * often, targets).coef_.T
        expected = plain / summary.spreads[:, None] * summary.target_spreads
        np.testing.assert_allclose(candidate.weights, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(candidate.attributes().covariance, np.diag(summary.variances))


def test_errors_are_those_of_folds_that_were_held_out():
    X, y = planted(41, d=6)
    cells = uniform_cells(X, y, 3)
    expected, fold = np.zeros(len(RIDGES)), np.arange(41) % FOLDS
    for held_out in range(FOLDS):
        learnt = cells.take(fold != held_out)
        summary = summarize(learnt)
        rows, targets = filled_in(cells.take(fold == held_out), summary)
        for at, candidate in enumerate(imputed_candidates(learnt, summary)):
            standard = candidate.weights * summary.spreads[:, None] / summary.target_spreads
            expected[at] += np.sum((targets - rows @ standard) ** 2)
    np.testing.assert_allclose(imputed_errors(cells), expected, rtol=1e-9)
    learner = MeanImputed(6, budget=3).fit_cells(cells)
    best = imputed_candidates(cells.in_order(), summarize(cells.in_order()))[int(np.argmin(imputed_errors(
        cells.in_order())))]  # fmt: skip
    np.testing.assert_array_equal(learner.coef, best.weights[:, 0])
    assert learner.fitted.facts["setting"] == f"mean-imputed: {best.setting}"
    assert not imputed_errors(cells.take(np.arange(2 * FOLDS - 1))).any()  # too few to tell


def test_an_attribute_of_unknown_scale_has_no_weight():
    """Three looks at an attribute whose values are near each other would make its weight huge."""
    rng = np.random.default_rng(0)
    cells = Cells(3)
    for row in range(60):
        seen = [0, 1, 2] if row < 3 else [0, 1]
        values = np.array([rng.standard_normal(), 1e4 * rng.standard_normal(), 1e-6 * rng.standard_normal()])
        cells.append(seen, values[seen], rng.standard_normal())
    summary = summarize(cells)
    assert summary.known.tolist() == [True, True, False]
    for candidate in imputed_candidates(cells, summary):
        assert candidate.weights[2] == 0.0
        assert candidate.weights[:2].all()


def test_a_candidate_of_uncorrelated_attributes_keeps_its_weights():
    summary = summarize(uniform_cells(*planted(20, d=4), 2))
    candidate = uncorrelated("name", summary, np.ones((4, 1)))
    assert candidate.setting == "name"
    np.testing.assert_array_equal(candidate.attributes().variances, summary.variances)
    np.testing.assert_array_equal(candidate.attributes().means, summary.means)
