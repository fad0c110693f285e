"""Choosing by cells held out: estimates of risk without bias, and choices that follow them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeCV

from sparing.cells import Cells
from sparing.learners import AutoLearner, FactorModel, MeanImputed, PairwiseMoments
from sparing.learners import keepers as auto_module
from sparing.models import independence
from sparing.models.covariance_families import covariance_family, near_factors_family
from sparing.models.factor import factor_family
from sparing.models.imputed import imputed_family
from sparing.models.pairwise import pairwise_family
from sparing.models.selection import Candidate, Judgement, agreeing, consensus, estimated_losses, judge, judged
from sparing.models.summary import describe

few = settings(max_examples=25, deadline=None)


def every_purchase(x, y, looks, chance):
    """All ways to look at so many attributes of one row, once each."""
    d = x.size
    cells = Cells(d, n_outputs=y.size)
    for attributes in combinations(range(d), looks):
        cells.append(attributes, x[list(attributes)], y, probabilities=chance)
    return cells


# Without bias -------------------------------------------------------------------------------------------------------


@few
@given(st.integers(2, 5), st.data(), st.integers(0, 10**6), st.booleans())
def test_over_all_looks_the_mean_is_the_squared_error(d, data, seed, told):
    """Chances are known, where single precision holds them, or counted from the cells, which is then exact."""
    looks = data.draw(st.integers(2, d))
    rng = np.random.default_rng(seed)
    x, y, W = rng.standard_normal(d), rng.standard_normal(2), rng.standard_normal((d, 2))
    exact = told and d in (2, 4)
    cells = every_purchase(x, y, looks, looks / d if exact else None)
    seen = describe(cells)._replace(means=rng.standard_normal(d), target_means=rng.standard_normal(2))
    truth = np.sum(((x - seen.means) @ W - (y - seen.target_means)) ** 2)
    estimates = estimated_losses(cells, seen, W)
    assert np.mean(estimates) == pytest.approx(truth, rel=1e-12, abs=1e-12)
    if looks == d:
        np.testing.assert_allclose(estimates, truth, rtol=1e-11)


def test_with_one_look_nothing_is_known_of_pairs():
    x = np.array([1.0, 2.0])
    cells = every_purchase(x, np.zeros(1), 1, 0.5)
    losses = estimated_losses(cells, describe(cells)._replace(means=np.zeros(2)), np.ones((2, 1)))
    assert np.mean(losses) == pytest.approx(np.sum(x**2))  # (1 + 2)^2 less the pairs


@pytest.mark.parametrize("options", [{"budget": 4}, {"budget": 4.0, "costs": np.linspace(0.5, 2.0, 10)}])
def test_bought_cells_judge_as_whole_rows_do(options):
    """Within five standard errors over 4,000 examples, which are 3 to 6 per cent of the risks.

    With prices the chances of pairs are approximate, and the mean may be off by a tenth besides.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 10)) @ (np.eye(10) + 0.3 * rng.standard_normal((10, 10)))
    y = (X @ rng.standard_normal(10) + rng.standard_normal(4000))[:, None]
    cells = PairwiseMoments(10, design="uniform", ridge=1.0, **options).run(X, y).bought
    seen = describe(cells)._replace(means=X.mean(axis=0), target_means=y.mean(axis=0))
    for seed in range(3):
        weights = np.random.default_rng(seed).standard_normal((10, 1))
        truth = np.mean(((X - seen.means) @ weights - y + seen.target_means) ** 2)
        losses = estimated_losses(cells, seen, weights)
        error = losses.std() / np.sqrt(4000)
        assert abs(losses.mean() - truth) < 5 * error + (0.1 * truth if "costs" in options else 0.0)
        assert error < 0.1 * truth


# Choices ------------------------------------------------------------------------------------------------------------


def planted(n=300, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    return X, X @ w + 0.1 * rng.standard_normal(n), w[:, None]


def fixed(name, *weights):
    """A family that learns nothing."""
    return lambda cells, seen: [Candidate(name, f"number {i}", w) for i, w in enumerate(weights)]


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_judge_picks_the_clearly_better_one(best):
    """True weights against none and their opposite: risks 0.01, 1 and 4 of the variance."""
    X, y, w = planted()
    cells = PairwiseMoments(8, budget=4, design="uniform", ridge=1.0).run(X, y).bought.in_order()
    candidates = np.roll([w, 0 * w, -w], best, axis=0)
    judgement = judge(cells, [fixed("a", candidates[0]), fixed("b", *candidates[1:])])
    assert judgement.best == best
    assert judgement.as_good().tolist() == [best]
    np.testing.assert_allclose(np.roll(judgement.risks, -best), [0.0, 1.0, 4.0], atol=0.6)
    assert judgement.losses.shape == (3, 300)  # each example is held out once


def test_models_are_judged_by_what_they_did_not_learn_from():
    X, y, _ = planted(n=40)
    cells = PairwiseMoments(8, budget=4, ridge=1.0).run(X, y).bought.in_order()
    learnt_from = []

    def family(cells, seen):
        learnt_from.append({tuple(target) for target in cells.targets.tolist()})
        return [Candidate("none", "zero", np.zeros((8, 1)))]

    losses = judge(cells, [family]).losses[0]
    everyone = {tuple(target) for target in cells.targets.tolist()}
    held_out = [everyone - learnt for learnt in learnt_from]
    assert [len(part) for part in held_out] == [10, 10, 10, 10]
    assert set.union(*held_out) == everyone
    expected = [
        (t[0] - np.mean(list(learnt))) ** 2 for learnt, part in zip(learnt_from, held_out, strict=True) for t in part
    ]
    np.testing.assert_allclose(np.sort(losses) * cells.targets.var(), np.sort(expected), rtol=1e-9)


def test_risk_and_its_error_decide():
    """The second has the smaller mean, by luck, but is too wild; the third cannot be told from the first."""
    rng = np.random.default_rng(0)
    steady, wild = 1.0 + 0.01 * rng.standard_normal(100), 0.9 + 5.0 * rng.standard_normal(100)
    wild += 0.9 - wild.mean()
    judgement = Judgement(np.array([steady, wild, steady + 0.02 * rng.standard_normal(100), steady + 1.0]))
    assert judgement.risks.argmin() == 1
    assert judgement.best in (0, 2)
    assert judgement.as_good().tolist() == [0, 2]
    calm = Judgement(np.array([steady, steady + 0.02 * rng.standard_normal(100), steady + 0.01]))
    assert calm.as_good().tolist() == [0, 1]  # the last is worse by little, but surely
    np.testing.assert_allclose(judgement.errors[0], steady.std() / 10)


def test_the_consensus_is_the_mean_by_family():
    candidates = [Candidate("a", "", np.full((2, 1), value)) for value in (1.0, 3.0)]
    candidates += [Candidate("b", "", np.full((2, 1), 10.0)), Candidate("b", "", np.full((2, 1), 99.0))]
    np.testing.assert_array_equal(consensus(candidates, np.array([0, 1, 2])), np.full((2, 1), 6.0))
    np.testing.assert_array_equal(consensus(candidates, np.array([3])), np.full((2, 1), 99.0))
    twice = [*candidates[:2], candidates[2]._replace(share=3.0)]
    np.testing.assert_array_equal(consensus(twice, np.array([0, 1, 2])), np.full((2, 1), 8.0))


def test_biased_candidates_count_only_where_one_is_best():
    """The second is biased and cannot be told from the first, whichever of them has the less risk."""
    rng = np.random.default_rng(0)
    one, other = 1.0 + 0.01 * rng.standard_normal((2, 100))
    other += one.mean() - other.mean()
    candidates = [Candidate("a", "", np.zeros((2, 1))), Candidate("b", "", np.ones((2, 1)), biased=True)]
    assert agreeing(candidates, Judgement(np.array([one, other + 0.0005]))).tolist() == [0]
    assert agreeing(candidates, Judgement(np.array([one, other - 0.002]))).tolist() == [0, 1]


def test_a_covariance_near_factors_adds_what_pairs_say():
    """Three factors, and thirty pairs of attributes besides: over four seeds 0.80 to 0.83 of the next best error."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((5000, 60))
    noise[:, 1::2] = 0.9 * noise[:, ::2] + 0.4 * noise[:, 1::2]
    X, y = rng.standard_normal((5000, 3)) @ rng.standard_normal((3, 60)) + noise, noise.sum(axis=1)
    learner = PairwiseMoments(60, budget=6, ridge=1.0, design="uniform").run(X[:4000], y[:4000])
    cells = learner.bought.in_order()
    seen, errors = describe(cells), []
    for family in (near_factors_family(), factor_family(20), covariance_family()):
        weights = family(cells, seen)[-1].weights
        errors.append(np.var(y[4000:] - (X[4000:] - seen.means) @ weights[:, 0]) / y.var())
    assert errors[0] < 0.9 * min(errors[1:])


def test_what_was_judged_is_told():
    candidates = [Candidate("a", "one", np.zeros((2, 1))), Candidate("b", "two", np.ones((2, 1)))]
    facts = judged(candidates, Judgement(np.array([[2.0, 2.2, 1.8], [0.5, 0.6, 0.4]])))
    assert facts["setting"] == "b: two"
    assert facts["risk"] == pytest.approx(0.5)
    assert facts["families"] == ["b"]
    assert [(c["family"], c["setting"], c["used"]) for c in facts["candidates"]] == [
        ("a", "one", False),
        ("b", "two", True),
    ]
    assert "of 2 candidates b (two)" in facts["why"]


# The automatic learner ----------------------------------------------------------------------------------------------


def low_rank(n, d=15, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    X = z @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) / 4.0


def independent(n, d=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d)


@pytest.mark.parametrize("data", [low_rank, independent])
def test_auto_is_not_worse_than_regression_on_rows_filled_with_means(data):
    """Where few factors make all attributes, filling in is biased: auto had 0.1 of its error or less over eight seeds.

    Where attributes are independent it is the regression to make; found out at six of eight seeds, it cost from -0.01
    to 0.01 of the targets' variance there, -0.012 at this one.
    """
    X, y = data(1400)
    auto = AutoLearner(15, budget=4, random_state=0).run(X[:400], y[:400])
    filled = np.zeros((400, 15))
    filled[auto.bought.examples(), auto.bought.attributes] = auto.bought.values
    imputed = RidgeCV(np.logspace(-1, 4, 20)).fit(filled, y[:400])
    errors = [
        np.mean((X[400:] @ coef + intercept - y[400:]) ** 2)
        for coef, intercept in ((auto.coef, auto.intercept), (imputed.coef_, imputed.intercept_))
    ]
    if data is low_rank:
        assert errors[0] < 0.25 * errors[1]
    else:
        assert errors[0] < errors[1] + 0.01 * np.var(y[400:])
    facts = auto.fitted.facts
    tried = {"pairwise", "full covariance", "covariance near factors"} if data is low_rank else {"mean-imputed"}
    assert {candidate["family"] for candidate in facts["candidates"]} >= tried
    assert set(facts["families"]) <= {candidate["family"] for candidate in facts["candidates"] if candidate["used"]}


def test_the_model_is_the_mean_of_what_it_says_it_took():
    X, y, _ = planted(n=60, d=5)
    learner = PairwiseMoments(5, budget=3, random_state=2).run(X, y)
    cells = learner.bought.in_order()
    candidates = pairwise_family()(cells, describe(cells))
    used = [w for w, fact in zip(candidates, learner.fitted.facts["candidates"], strict=True) if fact["used"]]
    np.testing.assert_allclose(learner.coef, np.mean([c.weights[:, 0] for c in used], axis=0), rtol=1e-12)


def test_looks_follow_known_second_moments_from_the_first_example_on():
    """In proportion to their roots, 1 to 4 here, but for a tenth of looks that go to all alike."""
    X, y = independent(60, d=30)
    known = np.where(np.arange(30) < 3, 16.0, 1.0)
    told = PairwiseMoments(30, budget=2, second_moments=known, random_state=0).run(X, y)
    often = told.bought.probabilities[told.bought.attributes < 3].mean()
    assert told._next_plan > 60  # nothing was learnt from values yet
    assert often / told.bought.probabilities[told.bought.attributes >= 3].mean() == pytest.approx(3.4, abs=0.3)


def test_too_few_examples_are_not_judged():
    X, y, _ = planted(n=9)
    learner = AutoLearner(8, budget=3).run(X, y)
    assert "too few examples" in learner.fitted.facts["why"]
    assert np.isfinite(learner.coef).all()


def test_very_wide_data_is_left_to_a_factor_model_of_held_out_likelihood():
    """Three factors behind 4,000 attributes, 5 looks at 3,000 rows: errors were 0.005 to 0.015 over four seeds."""
    rng = np.random.default_rng(0)
    factors, loadings = rng.standard_normal((3500, 3)), rng.standard_normal((3, 4000))
    X, y = factors @ loadings + rng.standard_normal((3500, 4000)), factors[:, 0]
    learner = AutoLearner(4000, budget=5, random_state=0).run(X[:3000], y[:3000])
    assert np.mean((X[3000:] @ learner.coef + learner.intercept - y[3000:]) ** 2) < 0.05 * y.var()
    assert "above 3,000 attributes" in learner.fitted.facts["why"]


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="penalty must be one of 'ridge', 'lasso'; got 'elastic'"):
        AutoLearner(8, budget=3, penalty="elastic")
    with pytest.raises(ValueError, match="above 20000 attributes take penalty='ridge'"):
        AutoLearner(20_001, budget=3, penalty="lasso")
    with pytest.raises(ValueError, match="rank must be one of 'auto', 'full'; got 'low'"):
        FactorModel(8, budget=3, rank="low")
    with pytest.raises(ValueError, match="rounds must be a whole number, 1 or more; got 0"):
        FactorModel(8, budget=3, rounds=0)


def test_what_is_judged_worse_than_the_mean_is_not_taken(monkeypatch):
    """At 900 values of MNIST the least bad lasso was judged 24 times as bad as the mean, and was 48 times as bad."""
    rng = np.random.default_rng(0)
    assert Judgement(2.0 + 0.1 * rng.standard_normal((3, 50))).hopeless
    assert not Judgement(1.0 + 2.0 * rng.standard_normal((3, 50))).hopeless
    X, y, _ = planted(n=60, d=5)
    assert AutoLearner(5, budget=3, random_state=2).run(X, y).coef.any()
    worse = lambda cells, families: Judgement(judge(cells, families).losses + 10.0)  # noqa: E731
    monkeypatch.setattr("sparing.learners.keepers.judge", worse)
    lasso = AutoLearner(5, budget=3, penalty="lasso", random_state=2).run(X, y)
    X, y = independent(3_000, d=20)
    filled = AutoLearner(20, budget=4, random_state=0).run(X, y)
    assert {candidate["family"] for candidate in filled.fitted.facts["candidates"]} == {"mean-imputed"}
    for learner in (lasso, filled):
        assert (learner.fitted.facts["setting"], learner.coef.any()) == ("the mean target", False)
        assert learner.intercept == pytest.approx(learner.bought.targets.mean())


# Attributes that do not go together ---------------------------------------------------------------------------------


def bought(X, y, budget, seed, **options):
    return AutoLearner(X.shape[1], budget=budget, n_examples=len(y), random_state=seed, **options).run(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_of_independent_attributes_rows_are_filled_with_means(seed):
    """No worse than any single family; where attributes go together, however weakly, the judge is asked."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((3_000, 20)), rng.standard_normal(20)
    learner = bought(X, X @ w, 4, seed)
    assert learner.fitted.facts["families"] == ["mean-imputed"]
    assert "do not go together" in learner.fitted.facts["why"]
    assert np.sum((learner.coef - w) ** 2) < 0.1 * np.sum(w**2)
    together = X + 0.6 * rng.standard_normal((3_000, 1))
    assert "do not go together" not in bought(together, together @ w, 4, seed).fitted.facts["why"]


def test_a_factor_that_all_have_a_little_of_is_not_overlooked():
    """Correlations of 0.055 leave pairs with 0.2 to 0.3 at 30,000 examples; rows filled with means erred by 0.6."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.945) * rng.standard_normal((30_000, 60)) + np.sqrt(0.055) * rng.standard_normal((30_000, 1))
    y = X.sum(axis=1)
    learner = bought(X, y, 5, 0)
    cells = learner.bought.in_order()
    assert independence.most_in_common(cells, describe(cells)) < 2 * independence.ALONE
    assert "do not go together" not in learner.fitted.facts["why"]
    assert np.mean((X @ learner.coef + learner.intercept - y) ** 2) < 0.15 * y.var()


def test_few_pairs_prove_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    cells = bought(X, X[:, 0], 3, 0).bought.in_order()
    assert independence.most_in_common(cells, describe(cells)) > independence.FAINT
    alone = Cells(4)
    for row in range(20):
        alone.append([row % 4], [float(row)], [1.0])
    assert independence.most_in_common(alone, describe(alone)) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_one_common_factor_is_found_where_pairs_are_too_few_to_tell(seed):
    """A tenth of each of 150 variances is common or nothing: pairs allow for 3 to 7 or 3 to 5, over eight seeds."""
    rng = np.random.default_rng(seed)
    alone = rng.standard_normal((1_500, 150))
    together = np.sqrt(0.9) * alone + np.sqrt(0.1) * rng.standard_normal((1_500, 1))
    found = []
    for X in (alone, together):
        learner = PairwiseMoments(150, budget=6, design="uniform", random_state=seed).run(X, X[:, 0])
        found.append(independence.go_together(learner.bought.in_order()))
    assert found == [False, True]


def test_of_many_attributes_rows_are_filled_with_means_if_nothing_speaks_against_it():
    """Pairs allow for 0.7 to 1.1 of squared correlations over five seeds: more than is taken for none."""
    X = np.random.default_rng(0).standard_normal((3_000, 200)) * np.arange(1, 201) ** -0.7
    y = X @ np.ones(200)
    learner = bought(X, y, 5, 0)
    cells = learner.bought.in_order()
    assert independence.ALONE < independence.most_in_common(cells, describe(cells)) < independence.FAINT
    assert learner.fitted.facts["families"] == ["mean-imputed"]
    filled = MeanImputed(200, budget=5)._fit(cells).weights[:, 0]
    assert np.mean((X @ learner.coef - y) ** 2) < 1.1 * np.mean((X @ filled - y) ** 2)


def test_of_as_good_regressions_on_filled_rows_the_one_that_errs_least_there_is_taken(monkeypatch):
    X, y = independent(3_000, d=20)
    monkeypatch.setattr(auto_module, "imputed_errors", lambda cells: -np.arange(14.0))
    learner = bought(X, y, 4, 0)
    cells = learner.bought.in_order()
    expected = judge(cells, [imputed_family]).as_good()[-1]
    assert [at for at, c in enumerate(learner.fitted.facts["candidates"]) if c["used"]] == [expected]


def test_known_spreads_are_followed_and_pay():
    """Ten of 200 attributes vary much: told so, a learner asks for little else and learns more."""
    rng = np.random.default_rng(1)
    spreads = np.where(np.arange(200) < 10, 1.0, 0.03)
    X = rng.standard_normal((2_000, 200)) * spreads
    y = X @ np.ones(200)
    errors = []
    for seed in range(3):
        told, untold = (bought(X, y, 4, seed, second_moments=known) for known in (spreads**2, None))
        assert np.mean(told.bought.attributes < 10) > 0.9
        errors.append([np.mean((X @ learner.coef + learner.intercept - y) ** 2) for learner in (told, untold)])
    assert np.mean(errors, axis=0)[0] < 0.5 * np.mean(errors, axis=0)[1]
