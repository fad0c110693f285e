"""What one output is learnt from does not depend on the units of another; a refused run is not charged."""

import numpy as np
import pytest

from sparing.learners import AutoLearner, FactorModel, MeanImputed, PairwiseMoments

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 2)) @ RNG.standard_normal((2, 8)) + 0.4 * RNG.standard_normal((300, 8))
Y = np.column_stack([X[:, 0] - X[:, 1], RNG.standard_normal(300)])


@pytest.mark.parametrize("cls", [AutoLearner, FactorModel, MeanImputed, PairwiseMoments])
@pytest.mark.parametrize("unit", [1e6, 1e-6, 1000.0])
def test_the_units_of_one_output_do_not_matter_to_another(cls, unit):
    options = {"budget": 3, "n_outputs": 2, "n_examples": 300, "random_state": 0}
    plain, scaled = (cls(8, **options).run(X, Y * [1.0, u]) for u in (1.0, unit))
    np.testing.assert_array_equal(plain.bought.attributes, scaled.bought.attributes)
    np.testing.assert_allclose(scaled.coef[0], plain.coef[0], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(scaled.coef[1] / unit, plain.coef[1], rtol=1e-6, atol=1e-10)


def test_a_run_that_meets_infinity_is_refused_and_charges_nothing(tmp_path):
    mapped = np.memmap(tmp_path / "rows.dat", dtype=np.float64, mode="w+", shape=(30, 8))
    mapped[:] = X[:30]
    mapped[7] = np.inf  # a memory map is not read through beforehand
    learner = PairwiseMoments(8, budget=2)
    with pytest.raises(ValueError, match="infinity"):
        learner.run(mapped, Y[:30, 0])
    assert learner.spent == learner.cells == learner.n_rounds == len(learner.bought) == 0
