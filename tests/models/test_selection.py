"""One rule of selection: candidates judged by what they were not fitted to, and choices that follow."""

import numpy as np
import pytest

from planted_cells import planted, uniform_cells
from sparing.cells import Cells
from sparing.learners import AutoLearner
from sparing.models import cross_validation, families, selection
from sparing.models.families import Family, Size
from sparing.models.folds import FOLDS
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.honest_risk import seen_share, whole_row_risk
from sparing.models.pair_moments import pair_moments
from sparing.models.pairwise import USUAL_RIDGE, RepairedCovariance
from sparing.models.risk import from_seen
from sparing.models.selection import (
    CrossValidation,
    affordable_families,
    cross_validate,
    planning_weights,
    select,
    splits,
    usual_model,
)
from sparing.models.summary import summarize


def regression(n=300, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    return X, X @ w + 0.1 * rng.standard_normal(n), w[:, None]


def fixed(name, *weights, covariance=None):
    """A family that learns nothing, of attributes that are uncorrelated unless a covariance is given."""
    d = len(weights[0])
    gaussian = Gaussian.of_covariance(np.zeros(d), np.eye(d) if covariance is None else covariance)
    candidates = [Candidate(f"number {i}", w, lambda: gaussian) for i, w in enumerate(weights)]
    return Family(name, lambda cells, summary: candidates, 0, lambda size: 0.0)


def judged(cells, competing):
    return cross_validate(splits(cells, 0.0), competing)


# Choices among losses -----------------------------------------------------------------------------------------------


def comparison(*losses, log_ratios=None):
    """Candidates of these losses, each of a family of its own, and all of one output."""
    losses = np.array(losses)
    predictions = np.sqrt(losses - losses.min())[:, :, None]  # of targets zero: losses up to a constant
    likelihoods = np.zeros(losses.shape) if log_ratios is None else np.array(log_ratios)
    names = [(i, f"number {i}") for i in range(len(losses))]
    return CrossValidation(
        names, np.zeros((losses.shape[1], 1)), predictions, likelihoods, [], [], np.ones(losses.shape[1])
    )


def paired():
    """What losses have in common, differences of mean zero, and the standard error of those."""
    rng = np.random.default_rng(0)
    common, own = 5.0 * rng.standard_normal(100), rng.standard_normal(100)
    own -= own.mean()
    return common, own, own.std() / 10.0


def test_the_best_has_the_least_mean_and_others_are_within_errors_of_paired_differences():
    common, own, error = paired()
    near, far = 0.99 * error, 1.01 * error
    found = comparison(common + 1.0, common, common + own + near, common + own + far, common + 1e-6)
    assert found.among(range(5)) == (1, [1, 2])  # the first and the last are surely worse, by however little
    assert found.among([0, 3, 4]) == (4, [4])
    assert comparison(common).among([0]) == (0, [0])
    assert comparison(common, common).among([0, 1]) == (0, [0, 1])


@pytest.mark.parametrize(("excess", "gain", "chosen"), [(1.99, 1.01, 1), (2.01, 1.01, 0), (1.99, 0.99, 0)])
def test_of_those_not_clearly_worse_the_likelier_is_taken(excess, gain, chosen):
    """By two standard errors of losses, and one of log-likelihoods, if cells are not likelier without correlations."""
    common, own, error = paired()
    losses = common, common + own + excess * error, common + 9.0  # the last is the mean target
    likelihoods = 50.0 + np.array([common, common + own + gain * error, 0.0 * common - 50.0])
    assert comparison(*losses, log_ratios=likelihoods).among([0, 1]) == (chosen, [chosen])
    likelihoods[2] += 100.0
    assert comparison(*losses, log_ratios=likelihoods).among([0, 1]) == (0, [0])


def test_a_few_impossible_examples_do_not_rule_out_a_model():
    """One in fifty is said to be next to impossible; the others are clearly likelier than without correlations."""
    rng = np.random.default_rng(0)
    gains = 0.5 + 0.2 * rng.standard_normal(100)
    gains[:2] = -1000.0
    losses = np.zeros((3, 100)) + [[0.01], [0.0], [1.0]] + 0.05 * rng.standard_normal(100)
    losses[0] += 0.1 * rng.standard_normal(100)
    likelihoods = np.array([gains, 0.0 * gains, 0.0 * gains])
    assert comparison(*losses, log_ratios=likelihoods).among([0, 1]) == (0, [0])
    likelihoods[0, :30] = -1000.0  # of those that are no exception any more, it is
    assert comparison(*losses, log_ratios=likelihoods).among([0, 1]) == (1, [1])


def rare_columns(n=3000, d=20, seed=0):
    """Uncorrelated columns that are 1 in one per cent of the rows, all of equal weight, without noise."""
    X = (np.random.default_rng(seed).random((n, d)) < 0.01).astype(float)
    return X, X.sum(axis=1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_correlations_that_predict_cells_worse_than_their_means_are_not_believed(seed):
    """A Gaussian finds rows of zeros likelier with any correlations: cells must say who knows them better."""
    X, y = rare_columns(seed=seed)
    cells = uniform_cells(X, y, 4, seed).in_order()
    correlated = np.eye(20) + 0.3 * np.ones((20, 20))
    gaussian = Gaussian.of_covariance(X.mean(axis=0), 0.01 * correlated)
    family = Family("made up", lambda *_: [Candidate("0.3", np.full((20, 1), 0.5), lambda: gaussian)], 0, lambda _: 0.0)
    found = judged(cells, [family, families.mean_imputed(), families.mean_target()])
    assert found.surprises[0].mean() < -3.0 * found.surprises[0].std() / np.sqrt(3000)
    assert found.misleads(0)
    assert not any(map(found.misleads, range(1, len(found.names))))
    assert 0 not in found.among(range(len(found.names) - 1))[1]


# Judging ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_clearly_better_one_is_chosen(best):
    """True weights against none and their opposite: from half of the attributes, errors of 0.5, 1 and 2.5."""
    X, y, w = regression()
    cells = uniform_cells(X, y, 4).in_order()
    weights = np.roll([w, 0 * w, -w], best, axis=0)
    found = judged(cells, [fixed("a", weights[0]), fixed("b", *weights[1:])])
    assert found.names == [(0, "number 0"), (1, "number 0"), (1, "number 1")]
    assert found.among([0, 1, 2]) == (best, [best])
    assert found.losses.shape == (3, 300)  # each example is held out once
    np.testing.assert_allclose(np.roll(found.losses.mean(axis=1), -best), [0.5, 1.0, 2.5], atol=0.4)


def test_models_are_judged_by_what_they_were_not_fitted_to():
    X, y, _ = regression(n=40)
    cells = uniform_cells(X, y, 4).in_order()
    learnt_from = []

    def candidates(cells, summary):
        learnt_from.append({tuple(target) for target in cells.targets.tolist()})
        return families.mean_target().candidates(cells, summary)

    found = judged(cells, [Family("none", candidates, 0, lambda size: 0.0)])
    everyone = {tuple(target) for target in cells.targets.tolist()}
    held_out = [everyone - learnt for learnt in learnt_from]
    assert [len(part) for part in held_out] == [10, 10, 10, 10]
    assert set.union(*held_out) == everyone
    expected = []
    for learnt, part in zip(learnt_from, held_out, strict=True):
        targets = np.array(list(learnt))
        expected += [(t[0] - targets.mean()) ** 2 / targets.var() for t in part]
    np.testing.assert_allclose(np.sort(found.losses[0]), np.sort(expected), rtol=1e-9)


def test_predictions_are_from_seen_parts_clipped_to_the_targets_learnt_from():
    """Two outputs; weights a hundred times too large, so that nearly all predictions are clipped."""
    X, y, w = regression(n=60)
    both, weights = np.column_stack([y, 5.0 + 0.1 * y**2]), np.column_stack([w, -100.0 * w])
    cells = Cells(8, n_outputs=2)
    rng = np.random.default_rng(0)
    for x, target in zip(X, both, strict=True):
        seen = rng.permutation(8)[:4]
        cells.append(seen, x[seen], target)
    found, done = judged(cells, [fixed("a", weights)]), 0
    for part in range(FOLDS):
        fold = np.arange(60) % FOLDS
        learnt, held_out = cells.take(fold != part), cells.take(fold == part)
        summary = summarize(learnt)
        gaussian = Gaussian.of_covariance(np.zeros(8), np.eye(8))
        scale = summary.target_spreads
        own, less = (
            from_seen(part, summary, gaussian, weights).predictions * scale + summary.target_means
            for part in (held_out, held_out.partly_hidden())
        )
        ends = learnt.targets.min(axis=0), learnt.targets.max(axis=0)
        clipped, less = np.clip(own, *ends), np.clip(less, *ends)
        expected = np.mean(((held_out.targets - clipped) / scale) ** 2, axis=1)
        np.testing.assert_allclose(found.losses[0, done : done + 15], expected, rtol=1e-9, atol=1e-12)
        predicted = found.held_out([0])[:, done : done + 15] * scale + summary.target_means
        np.testing.assert_allclose(predicted, [clipped, less], rtol=1e-9, atol=1e-12)
        done += 15


def test_long_fits_are_judged_by_fewer_folds():
    X, y, _ = regression(n=60)
    cells = uniform_cells(X, y, 4).in_order()
    for seconds, n_folds in ((0.0, 4), (0.24, 4), (0.26, 3), (0.49, 2), (0.6, 1), (2.0, 1)):
        parts = splits(cells, seconds * cross_validation.COMPARING)
        assert [(part.learnt.n_examples, part.judged.n_examples) for part in parts] == [(45, 15)] * n_folds
        assert all(part.hidden.n_examples == 15 for part in parts)


def test_very_long_examples_are_left_out_where_judging_them_would_take_too_long(monkeypatch):
    X, y, _ = regression(n=60)
    cells = uniform_cells(X, y, 4).in_order()
    monkeypatch.setattr(cross_validation, "JUDGED", 5.5 * 4**3)  # five examples of four cells, in each of four folds
    assert [(part.learnt.n_examples, part.judged.n_examples) for part in splits(cells, 0.0)] == [(45, 5)] * 4
    monkeypatch.setattr(cross_validation, "JUDGED", 1.0)
    assert [part.judged.n_examples for part in splits(cells, 0.0)] == [1] * 4


# The model ----------------------------------------------------------------------------------------------------------


def test_the_model_is_the_average_of_those_chosen(monkeypatch):
    X, y, w = regression(n=40)
    cells = uniform_cells(X, y, 4).in_order()
    monkeypatch.setattr(CrossValidation, "among", lambda self, candidates: (2, [0, 1, 2]))
    model = select(cells, [fixed("a", w, 3.0 * w), fixed("b", 11.0 * w, 99.0 * w)])
    np.testing.assert_allclose(model.weights, np.array(model.facts["shrinkage"]) * 5.0 * w)
    np.testing.assert_allclose(model.intercept, y.mean() - summarize(cells).means @ model.weights)
    assert model.facts["families"] == ["a", "b"]
    assert model.facts["setting"] == "b: number 0"
    assert [c["used"] for c in model.facts["candidates"]] == [True, True, True, False, False]


def test_what_was_chosen_and_why_is_told():
    X, y, w = regression(n=60)
    cells = uniform_cells(X, y, 4).in_order()
    competing = [fixed("a", 0 * w), fixed("b", -w, w)]
    model, found = select(cells, competing), judged(cells, [*competing, families.mean_target()])
    facts = model.facts
    assert facts["setting"] == "b: number 1"
    share = seen_share(cells, summarize(cells), model)
    predictions = np.array(facts["shrinkage"]) * found.predictions[2]
    risk = whole_row_risk(found.targets, predictions, np.zeros(len(predictions)), share)
    assert facts | risk.facts == facts
    assert 0.9 < facts["shrinkage"][0] < 1.0
    assert facts["families"] == ["b"]
    assert "of 4 models with lines, b (number 1) predicts held-out targets best" in facts["why"]
    assert "averaged" not in facts["why"]
    assert (facts["features"], facts["trees_share"]) == ("lines", 0.0)
    assert [(c["family"], c["setting"], c["used"]) for c in facts["candidates"]] == [
        ("a", "number 0", False),
        ("b", "number 0", False),
        ("b", "number 1", True),
        ("mean target", "no weights", False),
    ]
    assert [c["error"] for c in facts["candidates"]] == found.losses.mean(axis=1).tolist()


def test_attributes_that_hardly_varied_are_left_out():
    """As if they had never been seen: the model of the others is the same."""
    X, y, _ = regression(n=80)
    X[:, 3], X[4:, 5] = 2.0, 0.0
    cells = uniform_cells(X, y, 4).in_order()
    known = np.arange(8) != 3
    known[5] = False
    competing = affordable_families(cells)
    whole, without = select(cells, competing), select(cells.only(known), competing)
    np.testing.assert_array_equal(whole.weights, without.weights)
    assert np.abs(whole.weights[~known]).max() < 1e-12
    assert whole.weights[known].all()


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
@pytest.mark.parametrize("seed", range(3))
def test_on_pure_noise_weights_stay_small(penalty, seed):
    """Targets that nothing explains: few weights, which cost less than 0.1 of the variance; 0.000 to 0.066."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((500, 10)), rng.standard_normal(500)
    learner = AutoLearner(10, budget=4, penalty=penalty, random_state=seed).run(X, y)
    assert np.sum(learner.coef**2) < 0.1


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
@pytest.mark.parametrize("seed", range(2))
def test_on_planted_factors_the_choice_is_near_that_of_an_oracle(penalty, seed):
    """The oracle takes the best candidate by fresh rows: 0.01 to 0.03 of the variance, and auto 0.00 to 0.01 more."""
    X, y = planted(1500, seed=seed)
    cells = uniform_cells(X[:500], y[:500], 5, seed=seed).in_order()
    summary, X, y = summarize(cells), X[500:], y[500:]
    competing = affordable_families(cells, penalty)
    found = [c.weights for family in competing for c in family.candidates(cells, summary)]
    model = select(cells, competing)
    *errors, chosen = [np.var(y - X @ w[:, 0]) / y.var() for w in [*found, model.weights]]
    assert chosen < min(errors) + 0.02


# Families that compete ----------------------------------------------------------------------------------------------


def wide(d, n=50, looks=3):
    cells, rng = Cells(d), np.random.default_rng(0)
    for _ in range(n):
        cells.append(rng.choice(d, looks, replace=False), rng.standard_normal(looks), rng.standard_normal())
    return cells


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_families_compete_by_cost_alone(penalty):
    """Factor models and pairwise moments stand in for covariances, where those would take too long."""
    own = "mean-imputed" if penalty == "ridge" else "pairwise"
    for d in (3, 100, 1_000):
        cells = wide(d)
        names = [family.name for family in affordable_families(cells, penalty)]
        quick = families.near_factors(penalty).seconds(Size.of(cells)) <= selection.AFFORDABLE
        assert quick == (d <= 100)
        tried = {"full covariance", "covariance near factors"} if quick else {"factor", "pairwise"}
        assert sorted(names) == sorted(tried | {own})
    assert [family.name for family in affordable_families(wide(200_000), penalty)] == ["factor"]  # nothing else is


def test_where_nothing_is_affordable_the_cheapest_competes(monkeypatch):
    monkeypatch.setattr(selection, "AFFORDABLE", 0.0)
    assert [family.name for family in affordable_families(wide(500))] == ["factor"]


def test_curves_are_tried_where_their_covariance_is_quick():
    assert selection.affordable_curves(wide(10)) == list(selection.CURVES)
    assert selection.affordable_curves(wide(2_000)) == []
    few = selection.affordable_curves(wide(150))
    assert 0 < len(few) < 4
    assert {kind.hinges for kind in few} == {1}


def test_very_wide_data_is_left_to_factors():
    """Three factors behind 4,000 attributes, 30 looks at 1,500 rows."""
    rng = np.random.default_rng(0)
    factors, loadings = rng.standard_normal((2000, 3)), rng.standard_normal((3, 4000))
    X, y = factors @ loadings + rng.standard_normal((2000, 4000)), factors[:, 0]
    learner = AutoLearner(4000, budget=30, random_state=0).run(X[:1500], y[:1500])
    assert np.mean((X[1500:] @ learner.coef + learner.intercept - y[1500:]) ** 2) < 0.1 * y.var()
    assert learner.fitted.facts["families"] == ["factor"]


# Where to look next -------------------------------------------------------------------------------------------------


def test_planning_follows_a_quick_solve(monkeypatch):
    cells = uniform_cells(*planted(60, d=6), 3).in_order()
    summary = summarize(cells)
    (scout,) = families.full_covariance("ridge", selection.SCOUTING).candidates(cells, summary)
    np.testing.assert_array_equal(planning_weights(cells, summary), scout.weights)
    monkeypatch.setattr(selection, "QUICK", 0.0)
    repaired = RepairedCovariance(pair_moments(cells, summary), summary, "looks")
    ridge = USUAL_RIDGE * max(-repaired.values[0], 0.01 * repaired.noise)
    np.testing.assert_array_equal(planning_weights(cells, summary), repaired.ridge(ridge))
    monkeypatch.setattr(selection, "QUICK_PAIRS", 0.0)
    (small,) = families.factor("ridge", families.RANKS[:1], families.STOPS[1:2]).candidates(cells, summary)
    np.testing.assert_array_equal(planning_weights(cells, summary), small.weights)
