"""States and cells that version 0.1.0 saved: restored, they go on as the learner of that version did.

The files hold a state after 35 examples, and under ``then.`` 25 more examples and what 0.1.0 made of them.
"""

from pathlib import Path

import numpy as np
import pytest

from learner_cases import KEEPING, ONLINE, X, Y, label, make, restored
from sparing import designs
from sparing.cells import Cells
from sparing.learners import AELR, AESVR, PairwiseMoments, TwoPhasedDDAERR
from sparing.models import selection, summary

DATA = Path(__file__).parent / "data"


def continued(cls):
    with np.load(DATA / f"{cls.__name__}_0.1.0.npz") as file:
        saved = dict(file)
    then = {name: saved.pop(name) for name in list(saved) if name.startswith("then.")}
    learner = cls.from_state(saved)
    assert learner.n_rounds == 35
    return learner.run(then["then.X"], then["then.y"]), then


@pytest.mark.parametrize("cls", [TwoPhasedDDAERR, AELR, AESVR])
def test_an_online_learner_goes_on_bit_for_bit(cls):
    learner, then = continued(cls)
    assert cls is not TwoPhasedDDAERR or learner.in_phase_two
    assert learner.cells == then["then.cells"]
    np.testing.assert_array_equal(learner.coef, then["then.coef"])
    np.testing.assert_array_equal(learner.intercept, then["then.intercept"])


def test_a_keeping_learner_buys_the_same_cells(monkeypatch):
    """The cells are the same, if new plans are made as 0.1.0 made them.

    It took variances as estimated, in one unit, and weights from pairs, which counted as much as variances. The model
    is the same up to the eigenvalue routine of the machine.
    """
    adaptive = designs.adaptive

    def as_much(variances, weights=None, **more):
        if weights is not None:
            used = weights**2 * variances
            variances = variances / variances.sum() + used / used.sum()
        return adaptive(variances, **more)

    def one_range(distances, counts):
        return np.full(counts.size, distances.max())

    monkeypatch.setattr(designs, "adaptive", as_much)
    monkeypatch.setattr(designs, "upper_variances", lambda variances, looks: variances)
    monkeypatch.setattr(selection, "QUICK", 0.0)
    monkeypatch.setattr(summary, "ranges_of", one_range)
    learner, then = continued(PairwiseMoments)
    assert learner.cells == then["then.cells"]
    np.testing.assert_allclose(learner.coef, then["then.coef"], rtol=1e-10)
    assert learner.intercept == pytest.approx(float(then["then.intercept"]), rel=1e-10)


def test_cells_are_read():
    cells = Cells.load(DATA / "cells_0.1.0.npz")
    assert (cells.n_examples, cells.values.size, cells.n_attributes) == (60, 180, 8)
    np.testing.assert_allclose(cells.values[:3], [0.11159364, -0.32578931, -0.13423831], atol=1e-8)
    assert np.isfinite(PairwiseMoments(8, budget=3).fit_cells(cells).coef).all()


def refused(learner, name, change, message):
    state = learner.state()
    state[name] = change(state[name])
    with pytest.raises(ValueError, match=message):
        restored(learner, state)


@pytest.mark.parametrize("case", KEEPING, ids=label)
def test_a_keeping_learner_refuses_damaged_books(case):
    learner = make(case).run(X[:20], Y[:20])
    for wrong in (np.nan, np.inf, -1.0):
        refused(learner, "spent", lambda _, wrong=wrong: np.array(wrong), "spent must be a non-negative finite number")
    for change in (lambda counts: counts + 0.5, lambda counts: counts * np.nan, lambda counts: -counts):
        refused(learner, "counts", change, "counts of rounds must be a whole number, 0 or more")
    refused(learner, "counts", lambda counts: counts + np.array([5, 5, 0]), "counts 25 examples .* but holds 20")
    refused(learner, "counts", lambda counts: counts * [1, 0, 1], "it is damaged")
    refused(learner, "counts", lambda counts: counts * [1, 1, 0], "plans next at 0")
    for change in (lambda shares: shares * np.nan, lambda shares: -shares, lambda shares: shares[1:]):
        refused(learner, "shares", change, "shares must be")


@pytest.mark.parametrize("case", ONLINE, ids=label)
def test_an_online_learner_refuses_a_damaged_state(case):
    learner = make(case).run(X[:20], Y[:20])
    for change in (lambda counts: counts + 0.5, lambda counts: counts * np.nan, lambda counts: -counts - 1):
        refused(learner, "model.counts", change, "counts of a state must be whole numbers, none negative")
    for name in ("model.rows", "model.numbers", "model.tree", "seen.targets"):
        refused(learner, name, lambda array: array * np.nan, "holds NaN or infinity")
    refused(learner, "seen.attributes", lambda seen: seen - 0.5, "looks of a state must be whole numbers")
    refused(learner, "seen.attributes", lambda seen: seen[1:], "not one of 12 attributes and 1 outputs")
    refused(learner, "model.rows", lambda rows: rows[1:], "not one of 12 attributes and 1 outputs")
