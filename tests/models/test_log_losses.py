"""Log losses against a closed form, and trees that only bend a line as the probability of a rare class is bent."""

import numpy as np
import pytest

from planted_cells import uniform_cells
from sparing.models.log_losses import log_losses
from sparing.models.selection import affordable_families, select


def test_losses_of_two_predictions_are_entropies():
    """A prediction of two values is regressed exactly: the loss of each example is minus the log of its frequency."""
    predictions = np.repeat([0.3, 0.7], 500)[:, None]
    labels = np.concatenate([np.arange(500) < 50, np.arange(500) < 350])
    frequencies = np.repeat([0.1, 0.7], 500)
    expected = -np.log(np.where(labels, frequencies, 1.0 - frequencies))
    targets = np.where(labels, 2.0, -0.5)[:, None]  # standardized
    found = log_losses(targets, predictions, np.ones(1000))
    np.testing.assert_allclose(found, expected, rtol=0.01)
    np.testing.assert_allclose(log_losses(targets, 1e6 - 1e3 * predictions, np.ones(1000)), found, rtol=1e-3)


def test_outputs_are_averaged_and_one_class_alone_says_nothing():
    rng = np.random.default_rng(0)
    targets, predictions = rng.standard_normal((2, 200, 3))
    targets[:, 2] = 1.0
    weights = rng.random(200)
    alone = [log_losses(targets[:, [k]], predictions[:, [k]], weights) for k in range(3)]
    assert not alone[2].any()
    np.testing.assert_allclose(log_losses(targets, predictions, weights), np.mean(alone, axis=0), rtol=1e-12)


@pytest.mark.parametrize("classes", [True, False])
def test_trees_that_only_bend_a_line_are_left_out_for_classes(classes):
    """A logistic model of independent columns: no trees know more than the best line.

    By squared errors they are better, because the probability of a rare class is a curved function of that line.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 4))
    y = X @ np.array([2.0, 1.5, 1.0, 0.5]) + rng.logistic(size=4000) > 5.0
    cells = uniform_cells(X, np.where(y, 1.0, -1.0), 3).in_order()
    model = select(cells, affordable_families(cells)[:1], "auto", classes=classes)
    assert (model.trees is None) == classes
