"""One run of one algorithm, its seed, and the mean of its losses."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from sparing.compare.algorithms import Algorithm, Setting


class FittedRun(NamedTuple):
    """The model of one algorithm after one run, and what it cost."""

    predict: Callable[..., np.ndarray]  # from rows to predictions
    cells: int  # values bought
    draws: int
    spent: float  # on these values, if the algorithm knows prices; otherwise their number

    def loss(self, X, y) -> float:
        """Mean squared error on whole rows; infinite if the run diverged."""
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(np.mean((self.predict(X) - y) ** 2))
        return np.inf if np.isnan(loss) else loss


def fit(algorithm: Algorithm, setting: Setting, X, y) -> FittedRun:
    """Run an algorithm on these rows."""
    model = algorithm.make(setting)
    if hasattr(model, "run"):
        model.run(X, y)
        if hasattr(model, "fitted"):
            return FittedRun(lambda rows: model.fitted.predict(rows)[:, 0], model.cells, model.draws, model.spent)
        weights, intercept = model.coef, model.intercept
        return FittedRun(lambda rows: rows @ weights + intercept, model.cells, model.draws, model.cells)
    from sklearn.exceptions import ConvergenceWarning

    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # a setting that does not converge has a large loss
        model.fit(X, y)
    return FittedRun(model.predict, *[X.shape[0] * X.shape[1]] * 3)


def seed_of_repetition(seed: int, repetition: int) -> int:
    """A distinct seed for each pair: experiments with neighbouring seeds share no repetition."""
    return int(np.random.SeedSequence((seed, repetition)).generate_state(1)[0])


def cautious_mean(losses) -> float:
    """The mean plus its standard error; infinite if a run diverged, so that its setting is never chosen."""
    if not np.isfinite(losses).all():
        return np.inf
    with np.errstate(over="ignore"):  # the square of a large loss may be infinite
        return float(np.mean(losses) + np.std(losses, ddof=1) / sqrt(len(losses)))
