"""The distribution p of a model: taken anew by Python and by kernels, it is the same to the last bit."""

import numpy as np
import pytest
from numba import njit

from learner_cases import kernel_parts
from sparing.kernels.state import (
    ABSOLUTE,
    LASSO,
    MOMENT,
    RIDGE,
    SCALE_SUM,
    SHRUNK,
    SQUARE,
    WEIGHT,
    fold,
    new_model,
    new_options,
    rebuild,
    renew,
)
from sparing.kernels.state import share_evenly as share_evenly_by_python
from sparing.learners import AELR, AER, DDAERR


@njit
def share_evenly(model, penalty, inner):
    """There is no output past the last one to fold, so all that is left to do is to share."""
    fold(model, model.rows.shape[1], 1.0, penalty)
    renew(model, inner, model.starts, model.rows.shape[0])


@pytest.mark.parametrize(
    ("penalty", "inner"), [(RIDGE, SQUARE), (RIDGE, MOMENT), (LASSO, ABSOLUTE), (SHRUNK, ABSOLUTE)]
)
@pytest.mark.parametrize(("d", "outputs"), [(1, 1), (70, 1), (70, 3), (600, 11)])
def test_python_and_kernels_share_alike(penalty, inner, d, outputs):
    """With three levels of the tree, outputs of different sizes, and one output whose weights are zero."""
    rng = np.random.default_rng(d + outputs)
    nothing = dict.fromkeys(("everything", "center", "scaled", "track", "learn"), False)
    numbers = {"seed": 0, "n_point": 1, "n_inner": 1, "step_kind": 0, "tube": -1.0, "accuracy": 1.0}
    radius = np.ones(outputs)
    options = new_options(penalty=penalty, inner=inner, step=radius, radius=radius, **numbers, **nothing)
    importance = rng.random(d)
    models = [new_model(d, outputs, options, importance) for _ in range(2)]
    weights = rng.standard_normal((d, outputs)) * 10.0 ** rng.integers(-3, 3, outputs)
    weights[:, -1] *= outputs == 1
    for model, share in zip(models, (share_evenly, share_evenly_by_python), strict=True):
        model.rows[:, :, WEIGHT] = weights
        model.numbers[:] = np.abs(weights).sum(axis=0)
        share(model, penalty, inner)
    np.testing.assert_array_equal(models[0].numbers, models[1].numbers)
    np.testing.assert_array_equal(models[0].tree, models[1].tree)
    assert models[0].tree.any()


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (DDAERR, {"second_moments": np.ones(70), "step_size": 2.0}),
        (DDAERR, {"second_moments": np.ones(70), "step_size": "adagrad", "projection": "own"}),
        (DDAERR, {"second_moments": np.ones(70), "step_size": 2.0, "inner": "improved"}),
        (AELR, {"step_size": 20.0}),
        (AER, {"alpha": 1.0, "radius": 3.0}),
    ],
)
@pytest.mark.parametrize("outputs", [1, 3])
def test_p_follows_the_weights_after_every_round(cls, options, outputs):
    """Those looked at after most rounds, all of them after a round in which an output was folded."""
    rng = np.random.default_rng(3)
    X, y = rng.random((300, 70)), (rng.standard_normal((300, outputs)) + 3.0) * [1.0, 1e3, 1e-3][:outputs]
    learner = cls(70, budget=6, n_outputs=outputs, n_examples=300, **{"radius": 0.1} | options)
    folded = []
    for row in range(300):
        learner.run(X[row : row + 1], y[row : row + 1] if outputs > 1 else y[row : row + 1, 0])
        model, _, _, now = kernel_parts(learner)
        followed = model.tree.copy()
        rebuild(model, now.inner)
        np.testing.assert_array_equal(followed, model.tree)
        folded.append(model.numbers[SCALE_SUM] == 0.0)
    assert np.any(folded)
    assert not np.all(folded)
