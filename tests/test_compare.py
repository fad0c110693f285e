"""The engine behind ``sparing compare``."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sparing import learners
from sparing.compare import ALGORITHMS, LINE_UPS, algorithm_names, compare
from sparing.compare.data import LARGEST_ERROR, Data
from sparing.compare.result import Comparison, Row
from sparing.compare.running import cautious_mean, seed_of_repetition
from sparing.datasets import make_power_law


@pytest.fixture(scope="module")
def steep():
    """Attributes that fall off as 1/i^2: where second moments help most."""
    made = make_power_law(8000, 100, exponent=-2.0, random_state=3)
    return made.data, made.target


@pytest.fixture(scope="module")
def ridge(steep):
    """All but those that choose among models, which take most of the time: they are in the small comparison."""
    names = [name for name in LINE_UPS["ridge"] if not name.startswith("Auto")]
    return compare(*steep, budget=5, algorithms=names, seeds=6, points=3, scale=False)


@pytest.fixture(scope="module")
def small(steep):
    return compare(steep[0][:400, :12], steep[1][:400], budget=5, seeds=2, points=2, scale=False)


def test_known_moments_beat_uniform_looks_on_steep_data(ridge):
    # the theory promises a gap of sqrt(1/improvement ratio); two deviations of a mean of 6 are far less
    uniform, informed = ridge.curve("AERR")[-1], ridge.curve("DDAERR")[-1]
    assert informed.error + 2 * informed.deviation / np.sqrt(6) < 0.75 * uniform.error


def test_error_falls_with_spend_and_beats_the_zero_predictor(ridge):
    for name in ridge.algorithms:
        curve = ridge.curve(name)
        assert curve[-1].error < curve[0].error
        assert curve[-1].error < 0.6


def test_nobody_buys_more_than_allowed(ridge, small):
    assert {row.algorithm for row in small.rows} == set(LINE_UPS["ridge"])
    for result in (ridge, small):
        for row in result.rows:
            assert 0 < row.cells <= min(row.draws, row.allowance)
            each = result.n_attributes if ALGORITHMS[row.algorithm].whole_rows else result.budget
            assert row.examples == row.allowance // each
            assert row.draws >= row.examples * (each // 2)  # the inner product needs no looks while all weights are 0
        assert max(row.allowance for row in result.rows) == result.budget * result.n_train


def test_same_seed_same_rows_whatever_the_threads(steep):
    X, y = steep[0][:1000], steep[1][:1000]
    options = {"budget": 5, "algorithms": ["AERR", "Ridge"], "seeds": 2, "points": 2}
    first = compare(X, y, jobs=1, **options)
    assert first.rows == compare(X, y, jobs=2, **options).rows
    assert first.rows != compare(X, y, random_state=1, **options).rows


def test_neighbouring_seeds_share_no_repetition():
    assert len({seed_of_repetition(seed, repetition) for seed in range(20) for repetition in range(20)}) == 400


def test_a_row_is_what_the_learner_itself_gives(steep):
    """Rebuild one run by hand from the split, the chosen setting and the order of its repetition."""
    X, y = steep
    result = compare(X, y, budget=4, algorithms=["AERR"], seeds=2, points=1, scale=False, random_state=5)
    row = result.rows[1]
    seed = seed_of_repetition(5, row.repetition)
    data = Data.split(X, y, 4, 0.25, False, seed)
    learner = learners.AERR(
        100,
        budget=4,
        split="even",
        radius=row.radius,
        step_scale=row.strength,
        norm_bound=np.sqrt((data.X**2).sum(axis=1).mean()),
        random_state=seed,
    ).run(data.X, data.y)
    error = np.mean((data.X_test @ learner.coef - data.y_test) ** 2) / np.mean(data.y_test**2)
    assert row.error == pytest.approx(error, rel=1e-6)
    assert (row.cells, row.draws) == (learner.cells, learner.draws)


def test_test_rows_choose_nothing(steep):
    """The chosen settings do not change when the test targets do."""
    X, y = steep[0][:1000], steep[1][:1000]
    data = Data.split(X, y, 5, 0.25, True, 0)
    chosen = data.tune("DDAERR", 3000)
    spoilt = Data(data.X, data.y, data.X_test, -50 * data.y_test, 5, 0)
    assert spoilt.tune("DDAERR", 3000) == chosen


def test_scale_of_target_and_attributes_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 12))
    y = X @ rng.normal(size=12) + rng.normal(size=1500)
    options = {"budget": 4, "algorithms": ["AERR", "AELR", "Ridge", "Lasso"], "seeds": 2, "points": 1}
    plain = compare(X, y, **options)
    scaled = compare(1e3 * X + 7, 1e5 * y - 3e6, **options)
    for one, other in zip(plain.rows, scaled.rows, strict=True):
        assert other.error == pytest.approx(one.error, rel=1e-3)


def test_lasso_line_up_and_mixed_families(steep):
    X, y = steep[0][:2500], steep[1][:2500]
    result = compare(X[:400, :12], y[:400], budget=6, penalty="lasso", seeds=1, points=1)
    assert result.algorithms == list(LINE_UPS["lasso"])
    mixed = compare(X, y, budget=6, algorithms=["aer", "DDAERR"], seeds=2, points=2)
    assert all(mixed.curve(name)[-1].error < 1 for name in ("AER", "DDAERR"))


def test_sparse_data_stay_sparse_and_agree_with_dense(steep):
    X, y = steep[0][:600, :20], steep[1][:600]
    names = [name for name in LINE_UPS["ridge"] if name != "AutoLearner"]  # AutoCurves reads rows as it does
    options = {"budget": 5, "seeds": 1, "points": 2, "scale": False, "algorithms": names}
    dense, csr = compare(X, y, **options), compare(sparse.csr_array(X), y, **options)
    for one, other in zip(dense.rows, csr.rows, strict=True):
        assert one[:6] == other[:6]
        if one.algorithm != "Ridge":  # scikit-learn solves sparse problems another way
            assert other.error == pytest.approx(one.error, rel=1e-6)
    assert compare(sparse.csr_array(X), y, budget=5, seeds=1, points=1, algorithms=["AERR"]).rows


def test_reading_says_what_the_numbers_say(ridge):
    few = [name for name in ridge.algorithms if not ALGORITHMS[name].whole_rows]
    best = min(few, key=lambda name: ridge.curve(name)[-1].error)
    reading = ridge.reading()
    assert f"{ALGORITHMS[best].label} came to {ridge.curve(best)[-1].error:.3g}" in reading
    assert reading.startswith("At the largest spend, ")
    assert reading.endswith(".")
    assert any("exact second moments" in note for note in ridge.notes())


def test_reading_claims_nothing_within_the_noise():
    rng = np.random.default_rng(1)
    X, noise = rng.normal(size=(600, 20)), rng.normal(size=600)
    options = {"budget": 4, "algorithms": ["AERR", "DDAERR"], "seeds": 5, "points": 1}
    assert "no algorithm did better than the zero predictor" in compare(X, noise, **options).reading()
    assert "is not decided" in compare(X, X[:, 0] + 0.1 * noise, **options).reading()


def comparison(errors, n_test=100):
    """A comparison of these errors of AERR and DDAERR at the only spend, one for each split."""
    rows = [
        Row(name, 9.0, at, 9, 9, 9, error, 1.0, 1.0)
        for name, of in zip(("AERR", "DDAERR"), errors, strict=True)
        for at, error in enumerate(of)
    ]
    return Comparison(rows, ["AERR", "DDAERR"], 300, n_test, 20, 4, 0.5)


def test_differences_are_paired_and_compared_with_their_standard_error():
    """The variance of a mean of three: a third of that of the differences, and another third for overlaps."""
    varied = np.array([0.1, 0.5, 0.9])
    far = comparison([varied, varied + np.array([0.02, 0.03, 0.07])])
    assert far.rows[-1].error > 0.9
    assert not far.indistinguishable("AERR", "DDAERR")  # the deviation of each is ten times the difference
    assert "the best of these; DDAERR ended at" in far.reading()
    gaps = np.array([0.04 - np.sqrt(0.0008), 0.04, 0.04 + np.sqrt(0.0008)])
    error = np.sqrt(0.0008 * 2 / 3)
    assert not comparison([varied, varied + gaps + 1.01 * error - 0.04]).indistinguishable("AERR", "DDAERR")
    near = comparison([varied, varied + gaps + 0.99 * error - 0.04])
    assert near.indistinguishable("AERR", "DDAERR")
    assert near.reading().endswith("and whether it is better than DDAERR is not decided.")
    assert comparison([[0.1], [0.9]]).indistinguishable("AERR", "DDAERR")  # one split has no standard error


def test_every_repetition_has_a_test_set_of_its_own():
    """They shared one, so that the deviation left out what the split decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.standard_t(3, size=200)
    options = {"budget": 2, "algorithms": ["Ridge"], "points": 1, "test_fraction": 0.75 / 3}
    errors = [row.error for row in compare(X, y, seeds=4, **options).rows]
    seeds = [seed_of_repetition(0, repetition) for repetition in range(4)]
    tests = [Data.split(X, y, 2, 0.25, True, seed).y_test for seed in seeds]
    assert len({tuple(sorted(test - test.mean())) for test in tests}) == 4
    for error, seed in zip(errors, seeds, strict=True):
        data = Data.split(X, y, 2, 0.25, True, seed)
        m = len(data.y) * 2 // 3
        fitted = ALGORITHMS["Ridge"].make(data.setting(ALGORITHMS["Ridge"], 1.0, 1.0, seed)).fit(data.X[:m], data.y[:m])
        assert error == pytest.approx(
            np.mean((fitted.predict(data.X_test) - data.y_test) ** 2) / np.mean(data.y_test**2)
        )


def test_holes_are_filled_with_means_of_the_training_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 0.0]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = np.nan
    data = Data.split(X, y, 2, 0.25, False, 0)
    order = np.random.default_rng(0).permutation(200)
    test, train = X[order[:50]], X[order[50:]]
    filled = np.isnan(test[:, 0])
    assert filled.any()
    assert data.X_test[filled, 0] == pytest.approx(np.nanmean(train[:, 0]))
    assert not data.X[:, 2].any()
    np.testing.assert_array_equal(data.X[~np.isnan(train)], train[~np.isnan(train)])
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="X contains infinity; put numbers there"):
        Data.split(X, y, 2, 0.25, False, 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("prediction", [1e200, np.nan, np.inf])
def test_a_run_that_diverges_has_a_large_error_and_prints_nothing(monkeypatch, prediction):
    """NumPy warned of an overflow in square."""

    class Diverging:
        def fit(self, X, y):
            pass

        def predict(self, X):
            return np.full(X.shape[0], prediction)

    monkeypatch.setitem(ALGORITHMS, "Ridge", replace(ALGORITHMS["Ridge"], make=lambda _: Diverging()))
    X = np.random.default_rng(0).normal(size=(200, 3))
    made = compare(X, X[:, 0], budget=2, algorithms=["Ridge"], seeds=2, points=1)
    assert [row.error for row in made.rows] == [LARGEST_ERROR] * 2
    assert made.curve("Ridge")[0].deviation == 0
    assert cautious_mean([1e200, 2e200]) == np.inf


def test_reading_says_where_whole_rows_are_better():
    X = np.random.default_rng(2).normal(size=(600, 6))
    reading = compare(X, X @ np.arange(1.0, 7.0), budget=2, algorithms=["AERR", "Ridge"], seeds=2, points=1).reading()
    assert reading.startswith("At the largest spend, whole rows, where they are available, were better here")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_in_the_registry_under_its_public_name(name):
    assert algorithm_names([name.lower()]) == [name]
    assert hasattr(learners, name) or name in ("Ridge", "Lasso", "Trees", "AutoLasso", "AutoCurves")
    assert ALGORITHMS[name].colour.startswith("#")


def test_no_two_algorithms_look_alike():
    looks = [(one.colour, one.marker, one.penalty) for one in ALGORITHMS.values()]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 101}, "budget is 101"),
        ({"algorithms": ["AERR", "SGD"]}, "got 'SGD'; choose from AutoLearner"),
        ({"algorithms": []}, "unknown algorithm"),
        ({"penalty": "elastic"}, "penalty must be one of"),
        ({"test_fraction": 1.5}, "test_fraction must lie"),
        ({"seeds": 0}, "seeds must be a whole number"),
    ],
)
def test_wrong_options_are_refused(steep, change, message):
    with pytest.raises(ValueError, match=message):
        compare(*steep, **({"budget": 5, "seeds": 1, "points": 1} | change))


def test_data_without_anything_to_learn_are_refused(steep):
    X, y = steep
    with pytest.raises(ValueError, match=r"60 rows are too few: .* pass 1\d\d or more"):
        compare(X[:60], y[:60], budget=5)
    with pytest.raises(ValueError, match="target is constant"):
        compare(X, np.full(len(y), 0.1), budget=5)
    with pytest.raises(ValueError, match="every attribute is constant"):
        compare(np.ones_like(X), y, budget=5)


# Money --------------------------------------------------------------------------------------------------------------


def test_with_prices_allowances_are_money_and_whole_rows_cost_what_they_cost():
    rng = np.random.default_rng(0)
    X, costs = rng.standard_normal((400, 5)), np.array([1.0, 2.5, 4.0, 0.5, 2.0])
    y = X @ [1.0, 0.5, 0.0, 1.0, 0.0] + rng.standard_normal(400)
    made = compare(X, y, budget=4.0, costs=costs, algorithms=["PairwiseMoments", "Ridge"], seeds=2, points=3)
    assert made.priced
    assert max(row.allowance for row in made.rows) == 4.0 * 300
    for row in made.rows:
        assert row.spent <= row.allowance + 1e-9
        if row.algorithm == "Ridge":
            assert row.examples == int(row.allowance / costs.sum() + 1e-9)
            assert row.spent == row.examples * costs.sum()
        else:
            assert row.examples == row.allowance / 4.0
            assert row.spent > 0.6 * row.allowance
    assert made.curve("Ridge")[-1].cells == made.rows[-1].spent
    assert "a budget of 4 per example" in made.notes()[0]
    assert "spending 4 per example" in made.reading()


def test_equal_prices_of_one_are_no_prices():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    options = {"algorithms": ["PairwiseMoments", "Ridge"], "seeds": 2, "points": 2}
    plain = compare(X, X[:, 0], budget=3, **options)
    priced = compare(X, X[:, 0], budget=3, costs=np.ones(6), **options)
    assert [row.error for row in priced.rows] == [row.error for row in plain.rows]
    assert [row.spent for row in plain.rows] == [row.cells for row in plain.rows]


def test_algorithms_without_prices_are_left_out_or_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    with pytest.raises(ValueError, match="AERR knows no prices; leave it out"):
        compare(X, X[:, 0], budget=3.0, costs=np.ones(4), algorithms=["Ridge", "AERR"])
    made = compare(X, X[:, 0], budget=3.0, costs=np.ones(4), seeds=1, points=1)
    assert made.algorithms == ["AutoCurves", "AutoLearner", "MeanImputed", "OnlineRidge", "Ridge", "Trees"]
    with pytest.raises(ValueError, match="budget"):
        compare(X, X[:, 0], budget=0.5, costs=np.ones(4))
