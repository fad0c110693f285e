"""Folds of all examples, and of those that are enough to choose by, agree."""

import numpy as np
import pytest

from planted_cells import uniform_cells
from sparing.cells import Cells
from sparing.models import folds as module
from sparing.models.folds import FOLDS, folds, thinned


@pytest.mark.parametrize("n", [7, 30, 31, 100])
def test_examples_that_judge_are_in_the_same_fold_among_all(n, monkeypatch):
    """So trees that are fitted to all examples outside a fold never saw those of it that judge."""
    monkeypatch.setattr(module, "JUDGES", 30)
    cells = uniform_cells(np.zeros((n, 3)), np.arange(float(n)), 2)
    few = thinned(cells, 30)
    assert few.n_examples <= 30
    kept = few.targets[:, 0].astype(int)
    np.testing.assert_array_equal(folds(cells)[kept], np.arange(kept.size) % FOLDS)


@pytest.mark.parametrize("size", [2, 5, 20])
def test_so_are_blocks_of_which_some_have_no_judges(size, monkeypatch):
    monkeypatch.setattr(module, "JUDGES", 30)
    cells = Cells(3)
    for example in range(200):
        cells.extend([1], [0], [1.0], [[float(example)]], blocks=example // size)
    few = thinned(cells, 30)
    np.testing.assert_array_equal(folds(cells)[few.targets[:, 0].astype(int)], folds(few))
