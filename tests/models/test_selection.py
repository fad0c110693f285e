"""One rule of selection: candidates judged by what they were not fitted to, and choices that follow."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from planted_cells import planted, uniform_cells
from sparing.cells import Cells
from sparing.learners import AutoLearner, PairwiseMoments
from sparing.linalg.threads import one_blas_thread
from sparing.models import families, selection
from sparing.models.families import Family, Size
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.pairwise import USUAL_RIDGE, RepairedCovariance
from sparing.models.selection import (
    Comparison,
    affordable_families,
    compare,
    planning_weights,
    select,
    usual_model,
)
from sparing.models.summary import pair_moments, summarize


def regression(n=300, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    return X, X @ w + 0.1 * rng.standard_normal(n), w[:, None]


def fixed(name, *weights, covariance=None):
    """A family that learns nothing; with a covariance, it is one that may complete rows."""
    d = len(weights[0])
    gaussian = Gaussian.of_covariance(np.zeros(d), np.eye(d) if covariance is None else covariance)
    candidates = [Candidate(f"number {i}", w, lambda: gaussian) for i, w in enumerate(weights)]
    return Family(name, lambda cells, summary: candidates, 0, lambda size: 0.0, generative=covariance is not None)


# Choices among losses -----------------------------------------------------------------------------------------------


def comparison(*losses):
    losses = np.array(losses)
    return Comparison([("family", str(i)) for i in range(len(losses))], losses, 2.0 * losses)


def test_the_best_has_the_least_mean_and_others_are_within_errors_of_paired_differences():
    rng = np.random.default_rng(0)
    common, own = 5.0 * rng.standard_normal(100), rng.standard_normal(100)
    own -= own.mean()
    error = own.std() / 10.0
    near, far = 1.49 * error, 1.51 * error
    found = comparison(common + 1.0, common, common + own + near, common + own + far, common + 1e-9)
    assert found.best == 1
    assert found.chosen() == [1, 2]  # the first and the last are surely worse, by however little
    assert comparison(common).chosen() == [0]
    assert comparison(common, common).chosen() == [0, 1]


def test_the_risk_reported_is_the_unbiased_one():
    losses = np.array([1.0, 2.0, 3.0, 6.0])
    risk, error = comparison(losses).risk(0)
    assert risk == 6.0
    assert error == pytest.approx(2.0 * losses.std() / 2.0)


# Judging ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_clearly_better_one_is_chosen(best):
    """True weights against none and their opposite: risks 0.01, 1 and 4 of the variance."""
    X, y, w = regression()
    cells = uniform_cells(X, y, 4).in_order()
    weights = np.roll([w, 0 * w, -w], best, axis=0)
    found = compare(cells, [fixed("a", weights[0]), fixed("b", *weights[1:])])
    assert found.names == [("a", "number 0"), ("b", "number 0"), ("b", "number 1")]
    assert found.best == best
    assert found.chosen() == [best]
    assert found.expected.shape == found.unbiased.shape == (3, 300)  # each example is held out once
    for risks in (found.expected.mean(axis=1), found.unbiased.mean(axis=1)):
        np.testing.assert_allclose(np.roll(risks, -best), [0.0, 1.0, 4.0], atol=0.6)
    none = (best + 1) % 3  # without weights, nothing need be estimated
    np.testing.assert_allclose(np.sort(found.expected[none]), np.sort(found.unbiased[none]), rtol=1e-9, atol=1e-9)


def test_models_are_judged_by_what_they_were_not_fitted_to():
    X, y, _ = regression(n=40)
    cells = uniform_cells(X, y, 4).in_order()
    learnt_from = []

    def candidates(cells, summary):
        learnt_from.append({tuple(target) for target in cells.targets.tolist()})
        return families.mean_target().candidates(cells, summary)

    found = compare(cells, [Family("none", candidates, 0, lambda size: 0.0)])
    everyone = {tuple(target) for target in cells.targets.tolist()}
    held_out = [everyone - learnt for learnt in learnt_from]
    assert [len(part) for part in held_out] == [10, 10, 10, 10]
    assert set.union(*held_out) == everyone
    expected = []
    for learnt, part in zip(learnt_from, held_out, strict=True):
        targets = np.array(list(learnt))
        expected += [(t[0] - targets.mean()) ** 2 / targets.var() for t in part]
    for losses in (found.expected, found.unbiased):
        np.testing.assert_allclose(np.sort(losses[0]), np.sort(expected), rtol=1e-9)


def test_rows_are_completed_by_the_model_of_the_largest_likelihood():
    """Correlated attributes, and three covariances given: losses are as if the true one had been given alone."""
    X, y = planted(200, d=8)
    covariance, w = np.cov(X.T), np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0][:, None]
    cells = uniform_cells(X, y, 4).in_order()
    wrong = [fixed("a", 0 * w, covariance=np.eye(8)), fixed("b", -w, covariance=9.0 * covariance)]
    right = fixed("c", w, covariance=covariance)
    together, alone = compare(cells, [*wrong, right]), compare(cells, [right])
    np.testing.assert_allclose(together.expected[2], alone.expected[0], rtol=1e-12)
    assert together.best == 2


def test_long_fits_are_judged_by_one_split():
    X, y, w = regression(n=60)
    slow = fixed("slow", w)
    slow = Family(slow.name, slow.candidates, 0, lambda size: selection.LONG + 0.1)
    assert compare(uniform_cells(X, y, 4).in_order(), [slow]).expected.shape == (1, 20)


def test_very_long_examples_are_left_out_where_judging_them_would_take_too_long(monkeypatch):
    X, y, w = regression(n=60)
    monkeypatch.setattr(selection, "JUDGED", 5.5 * 4**3)  # five examples of four cells, in each of four folds
    assert compare(uniform_cells(X, y, 4).in_order(), [fixed("a", w)]).expected.shape == (1, 20)
    monkeypatch.setattr(selection, "JUDGED", 1.0)
    assert compare(uniform_cells(X, y, 4).in_order(), [fixed("a", w)]).expected.shape == (1, 4)


# The model ----------------------------------------------------------------------------------------------------------


def test_the_model_is_the_average_by_family_of_those_chosen(monkeypatch):
    X, y, w = regression(n=40)
    cells = uniform_cells(X, y, 4).in_order()
    monkeypatch.setattr(Comparison, "chosen", lambda self: [0, 1, 2])
    model = select(cells, [fixed("a", w, 3.0 * w), fixed("b", 10.0 * w, 99.0 * w)])
    np.testing.assert_allclose(model.weights, 6.0 * w)
    np.testing.assert_allclose(model.intercept, y.mean() - summarize(cells).means @ model.weights)
    assert model.facts["families"] == ["a", "b"]
    assert [c["used"] for c in model.facts["candidates"]] == [True, True, True, False]


def test_what_was_chosen_and_why_is_told():
    X, y, w = regression(n=60)
    cells = uniform_cells(X, y, 4).in_order()
    competing = [fixed("a", 0 * w), fixed("b", -w, w)]
    facts, found = select(cells, competing).facts, compare(cells, competing)
    assert facts["setting"] == "b: number 1"
    assert (facts["risk"], facts["risk_error"]) == found.risk(2)
    assert facts["families"] == ["b"]
    assert "of 3 candidates b (number 1) had the least expected error on held-out examples" in facts["why"]
    assert [(c["family"], c["setting"], c["used"]) for c in facts["candidates"]] == [
        ("a", "number 0", False),
        ("b", "number 0", False),
        ("b", "number 1", True),
    ]
    assert [c["error"] for c in facts["candidates"]] == found.expected.mean(axis=1).tolist()


def test_too_few_examples_are_not_judged():
    X, y, w = regression(n=selection.FEWEST - 1)
    cells = uniform_cells(X, y, 4).in_order()
    model = select(cells, [fixed("a", w), fixed("b", -w)])
    np.testing.assert_array_equal(model.weights, w)
    assert model.facts == {
        "setting": "a: number 0",
        "families": ["a"],
        "why": "there are too few examples to choose by",
    }


def test_the_usual_model_is_its_familys_usual_candidate():
    cells = uniform_cells(*planted(60, d=6), 3).in_order()
    family, summary = families.mean_imputed(), summarize(cells)
    model = usual_model(cells, family)
    np.testing.assert_array_equal(model.weights, family.candidates(cells, summary)[family.usual].weights)
    assert model.facts == {
        "setting": "mean-imputed: ridge 100",
        "families": ["mean-imputed"],
        "why": "it was asked for",
    }


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_pure_noise_costs_little(penalty):
    """Targets that nothing explains, 2,000 examples: weights cost 0.015 to 0.024 of the variance over six seeds.

    Whole rows of as many cells, 500, cost least squares 20 / 500 = 0.04. The mean target is among the candidates, but
    what completes rows was fitted to the same noise, and speaks for candidates that were.
    """
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 20)), rng.standard_normal(2000)
    cells = uniform_cells(X, y, 5).in_order()
    model = select(cells, affordable_families(cells, penalty))
    assert np.sum(model.weights**2) < 0.04
    assert "mean target" in {candidate["family"] for candidate in model.facts["candidates"]}


def test_the_mean_target_wins_where_all_else_is_worse():
    """Weights that are much too large, against none: the mean target alone is taken."""
    X, y, w = regression()
    cells = uniform_cells(X, y, 4).in_order()
    model = select(cells, [fixed("a", -w, 5.0 * w), families.mean_target()])
    assert model.facts["setting"] == "mean target: no weights"
    assert not model.weights.any()
    np.testing.assert_allclose(model.intercept, y.mean())
    np.testing.assert_allclose(model.residual_variance, y.var())


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
@pytest.mark.parametrize("seed", range(2))
def test_on_planted_factors_the_choice_is_near_that_of_an_oracle(penalty, seed):
    """The oracle takes the best candidate by fresh rows, 0.010 to 0.023 of the variance; the choice had 0.002 more."""
    X, y = planted(1500, seed=seed)
    cells = uniform_cells(X[:500], y[:500], 5, seed=seed).in_order()
    summary, X, y = summarize(cells), X[500:], y[500:]
    competing = affordable_families(cells, penalty)
    found = [c.weights for family in competing for c in family.candidates(cells, summary)]
    model = select(cells, competing)
    *errors, chosen = [np.var(y - X @ w[:, 0]) / y.var() for w in [*found, model.weights]]
    assert chosen < min(errors) + 0.005


# Families that compete ----------------------------------------------------------------------------------------------


def wide(d, n=50, looks=3):
    cells, rng = Cells(d), np.random.default_rng(0)
    for _ in range(n):
        cells.append(rng.choice(d, looks, replace=False), rng.standard_normal(looks), rng.standard_normal())
    return cells


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_families_compete_by_cost_alone(penalty):
    everyone = {"factor", "pairwise", "full covariance", "covariance near factors", "mean target"}
    everyone |= {"mean-imputed"} if penalty == "ridge" else set()
    for d in (3, 100, 1_000, 2_000, 200_000):
        cells = wide(d)
        names = [family.name for family in affordable_families(cells, penalty)]
        candidates = [families.factor(penalty), families.pairwise_moments(penalty), families.near_factors(penalty),
                      families.full_covariance(penalty)]  # fmt: skip
        candidates += [families.mean_imputed()] if penalty == "ridge" else []
        affordable = {f.name for f in candidates if f.seconds(Size.of(cells)) <= selection.AFFORDABLE}
        assert set(names) == affordable | {"mean target"}
        assert names[-1] == "mean target"
        assert "factor" in names
        assert d > 100 or set(names) == everyone
    assert names == ["factor", "mean target"]  # of huge data nothing else


def test_where_nothing_is_affordable_the_cheapest_competes(monkeypatch):
    monkeypatch.setattr(selection, "AFFORDABLE", 0.0)
    assert [family.name for family in affordable_families(wide(500))] == ["factor", "mean target"]


def test_very_wide_data_is_left_to_factors():
    """Three factors behind 2,500 attributes, 5 looks at 1,000 rows: errors were 0.013 to 0.033 over four seeds."""
    rng = np.random.default_rng(0)
    factors, loadings = rng.standard_normal((1300, 3)), rng.standard_normal((3, 2500))
    X, y = factors @ loadings + rng.standard_normal((1300, 2500)), factors[:, 0]
    cells = uniform_cells(X[:1000], y[:1000], 5).in_order()
    with one_blas_thread(True):
        model = select(cells, affordable_families(cells))
    assert np.var(y[1000:] - X[1000:] @ model.weights[:, 0]) < 0.05 * y.var()
    assert model.facts["families"] == ["factor"]


# Where to look next -------------------------------------------------------------------------------------------------


def test_planning_follows_a_quick_solve(monkeypatch):
    cells = uniform_cells(*planted(60, d=6), 3).in_order()
    summary = summarize(cells)
    repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
    ridge = USUAL_RIDGE * max(-repaired.values[0], 0.01 * repaired.noise)
    np.testing.assert_array_equal(planning_weights(cells, summary), repaired.ridge(ridge))
    monkeypatch.setattr(selection, "QUICK", 0.0)
    (small,) = families.factor("ridge", families.RANKS[:1], families.STOPS[:1]).candidates(cells, summary)
    np.testing.assert_array_equal(planning_weights(cells, summary), small.weights)


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
    tried = {"factor", "pairwise", "full covariance", "covariance near factors", "mean-imputed", "mean target"}
    assert {candidate["family"] for candidate in facts["candidates"]} == tried
    assert set(facts["families"]) == {candidate["family"] for candidate in facts["candidates"] if candidate["used"]}
