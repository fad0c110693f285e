"""What holds for every learner: one algorithm, two drivers; a refused call changes nothing.

The cases are in ``learner_cases.py``. Contracts of online or of keeping learners alone stand at the end.
"""

import numpy as np
import pytest
from scipy import sparse

from learner_cases import (
    ALL,
    CASES,
    KEEPING,
    ONLINE,
    PRICES,
    D,
    N,
    X,
    Y,
    assert_same,
    ceiling,
    label,
    make,
    restored,
    step_by_step,
)
from sparing import learners
from sparing.cells import Cells
from sparing.sources import ArraySource, CallableSource
from sparing.types import Ledger, OverBudget

every_learner = pytest.mark.parametrize("case", ALL, ids=label)
every_online_learner = pytest.mark.parametrize("case", ONLINE, ids=label)
every_keeping_learner = pytest.mark.parametrize("case", KEEPING, ids=label)
_whole: dict = {}


def whole(case):
    """The learner after all rows, made once."""
    if label(case) not in _whole:
        _whole[label(case)] = make(case).run(X, Y)
    return _whole[label(case)]


def test_every_learner_has_a_case():
    offered = {name for name in learners.__all__ if hasattr(getattr(learners, name), "ask")}
    assert offered == set(CASES)
    assert len({label(case) for case in ALL}) == len(ALL) == len(ONLINE) + len(KEEPING)


# One algorithm, two drivers ------------------------------------------------------------------------------------------


@every_learner
def test_run_is_the_ask_and_tell_loop_bit_for_bit(case):
    assert np.abs(whole(case).coef).sum() > 0
    assert_same(whole(case), step_by_step(make(case), X, Y))


@every_learner
def test_weighted_examples_are_told_and_run_alike(case):
    weights = np.linspace(0.5, 1.5, N)
    weighted = make(case).run(X, Y, sample_weight=weights)
    told = make(case)
    for x, y, weight in zip(X, Y, weights, strict=True):
        query = told.ask()
        told.tell(query, x[query.attributes], y, weight=weight)
    assert_same(weighted, told)
    assert_same(weighted, make(case).run(ArraySource(X), Y, sample_weight=weights))
    assert_same(weighted, restored(weighted, weighted.state()))
    assert not np.array_equal(weighted.coef, whole(case).coef)
    if case in KEEPING:
        np.testing.assert_array_equal(make(case).run(X, Y, sample_weight=np.full(N, 0.7)).coef, whole(case).coef)
    else:
        np.testing.assert_array_equal(make(case).run(X, Y, sample_weight=np.ones(N)).coef, whole(case).coef)
    with pytest.raises(ValueError, match="sample_weight has 3 weights"):
        make(case).run(X, Y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"non-negative|not negative"):
        told.tell(told.ask(), np.zeros(told.ask().attributes.size), 0.0, weight=-1.0)


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
    chunked, done = make(case), []
    for first, last in ((0, 1), (1, 11), (11, 13), (13, 60), (60, N)):
        chunked.run(X[first:last], Y[first:last], progress=done.append)
    assert_same(whole(case), chunked)
    assert sum(done) == N


@every_learner
@pytest.mark.parametrize("cut", [0, 7, 24, 77])
def test_restored_goes_on_as_if_uninterrupted(case, cut, tmp_path):
    learner = make(case)
    if cut:
        learner.run(X[:cut], Y[:cut])
    pending = learner.ask()  # also a query that was asked before the learner was saved can be told afterwards
    np.savez(tmp_path / "learner.npz", **learner.state())
    with np.load(tmp_path / "learner.npz") as saved:
        again = restored(learner, saved)
    again.tell(pending, X[cut, pending.attributes], Y[cut])
    assert_same(whole(case), again.run(X[cut + 1 :], Y[cut + 1 :]))


@every_learner
def test_a_state_of_another_class_or_version_is_refused(case):
    state = make(case).state()
    other = learners.AERR if case[0] is not learners.AERR else learners.AELR
    with pytest.raises(ValueError, match=f"restore it with {case[0].__name__}.from_state"):
        other.from_state(state)
    with pytest.raises(ValueError, match="does not know: novelty; restore it with the version"):
        restored(make(case), state | {"setting.novelty": np.asarray(1)})


@every_learner
def test_several_outputs_at_once_agree_with_each_other(case):
    both = make(case, n_outputs=2).run(X, np.column_stack([Y, Y]))
    assert both.coef.shape == (2, D)
    assert np.abs(both.coef).sum() > 0
    np.testing.assert_allclose(both.coef[0], both.coef[1], rtol=1e-6, atol=1e-9)


@every_learner
def test_the_seed_decides(case):
    other = make(case, random_state=6).run(X, Y)
    same = np.array_equal(other.coef, whole(case).coef)
    assert same == getattr(case[0], "reads_everything", False)


@every_learner
def test_before_anything_is_told_the_model_is_zero(case):
    assert not make(case).coef.any()
    assert make(case).intercept == 0.0


# Purchases -----------------------------------------------------------------------------------------------------------


@every_learner
def test_nothing_is_bought_beyond_a_ceiling_twice_or_in_parts(case):
    learner = make(case)
    costs = np.ones(D) if getattr(learner, "costs", None) is None else PRICES
    total = getattr(learner, "total_budget", None) or np.inf
    panels = [{0, 1}, {3, 4, 5}, {10, 11}] if getattr(learner, "groups", None) else []
    ledger = Ledger(per_example=ceiling(learner), total=total, costs=costs)

    class Refusing:
        n_examples, n_attributes = N, D
        cells = 0
        units = 0

        def read(self, example, attributes):
            asked, price = set(attributes.tolist()), ledger.prices[attributes].sum()
            assert len(asked) == len(attributes), "bought twice"
            assert ledger.amount(price) <= ceiling(learner), "over the ceiling"
            assert all(panel <= asked or not panel & asked for panel in panels), "a panel in parts"
            self.cells += len(attributes)
            self.units += price
            assert ledger.amount(self.units) <= total, "over the total"
            return X[example, attributes]

    source = Refusing()
    learner.run(source, Y, ledger=ledger)
    assert learner.cells == source.cells == ledger.cells <= learner.draws
    assert ledger.spent_units == source.units
    if hasattr(learner, "spent"):
        assert learner.spent == ledger.spent
    if total < np.inf:  # the cheapest purchase does not fit any more
        assert ledger.left < ledger.prices[2]
    assert_same(whole(case), learner)


@every_learner
def test_the_ledger_refuses_before_anything_is_read(case):
    class Untouchable(ArraySource):
        def read(self, example, attributes):
            raise AssertionError("read although the ledger had refused")

    learner = make(case)
    with pytest.raises(OverBudget, match="nothing was bought"):
        learner.run(Untouchable(X), Y, ledger=Ledger(per_example=0.1))
    assert learner.n_rounds == learner.cells == 0


# Telling -------------------------------------------------------------------------------------------------------------


@every_learner
def test_a_refused_call_changes_nothing(case):
    learner = make(case, random_state=1).run(X[:20], Y[:20])
    before = learner.state()
    query, zeros = learner.ask(), np.zeros(learner.ask().attributes.size)
    written = learner.ask()
    written.attributes[0] = D
    early = make(case, random_state=1).ask()
    refusals = [
        (query, np.append(zeros, 0.0), 1.0, "one value per attribute"),
        (query, zeros + np.inf, 1.0, "infinite value"),
        (query, zeros, np.nan, "finite target"),
        (query, zeros, [1.0, 2.0], "finite target"),
        (written, zeros, 1.0, "its own queries"),
        (early, np.zeros(early.attributes.size), 1.0, "query of round 0"),
    ]
    if not getattr(learner, "reads_everything", False):
        stranger = make(case, random_state=2).run(X[:20], Y[:20]).ask()
        refusals.append((stranger, np.zeros(stranger.attributes.size), 1.0, "its own queries"))
    for asked, values, y, message in refusals:
        with pytest.raises(ValueError, match=message):
            learner.tell(asked, values, y)
    with pytest.raises(ValueError, match="the source has"):
        learner.run(ArraySource(X[:, :5]), Y)
    after = learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    learner.tell(query, zeros, 1.0)
    with pytest.raises(ValueError, match="query of round 20, but the learner is at round 21"):
        learner.tell(query, zeros, 1.0)


@every_learner
def test_asking_again_gives_the_same_query(case):
    learner = make(case).run(X[:50], Y[:50])
    first, second = learner.ask(), learner.ask()
    assert first.round == second.round == 50
    np.testing.assert_array_equal(first.attributes, second.attributes)


@every_learner
def test_an_unavailable_value_costs_no_more_than_its_round(case):
    learner = make(case).run(X[:20], Y[:20])
    query = learner.ask()
    learner.tell(query, np.full(query.attributes.size, np.nan), Y[20])
    assert learner.n_rounds == 21
    assert np.isfinite(learner.run(X[21:], Y[21:]).coef).all()


# Online learners only ------------------------------------------------------------------------------------------------


@every_online_learner
def test_online_weights_stay_within_the_radius(case):
    learner = make(case, step_scale=50.0)
    order = 2 if learner.penalty == "ridge" else 1
    for x, target in zip(X, Y, strict=True):
        learner.run(x[None], [target])
        for coef in (learner.last_coef, learner.coef):
            assert np.linalg.norm(coef / learner.units, order) <= learner.radius * (1 + 1e-9)


@every_online_learner
def test_online_average_is_the_average_of_all_weights(case):
    learner, weights = make(case, step_scale=5.0), []
    for x, target in zip(X, Y, strict=True):
        weights.append(learner.last_coef)
        learner.run(x[None], [target])
    weights = weights[getattr(learner, "n_pilot", 0) :]  # phase two starts again, from the average of phase one
    lost = 2.0**-32 * learner.radius * learner.units.max()  # long steps may cost the average 20 of its 53 bits
    np.testing.assert_allclose(learner.coef, np.mean(weights, axis=0), rtol=0, atol=lost)


@every_online_learner
def test_online_a_round_without_values_makes_no_step(case):
    learner = make(case).run(X[:60], Y[:60])
    before, query = learner.last_coef, learner.ask()
    learner.tell(query, np.full(query.attributes.size, np.nan), Y[60])
    np.testing.assert_array_equal(learner.last_coef, before)


@every_online_learner
def test_online_draws_belong_to_the_query(case):
    learner = make(case).run(X[:50], Y[:50])
    drawn, query, again = learner.drawn, learner.ask(), learner.drawn
    used = np.unique(np.concatenate([drawn.point, drawn.inner]))
    np.testing.assert_array_equal(used, np.arange(query.attributes.size))
    assert drawn.point.shape == drawn.point_weights.shape
    assert drawn.inner_weights.shape == (drawn.inner.size, 1)
    for array, same in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(array, same)
        array[...] = 0  # a copy: the learner does not see it
    learner.tell(query, X[50, query.attributes], Y[50])
    assert_same(whole(case), learner.run(X[51:], Y[51:]))


@pytest.mark.parametrize("cls", [learners.AERR, learners.AELR])
@pytest.mark.parametrize("offset", [10.0, 1e3, 1e6])
def test_online_centering_makes_offsets_harmless_from_the_first_look_on(cls, offset):
    options = {"budget": 6, "radius": 3.0, "center": True, "step_size": "adaptive"}
    plain = cls(D, **options).run(X, Y)
    moved = cls(D, **options).run(X + offset, Y - offset)
    np.testing.assert_allclose(moved.coef, plain.coef, rtol=0, atol=1e-6 * offset**0.5)


# Keeping learners only -----------------------------------------------------------------------------------------------


@every_keeping_learner
def test_keeping_model_is_that_of_the_cells_wherever_they_were_bought(case):
    shards = [make(case, random_state=seed).run(X[seed::3], Y[seed::3]) for seed in range(3)]
    one, two, three = shards
    merged = one.merge([two, three])
    np.testing.assert_array_equal(merged.coef, three.merge([two, one]).coef)
    np.testing.assert_array_equal(merged.coef, two.merge([one, three]).coef)
    assert merged.n_rounds == N
    assert merged.cells == sum(shard.cells for shard in shards)
    ledgers = [shard.buyer.ledger for shard in shards]
    assert merged.buyer.ledger.spent_units == sum(ledger.spent_units for ledger in ledgers)
    cells = Cells.merge(shard.bought for shard in (two, three, one))
    elsewhere = make(case).fit_cells(cells)
    np.testing.assert_array_equal(merged.coef, elsewhere.coef)
    for learner in (merged, elsewhere):  # and either goes on
        assert learner.run(X[:30], Y[:30]).n_rounds == N + 30
    assert cells.n_examples == N


@every_keeping_learner
def test_keeping_an_unavailable_value_is_paid_for_and_not_kept(case):
    learner = make(case).run(X[:20], Y[:20])
    kept, cells, units = len(learner.bought), learner.cells, learner.buyer.ledger.spent_units
    query = learner.ask()
    values = X[20, query.attributes]
    values[0] = np.nan
    learner.tell(query, values, Y[20])
    assert learner.cells == cells + query.attributes.size
    assert len(learner.bought) == kept + query.attributes.size - 1
    ledger = learner.buyer.ledger
    assert ledger.spent_units == units + ledger.price(query.attributes)
