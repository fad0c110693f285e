"""The accuracy of the automatic choice: against the usual methods, and between lines and curves."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from planted_cells import uniform_cells
from sparing.learners import AutoLearner, PairwiseMoments
from sparing.models import families, selection
from sparing.models.selection import cross_validate, splits

# The automatic learner ----------------------------------------------------------------------------------------------


def low_rank(n, d=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) / 4.0


def independent(n, d=15, seed=0):
    X, w = np.random.default_rng(seed).standard_normal((n, d)), np.random.default_rng(seed + 100).standard_normal(d)
    return X, X @ w


@pytest.mark.parametrize("data", [low_rank, independent])
def test_auto_is_not_worse_than_what_is_usually_done(data):
    """Where few factors make all attributes, mean-imputed rows are biased: auto had 0.1 of their error or less.

    Where attributes are uncorrelated they are the right regression, and auto is no worse than pairwise moments.
    """
    X, y = data(1400)
    auto = AutoLearner(15, budget=4, random_state=0).run(X[:400], y[:400])
    filled = np.zeros((400, 15))
    filled[auto.bought.examples(), auto.bought.attributes] = auto.bought.values
    imputed = RidgeCV(np.logspace(-1, 4, 20)).fit(filled, y[:400])
    pairwise = PairwiseMoments(15, budget=4).fit_cells(auto.bought)
    errors = [np.var(X[400:] @ coef - y[400:]) for coef in (auto.coef, imputed.coef_, pairwise.coef)]
    assert errors[0] < (0.25 * errors[1] if data is low_rank else errors[2])
    facts = auto.fitted.facts
    tried = {"full covariance", "covariance near factors", "mean-imputed", "mean target"}
    assert {candidate["family"] for candidate in facts["candidates"]} == tried
    assert set(facts["families"]) == {candidate["family"] for candidate in facts["candidates"] if candidate["used"]}


# Curves or lines ----------------------------------------------------------------------------------------------------


def test_curves_are_taken_where_they_clearly_predict_better():
    """Of lines a V leaves all and a hinge nearly nothing; where lines are right, and of noise, lines are kept."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    for y, curves in ((np.abs(X[:, 0]), True), (X @ np.ones(4), False), (rng.standard_normal(300), False)):
        kind = selection.best_kind(uniform_cells(X, y, 3).in_order(), selection.CURVES)
        assert (kind is not None) == curves


def test_the_kind_is_that_of_the_least_error_of_the_scout():
    X = np.random.default_rng(1).lognormal(sigma=2.0, size=(300, 4))
    y = np.log(X) @ np.ones(4)
    cells = uniform_cells(X, y, 3).in_order()
    scout = [families.full_covariance("ridge", iterations=selection.SCOUTING)]
    errors = {}
    for kind in (None, *selection.CURVES):
        errors[kind] = cross_validate(splits(cells, 0.0), scout, kind).losses.mean()
    kind = selection.best_kind(cells, selection.CURVES)
    assert kind == min(errors, key=errors.get)
    assert kind.transform == "normal scores"  # which undo the exponential
    assert errors[kind] < 0.8 * errors[None]
