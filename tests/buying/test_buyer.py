"""A buyer: the compiled loop and single queries agree, and the books never pass a ceiling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shops import AWKWARD, random_shares, shops
from sparing.buying.buyer import Buyer
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.learners import PairwiseMoments
from sparing.sources import ArraySource
from sparing.types import Ledger

few = settings(max_examples=40, deadline=None)


def bought_of(buyer, rows, first_round=0):
    """Sizes, attributes and values that the compiled loop hands over."""
    kept = []
    buyer.buy(rows, np.zeros((len(rows), 1)), first_round, 0, len(rows), lambda *arrays, **_: kept.extend(arrays))
    return kept[:3]


@few
@given(shops(AWKWARD), st.integers(0, 10**6), st.floats(0.5, 20.0))
def test_rows_bought_are_the_queries_and_never_over_a_ceiling(case, seed, examples):
    """With awkward prices too: the compiled loop, single queries and the prices agree to the unit."""
    (options, panels), n = case, 12
    shop, rows = Shop(**options), np.random.default_rng(seed).standard_normal((12, options["n_attributes"]))
    total = examples * options["budget"]
    at_once, stepwise = Buyer(shop, seed, total), Buyer(shop, seed, total)
    for buyer in (at_once, stepwise):
        buyer.follow(random_shares(len(panels), seed))
    pure = Plan(Shop(**options), at_once.plan.shares)
    sizes, attributes, values = bought_of(at_once, rows)
    at, spent = 0, 0
    for example in range(n):
        query = stepwise.query(example)
        assert pure.query(seed, example, money=stepwise.ledger.left).attributes.tolist() == query.attributes.tolist()
        stepwise.ledger.book(query.attributes)  # or it would raise OverBudget
        here = slice(at, at + sizes[example])
        np.testing.assert_array_equal(attributes[here], query.attributes)
        np.testing.assert_array_equal(values[here], rows[example, query.attributes])
        spent += int(shop.prices[np.unique(shop.items[query.attributes])].sum())
        at += sizes[example]
    assert at == attributes.size == at_once.ledger.cells == stepwise.ledger.cells
    assert at_once.ledger.spent_units == stepwise.ledger.spent_units == spent
    assert at_once.ledger.examples == n
    assert at_once.ledger.left >= 0


@few
@given(shops(AWKWARD), st.floats(0.5, 20.0))
def test_the_learners_books_are_those_of_a_ledger_outside(case, examples):
    """Compiled, step by step and restored: to the unit; and within what money can be told apart by."""
    (options, _), n = case, 12
    total, X = examples * options["budget"], np.arange(12.0 * options["n_attributes"]).reshape(12, -1)
    settings = options | {"total_budget": total, "ridge": 1.0, "design": "uniform"}
    ledger = Ledger(options["budget"], total, costs=options["costs"])
    compiled = PairwiseMoments(**settings).run(X, np.arange(n))
    stepwise = PairwiseMoments(**settings).run(ArraySource(X), np.arange(n), ledger=ledger)
    again = PairwiseMoments.from_state(compiled.state())
    spent = {learner.buyer.ledger.spent_units for learner in (compiled, stepwise, again)}
    assert spent == {ledger.spent_units}
    assert compiled.spent == stepwise.spent == ledger.spent
    prices = ledger.prices[compiled.bought.attributes]
    assert prices.sum() == ledger.spent_units
    by_example = np.bincount(compiled.bought.examples(), weights=prices, minlength=n)
    unit = 10.0**-ledger.decimals
    assert by_example.max() * unit <= options["budget"] * (1 + 1e-12) + 1e-6 * unit
    assert ledger.spent <= total * (1 + 1e-12) + 1e-6 * unit


def test_no_unit_is_spent_beyond_the_total():
    """A relative tolerance of 1e-9 once let three too many through: 10,000,000,009 of 10,000,000,000."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    learner = PairwiseMoments(3, budget=1e10, costs=[5e9, 5e9, 3.0], total_budget=1e10).run(X, X[:, 0])
    assert 0 < learner.spent <= 1e10
    costs = np.array([5e9, 5e9, 3.0])
    assert learner.spent == costs[learner.bought.attributes].sum()
    assert learner.buyer.ledger.left < 5e9


@pytest.mark.parametrize(
    ("costs", "groups", "budget"),
    [([0.1, 0.2, 0.3], None, 0.6), ([1 / 3] * 3, None, 1.0), ([1 / 6] * 6, ["a"] * 6, 1.0)],
)
def test_decimals_that_floats_cannot_add_fill_the_budget(costs, groups, budget):
    d = len(costs)
    buyer = Buyer(Shop(d, budget, costs=costs, groups=groups), 0, total_budget=3 * budget)
    sizes, attributes, _ = bought_of(buyer, np.zeros((4, d)))
    assert sizes.tolist() == [d, d, d, 0]
    assert buyer.ledger.spent_units == 3 * buyer.shop.prices.sum()
    assert sorted(attributes[:d]) == list(range(d))


def test_when_the_total_is_spent_nothing_more_is_asked():
    buyer = Buyer(Shop(4, 2), 0, total_budget=5)
    sizes = []
    for round in range(6):
        query = buyer.query(round)
        buyer.ledger.book(query.attributes)
        sizes.append(query.attributes.size)
    assert sizes == [2, 2, 1, 0, 0, 0]


def test_without_a_total_money_never_ends():
    """Prices of nine digits, so many units that a million examples would once have used up all that fit 64 bits."""
    buyer = Buyer(Shop(2, 2e6, costs=[1e6 / 3, 1e6 / 7]), 0)
    buyer.ledger.record(10**7, 2 * 10**7, 10**7 * int(buyer.shop.prices.sum()))
    assert bought_of(buyer, np.zeros((5, 2)), 10**7)[0].tolist() == [2] * 5
    assert buyer.ledger.spent == pytest.approx((10**7 + 5) * (1e6 / 3 + 1e6 / 7), rel=1e-9)


def test_asking_leaves_no_trace_in_what_is_bought():
    rows = np.arange(240.0).reshape(20, 12)
    silent, curious = Buyer(Shop(12, 4), 5), Buyer(Shop(12, 4), 5)
    for round in (0, 3, 19):
        curious.query(round)
    np.testing.assert_array_equal(bought_of(silent, rows)[1], bought_of(curious, rows)[1])


def test_cells_carry_the_probability_with_which_they_were_bought():
    buyer, handed = Buyer(Shop(6, 2), 1), []
    buyer.follow(random_shares(6, 0))
    keep = lambda sizes, attributes, values, y, probabilities: handed.append((attributes, probabilities))  # noqa: E731
    buyer.buy(np.zeros((9, 6)), np.zeros((9, 1)), 0, 0, 9, keep)
    ((attributes, probabilities),) = handed
    np.testing.assert_array_equal(probabilities, buyer.plan.inclusion[attributes])
