"""Forecasts of the errors at other spends from the model of a pilot, as draws from a predictive distribution.

For a few values of many examples, the error falls with a power of the looks. The exponent is drawn from those of many
tables, since a pilot does not show what more examples would add. For whole rows, ridge regression is simulated on a
linear population, whose noise is a part of the error of a linear model of the pilot. Trees on whole rows are not
simulated.
"""

from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.linalg.threads import one_blas_thread
from sparing.models.bases import LINES
from sparing.models.gaussian import FittedModel, Gaussian

# Set on some splits of 20 tables; docs/forecasts.md shows others.
STEEP, OF_CLASSES = 0.8, 0.1  # mean exponents of learning curves: of quantities, and of classes, whose noise remains
TELLING_LOOKS = 50.0  # looks per attribute at which half as much is expected of more looks, but for curves
GRADES = 20  # a target with at most this many distinct values is a class or a grade
FARTHEST = 10.0  # multiple of the pilot's looks beyond which no smaller error is forecast
LEARNT = 0.75  # fraction of the pilot in a training fold of cross-validation
REDUCIBLE, UNKNOWN = 0.15, 0.5  # mean of log(error / noise) for unshrunk lines, and for the mean target
RUN_TO_RUN = 0.15  # relative standard deviation of the error of one run

MOST_NOISE = 0.98  # part of the target's variance
DRAWS = 2000
SIMULATED = 2e6  # values at most; with more whole rows, errors are taken to be the same
RIDGES = np.logspace(-3, 5, 17)  # for standardized attributes


def few_errors(model: FittedModel, pilot: Cells, looks: float, generator: np.random.Generator) -> np.ndarray:
    """Draws of the error of a model that is learnt from this many looks instead of the pilot's."""
    risks = model.facts["risk_distribution"].draw(DRAWS, generator)
    growth = min(looks / len(pilot), FARTHEST) / LEARNT
    errors = risks * growth ** -generator.exponential(mean_exponent(model, pilot), DRAWS)
    errors *= np.exp(RUN_TO_RUN * generator.standard_normal(DRAWS))
    return np.minimum(errors, np.maximum(risks, 1.0))  # the mean target competes


def mean_exponent(model: FittedModel, pilot: Cells) -> float:
    """The mean exponent of learning curves: what many looks did not reveal, more looks will hardly reveal either."""
    curved = model.trees is not None or (model.basis is not None and model.basis.kind != LINES)
    if np.unique(pilot.targets).size <= GRADES:
        return OF_CLASSES
    if curved and is_informative(model):
        return STEEP
    return STEEP * TELLING_LOOKS / (TELLING_LOOKS + len(pilot) / pilot.n_attributes)


def is_informative(model: FittedModel) -> bool:
    """Whether the pilot was long enough for a model that predicts better than the mean target."""
    return model.facts["risk_distribution"].mean < 1.0


class World(NamedTuple):
    """A population of whole rows: Gaussian attributes, a linear target and its noise."""

    attributes: Gaussian
    weights: np.ndarray  # (d,)
    noise: float  # variance

    @property
    def target_variance(self) -> float:
        """The variance of the target: explained part and noise."""
        return float(self.weights @ self.attributes.times(self.weights[:, None])[:, 0]) + self.noise

    def simulate(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows and their targets."""
        X = self.attributes.simulate(n, generator)
        return X, X @ self.weights + np.sqrt(self.noise) * generator.standard_normal(n)


def possible_world(model: FittedModel, generator: np.random.Generator) -> World:
    """A world that agrees with a linear model of the pilot, in which most of the model's error is noise.

    The more predictions are shrunk toward the mean target, the less is known about what more rows would explain.
    """
    kept = float(model.facts["shrinkage"][0]) if is_informative(model) else 0.0
    reducible = generator.exponential(kept * REDUCIBLE + (1.0 - kept) * UNKNOWN)
    noise = min(model.facts["risk_distribution"].draw(1, generator)[0] * np.exp(-reducible), MOST_NOISE)
    world = World(model.attributes, model.weights[:, 0], 0.0)
    return world._replace(noise=world.target_variance * noise / (1.0 - noise) or 1.0)


def whole_errors(model: FittedModel, pilot: Cells, rows: list[int], generator: np.random.Generator) -> np.ndarray:
    """Errors of ridge regression on this many whole rows of one possible world; NaN for fewer than two rows."""
    most = max(2, int(SIMULATED / pilot.n_attributes))
    world = possible_world(model, generator)
    with one_blas_thread(True):  # for many small regressions
        X, y = world.simulate(min(max(rows), most), generator)
        errors = [ridge_error(world, X[:n], y[:n]) if n >= 2 else np.nan for n in rows]
    return np.array(errors) * np.exp(RUN_TO_RUN * generator.standard_normal())


def ridge_error(world: World, X: np.ndarray, y: np.ndarray) -> float:
    """The exact error of ridge regression on these rows of a world, over that of the mean target."""
    weights = ridge_weights(X, y)
    shift = y.mean() + (world.attributes.means - X.mean(axis=0)) @ weights - world.attributes.means @ world.weights
    return relative_error(world, weights) + float(shift**2) / world.target_variance


def ridge_weights(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The weights of scikit-learn's StandardScaler and RidgeCV, without their checks, which take most of the time."""
    scales = X.std(axis=0)
    scales[scales == 0] = 1.0
    Z, targets = (X - X.mean(axis=0)) / scales, y - y.mean()
    wide = len(Z) <= Z.shape[1]
    squares, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
    kept = squares > 1e-10 * squares[-1]
    squares, vectors = squares[kept], vectors[:, kept]
    left = vectors if wide else Z @ vectors / np.sqrt(squares)  # singular vectors
    shares = squares[:, None] / (squares[:, None] + RIDGES)
    along = left.T @ targets
    residuals = targets[:, None] - left @ (shares * along[:, None])
    left_out = residuals / (1.0 - 1.0 / len(y) - left**2 @ shares)  # leave-one-out errors, one column per ridge
    best = np.argmin(np.mean(left_out**2, axis=0))
    return Z.T @ (left @ (along / (squares + RIDGES[best]))) / scales


def relative_error(world: World, weights: np.ndarray) -> float:
    """The exact squared error of weights on centred data of a world, relative to the target's variance."""
    wrong = (weights - world.weights)[:, None]
    return float(np.sum(wrong * world.attributes.times(wrong)) + world.noise) / world.target_variance
