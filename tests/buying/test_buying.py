"""Purchases: within every ceiling, panels whole, nothing twice, and as likely as they are said to be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparing.buying.shop import Buyer, Shop

few = settings(max_examples=40, deadline=None)
QUARTERS = st.integers(1, 20).map(lambda quarters: quarters / 4.0)  # prices that floats add exactly


@st.composite
def shops(draw):
    """Some attributes, prices, panels, and money for one thing at least."""
    d = draw(st.integers(2, 12))
    costs = np.array(draw(st.lists(QUARTERS, min_size=d, max_size=d)))
    groups = draw(st.none() | st.lists(st.sampled_from(["a", "b", "c", None, ""]), min_size=d, max_size=d))
    labels = list(range(d)) if groups is None else [label or i for i, label in enumerate(groups)]
    panels = {label: [i for i in range(d) if labels[i] == label] for label in labels}
    prices = {label: float(costs[members].sum()) for label, members in panels.items()}
    least = min(prices.values())
    return d, costs, groups, panels, prices, draw(st.sampled_from([least, 1.5 * least, 3 * least, 2.0 * sum(costs)]))


def random_shares(n, seed):
    shares = np.random.default_rng(seed).exponential(size=n)
    return shares / shares.sum()


def panels_of(attributes, panels):
    """Labels of the panels bought, in their order; fails unless each is whole and bought once."""
    owner = {i: label for label, members in panels.items() for i in members}
    bought, at = [], 0
    while at < len(attributes):
        label = owner[attributes[at]]
        assert sorted(attributes[at : at + len(panels[label])]) == panels[label], "a panel was broken"
        bought.append(label)
        at += len(panels[label])
    assert len(set(bought)) == len(bought), "bought twice"
    return bought


# Ceilings -----------------------------------------------------------------------------------------------------------


@few
@given(shops(), st.integers(0, 10**6))
def test_a_purchase_is_within_the_ceiling_and_as_large_as_can_be(shop, seed):
    d, costs, groups, panels, prices, budget = shop
    buyer = Buyer(Shop(d, budget, costs=costs, groups=groups), seed)
    buyer.plan(random_shares(len(panels), seed))
    for round in range(20):
        bought = buyer.ask(round)
        labels = panels_of(bought.tolist(), panels)
        spent = sum(prices[label] for label in labels)
        assert spent == buyer.price(bought) == costs[bought].sum() <= budget
        assert all(spent + prices[label] > budget for label in panels if label not in labels)
        assert len(bought) <= buyer.shop.most


@few
@given(shops(), st.integers(0, 10**6), st.integers(1, 40))
def test_rows_bought_are_rows_asked_for_and_never_over_the_total(shop, seed, quarters):
    d, costs, groups, panels, _, budget = shop
    total, n, kept = quarters / 2.0, 15, []
    rows = np.random.default_rng(seed).standard_normal((n, d))
    at_once, stepwise = (Buyer(Shop(d, budget, costs=costs, groups=groups), seed, total) for _ in range(2))
    cells = at_once.buy(rows, np.zeros((n, 1)), 0, 0, n, lambda *arrays, **chances: kept.extend(arrays))
    sizes, attributes, values, _ = kept
    assert cells == sizes.sum() == attributes.size
    at = 0
    for round in range(n):
        asked = stepwise.ask(round)
        panels_of(asked.tolist(), panels)
        stepwise.spent += stepwise.price(asked)
        assert stepwise.spent <= total
        here = slice(at, at + sizes[round])
        np.testing.assert_array_equal(attributes[here], asked)
        np.testing.assert_array_equal(values[here], rows[round, asked])
        at += sizes[round]
    assert at_once.spent == stepwise.spent == costs[attributes].sum()


def test_when_the_total_is_spent_nothing_more_is_asked():
    buyer = Buyer(Shop(4, 2), 0, total_budget=5)
    sizes = []
    for round in range(6):
        asked = buyer.ask(round)
        buyer.spent += buyer.price(asked)
        sizes.append(asked.size)
    assert sizes == [2, 2, 1, 0, 0, 0]


def test_decimals_that_floats_cannot_add_buy_what_they_should():
    """0.1 + 0.2 > 0.3 in floats, and three tenths are to buy all three."""
    assert 0.1 + 0.2 > 0.3
    shop = Shop(2, 0.3, costs=[0.1, 0.2])
    assert {Buyer(shop, seed).ask(0).size for seed in range(20)} == {2}
    assert Shop(10, 1.0, costs=np.full(10, 0.1)).most >= 10


def test_what_can_never_be_bought_is_refused_at_once():
    with pytest.raises(ValueError, match="budget is 1 an example, but the cheapest purchase costs 2"):
        Shop(3, 1.0, costs=[2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="the cheapest purchase costs 3"):
        Shop(3, 2, groups=["a", "a", "a"])
    with pytest.raises(ValueError, match="groups has 2 labels for 3 attributes"):
        Shop(3, 2, groups=["a", "b"])


def test_no_label_is_no_panel():
    units = Shop(6, 2, groups=[None, "", float("nan"), "a", "b", "a"]).units
    assert units.tolist() == [0, 1, 2, 3, 4, 3]
    assert Shop(3, 2, groups=np.array([7, 8, 7])).units.tolist() == [0, 1, 0]


# Chance -------------------------------------------------------------------------------------------------------------


def frequencies(buyer, rounds):
    counts = np.zeros(buyer.shop.n_attributes)
    for round in range(rounds):
        counts[buyer.ask(round)] += 1
    return counts / rounds


@pytest.mark.parametrize(("d", "budget"), [(4, 2), (7, 3), (30, 29), (5, 5)])
def test_alike_attributes_have_the_chance_b_over_d(d, budget):
    buyer = Buyer(Shop(d, budget), 0)
    np.testing.assert_allclose(buyer.inclusion, budget / d, rtol=1e-9)


def test_one_draw_of_many_follows_the_shares():
    """Exactly, as the clocks' time is then short for all: checked at one of a thousand."""
    shares = random_shares(1000, 0)
    chances = Shop(1000, 1.0, costs=np.ones(1000)).inclusion(shares)
    np.testing.assert_allclose(chances, shares, rtol=0.01)


@pytest.mark.parametrize(
    ("budget", "costs", "groups"),
    [
        (3, None, None),
        (6, None, None),
        (4.0, np.linspace(0.5, 2.0, 12), None),
        (6, None, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        (3.0, np.random.default_rng(0).uniform(0.3, 2.0, 200), None),
        (5.0, np.linspace(0.5, 1.5, 12), [0, 0, None, None, 1, 1, None, None, 2, 2, None, None]),
    ],
)
def test_chances_are_as_said(budget, costs, groups):
    """Clocks and levels of price are an approximation, said to be within some per cent.

    0.03 are allowed, of which three standard errors of frequencies in 20,000 rounds are 0.01, here and there.
    """
    d = 12 if costs is None else len(costs)
    shop = Shop(d, budget, costs=costs, groups=groups)
    buyer = Buyer(shop, 1)
    n = shop.prices.size
    buyer.plan(np.linspace(1.0, 3.0, n) / np.linspace(1.0, 3.0, n).sum())
    seen = frequencies(buyer, 20_000)
    assert np.abs(buyer.inclusion - seen).max() < 0.03
    assert buyer.inclusion.sum() == pytest.approx(seen.sum(), rel=0.02)


def test_a_rest_that_buys_nothing_is_not_counted():
    """Four at a price of 1.5 buys two and leaves one."""
    np.testing.assert_allclose(Buyer(Shop(5, 4.0, costs=np.full(5, 1.5)), 0).inclusion, 2 / 5, rtol=1e-9)


def test_too_dear_has_no_chance_and_enough_money_buys_all():
    shop = Shop(3, 2.0, costs=[1.0, 1.0, 5.0])
    shares = np.full(3, 1 / 3)
    np.testing.assert_allclose(shop.inclusion(shares), [1.0, 1.0, 0.0])
    buyer = Buyer(shop, 0)
    assert all(sorted(buyer.ask(round)) == [0, 1] for round in range(20))


def test_a_share_of_almost_nothing_is_drawn_when_all_else_is_bought():
    """Redrawing would take forever: units are looked through instead."""
    buyer = Buyer(Shop(5, 5), 0)
    buyer.plan(np.array([1.0 - 4e-12, 1e-12, 1e-12, 1e-12, 1e-12]))
    assert sorted(buyer.ask(0)) == [0, 1, 2, 3, 4]
    last = [buyer.ask(round)[4] for round in range(2000)]
    assert np.bincount(last)[1:].min() > 400  # 500 each, and five standard errors are 97


# Randomness ---------------------------------------------------------------------------------------------------------


def test_asks_are_a_pure_function_of_seed_and_round():
    def asks(seed, rounds):
        buyer = Buyer(Shop(12, 4), seed)
        return {round: buyer.ask(round).tolist() for round in rounds}

    forth, back = asks(3, range(50)), asks(3, reversed(range(50)))
    assert forth == back
    other = asks(4, range(50))
    assert sum(forth[round] == other[round] for round in range(50)) < 5
    assert len({tuple(asked) for asked in forth.values()}) > 45


def test_asking_leaves_no_trace_in_what_is_bought():
    rows = np.arange(240.0).reshape(20, 12)
    silent, curious = Buyer(Shop(12, 4), 5), Buyer(Shop(12, 4), 5)
    for round in (0, 3, 19):
        curious.ask(round)
    bought = []
    for buyer in (silent, curious):
        buyer.buy(rows, np.zeros((20, 1)), 0, 0, 20, lambda sizes, attributes, *_, **__: bought.append(attributes))
    np.testing.assert_array_equal(*bought)
