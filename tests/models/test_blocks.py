"""Examples that share a query: their folds, their standard errors, and cells that know them."""

import numpy as np
import pytest

from sparing.cells import Cells
from sparing.learners import PairwiseMoments
from sparing.models.blocks import block_numbers, standard_error
from sparing.models.cross_validation import cross_validate, splits
from sparing.models.families import full_covariance
from sparing.models.folds import folds
from sparing.models.pairwise import standard_errors


def cells_of(blocks, seed=0, d=4):
    """One example per entry, in the block of that number, with discrete values, so that many examples are equal."""
    generator = np.random.default_rng(seed)
    cells = Cells(d)
    for block in blocks:
        attributes = np.random.default_rng([7, block]).permutation(d)[:2]
        values = generator.integers(0, 2, 2).astype(float)
        cells.extend([2], attributes, values, [[float(generator.integers(0, 2))]], blocks=block)
    return cells


def partition(cells):
    """Which examples are in one block, whatever its number."""
    return np.equal.outer(cells.blocks, cells.blocks)


def test_an_examples_number_is_its_own_unless_it_came_in_a_block():
    cells = Cells(2)
    cells.append([0], [1.0], 0.0)
    assert cells.blocks is None
    cells.extend([1, 1], [0, 0], [2.0, 3.0], [0.0, 0.0], blocks=5)
    cells.append([1], [1.0], 0.0)
    assert cells.blocks.tolist() == [-1, 5, 5, -4]
    merged = Cells.merge([cells, cells.take([1, 2]), cells.take([0])])
    assert merged.blocks.tolist() == [-1, 5, 5, -4, 11, 11, -7]
    assert cells.only(np.array([True, False])).blocks.tolist() == cells.blocks.tolist()


def test_blocks_are_saved(tmp_path):
    cells = cells_of([0, 0, 3, 1])
    loaded = Cells.load(cells.save(tmp_path / "cells"))
    assert loaded.blocks.tolist() == [0, 0, 3, 1]
    assert int(cells.state()["sizes"][2]) == 3
    assert int(cells.take([]).state()["sizes"][2]) == 3


@pytest.mark.parametrize("seed", range(5))
def test_the_order_does_not_depend_on_numbers_or_on_the_order_of_arrival(seed):
    blocks = np.repeat(np.arange(6), [5, 1, 7, 5, 3, 9])
    cells = cells_of(blocks, seed)
    expected = cells.in_order()
    assert expected.blocks[0] == 0
    assert np.all(np.diff(np.maximum.accumulate(expected.blocks)) <= 1)  # in the order in which they appear
    generator = np.random.default_rng(seed)
    shuffled = cells.take(generator.permutation(cells.n_examples))
    shuffled = Cells.from_state(shuffled.state() | {"blocks": generator.permutation(20)[shuffled.blocks]})
    for name, array in shuffled.in_order().state().items():
        np.testing.assert_array_equal(array, expected.state()[name], err_msg=name)
    assert partition(cells).sum() == partition(expected).sum()


def test_folds_hold_out_whole_blocks_and_few_blocks_are_no_blocks():
    cells = cells_of(np.repeat(np.arange(8), 3))
    found = folds(cells, 4)
    assert (np.bincount(found) == 6).all()
    for block in range(8):
        assert np.unique(found[cells.blocks == block]).size == 1
    few = cells_of([0, 0, 1, 1, 2, 2])
    assert block_numbers(few) is None
    assert folds(few, 4).tolist() == [0, 1, 2, 3, 0, 1]
    judged = cross_validate(splits(cells.in_order(), 0.0), [full_covariance("ridge")])
    assert judged.blocks.size == cells.n_examples
    assert np.unique(judged.blocks).size == 8


def test_standard_errors_go_by_block():
    """Against the textbook's: the standard error of the mean of G independent block means of equal size."""
    values = np.random.default_rng(0).standard_normal(12)
    blocks = np.repeat(np.arange(4), 3)
    means = values.reshape(4, 3).mean(axis=1)
    assert standard_error(values, blocks) == pytest.approx(means.std(ddof=1) / 2.0)
    assert standard_error(values) == pytest.approx(values.std() / np.sqrt(12))


def test_standard_errors_of_weights_go_by_block():
    """Against their true deviation over 60 simulated files, within a third; blocks have means of their own."""
    weights, stated = [], []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        cells = Cells(3)
        for block in range(16):
            X = generator.standard_normal((30, 3)) + generator.standard_normal(3)
            y = X @ [1.0, -1.0, 0.5] + generator.standard_normal() * X[:, 0]  # the weight differs from block to block
            cells.extend(np.full(30, 3), np.tile(np.arange(3), 30), X.ravel(), y, blocks=block)
        learner = PairwiseMoments(3, budget=3, ridge=1e-3).fit_cells(cells)
        weights.append(learner.coef)
        stated.append(learner.standard_errors())
    true, by_block = np.std(weights, axis=0, ddof=1), np.sqrt(np.mean(np.square(stated), axis=0))
    np.testing.assert_allclose(by_block, true, rtol=1 / 3)
    alone = Cells.from_state({name: array for name, array in cells.state().items() if name != "blocks"})
    assert (standard_errors(alone.in_order(), learner.coef[:, None], 1e-3)[0] < true[0] / 2).all()  # by row
