"""Time of predictions for rows with holes, and of one question of a visit, relative to what everybody knows.

    python benchmarks/visit_speed.py

* 100,000 rows of 100 attributes, half of the values missing at random so that all patterns differ: predictions with
  standard deviations by a dense covariance and by ten factors, over the time of scikit-learn's mean imputation and
  ``Ridge.predict`` on the same rows.
* ``ask`` (with ``tell`` before it) of a visit at 1,000 attributes after 20 looks, over the time of one product of a
  1,000 x 1,000 matrix with a vector.

Processor time, the best of several rounds.
"""

import time

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from sparing.models.calibration import Calibration
from sparing.models.gaussian import FittedModel, Gaussian
from sparing.prediction.catalogue import Catalogue
from sparing.prediction.visit import Visit

ROUNDS = 5


def best(task, rounds=ROUNDS):
    """The shortest processor time."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def model_of(gaussian, weights):
    one = np.ones(1)
    total = weights.T @ gaussian.times(weights)
    return FittedModel(weights, 0 * one, one, gaussian, Calibration(total[0] + 1.0, 1.0, one))


def predictions(rng, n=100_000, d=100):
    root = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
    weights = rng.standard_normal((d, 1))
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.5] = np.nan
    pipeline = make_pipeline(SimpleImputer(), Ridge()).fit(X[:2000], rng.standard_normal(2000))
    usual = best(lambda: pipeline.predict(X))
    forms = {
        "dense": Gaussian.of_covariance(np.zeros(d), root @ root.T),
        "ten factors": Gaussian.of_factors(np.zeros(d), rng.standard_normal((d, 10)), np.ones(d)),
    }
    for name, gaussian in forms.items():
        model = model_of(gaussian, weights)
        model.from_known(X[:100])  # compiles
        print(f"predictions, {name}: {best(lambda model=model: model.from_known(X), 2) / usual:.1f} times")


def questions(rng, d=1000, looks=20):
    root = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
    catalogue = Catalogue(
        model_of(Gaussian.of_covariance(np.zeros(d), root @ root.T), rng.standard_normal((d, 1))), d, []
    )
    times = []
    for _ in range(ROUNDS):
        visit = Visit(catalogue, {}, budget=100)
        for _ in range(looks):
            visit.tell(visit.ask(), [0.5])
        query = visit.ask()
        start = time.process_time()
        visit.tell(query, [0.5])
        visit.ask()
        times.append(time.process_time() - start)
    square, vector = root @ root.T, rng.standard_normal(d)
    product = best(lambda: square @ vector, 50)
    print(f"tell and ask after {looks} looks at {d:,} attributes: {min(times) / product:.1f} products with a matrix "
          f"({1000 * min(times):.2f} ms)")  # fmt: skip


if __name__ == "__main__":
    predictions(np.random.default_rng(0))
    questions(np.random.default_rng(0))
