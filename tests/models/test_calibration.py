"""From claimed to confirmed variances, on numbers that are known."""

import numpy as np
import pytest
from scipy.special import ndtri

from sparing.models.calibration import Calibration, HeldOut

CLAIMED = np.array([[3.0]])


def held_out(n=4000, *, explained=1.5, left=1.0, seed=0):
    """Targets of variance 4, of which predictions explain so much, while the model says that 3 less ``left`` is."""
    rng = np.random.default_rng(seed)
    predictions = np.sqrt(explained) * rng.standard_normal((n, 1))
    targets = predictions + np.sqrt(4.0 - explained) * rng.standard_normal((n, 1))
    return HeldOut(targets, predictions, np.full((n, 1, 1), left))


def test_without_held_out_examples_the_model_is_believed():
    plain = Calibration(np.array([4.0]), 1.0, np.array([1.0]))
    unexplained = np.array([[[3.0]], [[1.0]], [[0.0]]])
    np.testing.assert_allclose(plain.variances(CLAIMED, unexplained)[:, 0], [4.0, 2.0, 1.0])
    np.testing.assert_allclose(plain.quantiles(0.9, CLAIMED, unexplained), ndtri(0.9))


def test_the_share_is_what_held_out_examples_confirm():
    """They confirm 1.5 of 2; the standard error of that is below 0.1, and the prior shifts it by less."""
    learnt = Calibration(np.array([4.0]), 1.0, np.array([0.5])).learnt(CLAIMED, held_out())
    assert learnt.share == pytest.approx(0.75, abs=0.08)
    (left,) = learnt.variances(CLAIMED, np.array([[[1.0]]]))
    assert left[0] == pytest.approx(2.5, abs=0.15)


def test_few_examples_hardly_move_the_share():
    learnt = Calibration(np.array([4.0]), 1.0, np.array([0.5])).learnt(CLAIMED, held_out(5))
    assert 0.6 < learnt.share < 1.4


def test_intervals_hold_held_out_targets_as_often_as_they_say():
    """By construction, up to one example on each side; and where nothing is known, they are those of the targets."""
    examples = held_out(999)
    skewed = examples._replace(targets=examples.predictions + np.expm1(examples.targets - examples.predictions))
    learnt = Calibration(skewed.targets.var(axis=0), 1.0, np.array([0.0])).learnt(CLAIMED, skewed)
    std = np.sqrt(learnt.variances(CLAIMED, skewed.unexplained))
    for coverage in (0.5, 0.9, 0.95):
        tail = (1 - coverage) / 2
        low, high = (learnt.quantiles(p, CLAIMED, skewed.unexplained) for p in (tail, 1 - tail))
        errors = (skewed.targets - skewed.predictions) / std
        assert np.mean((low <= errors) & (errors <= high)) == pytest.approx(coverage, abs=0.004)
        low, high = (learnt.quantiles(p, CLAIMED, CLAIMED[None]) for p in (tail, 1 - tail))
        away = (skewed.targets - skewed.targets.mean()) / skewed.targets.std()
        assert np.mean((low <= away) & (away <= high)) == pytest.approx(coverage, abs=0.004)
