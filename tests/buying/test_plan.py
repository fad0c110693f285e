"""A plan: queries that are pure, within the money and as large as can be, and as likely as they are said to be."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shops import panels_of, random_shares, shops
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.kernels.purchase import count_purchases

few = settings(max_examples=40, deadline=None)
UNEQUAL = {
    "n_attributes": 12,
    "budget": 5.0,
    "costs": np.linspace(0.5, 1.5, 12),
    "groups": [0, 0, None, None, 1, 1, None, None, 2, 2, None, None],
}


# Queries ------------------------------------------------------------------------------------------------------------


@few
@given(shops(), st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_a_query_is_within_the_money_and_as_large_as_can_be(case, seed, part):
    options, panels = case
    shop, costs = Shop(**options), options["costs"]
    plan = Plan(shop, random_shares(len(panels), seed))
    for example in range(10):
        for money in (None, int(part * shop.budget), 3 * shop.budget):
            query = plan.query(seed, example, money=money)
            labels = panels_of(query.attributes.tolist(), panels)
            limit = options["budget"] if money is None else min(options["budget"], shop.amount(money))
            spent = costs[query.attributes].sum()
            assert query.round == example
            assert spent <= limit
            others = [label for label in panels if label not in labels]
            assert all(spent + costs[panels[label]].sum() > limit for label in others)
            assert query.attributes.size <= shop.most


def asked(plan, examples, seed=3):
    return {example: plan.query(seed, example).attributes.tolist() for example in examples}


def test_a_query_is_a_pure_function_of_seed_and_example():
    plan = Plan(Shop(**UNEQUAL), random_shares(9, 0))
    forth = asked(plan, range(60))
    assert asked(plan, reversed(range(60))) == forth
    assert asked(Plan(Shop(**UNEQUAL), plan.shares), range(60)) == forth
    with ThreadPoolExecutor(4) as pool:
        threads = list(pool.map(lambda offset: asked(plan, np.roll(range(60), offset).tolist()), range(4)))
    assert threads == [forth] * 4
    other = asked(plan, range(60), seed=4)
    assert sum(forth[example] == other[example] for example in range(60)) < 10
    assert len({tuple(attributes) for attributes in forth.values()}) > 40


def test_a_plan_does_not_see_later_changes_of_its_shares():
    shares = np.full(12, 1 / 12)
    plan = Plan(Shop(12, 4), shares)
    before = asked(plan, range(20))
    shares[:] = 0.0
    plan.query(0, 0).attributes[:] = 99
    assert asked(plan, range(20)) == before
    assert plan.shares.sum() == pytest.approx(1.0)


def test_a_share_of_almost_nothing_is_drawn_when_all_else_is_bought():
    """Redrawing would take forever: items are searched instead."""
    plan = Plan(Shop(5, 5), np.array([1.0 - 4e-12, 1e-12, 1e-12, 1e-12, 1e-12]))
    assert sorted(plan.query(0, 0).attributes) == [0, 1, 2, 3, 4]
    last = [plan.query(0, example).attributes[4] for example in range(2000)]
    assert np.bincount(last)[1:].min() > 400  # 500 each, and five standard errors are 97


# Inclusion probabilities --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "budget"), [(4, 2), (7, 3), (30, 29), (5, 5)])
def test_equal_shares_include_with_probability_b_over_d(d, budget):
    plan = Plan(Shop(d, budget), np.full(d, 1 / d))
    np.testing.assert_allclose(plan.inclusion, budget / d, rtol=1e-9)


def test_one_draw_of_many_follows_the_shares():
    """Exactly, as the clocks' time is then short for all: checked at one of a thousand."""
    shares = random_shares(1000, 0)
    plan = Plan(Shop(1000, 1.0, costs=np.ones(1000)), shares)
    np.testing.assert_allclose(plan.inclusion, shares, rtol=0.01)


def test_two_draws_of_four_by_enumeration():
    """So few attributes are the worst case of the exponential clocks, which are off by 0.024 here."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    exact = np.zeros(4)
    for first, second in permutations(range(4), 2):
        exact[[first, second]] += shares[first] * shares[second] / (1.0 - shares[first])
    assert exact.sum() == pytest.approx(2.0)
    np.testing.assert_allclose(Plan(Shop(4, 2), shares).inclusion, exact, atol=0.03)


@pytest.mark.parametrize(
    "options",
    [
        {"n_attributes": 12, "budget": 3},
        {"n_attributes": 12, "budget": 6},
        {"n_attributes": 12, "budget": 4.0, "costs": np.linspace(0.5, 2.0, 12)},
        {"n_attributes": 12, "budget": 6, "groups": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]},
        {"n_attributes": 200, "budget": 3.0, "costs": np.random.default_rng(0).uniform(0.3, 2.0, 200)},
        UNEQUAL,
    ],
)
def test_inclusion_is_the_frequency_of_queries(options):
    """Clocks and price bins are an approximation, said to be within some per cent.

    0.03 are allowed, of which three standard errors of frequencies in 20,000 examples are 0.01, here and there.
    """
    shop = Shop(**options)
    shares = np.linspace(1.0, 3.0, shop.prices.size)
    plan = Plan(shop, shares / shares.sum())
    counts = np.zeros(shop.n_attributes, np.int64)
    count_purchases(plan.market(), shop.cheapest, 1, 20_000, shop.budget, np.empty(shop.most, np.int64), counts)
    assert np.abs(plan.inclusion - counts / 20_000).max() < 0.03
    assert plan.inclusion.sum() == pytest.approx(counts.sum() / 20_000, rel=0.02)


def test_a_remainder_that_buys_nothing_is_not_counted():
    """Four at a price of 1.5 buys two and leaves one."""
    plan = Plan(Shop(5, 4.0, costs=np.full(5, 1.5)), np.full(5, 0.2))
    np.testing.assert_allclose(plan.inclusion, 2 / 5, rtol=1e-9)


def test_too_dear_is_never_included_and_enough_money_buys_all():
    plan = Plan(Shop(3, 2.0, costs=[1.0, 1.0, 5.0]), np.full(3, 1 / 3))
    np.testing.assert_allclose(plan.inclusion, [1.0, 1.0, 0.0])
    assert all(sorted(plan.query(0, example).attributes) == [0, 1] for example in range(20))
