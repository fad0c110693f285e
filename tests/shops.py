"""Shops at random, and what the tests of buying share."""

import numpy as np
from hypothesis import strategies as st

QUARTERS = st.integers(1, 20).map(lambda quarters: quarters / 4.0)  # prices that floats add exactly
AWKWARD = st.one_of(
    st.integers(1, 999).map(lambda cents: cents / 100.0),
    st.integers(1, 60).map(lambda parts: 1.0 / parts),
    st.floats(1e-2, 1e4),
    st.sampled_from([0.1, 0.2, 0.3, 19.99]),
)


@st.composite
def shops(draw, prices=QUARTERS):
    """Arguments of a shop: some attributes, prices, panels, and money for one item at least; and its panels."""
    d = draw(st.integers(2, 12))
    scale = draw(st.sampled_from([1.0, 1.0, 1e-9, 1e7])) if prices is AWKWARD else 1.0
    costs = scale * np.array(draw(st.lists(prices, min_size=d, max_size=d)))
    groups = draw(st.none() | st.lists(st.sampled_from(["a", "b", "c", None, ""]), min_size=d, max_size=d))
    labels = list(range(d)) if groups is None else [label or i for i, label in enumerate(groups)]
    panels = {label: [i for i in range(d) if labels[i] == label] for label in labels}
    least = min(float(costs[members].sum()) for members in panels.values())
    budget = draw(st.sampled_from([1.0, 1.5, 3.0])) * least if draw(st.booleans()) else 2.0 * float(costs.sum())
    return {"n_attributes": d, "budget": budget, "costs": costs, "groups": groups}, panels


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
