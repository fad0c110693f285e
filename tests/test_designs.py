"""Designs with prices, and designs for learners that keep: against generic solvers, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog, minimize
from scipy.stats import binom

from sparing import designs

few = settings(max_examples=40, deadline=None)


def random_shop(seed, d=6):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=d) + 0.01, rng.uniform(0.2, 5.0, d)


# Prices and a purse -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_priced_ridge_is_what_a_solver_finds(seed):
    """The solver minimises <q, c> sum m / q over the simplex, by logarithms of unnormalised shares."""
    moments, costs = random_shop(seed)

    def objective(logs):
        q = np.exp(logs - logs.max())
        q = q / q.sum()
        return float(np.log(q @ costs) + np.log(np.sum(moments / q)))

    found = minimize(objective, np.zeros(moments.size), method="BFGS", options={"gtol": 1e-9})
    q = designs.priced(moments, costs)
    assert objective(np.log(q)) <= found.fun + 1e-12
    solved = np.exp(found.x) / np.exp(found.x).sum()
    np.testing.assert_allclose(q, solved, rtol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_priced_lasso_is_what_a_linear_programme_finds(seed):
    """At k looks of attribute i, k q_i = l_i: to have m_i / l_i <= 1 for all i as cheaply as can be."""
    moments, costs = random_shop(seed)
    found = linprog(costs, A_ub=-np.diag(1.0 / moments), b_ub=-np.ones(moments.size), method="highs")
    q = designs.priced(moments, costs, "lasso")
    assert (q @ costs) * np.max(moments / q) == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(q, found.x / found.x.sum(), rtol=1e-9)


@few
@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.01, 100)), min_size=1, max_size=8),
    st.sampled_from(["ridge", "lasso"]),
)
def test_no_other_shares_are_better(rows, penalty):
    moments, costs, other = np.array(rows).T
    harm = np.sum if penalty == "ridge" else np.max
    q, other = designs.priced(moments, costs, penalty), other / other.sum()
    assert q.sum() == pytest.approx(1.0)
    assert (q @ costs) * harm(moments / q) <= (other @ costs) * harm(moments / other) * (1 + 1e-9)


@pytest.mark.parametrize("penalty", designs.PENALTIES)
def test_at_one_price_prices_change_nothing(penalty):
    moments, _ = random_shop(9)
    expected = designs.moment(moments, penalty)
    np.testing.assert_allclose(designs.priced(moments, np.full(6, 7.0), penalty), expected, rtol=1e-14)


def test_bad_prices_are_refused():
    with pytest.raises(ValueError, match=r"costs has shape \(2,\) for 3 attributes"):
        designs.priced([1.0, 1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"costs must be positive and finite; got 0\.0"):
        designs.priced([1.0, 1.0], [1.0, 0.0])


# Learners that keep -------------------------------------------------------------------------------------------------


@few
@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(-9, 9), st.floats(0.1, 9), st.integers(0, 99)), min_size=1),
    st.floats(0.01, 1.0),
)
def test_shares_sum_to_one_and_none_is_below_the_floor(rows, floor):
    variances, weights, prices, looks = np.array(rows).T
    shares = designs.adaptive(variances, weights, prices=prices, looks=looks, floor=floor)
    alike = prices**-0.5 / np.sum(prices**-0.5)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= floor * alike * (1 - 1e-12)).all()


def test_without_weights_shares_follow_the_spread():
    variances = np.array([9.0, 4.0, 1.0, 0.0])
    np.testing.assert_allclose(designs.adaptive(variances, floor=0.0), np.array([3.0, 2.0, 1.0, 0.0]) / 6.0)


@pytest.mark.parametrize("seed", range(3))
def test_shares_minimise_harm_at_a_price(seed):
    """sum a_i / l_i over numbers of looks l with <l, c> = 1, by a generic solver."""
    variances, prices = random_shop(seed)
    weights = np.random.default_rng(seed + 10).standard_normal(6)
    harm = weights**2 * variances
    found = minimize(
        lambda logs: float(np.log(np.sum(harm / np.exp(logs))) + np.log(np.exp(logs) @ prices)),
        np.zeros(6),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    shares = designs.adaptive(variances, weights, prices=prices, floor=0.0)
    np.testing.assert_allclose(shares, np.exp(found.x) / np.exp(found.x).sum(), rtol=1e-4)


def test_weights_count_as_much_as_variances_after_a_quarter_as_many_looks_as_attributes():
    variances, weights, looks = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 0.0, 0.5]), np.ones(4)
    used = weights**2 * variances
    wished = np.sqrt(variances / variances.sum() + used / used.sum())
    shares = designs.adaptive(variances, weights, looks=looks, floor=0.0)
    np.testing.assert_allclose(looks + 4.0 * shares, 8.0 * wished / wished.sum())


def test_several_outputs_count_together():
    variances, weights = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    together = designs.adaptive(variances, np.sqrt(np.sum(weights**2, axis=0)))
    np.testing.assert_allclose(designs.adaptive(variances, weights), together, rtol=1e-14)


def test_looks_so_far_and_as_many_again_come_out_as_wished():
    variances, looks = np.array([4.0, 1.0, 1.0]), np.array([30, 40, 50])
    shares = designs.adaptive(variances, looks=looks, floor=0.0)
    np.testing.assert_allclose(looks + looks.sum() * shares, 2 * looks.sum() * np.array([0.5, 0.25, 0.25]))


def test_what_was_seen_too_often_is_not_asked_for_beyond_the_floor():
    shares = designs.adaptive(np.ones(3), looks=[1000, 1, 1], floor=0.3)
    np.testing.assert_allclose(shares, [0.1, 0.45, 0.45])


def test_where_nothing_is_known_only_prices_tell():
    np.testing.assert_allclose(designs.adaptive(np.zeros(2), prices=[1.0, 4.0]), [2 / 3, 1 / 3])
    np.testing.assert_allclose(designs.adaptive(np.ones(4), looks=np.zeros(4)), 0.25)


def test_at_one_price_as_without_prices():
    variances, _ = random_shop(5)
    plain = designs.adaptive(variances, looks=np.arange(6))
    np.testing.assert_allclose(designs.adaptive(variances, prices=np.full(6, 3.0), looks=np.arange(6)), plain)


@few
@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 10**6)), min_size=1))
def test_upper_variances_are_one_standard_error_away(rows):
    """The estimate is the upper limit less its own standard error, s / sqrt(n)."""
    variances, looks = np.array(rows).T
    upper = designs.upper_variances(variances, looks)
    np.testing.assert_allclose(upper - np.sqrt(upper / (looks + 1)), variances, atol=1e-12)
    assert (upper >= np.maximum(variances, 1 / (looks + 1)) * (1 - 1e-12)).all()


def test_upper_variances_bound_those_of_rare_columns_most_often():
    """With probability 0.8 or more, by the binomial law of the ones seen of a column that has one per cent of them."""
    for looks in (10, 100, 300, 1000):
        ones = np.arange(looks + 1)
        upper = designs.upper_variances(ones / looks * (1 - ones / looks), looks)
        assert binom.pmf(ones, looks, 0.01)[upper >= 0.01 * 0.99].sum() > 0.8


# Known spreads, and what is worth a look ----------------------------------------------------------------------------


def chances_of(shares, number):
    """What draws without replacement by these shares reach, if so many are made: a race of exponential clocks."""
    time = brentq(lambda time: np.sum(-np.expm1(-time * shares)) - number, 0.0, 1e9)
    return -np.expm1(-time * shares)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_examples", [20, 2000])
def test_worthwhile_looks_leave_the_least_to_be_learnt(seed, n_examples):
    """sum a / (1 + n p a) over chances p with <p, c> = b, by a generic solver."""
    variances, prices = random_shop(seed, d=8)
    variances[:3] *= 1e-4
    part, budget = variances / variances.sum(), 0.3 * prices.sum()

    def left(p):
        return float(np.sum(part / (1.0 + n_examples * p * part)))

    found = minimize(
        left,
        np.full(8, 0.3),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 8,
        constraints={"type": "eq", "fun": lambda p: p @ prices - budget},
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    shares = designs.worthwhile(variances, budget=budget, n_examples=n_examples, prices=prices, floor=0.0)
    chances = chances_of(shares, found.x.sum())
    assert chances @ prices == pytest.approx(budget, rel=0.01)
    assert left(chances) <= found.fun * (1 + 1e-4)


def test_what_is_not_worth_a_look_gets_none_beyond_the_floor():
    variances = np.array([1.0, 1.0, 1.0, 1e-6])
    few = designs.worthwhile(variances, budget=2, n_examples=1_000, floor=0.0)
    np.testing.assert_allclose(few, [1 / 3, 1 / 3, 1 / 3, 0.0])
    assert designs.worthwhile(variances, budget=2, n_examples=10**9, floor=0.0)[3] > 0.2
    assert designs.worthwhile(variances, budget=2, n_examples=1_000, floor=0.2)[3] == pytest.approx(0.05)


def test_worthwhile_looks_make_up_for_those_so_far():
    alike = {"budget": 1, "n_examples": 100, "floor": 0.0}
    shares = designs.worthwhile(np.ones(2), looks=[40, 0], **alike)
    np.testing.assert_allclose(chances_of(shares, 1.0), [10 / 60, 50 / 60], rtol=1e-6)


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0.1, 9), st.integers(0, 99)), min_size=1),
    st.floats(0.1, 100.0),
    st.integers(1, 10**7),
)
def test_worthwhile_shares_are_shares(rows, budget, n_examples):
    variances, prices, looks = np.array(rows).T
    shares = designs.worthwhile(variances, budget=budget, n_examples=n_examples, prices=prices, looks=looks)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0).all()
