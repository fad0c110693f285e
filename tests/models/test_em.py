"""What models fitted by EM share: standardized cells, and parts of examples on any number of threads."""

from itertools import count

import numpy as np
import pytest

from planted_cells import OUTPUTS, D, planted, random_cells, uniform_cells
from sparing.models import em as module
from sparing.models.covariance import covariance_gradients
from sparing.models.em import PARTS, StandardizedCells, nth_iterate
from sparing.models.summary import summarize


def test_cells_are_centred_and_of_unit_variance_with_short_examples_first():
    cells = random_cells(40, (0, D))
    summary = summarize(cells)
    data = StandardizedCells(cells, summary)
    sizes = np.diff(cells.starts)
    order = np.argsort(sizes, kind="stable")
    assert data.rows.tolist() == (sizes[order] + OUTPUTS).tolist()
    assert data.counts.tolist() == [*summary.counts, *[40] * OUTPUTS]
    np.testing.assert_allclose(data.looks.targets.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.looks.targets.var(axis=0), 1.0)
    for at, example in enumerate(order):
        here = slice(cells.starts[example], cells.starts[example + 1])
        there = slice(data.looks.starts[at], data.looks.starts[at + 1])
        index = cells.attributes[here]
        np.testing.assert_array_equal(data.looks.attributes[there], index)
        back = data.looks.values[there] * summary.spreads[index] + summary.means[index]
        np.testing.assert_allclose(back, cells.values[here], atol=1e-12)


def test_weights_come_back_in_units_of_attributes_and_targets():
    X, y = planted(50, d=6)
    data = StandardizedCells(cells := uniform_cells(X, y, 3), summary := summarize(cells))
    weights = np.arange(6.0)[:, None]
    standard = (X - summary.means) / summary.spreads @ weights
    np.testing.assert_allclose((X - summary.means) @ data.weights(weights), standard * y.std(), rtol=1e-12)


def test_up_to_counts_examples_of_so_many_rows():
    data = StandardizedCells(cells := random_cells(40, (0, D)), summarize(cells))
    for rows in (0, 2, 4.5, 7, 100):
        assert data.up_to(rows) == np.sum(data.rows <= rows)


@pytest.mark.parametrize(("first", "last"), [(0, None), (3, 17), (5, 7), (4, 4)])
def test_parts_cover_each_example_once_on_threads_or_not(first, last, monkeypatch):
    data = StandardizedCells(cells := random_cells(40, (1, D)), summarize(cells))
    everyone = list(range(first, 40 if last is None else last))
    for worth_threads, parts in ((10**9, 1), (0, PARTS)):
        monkeypatch.setattr(module, "WORTH_THREADS", worth_threads)
        found = data.in_parts(lambda a, b: list(range(a, b)), first, last)
        assert [example for part in found for example in part] == everyone
        assert len(found) == min(parts, len(everyone))


def test_gradients_do_not_depend_on_threads(monkeypatch):
    """Many examples are summed in the same parts, whatever the number of cores; few in one, equal up to rounding."""
    X, y = planted(300)
    data = StandardizedCells(cells := uniform_cells(X, y, 5), summarize(cells))
    at_once, found = covariance_gradients(data, np.eye(21))[0], []
    monkeypatch.setattr(module, "WORTH_THREADS", 0)
    for cores in (1, 2, 7):
        monkeypatch.setattr(module.os, "cpu_count", lambda n=cores: n)
        data = StandardizedCells(cells, summarize(cells))  # with threads of its own
        found.append(covariance_gradients(data, np.eye(21))[0])
        np.testing.assert_array_equal(found[-1], found[0])
    np.testing.assert_allclose(found[0], at_once, rtol=1e-10, atol=1e-10)


def test_the_nth_iterate_is_counted_from_one():
    assert [nth_iterate(count(1), n) for n in (1, 2, 10)] == [1, 2, 10]
