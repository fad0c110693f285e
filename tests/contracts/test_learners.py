"""What holds for every online learner: one algorithm, two drivers; a refused call changes nothing."""

import numpy as np
import pytest
from scipy import sparse

from sparing.geometry import second_moments
from sparing.learners import (
    AELR,
    AER,
    AERR,
    AESVR,
    DDAELR,
    DDAERR,
    OnlineLasso,
    OnlineRidge,
    PlugInSVR,
    TwoPhasedDDAELR,
    TwoPhasedDDAERR,
)
from sparing.sources import ArraySource
from sparing.types import Ledger, OverBudget

D, N = 30, 400
RNG = np.random.default_rng(7)
X = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.4) * np.linspace(2.0, 0.05, D)
Y = X @ RNG.standard_normal(D) + 0.5
MOMENTS = second_moments(X)

FEW = [
    (AERR, {}),
    (AERR, {"center": True, "split": "even"}),
    (AERR, {"inner": "absolute", "step_size": "adagrad"}),
    (DDAERR, {"second_moments": MOMENTS}),
    (DDAERR, {"second_moments": MOMENTS, "inner": "improved", "split": "even", "step_size": "adaptive"}),
    (TwoPhasedDDAERR, {}),
    (TwoPhasedDDAERR, {"warm_start": False, "epsilon": "theory", "floor": 0, "half_norm": 9.0, "norm_bound": 9.0}),
    (TwoPhasedDDAERR, {"center": True, "inner": "improved", "split": "even", "step_size": "adaptive"}),
    (AELR, {}),
    (AELR, {"center": True, "split": "even", "step_size": "adagrad"}),
    (DDAELR, {"second_moments": MOMENTS}),
    (DDAELR, {"second_moments": MOMENTS, "inner": "improved", "step_size": "adaptive"}),
    (TwoPhasedDDAELR, {"pilot": 50}),
    (TwoPhasedDDAELR, {"inner": "improved", "split": "even", "epsilon": 0.01, "warm_start": False}),
    (DDAERR, {"second_moments": MOMENTS, "scale": np.sqrt(MOMENTS) + 0.1, "center": True, "floor": 0.1}),
    (AER, {"alpha": 0.5}),
    (AESVR, {"estimator": "plug-in"}),
    (PlugInSVR, {"second_moments": MOMENTS, "inner": "improved"}),
]
ALL = [*FEW, (OnlineRidge, {}), (OnlineRidge, {"center": True, "step_size": "adaptive"}), (OnlineLasso, {})]


def label(case):
    cls, options = case
    return cls.__name__ + "".join(f"-{value}" for value in options.values() if isinstance(value, str | bool | int))


def make(case, **more):
    cls, options = case
    budget = {} if cls in (OnlineRidge, OnlineLasso) else {"budget": 6}
    if cls is AER:  # its steps are long enough
        more.pop("step_scale", None)
    return cls(D, **({"radius": 3.0, "n_examples": N, "random_state": 5} | budget | options | more))


def snapshot(learner):
    return {name: array for name, array in learner.state().items() if not name.startswith("setting")}


def assert_same(left, right):
    left, right = snapshot(left), snapshot(right)
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def step_by_step(learner, X, y):
    for x, target in zip(X, y, strict=True):
        query = learner.ask()
        learner.tell(query, x[query.attributes], target)
    return learner


every_learner = pytest.mark.parametrize("case", ALL, ids=label)
every_frugal_learner = pytest.mark.parametrize("case", FEW, ids=label)


@every_learner
def test_run_is_the_ask_and_tell_loop_bit_for_bit(case):
    assert_same(make(case).run(X, Y), step_by_step(make(case), X, Y))


@every_learner
def test_dense_is_sparse_bit_for_bit(case):
    assert_same(make(case).run(X, Y), make(case).run(sparse.csr_array(X), Y))


@every_learner
def test_layout_and_source_do_not_matter(case):
    expected = make(case).run(X, Y)
    assert_same(expected, make(case).run(np.asfortranarray(X), Y))
    assert_same(expected, make(case).run(ArraySource(X), Y))
    assert_same(expected, make(case).run(ArraySource(sparse.csr_array(X)), Y))


@every_learner
def test_single_precision_is_read_as_it_is(case):
    single = X.astype(np.float32)
    assert_same(make(case).run(single, Y), make(case).run(single.astype(np.float64), Y))


@every_learner
def test_chunks_of_any_size_give_the_whole(case):
    chunked = make(case)
    for first, last in ((0, 1), (1, 39), (39, 41), (41, 200), (200, N)):
        chunked.run(X[first:last], Y[first:last])
    assert_same(chunked, make(case).run(X, Y))


@every_learner
@pytest.mark.parametrize("cut", [0, 17, 40, 250])
def test_restored_goes_on_as_if_uninterrupted(case, cut, tmp_path):
    learner = make(case)
    if cut:
        learner.run(X[:cut], Y[:cut])
    np.savez(tmp_path / "learner.npz", **learner.state())
    with np.load(tmp_path / "learner.npz") as saved:
        restored = type(learner).from_state(dict(saved))
    assert_same(restored.run(X[cut:], Y[cut:]), make(case).run(X, Y))


@every_learner
def test_several_outputs_at_once_agree_with_each_other(case):
    both = make(case, n_outputs=2).run(X, np.column_stack([Y, Y]))
    assert both.coef.shape == (2, D)
    np.testing.assert_array_equal(both.coef[0], both.coef[1])
    assert np.abs(both.coef).sum() > 0


@every_learner
def test_weights_stay_within_the_radius(case):
    learner = make(case, step_scale=50.0)
    order = 2 if learner.penalty == "ridge" else 1
    for x, target in zip(X[:100], Y[:100], strict=True):
        learner.run(x[None], [target])
        for coef in (learner.last_coef, learner.coef):
            assert np.linalg.norm(coef / learner.units, order) <= 3.0 * (1 + 1e-9)


@every_learner
def test_average_is_the_average_of_all_weights(case):
    learner, weights = make(case, step_scale=20.0), []
    for x, target in zip(X[200:], Y[200:], strict=True):
        weights.append(learner.last_coef)
        counted = learner.n_rounds
        learner.run(x[None], [target])
    if hasattr(learner, "n_pilot"):  # phase two starts anew, from the average of phase one
        weights = weights[learner.n_pilot :]
        counted -= learner.n_pilot
    assert len(weights) == counted + 1
    np.testing.assert_allclose(learner.coef, np.mean(weights, axis=0), rtol=0, atol=1e-10)


@every_frugal_learner
def test_a_read_beyond_the_budget_is_never_made(case):
    class Refusing:
        """Counts every cell, refuses a repeated one and any purchase over the budget."""

        n_examples, n_attributes = N, D
        cells = 0

        def read(self, example, attributes):
            assert len(attributes) <= 6, "over budget"
            assert len(set(attributes)) == len(attributes), "bought twice"
            self.cells += len(attributes)
            return X[example, attributes]

    source, ledger = Refusing(), Ledger(per_example=6)
    again = Ledger(per_example=6)
    make(case).run(X, Y, ledger=again)
    learner = make(case).run(source, Y, ledger=ledger)
    assert learner.cells == source.cells == ledger.cells == again.cells == int(ledger.spent)
    assert learner.cells <= learner.draws <= 6 * N
    assert_same(learner, make(case).run(X, Y))


@every_frugal_learner
def test_the_ledger_refuses_before_anything_is_read(case):
    class Untouchable(ArraySource):
        def read(self, example, attributes):
            raise AssertionError("read although the ledger had refused")

    learner = make(case)
    with pytest.raises(OverBudget, match="nothing was bought"):
        learner.run(Untouchable(X), Y, ledger=Ledger(per_example=1))
    assert learner.n_rounds == learner.cells == 0


@every_learner
def test_asking_again_gives_the_same_query(case):
    learner = make(case).run(X[:50], Y[:50])
    first, second = learner.ask(), learner.ask()
    assert first.round == second.round == 50
    for name in ("attributes", "point", "point_weights", "inner", "inner_weights"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@every_learner
@pytest.mark.parametrize(
    ("values", "y", "message"),
    [
        (lambda query: np.zeros(query.attributes.size + 1), 1.0, "one value per attribute"),
        (lambda query: np.full(query.attributes.size, np.inf), 1.0, "infinite"),
        (lambda query: np.zeros(query.attributes.size), np.nan, "finite target"),
        (lambda query: np.zeros(query.attributes.size), [1.0, 2.0], "finite target"),
    ],
)
def test_a_refused_tell_changes_nothing(case, values, y, message):
    learner = make(case).run(X[:20], Y[:20])
    before = learner.state()
    query = learner.ask()
    with pytest.raises(ValueError, match=message):
        learner.tell(query, values(query), y)
    after = learner.state()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


@every_learner
def test_a_query_is_told_once(case):
    learner = make(case)
    query = learner.ask()
    learner.tell(query, X[0, query.attributes], Y[0])
    with pytest.raises(ValueError, match="query of round 0"):
        learner.tell(query, X[0, query.attributes], Y[0])


@every_frugal_learner
def test_nan_told_is_a_value_that_could_not_be_had(case):
    learner = make(case).run(X[:60], Y[:60])
    before = learner.last_coef
    query = learner.ask()
    values = X[60, query.attributes].copy()
    values[:] = np.nan
    learner.tell(query, values, Y[60])
    np.testing.assert_array_equal(learner.last_coef, before)
    assert learner.n_rounds == 61
    assert np.isfinite(learner.run(X[61:], Y[61:]).coef).all()


@every_learner
def test_the_seed_decides(case):
    one, same, other = (make(case, random_state=seed).run(X, Y) for seed in (1, 1, 2))
    assert_same(one, same)
    if not one.reads_everything:
        assert not np.array_equal(one.coef, other.coef)


@every_learner
def test_progress_counts_the_rows(case):
    done = []
    make(case).run(X, Y, progress=done.append)
    assert sum(done) == N


@every_learner
def test_other_queries_and_sources_are_refused(case):
    learner = make(case)
    query = learner.ask()
    query.attributes[0] = D
    with pytest.raises(ValueError, match="its own queries"):
        learner.tell(query, np.zeros(query.attributes.size), 0.0)
    with pytest.raises(ValueError, match="the source has"):
        learner.run(ArraySource(X[:, :5]), Y)
    assert learner.n_rounds == 0


@pytest.mark.parametrize("cls", [AERR, AELR])
@pytest.mark.parametrize("offset", [10.0, 1e3, 1e6])
def test_centring_makes_offsets_harmless_from_the_first_look_on(cls, offset):
    options = {"budget": 6, "radius": 3.0, "center": True, "step_size": "adaptive"}
    plain = cls(D, **options).run(X, Y)
    moved = cls(D, **options).run(X + offset, Y - offset)
    np.testing.assert_allclose(moved.coef, plain.coef, rtol=0, atol=1e-6 * offset**0.5)
