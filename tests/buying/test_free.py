"""Free attributes are part of every purchase; unavailable values are paid for or refunded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shops import QUARTERS, random_shares, shops
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.learners import AutoLearner, PairwiseMoments
from sparing.sources import ArraySource
from sparing.types import Ledger

few = settings(max_examples=40, deadline=None)
COSTS = np.array([0.0, 2.0, 1.0, 0.0, 3.0, 1.0])


def rows(n=60, d=6, holes=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.arange(d)
    return np.where(rng.uniform(size=X.shape) < holes, np.nan, X), y


@few
@given(shops(st.one_of(st.just(0.0), QUARTERS)), st.integers(0, 10**6))
def test_what_is_free_is_in_every_query_and_the_rest_is_bought_as_without_it(case, seed):
    """Panels of which no member has a price are free; draws of the others are those of a shop without them."""
    options, panels = case
    options["budget"] = max(options["budget"], 0.25)
    prices = {label: options["costs"][members].sum() for label, members in panels.items()}
    free = sorted(i for label, members in panels.items() if prices[label] == 0 for i in members)
    if not free and min(prices.values()) > options["budget"]:
        return
    shop, sold = Shop(**options), [label for label in panels if prices[label] > 0]
    shares = np.where(np.isin(np.arange(len(panels)), shop.for_sale), random_shares(len(panels), seed), 0.0)
    plan = Plan(shop, shares if sold else np.ones(len(panels)))
    for example in range(10):
        query = plan.query(seed, example).attributes
        assert query[: len(free)].tolist() == free
        bought = {label for label in sold if set(panels[label]) <= set(query.tolist())}
        spent = sum(prices[label] for label in bought)
        assert spent <= options["budget"]
        assert all(spent + prices[label] > options["budget"] for label in sold if label not in bought)
        assert plan.query(seed, example, money=0).attributes.tolist() == free
    assert (plan.inclusion[free] == 1.0).all()
    if sold and len(sold) <= 10:  # exact: what is paid for in expectation lies within the budget
        assert plan.inclusion @ options["costs"] <= options["budget"] * (1 + 1e-9)


def test_the_price_of_a_free_attribute_is_not_counted():
    X, y = rows(holes=0.0)
    learner = AutoLearner(6, budget=2.0, costs=COSTS, total_budget=50.0, random_state=0).run(X, y)
    counts = np.bincount(learner.bought.attributes, minlength=6)
    assert counts[[0, 3]].tolist() == [60, 60]
    assert learner.spent == pytest.approx(COSTS @ counts)
    assert learner.spent <= 50.0
    assert counts[4] == 0  # too dear
    assert learner.bought.probabilities[np.isin(learner.bought.attributes, [0, 3])].tolist() == [1.0] * 120


def test_everything_may_be_free_and_a_budget_of_nothing_buys_only_that():
    X, y = rows(holes=0.0)
    everything = PairwiseMoments(6, budget=1.0, costs=np.zeros(6)).run(X, y)
    assert (everything.cells, everything.spent) == (360, 0.0)
    nothing = PairwiseMoments(6, budget=0, costs=COSTS).run(X, y)
    assert (nothing.cells, nothing.spent) == (120, 0.0)
    with pytest.raises(ValueError, match=r"budget must be a positive finite number; got 0"):
        PairwiseMoments(6, budget=0, costs=np.ones(6))


@pytest.mark.parametrize("costs", [None, COSTS])
@pytest.mark.parametrize("pay_for_missing", [True, False])
def test_both_drivers_pay_the_same_for_unavailable_values(costs, pay_for_missing):
    """To the unit, under a total budget that runs out; with an outside ledger, and restored."""
    X, y = rows()
    options = {"budget": 3 if costs is None else 3.0, "costs": costs, "total_budget": 90.0}
    options |= {"random_state": 1, "pay_for_missing": pay_for_missing}
    ledger = Ledger(3.0, 90.0, costs=costs, pay_for_missing=pay_for_missing)
    compiled = AutoLearner(6, **options).run(X, y)
    stepwise = AutoLearner(6, **options).run(ArraySource(X), y, ledger=ledger)
    for name, array in compiled.state().items():
        np.testing.assert_array_equal(stepwise.state()[name], array, err_msg=name)
    assert (ledger.cells, ledger.spent) == (compiled.cells, compiled.spent)
    again = AutoLearner.from_state(compiled.state())
    assert (again.cells, again.spent, again.pay_for_missing) == (compiled.cells, compiled.spent, pay_for_missing)
    prices = np.ones(6) if costs is None else costs
    there = prices[compiled.bought.attributes].sum()
    if pay_for_missing:
        assert there < compiled.spent <= 90.0
        assert compiled.cells > len(compiled.bought)
    else:
        assert there == compiled.spent <= 90.0
        assert compiled.cells == len(compiled.bought)


def test_without_a_budget_every_value_that_is_there_is_learnt_from():
    X, y = rows()
    learner = AutoLearner(6, budget=None).run(X, y)
    assert (learner.cells, learner.spent) == (np.isfinite(X).sum(), 0.0)
    np.testing.assert_array_equal(learner.bought.values, X[np.isfinite(X)])
    assert np.isnan(learner.bought.probabilities).all()
    stepwise = AutoLearner(6, budget=None).run(ArraySource(X), y)
    again = AutoLearner.from_state(stepwise.state())
    merged = AutoLearner(6, budget=None).run(X[:20], y[:20]).merge([AutoLearner(6, budget=None).run(X[20:], y[20:])])
    for other in (stepwise, again, merged):
        np.testing.assert_array_equal(other.coef, learner.coef)
        assert (other.budget, other.cells) == (None, learner.cells)


@pytest.mark.parametrize(
    "options", [{"costs": np.ones(3)}, {"groups": [0, 0, 1]}, {"total_budget": 9.0}, {"second_moments": np.ones(3)}]
)
def test_without_a_budget_options_of_buying_are_refused(options):
    with pytest.raises(ValueError, match=f"budget=None buys nothing .* so {next(iter(options))}= has no effect"):
        AutoLearner(3, budget=None, **options)


def test_what_is_known_to_be_constant_is_never_bought():
    X, y = rows(holes=0.0)
    for costs in (None, COSTS):
        learner = PairwiseMoments(6, budget=6, costs=costs, levels=[0, 1, 0, 1, 0, 0]).run(X, y)
        counts = np.bincount(learner.bought.attributes, minlength=6)
        assert ((counts > 0) == [True, False, True, False, True, True]).all()
        np.testing.assert_allclose(learner.coef[[1, 3]], 0.0, atol=1e-9)
    with pytest.raises(ValueError, match="every attribute is constant or empty; there is nothing to learn from"):
        PairwiseMoments(3, budget=2, levels=[1, 1, 1])


def test_a_panel_that_is_too_dear_is_named():
    shop = Shop(4, 5.0, costs=[1.0, 4.0, 4.0, 9.0], groups=[None, "blood", "blood", ""])
    names = ["age", "glucose", "insulin", "scan"]
    assert shop.blind_spots(names) == (
        "2 purchases cost more than the 5 per example and will never be made: panel 'blood' (8), 'scan' (9)."
    )
    assert shop.blind_spots().endswith("panel 'blood' (8), attribute 3 (9).")
