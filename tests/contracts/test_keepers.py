"""What holds for every learner that keeps what it buys: one algorithm, two drivers; the model is that of the cells."""

import numpy as np
import pytest
from scipy import sparse

from sparing.cells import Cells
from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.sources import ArraySource, CallableSource
from sparing.types import Ledger, OverBudget

D, N = 12, 120
RNG = np.random.default_rng(7)
X = np.round(RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7) * np.linspace(2.0, 0.2, D), 2)
Y = X @ RNG.standard_normal(D) + 0.5
PRICES = np.linspace(0.3, 2.1, D) ** 1.1  # sums of these depend on their order
PANELS = ["a", "a", None, "b", "b", "b", None, "", None, None, "c", "c"]
MONEY = {"costs": PRICES, "groups": PANELS, "budget": 4.7, "total_budget": 400.3}

CASES = [
    (PairwiseMoments, {}),
    (PairwiseMoments, {"ridge": 0.5, "design": "uniform"}),
    (PairwiseMoments, {"penalty": "lasso"}),
    (PairwiseMoments, MONEY),
    (PairwiseMoments, {"second_moments": np.linspace(0.1, 2.0, D)}),
    (FactorModel, {"rank": 5, "rounds": 8}),
    (FactorModel, {"rank": "full", "rounds": 6, "costs": PRICES, "budget": 4.7}),
    (FactorModel, {"rank": 5, "rounds": 8} | MONEY),
    (AutoLearner, MONEY),
]


def label(case):
    cls, options = case
    words = [f"{name}-{options[name]}" for name in ("ridge", "rank", "penalty") if name in options]
    return "-".join(
        [cls.__name__, *words, *[name for name in ("costs", "groups", "second_moments") if name in options]]
    )


def make(case, **more):
    cls, options = case
    return cls(D, **({"budget": 4, "n_examples": N, "random_state": 5} | options | more))


def assert_same(left, right):
    left_state, right_state = left.state(), right.state()
    assert left_state.keys() == right_state.keys()
    for name in left_state:
        np.testing.assert_array_equal(left_state[name], right_state[name], err_msg=name)
    np.testing.assert_array_equal(left.coef, right.coef)
    assert left.intercept == right.intercept


def step_by_step(learner, X, y):
    for x, target in zip(X, y, strict=True):
        query = learner.ask()
        learner.tell(query, x[query.attributes], target)
    return learner


every_learner = pytest.mark.parametrize("case", CASES, ids=label)
_whole: dict = {}


def whole(case):
    """The learner after all rows, made once."""
    return _whole.setdefault(label(case), make(case).run(X, Y))


# One algorithm, two drivers -----------------------------------------------------------------------------------------


@every_learner
def test_run_is_the_ask_and_tell_loop_bit_for_bit(case):
    assert np.abs(whole(case).coef).sum() > 0
    assert_same(whole(case), step_by_step(make(case), X, Y))


@every_learner
def test_layout_and_source_do_not_matter(case, tmp_path):
    np.save(tmp_path / "X.npy", X)
    layouts = [
        sparse.csr_array(X),
        np.asfortranarray(X),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        ArraySource(sparse.csr_array(X)),
        CallableSource(lambda example, attributes: X[example, attributes], n_examples=N, n_attributes=D),
    ]
    for layout in layouts:
        assert_same(whole(case), make(case).run(layout, Y))


@every_learner
def test_single_precision_is_read_as_it_is(case):
    single = X.astype(np.float32)
    assert_same(make(case).run(single, Y), make(case).run(single.astype(np.float64), Y))


@every_learner
def test_chunks_of_any_size_give_the_whole(case):
    chunked = make(case)
    for first, last in ((0, 1), (1, 23), (23, 25), (25, 60), (60, N)):
        chunked.run(X[first:last], Y[first:last])
    assert_same(whole(case), chunked)


@every_learner
@pytest.mark.parametrize("cut", [0, 24, 77])
def test_restored_goes_on_as_if_uninterrupted(case, cut, tmp_path):
    learner = make(case)
    if cut:
        learner.run(X[:cut], Y[:cut])
    np.savez(tmp_path / "learner.npz", **learner.state())
    with np.load(tmp_path / "learner.npz") as saved:
        restored = type(learner).from_state(dict(saved))
    assert_same(whole(case), restored.run(X[cut:], Y[cut:]))


@every_learner
def test_the_model_is_that_of_the_cells_wherever_they_were_bought(case):
    shards = [make(case, random_state=seed).run(X[seed::3], Y[seed::3]) for seed in range(3)]
    one, two, three = shards
    merged = one.merge([two, three])
    np.testing.assert_array_equal(merged.coef, three.merge([two, one]).coef)
    np.testing.assert_array_equal(merged.coef, two.merge([one, three]).coef)
    assert merged.n_rounds == N
    assert merged.cells == sum(shard.cells for shard in shards)
    assert merged.spent == pytest.approx(sum(shard.spent for shard in shards))
    cells = Cells.merge(shard.bought for shard in (two, three, one))
    elsewhere = make(case).fit_cells(cells)
    np.testing.assert_array_equal(merged.coef, elsewhere.coef)
    for learner in (merged, elsewhere):  # and either goes on
        assert learner.run(X[:30], Y[:30]).n_rounds == N + 30
    assert cells.n_examples == N


# Money --------------------------------------------------------------------------------------------------------------


@every_learner
def test_nothing_is_bought_beyond_a_ceiling_twice_or_in_parts(case):
    learner = make(case)
    costs = np.ones(D) if learner.costs is None else PRICES
    per_example, total = learner.budget, learner.total_budget or np.inf
    panels = [] if learner.groups is None else [{0, 1}, {3, 4, 5}, {10, 11}]

    class Refusing:
        n_examples, n_attributes = N, D
        cells = 0
        spent = 0.0

        def read(self, example, attributes):
            asked = set(attributes.tolist())
            assert len(asked) == len(attributes), "bought twice"
            assert costs[attributes].sum() <= per_example * (1 + 1e-9), "over the ceiling"
            assert all(panel <= asked or not panel & asked for panel in panels), "a panel in parts"
            self.cells += len(attributes)
            self.spent += costs[attributes].sum()
            assert self.spent <= total * (1 + 1e-9), "over the total"
            return X[example, attributes]

    source, ledger = Refusing(), Ledger(per_example=per_example, total=total, costs=costs)
    learner.run(source, Y, ledger=ledger)
    assert learner.cells == learner.draws == source.cells == ledger.cells
    assert learner.spent == pytest.approx(source.spent) == pytest.approx(ledger.spent)
    assert_same(whole(case), learner)
    if total < np.inf:  # of which the cheapest thing does not fit any more
        assert total - learner.spent < PRICES[2]


@every_learner
def test_the_ledger_refuses_before_anything_is_read(case):
    class Untouchable(ArraySource):
        def read(self, example, attributes):
            raise AssertionError("read although the ledger had refused")

    learner = make(case)
    with pytest.raises(OverBudget, match="nothing was bought"):
        learner.run(Untouchable(X), Y, ledger=Ledger(per_example=0.1))
    assert learner.n_rounds == learner.cells == learner.spent == 0


# Telling ------------------------------------------------------------------------------------------------------------


@every_learner
def test_a_refused_tell_changes_nothing(case):
    learner = make(case, random_state=1).run(X[:20], Y[:20])
    before = learner.state()
    query, zeros = learner.ask(), np.zeros(learner.ask().attributes.size)
    stranger = make(case, random_state=2).run(X[:20], Y[:20]).ask()
    early = make(case, random_state=1).ask()
    refusals = [
        (query, np.append(zeros, 0.0), 1.0, "one value per attribute"),
        (query, zeros + np.inf, 1.0, "infinite value"),
        (query, zeros, np.nan, "finite target"),
        (query, zeros, [1.0, 2.0], "finite target"),
        (stranger, np.zeros(stranger.attributes.size), 1.0, "its own queries"),
        (early, np.zeros(early.attributes.size), 1.0, "query of round 0"),
    ]
    for asked, values, y, message in refusals:
        with pytest.raises(ValueError, match=message):
            learner.tell(asked, values, y)
        after = learner.state()
        assert all(np.array_equal(before[name], after[name]) for name in before)
    learner.tell(query, zeros, 1.0)
    with pytest.raises(ValueError, match="query of round 20, but the learner is at round 21"):
        learner.tell(query, zeros, 1.0)


@every_learner
def test_nan_told_is_paid_for_and_not_kept(case):
    learner = make(case).run(X[:20], Y[:20])
    kept, cells, spent = len(learner.bought), learner.cells, learner.spent
    query = learner.ask()
    values = X[20, query.attributes]
    values[0] = np.nan
    learner.tell(query, values, Y[20])
    assert learner.cells == cells + query.attributes.size
    assert len(learner.bought) == kept + query.attributes.size - 1
    costs = np.ones(D) if learner.costs is None else PRICES
    assert learner.spent == pytest.approx(spent + costs[query.attributes].sum())
    assert np.isfinite(learner.run(X[21:], Y[21:]).coef).all()


@every_learner
def test_asking_again_gives_the_same_query_and_the_seed_decides(case):
    learner = make(case).run(X[:50], Y[:50])
    first, second = learner.ask(), learner.ask()
    assert first.round == second.round == 50
    np.testing.assert_array_equal(first.attributes, second.attributes)
    other = make(case, random_state=6).run(X, Y)
    assert not np.array_equal(other.bought.attributes[:50], whole(case).bought.attributes[:50])


@every_learner
def test_before_anything_is_told_the_model_is_zero(case):
    learner = make(case)
    assert not learner.coef.any()
    assert learner.intercept == 0.0


@every_learner
def test_progress_and_several_outputs(case):
    done = []
    both = make(case, n_outputs=2).run(X, np.column_stack([Y, Y]), progress=done.append)
    assert sum(done) == N
    assert both.coef.shape == (2, D)
    np.testing.assert_allclose(both.coef[0], both.coef[1], rtol=1e-6, atol=1e-9)
