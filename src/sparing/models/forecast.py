"""From the model of a pilot to the errors of other spends, as draws from what the pilot leaves possible.

A few values of many examples: a learning curve. The error falls with a power of the looks, and the exponent is drawn
from those of many tables, since no pilot shows what only more examples would reveal. Whole rows: ridge regression in
a simulated linear world, whose noise is part of the error of a linear model of the pilot. Trees on whole rows are not
simulated.
"""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing.cells import Cells
from sparing.linalg.threads import one_blas_thread
from sparing.models.bases import LINES
from sparing.models.gaussian import FittedModel, Gaussian

# Set on some splits of 20 tables; docs/forecasts.md shows others.
FLAT, STEEP = 0.2, 0.8  # mean exponents of learning curves: as a rule, and where curves or trees predict a quantity
GRADES = 20  # a target of no more distinct values is a class or a grade, whose noise remains
FARTHEST = 10.0  # times the pilot's looks, beyond which no smaller error is promised
LEARNT = 0.75  # part of the pilot from which its error was estimated, by cross-validation
FEW_LOOKS = 2.0  # times the attributes squared: with so few about half of the error of lines may be noise
REDUCIBLE = 0.1  # mean logarithm of the error of lines over the noise, however many looks there were
RUN_TO_RUN = 0.15  # relative standard deviation of the error of one run

MOST_NOISE = 0.98  # part of the target's variance
DRAWS = 2000
SIMULATED = 2e6  # values at most; with more whole rows, errors are taken to be the same
RIDGES = np.logspace(-3, 5, 17)  # for standardized attributes


def few_errors(model: FittedModel, pilot: Cells, looks: float, generator: np.random.Generator) -> np.ndarray:
    """Possible errors of the model, learnt from so many looks in place of the pilot's."""
    curved = model.trees is not None or (model.basis is not None and model.basis.kind != LINES)
    steep = curved and np.unique(pilot.targets).size > GRADES
    risks = model.facts["risk_distribution"].draw(DRAWS, generator)
    growth = min(looks / len(pilot), FARTHEST) / LEARNT
    errors = risks * growth ** -generator.exponential(STEEP if steep else FLAT, DRAWS)
    errors *= np.exp(RUN_TO_RUN * generator.standard_normal(DRAWS))
    return np.minimum(errors, np.maximum(risks, 1.0))  # the mean target competes


class World(NamedTuple):
    """A population of whole rows: Gaussian attributes, a linear target and its noise."""

    attributes: Gaussian
    weights: np.ndarray  # (d,)
    noise: float  # variance

    @property
    def target_variance(self) -> float:
        """Explained and noise."""
        return float(self.weights @ self.attributes.times(self.weights[:, None])[:, 0]) + self.noise

    def simulate(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows and their targets."""
        X = self.attributes.simulate(n, generator)
        return X, X @ self.weights + np.sqrt(self.noise) * generator.standard_normal(n)


def possible_world(model: FittedModel, pilot: Cells, generator: np.random.Generator) -> World:
    """A world that a linear model of the pilot leaves possible: with more looks, more of its error is noise."""
    reducible = REDUCIBLE + FEW_LOOKS / (FEW_LOOKS + len(pilot) / pilot.n_attributes**2)
    risk = model.facts["risk_distribution"].draw(1, generator)[0]
    noise = min(risk * np.exp(-generator.exponential(reducible)), MOST_NOISE)
    world = World(model.attributes, model.weights[:, 0], 0.0)
    return world._replace(noise=world.target_variance * noise / (1.0 - noise) or 1.0)


def whole_errors(model: FittedModel, pilot: Cells, rows: list[int], generator: np.random.Generator) -> np.ndarray:
    """Errors of ridge regression on so many whole rows of one possible world; NaN for fewer than two."""
    most = max(2, int(SIMULATED / pilot.n_attributes))
    world = possible_world(model, pilot, generator)
    with one_blas_thread(True):  # for many small regressions
        X, y = world.simulate(min(max(rows), most), generator)
        errors = [ridge_error(world, X[:n], y[:n]) if n >= 2 else np.nan for n in rows]
    return np.array(errors) * np.exp(RUN_TO_RUN * generator.standard_normal())


def ridge_error(world: World, X: np.ndarray, y: np.ndarray) -> float:
    """The exact error in a world of ridge regression on these rows, over that of the mean target."""
    scaler, ridge = (model := make_pipeline(StandardScaler(), RidgeCV(RIDGES)).fit(X, y))
    mean = world.attributes.means
    shift = model.predict(mean[None])[0] - mean @ world.weights
    return relative_error(world, ridge.coef_ / scaler.scale_) + float(shift**2) / world.target_variance


def relative_error(world: World, weights: np.ndarray) -> float:
    """The exact squared error of weights on centred data of a world, relative to the target's variance."""
    wrong = (weights - world.weights)[:, None]
    return float(np.sum(wrong * world.attributes.times(wrong)) + world.noise) / world.target_variance
