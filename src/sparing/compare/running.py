"""One run of one algorithm, its seed, and the mean of its losses."""

from math import sqrt
from warnings import catch_warnings, simplefilter

import numpy as np

from sparing.compare.algorithms import Algorithm, Setting


def fit(algorithm: Algorithm, setting: Setting, X, y) -> tuple[np.ndarray, float, int, int]:
    """Weights, intercept, number of values bought and number of draws of one run."""
    model = algorithm.make(setting)
    if hasattr(model, "run"):
        model.run(X, y)
        return model.coef, model.intercept, model.cells, model.draws
    from sklearn.exceptions import ConvergenceWarning

    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # a setting that does not converge has a large loss
        model.fit(X, y)
    return np.ravel(model.coef_), 0.0, X.shape[0] * X.shape[1], X.shape[0] * X.shape[1]


def seed_of_repetition(seed: int, repetition: int) -> int:
    """A distinct seed for each pair: experiments with neighbouring seeds share no repetition."""
    return int(np.random.SeedSequence((seed, repetition)).generate_state(1)[0])


def cautious_mean(losses) -> float:
    """The mean plus its standard error; infinite if a run diverged, so that its setting is never chosen."""
    if not np.isfinite(losses).all():
        return np.inf
    return float(np.mean(losses) + np.std(losses, ddof=1) / sqrt(len(losses)))
