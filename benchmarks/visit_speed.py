"""Time of predictions for rows with holes, and of one question of a visit, relative to what everybody knows.

    python benchmarks/visit_speed.py

* 100,000 rows of 100 attributes, half of the values missing at random so that all patterns differ: predictions with
  standard deviations by a dense covariance and by ten factors, over the time of scikit-learn's mean imputation and
  ``Ridge.predict`` on the same rows.
* ``ask`` (with ``tell`` before it) of a visit at 1,000 attributes after 20 looks, over the time of one product of a
  1,000 x 1,000 matrix with a vector.
* ``buy`` for many cases over a loop of visits, which come to the same: scikit-learn's breast cancer and diabetes
  (10,000 cases made of their rows), and its digits (ten classes, 1,000 cases), whole and with a third of the values
  unavailable.

Processor time, the best of several rounds.
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from sparing import BudgetClassifier, BudgetRidge
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


def many(rng, n=10_000, alone=200):
    """Time per case of one call of ``buy`` for n cases, and of visits one after another."""
    breast, digits, diabetes = (load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_diabetes))
    two = BudgetClassifier(budget=6, features="linear", random_state=0).fit(*breast)
    ten = BudgetClassifier(budget=20, features="linear", random_state=0).fit(*digits)
    target = BudgetRidge(budget=5, features="linear", random_state=0).fit(*diabetes)
    rows = [data[0][rng.integers(len(data[0]), size=n)] for data in (breast, digits, diabetes)]
    rows = [X * rng.normal(1.0, 0.05, X.shape) for X in rows]
    rows[1] = rows[1][: n // 10]
    holes = [np.where(rng.random(X.shape) < 1 / 3, np.nan, X) for X in rows]
    for name, model, X, options in [
        ("two classes", two, rows[0], {"price_of_error": 100.0}),
        ("two classes, holes", two, holes[0], {"price_of_error": 100.0}),
        ("ten classes", ten, rows[1], {"price_of_error": 100.0}),
        ("ten classes, holes", ten, holes[1], {"price_of_error": 100.0}),
        ("a target", target, rows[2], {"target_std": 60.0}),
        ("a target, holes", target, holes[2], {"target_std": 60.0}),
    ]:
        bought = model.buy(X, **options)
        together = best(lambda: model.buy(X, **options), 2) / len(X)  # noqa: B023
        start = time.process_time()
        spent = [visited(model, row, options) for row in X[:alone]]
        loop = (time.process_time() - start) / len(spent)
        assert spent == bought.spent[:alone].tolist()
        print(f"buy, {name}: {1e6 * together:.0f} microseconds per case, {bought.cells.mean():.1f} purchases; a loop "
              f"of visits takes {loop / together:.1f} times as long", flush=True)  # fmt: skip


def visited(model, row, options):
    """What the visit of a case costs."""
    visit = model.visit(**options)
    while (query := visit.ask()) is not None:
        visit.tell(query, row[query.attributes])
    return visit.spent


if __name__ == "__main__":
    predictions(np.random.default_rng(0))
    questions(np.random.default_rng(0))
    many(np.random.default_rng(0))
