"""A ledger pays before anything is read, or refuses the whole purchase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparing.learners import AERR, PairwiseMoments
from sparing.sources import ArraySource, CallableSource
from sparing.types import Ledger, OverBudget, RefusedPurchase
from sparing.units_of_money import decimals_of, money_units, price_units


def books(ledger):
    return ledger.cells, ledger.examples, ledger.spent


def test_a_cell_costs_one_unless_said_otherwise():
    ledger = Ledger()
    ledger.book(np.array([4, 7]))
    ledger.book(np.array([0]))
    assert books(ledger) == (3, 2, 3.0)


def test_money_is_counted_by_attribute():
    ledger = Ledger(costs=[1.0, 20.0, 0.5])
    ledger.book(np.array([2, 1]))
    ledger.book(np.array([0]))
    assert books(ledger) == (3, 2, 21.5)


def test_an_example_may_cost_its_ceiling_and_no_more():
    ledger = Ledger(per_example=3.0, costs=np.array([1.0, 2.0, 0.25]))
    ledger.book(np.array([0, 1]))
    with pytest.raises(OverBudget, match=r"3 attributes cost 3\.25, over the 3\.0 allowed for one example; nothing"):
        ledger.book(np.array([0, 1, 2]))
    assert books(ledger) == (2, 1, 3.0)


def test_all_examples_may_cost_the_total_and_no_more():
    ledger = Ledger(total=5)
    ledger.book(np.array([0, 1, 2]))
    with pytest.raises(OverBudget, match=r"3 attributes cost 3\.0, but 3\.0 of 5 is spent already; nothing"):
        ledger.book(np.array([0, 1, 2]))
    ledger.book(np.array([5, 6]))  # what is left can still be spent
    assert books(ledger) == (5, 2, 5.0)
    with pytest.raises(OverBudget, match="nothing was bought"):
        ledger.book(np.array([0]))


# Whole units of money -----------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=6), st.integers(0, 6))
def test_decimal_prices_are_counted_exactly(units, decimals):
    """Prices as people write them, and sums of them as floats add them: to the unit, and back."""
    prices = np.array(units) / 10**decimals
    found = decimals_of(prices)
    assert found <= decimals
    scale = 10 ** (decimals - found)
    assert price_units(prices, found).tolist() == [unit // scale for unit in units]
    assert money_units(prices.sum(), found) == sum(units) // scale
    ledger = Ledger(total=prices.sum(), costs=prices)
    ledger.book(np.arange(len(units)))
    assert ledger.left == 0
    assert money_units(ledger.spent, ledger.decimals) == ledger.spent_units


@pytest.mark.parametrize(
    ("prices", "decimals", "units"),
    [
        ([1 / 3, 1.0], 9, [333_333_333, 10**9]),
        ([1 / 30], 10, [333_333_333]),
        ([1e-10, 2.5e-10], 11, [10, 25]),
        ([5e9, 3.0], 0, [5 * 10**9, 3]),
        ([1e9, 1e-9], 3, [10**12, 1]),  # twelve digits are kept, and nothing is free
        ([30_000_000.07, 60_000_000.09], 2, [3_000_000_007, 6_000_000_009]),
        ([1e15, 2.0], 0, [10**15, 2]),
    ],
)
def test_other_prices_are_counted_to_nine_digits(prices, decimals, units):
    assert decimals_of(prices) == decimals
    assert price_units(prices, decimals).tolist() == units


def test_a_ceiling_finer_than_prices_is_a_ceiling_all_the_same():
    ledger = Ledger(per_example=2.5, total=4.9)
    ledger.book(np.arange(2))
    with pytest.raises(OverBudget, match=r"3 attributes cost 3\.0, over the 2\.5 allowed for one example"):
        ledger.book(np.arange(3))
    ledger.book(np.arange(2))
    with pytest.raises(OverBudget, match=r"1 attributes cost 1\.0, but 4\.0 of 4\.9 is spent already"):
        ledger.book(np.arange(1))


def test_cents_may_be_asked_for():
    ledger = Ledger(per_example=0.1, costs=[0.034, 0.06, 0.001], decimals=2)
    assert ledger.prices.tolist() == [3, 6, 1]
    ledger.book(np.arange(3))
    assert (ledger.spent_units, ledger.spent) == (10, 0.1)


@pytest.mark.parametrize("costs", [[1.0, np.nan], [1.0, np.inf], [1.0, -2.0], [[1.0, 2.0]], 3.0], ids=str)
def test_prices_are_finite_and_not_negative(costs):
    with pytest.raises(ValueError, match="costs must be one finite price per attribute, none negative; got"):
        Ledger(costs=costs)


def test_a_free_attribute_costs_nothing_and_does_not_change_the_unit():
    ledger = Ledger(per_example=0.25, costs=[0.0, 0.25, 0.0])
    ledger.book(np.arange(3))
    assert (ledger.decimals, ledger.cells, ledger.spent) == (2, 3, 0.25)
    free = Ledger(per_example=0.0, costs=[0.0, 0.0])
    free.book(np.arange(2))
    assert (free.decimals, free.cells, free.spent) == (0, 2, 0.0)


@pytest.mark.parametrize("paid", [True, False])
def test_what_was_unavailable_is_given_back_unless_it_is_paid_for(paid):
    ledger = Ledger(total=4.0, costs=[1.0, 3.0, 0.0], pay_for_missing=paid)
    ledger.book(np.arange(3))
    ledger.give_back(np.array([1, 2]))
    assert (ledger.cells, ledger.spent, ledger.left) == ((3, 4.0, 0) if paid else (1, 1.0, 3))


@pytest.mark.parametrize("name", ["per_example", "total"])
@pytest.mark.parametrize("ceiling", [np.nan, -1.0])
def test_ceilings_are_numbers(name, ceiling):
    with pytest.raises(ValueError, match=f"{name} must be a number, zero or more; got {ceiling!r}"):
        Ledger(**{name: ceiling})


def test_a_learner_stops_where_the_money_ends():
    """Nothing is read that was not paid, and what was learnt until then is kept."""
    rows = np.random.default_rng(0).standard_normal((50, 6))
    read = []

    def shop(example, attributes):
        read.append(costs[attributes].sum())
        return rows[example, attributes]

    costs = np.array([1.0, 2.0, 4.0, 8.0, 1.0, 2.0])
    ledger = Ledger(total=60.0, costs=costs)
    learner = AERR(6, budget=3, radius=1.0, n_examples=50)
    with pytest.raises(OverBudget, match=r"60\.0 is spent already"):
        learner.run(CallableSource(shop, n_examples=50, n_attributes=6), np.ones(50), ledger=ledger)
    assert 60.0 - costs.sum() < sum(read) == ledger.spent <= 60.0
    assert learner.n_rounds == ledger.examples == len(read)
    assert learner.cells == ledger.cells


def test_a_price_list_of_another_length_is_refused_before_anything_is_asked():
    def read(example, attributes):
        raise AssertionError("read although the prices were wrong")

    source = CallableSource(read, n_examples=9, n_attributes=5)
    learner = AERR(5, budget=2, radius=1.0)
    with pytest.raises(ValueError, match=r"costs has shape \(4,\) for 5 attributes"):
        learner.run(source, np.ones(9), ledger=Ledger(costs=np.ones(4)))
    assert learner.n_rounds == 0


def test_a_source_is_left_in_peace_once_the_total_budget_is_spent():
    asked = []

    def read(example, attributes):
        asked.append(example)
        return np.zeros(attributes.size)

    source = CallableSource(read, n_examples=9, n_attributes=5)
    learner = PairwiseMoments(5, budget=2, total_budget=6).run(source, np.arange(9.0))
    assert asked == [0, 1, 2]
    assert (learner.n_rounds, learner.cells, learner.spent) == (9, 6, 6.0)


class Closed(ArraySource):
    """Sells nothing."""

    def read_batch(self, examples, queries):
        raise RefusedPurchase("closed")


@pytest.mark.parametrize(("total", "error"), [(np.inf, RefusedPurchase), (20.0, OverBudget)])
def test_a_batch_of_which_nothing_was_bought_leaves_no_trace_in_the_books(total, error):
    ledger = Ledger(total=total)
    with pytest.raises(error):
        PairwiseMoments(4, budget=2).run(Closed(np.ones((15, 4))), np.ones(15), ledger=ledger)
    assert books(ledger) == (0, 0, 0.0)
