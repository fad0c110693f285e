"""A refused run is not charged."""

import numpy as np
import pytest

from sparing.learners import PairwiseMoments


def test_a_run_that_meets_infinity_is_refused_and_charges_nothing(tmp_path):
    mapped = np.memmap(tmp_path / "rows.dat", dtype=np.float64, mode="w+", shape=(30, 8))
    mapped[:] = np.random.default_rng(0).standard_normal((30, 8))
    mapped[7] = np.inf  # a memory map is not read through beforehand
    learner = PairwiseMoments(8, budget=2)
    with pytest.raises(ValueError, match="infinity"):
        learner.run(mapped, np.arange(30.0))
    assert learner.spent == learner.cells == learner.n_rounds == len(learner.bought) == 0
