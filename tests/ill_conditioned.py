"""Regression problems with a spectrum that falls as a power, for the tests of solvers and of estimators."""

import numpy as np


def make(n=3000, d=600, power=2.0, seed=0, density=1.0):
    """Examples whose second moments fall as i^-power, in a random basis; two targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** (-power / 2)
    if density < 1:
        X *= rng.random((n, d)) < density
    else:
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    coef = rng.standard_normal((d, 2))
    return X, X @ coef + 0.1 * rng.standard_normal((n, 2)) + 3.0
