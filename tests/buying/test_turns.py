"""Queries of blocks: items take turns."""

import numpy as np
import pytest
from hypothesis import given, settings

from shops import panels_of, random_shares, shops
from sparing.buying.buyer import Buyer
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.learners.from_sources import examples_per_block, rotation


def test_with_equal_shares_every_item_has_its_turn_before_one_has_two():
    shop = Shop(10, 3)
    buyer = Buyer(shop, seed=0)
    for block in range(20):
        query = buyer.ask_block(100 * block, 100)
        assert query.attributes.size == np.unique(query.attributes).size == 3
        assert np.ptp(buyer.turns) <= 1
    assert buyer.turns.sum() == 60


def test_turns_come_out_at_the_shares():
    buyer = Buyer(Shop(4, 2), seed=1)
    buyer.follow(np.array([0.4, 0.3, 0.2, 0.1]))
    for block in range(100):
        buyer.ask_block(block, 1)
    np.testing.assert_allclose(buyer.turns, [80, 60, 40, 20], atol=2)


def test_who_is_asked_for_with_whom_changes_from_round_to_round():
    """Fixed panels would leave most pairs unseen for ever."""
    buyer, pairs = Buyer(Shop(8, 2), seed=0), set()
    for block in range(200):
        pairs.add(tuple(sorted(buyer.ask_block(block, 1).attributes.tolist())))
    assert len(pairs) == 28


@given(shops())
@settings(max_examples=60, deadline=None)
def test_panels_stay_whole_and_the_money_suffices(case):
    arguments, panels = case
    shop = Shop(**arguments)
    plan = Plan(shop, random_shares(shop.prices.size, 0))
    turns = np.random.default_rng(0).integers(0, 5, shop.prices.size)
    for example in range(3):
        query = plan.query_in_turn(0, example, turns)
        panels_of(query.attributes.tolist(), panels)
        spent = shop.unit_prices[query.attributes].sum()
        assert spent <= shop.budget
        left_out = [item for item in shop.for_sale if shop.members[shop.starts[item]] not in query.attributes]
        assert all(shop.prices[item] > shop.budget - spent for item in left_out), "something more was affordable"
        again = plan.query_in_turn(0, example, turns)
        np.testing.assert_array_equal(query.attributes, again.attributes)


def test_free_attributes_are_part_of_every_purchase_and_the_rest_of_the_money_is_shared():
    buyer = Buyer(Shop(3, 2.0, costs=[0.0, 1.0, 1.0]), seed=0, total_budget=30.0)
    assert sorted(buyer.ask_block(0, 10).attributes) == [0, 1, 2]
    assert buyer.ask_block(0, 30).attributes.size == 2  # a unit for each of 30 examples
    assert buyer.ask_block(0, 31).attributes.tolist() == [0]


@pytest.mark.parametrize(("budget", "blocks"), [(3, 4), (10, 1), (9, 2)])
def test_a_rotation_is_as_many_blocks_as_let_every_item_have_its_turn(budget, blocks):
    assert rotation(Shop(10, budget)) == blocks


def test_of_large_blocks_some_examples_are_asked_for():
    assert 450 < examples_per_block(Shop(200, 10), 50) <= 500
    assert examples_per_block(Shop(200, 200), 2) == 25_000  # whole rows
    assert examples_per_block(Shop(200, 10), 10**6) == 1
