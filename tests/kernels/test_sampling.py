"""The alias table and the sum tree hold exactly the distributions that they claim to hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sparing.kernels.sampling import (
    alias_table,
    draw_alias,
    tree_build,
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
    tree_build(tree, starts)
    return tree, starts


@given(masses.filter(lambda v: v.sum() > 0))
@settings(deadline=None, max_examples=200)
def test_alias_table_has_the_probabilities_it_states_and_near_those_wished(values):
    table = alias_table(values)
    cells = len(values)
    drawn = np.zeros(cells)
    for cell in range(cells):  # integrate over the uniform number exactly: accept in [0, accept), else alias
        drawn[cell] += float(table.accept[cell]) / cells
        drawn[table.alias[cell]] += (1.0 - float(table.accept[cell])) / cells
    np.testing.assert_allclose(drawn, table.probability, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(table.probability.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(table.probability, values / values.sum(), atol=1e-7)
    assert not drawn[values == 0].any()


def test_alias_draws_follow_the_uniform_number():
    table = alias_table([1.0, 3.0])
    grid = (np.arange(4_000) + 0.5) / 4_000
    assert np.mean([draw_alias(table, u) for u in grid]) == pytest.approx(0.75, abs=1e-3)


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
    i = tree_draw(tree, starts, target)
    assert values[i] > 0
    slack = 1e-9 * values.sum()
    assert values[:i].sum() <= target + slack
    assert target <= values[: i + 1].sum() + slack


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 63, 64, 65, 512, 513, 5000])
def test_every_attribute_of_a_tree_can_be_drawn(d):
    values = np.random.default_rng(d).random(d) + 0.1
    tree, starts = new_tree(values)
    middles = np.cumsum(values) - values / 2
    assert [tree_draw(tree, starts, target) for target in middles] == list(range(d))
