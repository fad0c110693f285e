"""States that version 0.1.0 saved: restored, they go on as the learner of that version did.

The files hold a state after 35 examples, and under ``then.`` 25 more examples and what 0.1.0 made of them.
"""

from pathlib import Path

import numpy as np
import pytest

from sparing import designs
from sparing.learners import PairwiseMoments, TwoPhasedDDAERR

DATA = Path(__file__).parent / "data"


def continued(cls):
    with np.load(DATA / f"{cls.__name__}_0.1.0.npz") as file:
        saved = dict(file)
    then = {name: saved.pop(name) for name in list(saved) if name.startswith("then.")}
    learner = cls.from_state(saved)
    assert learner.n_rounds == 35
    return learner.run(then["then.X"], then["then.y"]), then


def test_an_online_learner_goes_on_bit_for_bit():
    learner, then = continued(TwoPhasedDDAERR)
    assert learner.in_phase_two
    assert learner.cells == then["then.cells"]
    np.testing.assert_array_equal(learner.coef, then["then.coef"])
    np.testing.assert_array_equal(learner.intercept, then["then.intercept"])


def test_a_keeping_learner_buys_the_same_cells(monkeypatch):
    """The cells are the same, if new plans follow variances as estimated, which those of 0.1.0 did.

    The model is the same up to the eigenvalue routine of the machine.
    """
    monkeypatch.setattr(designs, "upper_variances", lambda variances, looks: variances)
    learner, then = continued(PairwiseMoments)
    assert learner.cells == then["then.cells"]
    np.testing.assert_allclose(learner.coef, then["then.coef"], rtol=1e-10)
    assert learner.intercept == pytest.approx(float(then["then.intercept"]), rel=1e-10)
