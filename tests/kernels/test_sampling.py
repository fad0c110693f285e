"""The alias table and the sum tree hold exactly the distributions that they claim to hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sparing.kernels.sampling import (
    FAN,
    alias_table,
    draw_alias,
    tree_draw,
    tree_levels,
    tree_refresh,
    tree_total,
)

masses = hnp.arrays(np.float64, st.integers(1, 90), elements=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))


def new_tree(values):
    starts = tree_levels(len(values))
    tree = np.zeros(starts[-1])
    tree[: len(values)] = values
    tree_refresh(tree, starts, np.arange(len(values)), len(values))
    return tree, starts


@given(masses.filter(lambda v: v.sum() > 0))
@settings(deadline=None, max_examples=200)
def test_alias_table_has_the_probabilities_it_states_and_near_those_wished(values):
    table = alias_table(values)
    count = len(values)
    drawn = np.zeros(count)
    for cell, (kept, alias, _, _) in enumerate(table.cells):  # integrate over the uniform number exactly
        drawn[cell] += kept / count
        drawn[int(alias)] += (1.0 - kept) / count
    np.testing.assert_allclose(drawn, table.probability, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(table.probability, values / values.sum(), rtol=1e-9, atol=1e-15)
    assert not drawn[values == 0].any()


def test_alias_draws_follow_the_uniform_number_and_know_their_probability():
    table = alias_table([1.0, 3.0, 0.0])
    grid = (np.arange(6_000) + 0.5) / 6_000
    drawn = [draw_alias(table.cells, u) for u in grid]
    assert np.mean([i == 1 for i, _ in drawn]) == pytest.approx(0.75, abs=1e-3)
    for i, weight in drawn:
        assert weight == pytest.approx(1.0 / table.probability[i], rel=1e-12)


@given(masses, st.data())
@settings(deadline=None, max_examples=150)
def test_tree_after_any_updates_is_the_tree_built_anew(values, data):
    tree, starts = new_tree(values)
    for _ in range(data.draw(st.integers(1, 5))):
        changed = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=6)))
        for i in changed:
            values[i] = tree[i] = data.draw(st.floats(0, 1e9))
        tree_refresh(tree, starts, changed, len(changed))
    np.testing.assert_array_equal(tree, new_tree(values)[0])
    np.testing.assert_allclose(tree_total(tree, starts), values.sum(), rtol=1e-12)


@given(masses.filter(lambda v: v.sum() > 0), st.floats(0, 0.999999999))
@settings(deadline=None, max_examples=300)
def test_tree_draw_inverts_the_cumulative_sum_and_never_draws_a_zero(values, u):
    tree, starts = new_tree(values)
    target = u * tree_total(tree, starts)
    i = tree_draw(tree, starts, target, np.empty(FAN))
    assert values[i] > 0
    slack = 1e-9 * values.sum()
    assert values[:i].sum() <= target + slack
    assert target <= values[: i + 1].sum() + slack


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 63, 64, 65, 512, 513, 5000])
def test_every_attribute_of_a_tree_can_be_drawn(d):
    values = np.random.default_rng(d).random(d) + 0.1
    tree, starts = new_tree(values)
    middles = np.cumsum(values) - values / 2
    assert [tree_draw(tree, starts, target, np.empty(FAN)) for target in middles] == list(range(d))
