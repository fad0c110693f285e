"""Counts, means, variances and covariances of cells: by brute force, and the same in any order of arrival."""

from collections import Counter
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparing.cells import Cells
from sparing.models import summary as summary_module
from sparing.models.pair_moments import PairSums, pair_moments, pair_sums
from sparing.models.summary import LOOKS_FOR_A_SCALE, looks_that_vary, summarize

D = 6
few = settings(max_examples=40, deadline=None)
VALUES = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1e6, 1e6, width=32))


@st.composite
def tables(draw):
    """Some rows with holes, and two targets each."""
    n = draw(st.integers(1, 12))
    values = draw(st.lists(st.one_of(VALUES, st.just(np.nan)), min_size=n * D, max_size=n * D))
    targets = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=2 * n, max_size=2 * n))
    return np.array(values).reshape(n, D), np.array(targets).reshape(n, 2)


def cells_of(table, targets):
    cells = Cells(table.shape[1], n_outputs=targets.shape[1])
    for x, y in zip(table, targets, strict=True):
        seen = np.flatnonzero(~np.isnan(x))
        cells.append(seen, x[seen], y)
    return cells


@few
@given(tables())
def test_averages_are_over_what_was_seen(data):
    table, y = data
    cells = cells_of(table, y)
    there = ~np.isnan(table)
    counts = there.sum(axis=0)
    means = np.where(there, table, 0.0).sum(axis=0) / np.maximum(counts, 1)
    away = np.where(there, table - means, 0.0)
    summary, size = summarize(cells), max(1.0, np.abs(away).max())
    np.testing.assert_array_equal(summary.counts, counts)
    np.testing.assert_allclose(summary.means, means, atol=1e-9 * size)
    squares = (away**2).sum(axis=0) / summary.ranges**2
    typical = squares.sum() / max(counts.sum(), 1) or 1.0
    expected = (squares + typical) / (counts + 1) * summary.ranges**2
    np.testing.assert_allclose(summary.variances, expected, atol=1e-9 * size**2)
    np.testing.assert_allclose(summary.spreads**2, summary.variances)
    np.testing.assert_allclose(summary.target_variances, y.var(axis=0), atol=1e-12)
    together = there.T.astype(int) @ there.astype(int)
    moments = pair_moments(cells, summary)
    np.testing.assert_array_equal(moments.counts, together)
    np.testing.assert_allclose(moments.attributes, away.T @ away / np.maximum(together, 1), atol=1e-9 * size**2)
    expected = away.T @ (y - y.mean(axis=0)) / np.maximum(counts, 1)[:, None]
    np.testing.assert_allclose(moments.targets, expected, atol=1e-9 * size)


def test_sums_in_order_are_the_same_to_the_last_bit():
    rng = np.random.default_rng(0)
    shards = []
    for _ in range(5):
        shard = Cells(D)
        for _ in range(60):
            shard.append(rng.permutation(D)[:3], rng.standard_normal(3) * 10.0 ** rng.integers(-9, 9), rng.normal())
        shards.append(shard)
    forth, back = Cells.merge(shards), Cells.merge(shards[::-1])
    assert not np.array_equal(summarize(forth).means, summarize(back).means)  # or this data would show nothing
    forth, back = forth.in_order(), back.in_order()
    summary = summarize(forth)
    both = (*summary, *pair_moments(forth, summary)), (*summarize(back), *pair_moments(back, summary))
    for left, right in zip(*both, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_by_pieces_are_those_of_all_cells_to_the_last_bit(monkeypatch, weights, dtype):
    rng = np.random.default_rng(0)
    cells = Cells(D, dtype=dtype)
    for example in range(120):
        values = rng.standard_normal(3) * 10.0 ** rng.integers(-9, 9)
        weight = None if weights is None else weights[example % 2]
        cells.append(rng.permutation(D)[:3], values, rng.normal(), weight=weight)
    found = []
    for piece in (1 << 20, 10):
        monkeypatch.setattr("sparing.cells.store.SUMMED", piece)
        for some in (cells, cells.in_order()):
            summary = summarize(some)
            found.append((*summary, *pair_moments(some, summary)))
    assert not np.array_equal(found[0][2], found[1][2])  # means: or this data would show nothing
    for left, right in zip((*found[0], *found[1]), (*found[2], *found[3]), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("times", [1, 200, 70_000])
def test_counts_of_pairs_add_up_however_few_bytes_they_take(times):
    def ones(n):
        cells = Cells(2)
        cells.extend(np.full(n, 2), np.tile([0, 1], n), np.ones(2 * n), np.ones(n))
        return pair_sums(cells, summarize(cells))

    one, other = ones(times), ones(100)
    assert one.counts.nbytes == {1: 3, 200: 3, 70_000: 12}[times]
    assert one.plus(other).counts.tolist() == [times + 100] * 3


def test_sums_of_the_pairs_that_were_seen_are_those_of_all_pairs():
    """However many were seen of each part, and in whatever order parts are added."""
    d, rng = 30, np.random.default_rng(0)
    parts = []
    for size in (1, 2, 40, 3, 200):
        cells = Cells(d)
        for _ in range(size):
            cells.append(rng.permutation(d)[:4], rng.standard_normal(4), rng.normal())
        parts.append(cells)
    summary = summarize(Cells.merge(parts))
    seen = [pair_sums(cells, summary, True) for cells in parts]
    assert [each.places is None for each in seen] == [False, False, False, False, True]
    for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        ours = reduce(PairSums.plus, [seen[at] for at in order])
        theirs = reduce(PairSums.plus, [pair_sums(parts[at], summary) for at in order])
        for left, right in zip(ours[:3], theirs[:3], strict=True):
            np.testing.assert_array_equal(left, right)
    ours, theirs = (
        reduce(PairSums.plus, of).of_all_pairs() for of in (seen[:2], [pair_sums(c, summary) for c in parts[:2]])
    )
    for left, right in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_array_equal(left, right)


def test_every_attribute_has_a_range_of_its_own_whatever_the_others_units():
    X = np.array([[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]])
    few = summarize(cells_of(X, np.zeros((2, 1))))
    np.testing.assert_array_equal(few.ranges, [2.0, 2.0, 3.0])  # two looks are too few for a small one of its own
    assert few.known.all()  # where most have so few, they share the typical scale
    for units in ([1.0, 1.0, 1.0], [1.0, 100.0, 1.0], [1e-6, 1.0, 1e6]):
        often = summarize(cells_of(np.tile(X * units, (LOOKS_FOR_A_SCALE, 1)), np.zeros((10, 1))))
        np.testing.assert_allclose(often.ranges, np.array([1.0, 2.0, 3.0]) * units, rtol=1e-12)
        np.testing.assert_allclose(often.spreads / often.ranges, often.spreads[0] / often.ranges[0], rtol=1e-12)
        assert often.known.all()


def test_few_looks_at_values_that_are_close_do_not_make_a_scale_tiny():
    """Weights in such a scale were a thousand times too large. A large one is kept, as values were that far apart."""
    X = np.tile([[-1.0, -200.0, -3.0, np.nan, np.nan], [1.0, 200.0, 3.0, np.nan, np.nan]], (LOOKS_FOR_A_SCALE, 1))
    X[:2, 3:] = [[1e-6, -50.0], [2e-6, 50.0]]
    summary = summarize(cells_of(X, np.zeros((10, 1))))
    typical = np.median([1.0, 200.0, 3.0, 5e-7, 50.0])
    np.testing.assert_allclose(summary.ranges, [1.0, 200.0, 3.0, typical, 50.0])
    assert summary.known.tolist() == [True, True, True, False, False]


def test_never_seen_and_constant_attributes_have_a_variance_too():
    X = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, 5.0]])
    summary = summarize(cells_of(X, np.array([[4.0], [4.0]])))
    assert summary.counts.tolist() == [2, 0, 2]
    assert summary.means.tolist() == [2.0, 0.0, 5.0]
    assert (summary.variances > 0).all()
    assert summary.target_variances.tolist() == [0.0]
    assert summary.target_spreads.tolist() == [1.0]
    nothing = summarize(cells_of(np.full((2, 3), np.nan), np.zeros((2, 1))))
    assert nothing.variances.tolist() == pytest.approx([1.0] * 3)


@few
@given(tables())
def test_looks_that_vary_differ_from_the_most_common_value(data):
    table, y = data
    expected = [np.sum(~np.isnan(x)) - max(Counter(x[~np.isnan(x)].tolist()).values(), default=0) for x in table.T]
    cells = cells_of(table, y)
    assert looks_that_vary(cells).tolist() == summarize(cells).varied.tolist() == expected


def test_an_attribute_that_hardly_varied_is_not_known():
    """Lit four times of a hundred it is not, five times it is; a constant is not, though it was seen throughout."""
    X = np.zeros((100, 3))
    X[: LOOKS_FOR_A_SCALE - 1, 0], X[:LOOKS_FOR_A_SCALE, 1] = [7.0, 7.0, 7.0, 5.0], 7.0
    assert summarize(cells_of(X + 1.0, np.zeros((100, 1)))).known.tolist() == [False, True, False]


def test_the_most_common_value_is_looked_for_among_some_looks(monkeypatch):
    monkeypatch.setattr(summary_module, "LOOKS_FOR_A_MODE", 4)
    X = np.array([[1.0], [2.0], [2.0], [1.0], [2.0], [1.0], [1.0], [1.0], [1.0]])  # of the first four neither leads
    assert looks_that_vary(cells_of(X, np.zeros((9, 1)))).tolist() in ([3], [6])
    assert looks_that_vary(cells_of(X[1:], np.zeros((8, 1)))).tolist() == [5]  # all that are not 2


def test_what_is_rare_and_always_the_same_is_known_from_two_looks():
    """Of 100 looks each: two lit alike, three lit differently, one lit, five lit differently."""
    X = np.zeros((100, 4))
    X[:2, 0], X[:3, 1], X[0, 2], X[:5, 3] = 7.0, [1.0, 2.0, 3.0], 1.0, [1.0, 2.0, 3.0, 4.0, 5.0]
    assert summarize(cells_of(X, np.zeros((100, 1)))).known.tolist() == [True, False, False, True]
