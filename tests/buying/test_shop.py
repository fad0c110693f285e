"""What is for sale: prices in whole units, panels, and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings

from shops import AWKWARD, shops
from sparing.buying.shop import Shop

few = settings(max_examples=60, deadline=None)


@few
@given(shops())
def test_an_item_costs_what_its_members_cost(case):
    options, panels = case
    shop, costs = Shop(**options), options["costs"]
    assert len(panels) == shop.prices.size
    for item in range(shop.prices.size):
        members = shop.members[shop.starts[item] : shop.starts[item + 1]]
        assert sorted(members.tolist()) in panels.values()
        assert shop.items[members].tolist() == [item] * members.size
        assert shop.amount(shop.prices[item]) == costs[members].sum()
    assert shop.cheapest == shop.prices.min()
    assert shop.amount(shop.budget) <= options["budget"] < shop.amount(shop.budget + 1)
    np.testing.assert_allclose(shop.total(costs), [shop.amount(price) for price in shop.prices], rtol=1e-12)


@few
@given(shops(AWKWARD))
def test_no_price_is_free_and_units_are_fine(case):
    """To nine digits of the smallest price, unless prices span more than twelve orders; never above the price."""
    options, _ = case
    shop, costs = Shop(**options), options["costs"]
    assert shop.prices.min() >= 1
    assert shop.prices.sum() <= 2**40 or shop.decimals == 0
    exact = np.array([costs[shop.items == item].sum() for item in range(shop.prices.size)])
    units = shop.prices / 10.0**shop.decimals
    short = np.bincount(shop.items) * 10.0**-shop.decimals
    assert np.all(units > exact * (1 - 1e-12) - short)
    assert np.all(units <= np.maximum(exact * (1 + 1e-12) + 1e-6 * short, short))


@few
@given(shops(AWKWARD))
def test_no_purchase_has_more_cells_than_the_most(case):
    """Panels of the least price per attribute first is the most that money can buy, or less."""
    options, _ = case
    shop = Shop(**options)
    sizes = np.diff(shop.starts)
    greedy, left = 0, shop.budget
    for item in np.argsort(shop.prices / sizes, kind="stable"):
        if shop.prices[item] <= left:
            greedy, left = greedy + sizes[item], left - shop.prices[item]
    assert greedy <= shop.most


@pytest.mark.parametrize(
    ("costs", "groups", "budget"),
    [
        ([0.1, 0.2, 0.3], None, 0.6),
        ([0.1, 0.7], None, 0.1 + 0.7),  # 0.7999999999999999
        ([1 / 3] * 3, None, 1.0),
        ([1 / 6] * 6, ["a"] * 6, 1.0),
        ([0.1] * 10, None, 1.0),
        ([30_000_000.07, 60_000_000.09], None, 90_000_000.16),
        ([1e-10] * 3, None, 3e-10),
        ([5e9, 5e9], None, 1e10),
    ],
)
def test_prices_that_add_up_to_the_budget_fit_it(costs, groups, budget):
    shop = Shop(len(costs), budget, costs=costs, groups=groups)
    assert shop.prices.sum() <= shop.budget
    assert shop.most >= len(costs)
    assert shop.blind_spots() == ""


@pytest.mark.parametrize(("costs", "budget"), [([1e-8, 1.0], 1.0), ([1e9, 1e-9], 1e9), ([5e9, 5e9, 3.0], 1e10)])
def test_a_small_price_is_not_lost_beside_a_large_one(costs, budget):
    shop = Shop(len(costs), budget, costs=costs)
    assert shop.prices.sum() > shop.budget


def test_what_can_never_be_bought_is_refused_at_once():
    with pytest.raises(ValueError, match="budget is 1 per example, but the cheapest purchase costs 2; nothing"):
        Shop(3, 1.0, costs=[2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="the cheapest purchase costs 3"):
        Shop(3, 2, groups=["a", "a", "a"])
    with pytest.raises(ValueError, match="groups has 2 labels for 3 attributes"):
        Shop(3, 2, groups=["a", "b"])


def test_no_label_is_no_panel():
    items = Shop(6, 2, groups=[None, "", float("nan"), "a", "b", "a"]).items
    assert items.tolist() == [0, 1, 2, 3, 4, 3]
    assert Shop(3, 2, groups=np.array([7, 8, 7])).items.tolist() == [0, 1, 0]


def test_blind_spots_are_told_in_words():
    dear = Shop(3, 2.5, costs=[1.0, 2.0, 4.0]).blind_spots()
    assert dear == "1 purchase costs more than the 2.5 per example and will never be made: attribute 2 (4)."
    apart = Shop(3, 2.5, costs=[1.0, 1.0, 2.0]).blind_spots()
    assert apart.startswith("the two most expensive purchases, attribute 2 (2) and attribute 1 (1), cost 3 together")
    assert Shop(3, 3.0, costs=[1.0, 1.0, 2.0]).blind_spots() == ""
