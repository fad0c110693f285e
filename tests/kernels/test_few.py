"""What NumPy does with few cells is what the kernels do, to the last bit."""

import numpy as np
import pytest

from sparing.buying.inclusion import inclusion_probabilities
from sparing.buying.plan import Plan
from sparing.buying.shop import Shop
from sparing.kernels import few
from sparing.kernels.inclusion import race_inclusion
from sparing.kernels.order import copied_runs, has_repeats, hash_examples
from sparing.kernels.pairs import sum_pairs, sum_with_targets

D = 7


@pytest.fixture(params=[0, 3, 200])
def purchases(request):
    """Starts, attributes and values of examples with up to D cells each, some with none."""
    rng = np.random.default_rng(request.param)
    sizes = rng.integers(0, D + 1, request.param)
    attributes = np.concatenate([rng.permutation(D)[:size] for size in sizes] + [[]]).astype(np.int32)
    return np.concatenate([[0], np.cumsum(sizes)]), attributes, rng.standard_normal(attributes.size) * 3.0


@pytest.fixture
def both(monkeypatch):
    """Call a task as for few cells, then as for many."""

    def results(task):
        found = task()
        for limit in ("CELLS", "PAIRS", "NODES"):
            monkeypatch.setattr(few, limit, -1)
        return found, task()

    return results


def assert_equal(results):
    for left, right in zip(*results, strict=True):
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype


def test_runs_are_copied_by_either(purchases, both):
    starts, attributes, values = purchases
    examples = np.random.default_rng(1).integers(0, max(starts.size - 1, 1), starts.size - 1)
    begins, sizes = starts[:-1][examples], np.diff(starts)[examples]
    copies = both(lambda: copied_runs(begins, sizes, attributes, values))
    assert_equal(copies)
    expected = [values[begin : begin + size] for begin, size in zip(begins, sizes, strict=True)]
    np.testing.assert_array_equal(copies[0][1], np.concatenate([*expected, []]))


def test_repeats_are_found_by_either(purchases, both):
    starts, attributes, _ = purchases
    sizes = np.diff(starts)
    assert both(lambda: has_repeats(sizes, attributes, D)) == (False, False)


@pytest.mark.parametrize(("attributes", "repeats"), [([3, 1, 3, 3, 0], False), ([3, 1, 1, 3, 3], True)])
def test_a_repeat_is_one_in_one_example(both, attributes, repeats):
    assert both(lambda: has_repeats(np.array([2, 1, 2]), np.array(attributes), D)) == (repeats, repeats)


def test_hashes_of_either(purchases, both):
    starts, attributes, values = purchases
    words = np.abs(values).astype(np.float32).view(np.uint32)

    def hashes():
        found = np.zeros((2, starts.size - 1), np.uint64)
        hash_examples(starts, attributes, words, *found)
        return found

    assert_equal(both(hashes))


@pytest.mark.parametrize("started", [False, True])
def test_sums_of_either(purchases, both, started):
    starts, attributes, values = purchases
    targets = np.random.default_rng(2).standard_normal((starts.size - 1, 2))

    def sums():
        upper = D * (D + 1) // 2
        pairs, counts, with_targets = np.zeros(upper), np.zeros(upper, np.int32), np.zeros((D, 2))
        for _ in range(1 + started):
            sum_pairs(starts, attributes, values, D, pairs, counts)
            sum_with_targets(starts, attributes, values, targets, with_targets)
        return pairs, counts, with_targets

    assert_equal(both(sums))


@pytest.mark.parametrize("number", [1, 2, 4])
def test_inclusion_of_either(both, number):
    rng = np.random.default_rng(number)
    shares, times, steps = rng.random(D), rng.random(30) * 9.0, rng.random(30)

    def inclusion():
        found = np.full(D, 0.1)
        race_inclusion(shares / shares.sum(), number, times, steps, found)
        return [found]

    assert_equal(both(inclusion))


def test_a_plan_has_the_same_probabilities_by_either(both):
    shop, shares = Shop(9, budget=3), np.linspace(0.01, 0.3, 9)
    assert_equal(both(lambda: [inclusion_probabilities(shop, shares, Plan(shop, shares).market())]))
