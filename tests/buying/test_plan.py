"""A plan: queries are pure, use up the budget without exceeding it, and have the stated probabilities."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shops import panels_of, random_shares, shops
from sparing.buying import inclusion
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


def by_enumeration(shares, prices, money):
    """The probability of every item to be bought, from all orders in which items can be drawn."""
    chances = np.zeros(len(shares))

    def draw(bought, left, probability):
        fits = [i for i in range(len(shares)) if i not in bought and prices[i] <= left]
        total = sum(shares[i] for i in fits)
        for i in fits:
            chances[i] += probability * shares[i] / total
            draw([*bought, i], left - prices[i], probability * shares[i] / total)

    draw([], money, 1.0)
    return chances


@few
@given(st.integers(2, 6), st.data(), st.integers(0, 10**6), st.sampled_from([1, 3, 10]))
def test_inclusion_at_one_price_is_by_enumeration(d, data, seed, power):
    """Shares of up to ten orders of magnitude."""
    budget = data.draw(st.integers(1, d))
    shares = random_shares(d, seed) ** power
    plan = Plan(Shop(d, float(budget), costs=np.ones(d)), shares / shares.sum())
    np.testing.assert_allclose(plan.inclusion, by_enumeration(plan.shares, np.ones(d), budget), rtol=1e-7)


def test_two_draws_of_four_by_hand():
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    exact = np.zeros(4)
    for first, second in permutations(range(4), 2):
        exact[[first, second]] += shares[first] * shares[second] / (1.0 - shares[first])
    np.testing.assert_allclose(Plan(Shop(4, 2), shares).inclusion, exact, rtol=1e-12)


@few
@given(shops(), st.integers(0, 10**6))
def test_inclusion_at_prices_is_by_enumeration(case, seed):
    options, panels = case
    costs = [float(options["costs"][members].sum()) for members in panels.values()]
    if len(costs) > 7:
        return  # too many orders
    plan = Plan(Shop(**options), random_shares(len(panels), seed))
    exact = by_enumeration(plan.shares, costs, options["budget"])
    expected = {i: exact[at] for at, members in enumerate(panels.values()) for i in members}
    np.testing.assert_allclose(plan.inclusion, [expected[i] for i in range(len(expected))], rtol=1e-9)


def test_simulated_inclusion_is_near_the_exact_one(monkeypatch):
    """An item of 97 % of the money and others of 1 to 10 %: within five standard errors of 100,000 rounds."""
    prices = np.array([97.0, *np.linspace(1.0, 10.0, 11)])
    shop, shares = Shop(12, 100.0, costs=prices), random_shares(12, 1)
    exact = Plan(shop, shares).inclusion
    monkeypatch.setattr(inclusion, "ENUMERATED", 0)
    np.testing.assert_allclose(Plan(shop, shares).inclusion, exact, atol=0.008)


def test_simulations_for_many_and_for_very_many_items_agree(monkeypatch):
    """About 50 of 120 items of several prices: within 0.04, as clocks and bins of prices are approximate."""
    shop, shares = Shop(120, 60.0, costs=np.round(np.linspace(0.5, 2.0, 120), 2)), random_shares(120, 3)
    near = Plan(shop, shares).inclusion
    monkeypatch.setattr(inclusion, "SIMULATED", 0)
    np.testing.assert_allclose(Plan(shop, shares).inclusion, near, atol=0.04)


def test_a_deterministic_time_is_near_the_exact_inclusion(monkeypatch):
    """5 of 1,000 attributes: within one per cent."""
    shop, shares = Shop(1000, 5), random_shares(1000, 2)
    exact = Plan(shop, shares).inclusion
    monkeypatch.setattr(inclusion, "INTEGRATED", 0)
    np.testing.assert_allclose(Plan(shop, shares).inclusion, exact, rtol=0.01)


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
    """Within 0.015, four standard errors of a frequency in 20,000 examples."""
    shop = Shop(**options)
    shares = np.linspace(1.0, 3.0, shop.prices.size)
    plan = Plan(shop, shares / shares.sum())
    counts = np.zeros(shop.n_attributes, np.int64)
    count_purchases(plan.market(), shop.cheapest, 1, 20_000, shop.budget, np.empty(shop.most, np.int64), counts)
    assert np.abs(plan.inclusion - counts / 20_000).max() < 0.015
    assert plan.inclusion.sum() == pytest.approx(counts.sum() / 20_000, rel=0.02)


def test_a_remainder_that_buys_nothing_is_not_counted():
    """Four at a price of 1.5 buys two and leaves one."""
    plan = Plan(Shop(5, 4.0, costs=np.full(5, 1.5)), np.full(5, 0.2))
    np.testing.assert_allclose(plan.inclusion, 2 / 5, rtol=1e-9)


def test_too_dear_is_never_included_and_enough_money_buys_all():
    plan = Plan(Shop(3, 2.0, costs=[1.0, 1.0, 5.0]), np.full(3, 1 / 3))
    np.testing.assert_allclose(plan.inclusion, [1.0, 1.0, 0.0])
    assert all(sorted(plan.query(0, example).attributes) == [0, 1] for example in range(20))
