"""The paper's claims on its own data, as far as they reproduce; and those of Theorem 3 on games of our own."""

import numpy as np
import pytest
from scipy import optimize

from sparing import OnlineClassifier
from sparing.experiments.compadagrad import gaussian_features, mnist_four_nine, reuters
from sparing.optim.prediction_losses import LOSSES


def test_features_are_gaussian_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 5)), np.repeat([-1, 1], 15)
    train, test = gaussian_features(X, y, X[:4], n_prototypes=6, width=0.5, rng=rng)
    assert train.shape == (30, 6)
    np.testing.assert_array_equal(train[:4], test)
    assert (train == 1.0).sum() == 6  # each prototype meets itself
    assert train.min() > 0


@pytest.mark.data
def test_mnist_online_error_falls_with_k_and_is_least_for_the_full_matrix():
    """1,500 examples of one draw, where the gap to the diagonal method is some three points."""
    methods = {
        "diagonal": {"optimizer": "diagonal", "step_size": 1.0, "delta": 1e-6},
        "256": {"k": 256, "step_size": 1.0, "delta": 1e-3, "tau": 3.2},
        "full": {"optimizer": "full", "step_size": 3.2, "delta": 1e-2},
    }
    found = mnist_four_nine(methods, seed=1, n_examples=1500)
    assert found["full"].online_error < found["256"].online_error < found["diagonal"].online_error - 0.01
    assert found["full"].averaged_error < found["diagonal"].averaged_error


@pytest.mark.data
def test_reuters_is_no_better_with_a_sketch():
    """As in the paper: sparse text has no few directions to find. Errors agree within half a point."""
    methods = {"diagonal": {"optimizer": "diagonal", "step_size": 0.3}, "16": {"k": 16, "step_size": 0.3}}
    found = reuters(methods, seed=1)
    assert found["diagonal"].averaged_error < 0.07
    assert abs(found["16"].averaged_error - found["diagonal"].averaged_error) < 0.005


def test_on_correlated_rows_regret_lies_between_diagonal_and_full():
    """Four directions of sizes 1 to 1/27 shared by 64 coordinates, labels that need them all; means of three games.

    At this step size the means are some 160, 115 and 85, and every single game has the same order.
    """
    value = LOSSES["logistic"].value

    def regret(options, seed):
        rng = np.random.default_rng(seed)
        factors = rng.standard_normal((800, 4))
        X = factors * 3.0 ** -np.arange(4) @ rng.standard_normal((4, 64)) + 0.001 * rng.standard_normal((800, 64))
        X /= np.linalg.norm(X, axis=1).mean()
        y = np.where(rng.random(800) < 1 / (1 + np.exp(-2 * factors.sum(axis=1))), 1, -1)
        model = OnlineClassifier(step_size=1.0, fit_intercept=False, random_state=seed, **options).fit(X, y)
        best = optimize.minimize(lambda w: value(X @ w, y).sum() + 1e-3 * w @ w, np.zeros(64)).x
        model.coef_ = best[None]
        suffered = model.online_loss_ * 800 - value(X @ best, y).sum()
        assert suffered < model.regret_bound_
        return suffered

    diagonal, compressed, full = (
        np.mean([regret(options, seed) for seed in range(3)])
        for options in ({"optimizer": "diagonal"}, {"k": 32}, {"optimizer": "full"})
    )
    assert full < compressed < diagonal
    assert diagonal - compressed > 0.1 * diagonal
