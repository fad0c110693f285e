"""The story of `sparing demo`: medical tests with prices, on patients that ship with scikit-learn.

First, the tests that a model learns from are bought in three ways that cost the same. Then a new patient comes in, and
the model says which tests are worth their price.
"""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing.estimators import BudgetRidge
from sparing.progress import Progress, unnoticed

PRICES = {
    **{"age": 0.00, "sex": 0.00, "body mass index": 1.00, "blood pressure": 1.00},
    **{
        "cholesterol": 7.27,
        "LDL": 7.27,
        "HDL": 7.27,
        "cholesterol / HDL": 7.27,
        "triglycerides": 7.27,
        "glucose": 5.20,
    },
}  # in the style of a health service's price list; age and sex are on file
COSTS = np.array(list(PRICES.values()))
BUDGET = 17.0  # per patient: what a nurse measures, and two blood tests
PATIENTS = (20, 40, 80, 160, 320)
WAYS = FEW, RANDOM, WHOLE = (
    "a few chosen tests of everybody",
    "random tests, gaps filled with means",
    "all tests of fewer people",
)
PRICE_OF_ERROR = 0.02  # dollars per unit of squared error: a prediction that is 50 points off costs 50 dollars


class SplitResult(NamedTuple):
    """The cost of one way of buying on one split of the patients, and its R² on new patients."""

    way: str
    patients: int
    spent: float
    r2: float


class VisitStep(NamedTuple):
    """A test that a visit asked for, with the money spent so far, the prediction and its standard deviation."""

    test: str
    value: float
    price: float
    spent: float
    prediction: float
    std: float


class NewPatient(NamedTuple):
    """A visit: what is on file, one step per test, why it stopped, and how the disease progressed."""

    on_file: list[str]
    steps: list[VisitStep]  # the first has no test: it is the prediction from what is on file
    why: str
    truth: float


class NewPatients(NamedTuple):
    """Visits of all new patients: their number, mean spend and R², and the R² with all tests."""

    n: int
    spent: float
    r2: float
    r2_from_all_tests: float


def all_ways(
    splits: int, *, jobs: int = -1, random_state: int = 0, progress: Progress = unnoticed
) -> list[SplitResult]:
    """The results of every way of buying, for every number of patients and every split."""
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    orders = [shuffled(len(X), random_state, split) for split in range(splits)]
    work = [(order, n) for n in PATIENTS for order in orders]
    outcomes: list[SplitResult] = []
    calls = (delayed(_three_ways)(X, progression, order, n) for order, n in work)
    for three in Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(calls):
        outcomes += three
        progress(1 / len(work))
    return outcomes


def _three_ways(X, y, order: np.ndarray, n: int) -> Iterable[SplitResult]:
    """The results of three ways to spend the money that a few chosen tests of n patients cost."""
    train, test = order[: PATIENTS[-1]], order[PATIENTS[-1] :]
    seed = int(order[0])
    chosen = BudgetRidge(BUDGET, costs=COSTS, random_state=seed).fit(X[train[:n]], y[train[:n]])
    randomly = random_tests(X[train[:n]], np.random.default_rng(seed))
    fewer = train[: max(int(chosen.spent_ / COSTS.sum()), 2)]
    models = {
        FEW: (chosen, chosen.spent_),
        RANDOM: (ordinary_model().fit(randomly, y[train[:n]]), float(np.sum(~np.isnan(randomly) * COSTS))),
        WHOLE: (ordinary_model().fit(X[fewer], y[fewer]), len(fewer) * COSTS.sum()),
    }
    return [SplitResult(way, n, spent, model.score(X[test], y[test])) for way, (model, spent) in models.items()]


def shuffled(n: int, random_state: int, split: int = 0) -> np.ndarray:
    """The order of the patients in a split: the first are for learning, the others are new patients."""
    return np.random.default_rng((random_state, split)).permutation(n)


def ordinary_model():
    """Ridge regression that fills gaps with means and chooses its penalty by cross-validation."""
    return make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 13)))


def random_tests(X: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Tests in random order, as many as the budget pays for; NaN elsewhere."""
    bought = np.full(X.shape, np.nan)
    for row, values in zip(bought, X, strict=True):
        left = BUDGET
        for test in generator.permutation(len(COSTS)):
            if COSTS[test] <= left:
                left -= COSTS[test]
                row[test] = values[test]
    return bought


def curve(outcomes: Iterable[SplitResult], way: str) -> list[tuple[float, float, float, float]]:
    """For each number of patients, the dollars spent and the quartiles of R² over the splits: lower, median, upper."""
    points = []
    for n in PATIENTS:
        found = [outcome for outcome in outcomes if (outcome.way, outcome.patients) == (way, n)]
        points.append((median(at.spent for at in found), *np.percentile([at.r2 for at in found], [25, 50, 75])))
    return points


class Clinic:
    """A model fitted to a few tests of everybody, and new patients.

    Parameters
    ----------
    random_state : int
        Seed of the split and of the model.
    """

    def __init__(self, random_state: int = 0):
        X, progression = load_diabetes(return_X_y=True, scaled=False)
        order = shuffled(len(X), random_state)
        train, new = order[: PATIENTS[-1]], order[PATIENTS[-1] :]
        self.model = BudgetRidge(BUDGET, costs=COSTS, random_state=random_state).fit(X[train], progression[train])
        self.X, self.progression = X[new], progression[new]

    def visit(self, patient: int = 0) -> NewPatient:
        """Ask for the tests of one new patient that are worth their price."""
        values, on_file, names = self.X[patient], np.flatnonzero(COSTS == 0.0), list(PRICES)
        visit = self.model.visit({int(at): values[at] for at in on_file}, costs=COSTS, price_of_error=PRICE_OF_ERROR)
        steps = [VisitStep("", np.nan, 0.0, 0.0, visit.prediction, visit.std)]
        while (query := visit.ask()) is not None:
            (test,) = query.attributes
            visit.tell(query, values[query.attributes])
            price = visit.spent - steps[-1].spent
            steps.append(VisitStep(names[test], values[test], price, visit.spent, visit.prediction, visit.std))
        return NewPatient([names[at] for at in on_file], steps, visit.why, self.progression[patient])

    def visit_everybody(self) -> NewPatients:
        """Visits of all new patients, compared with predictions from all tests."""
        bought = self.model.buy(self.X, costs=COSTS, price_of_error=PRICE_OF_ERROR)
        r2 = r2_score(self.progression, bought.predictions)
        return NewPatients(len(self.X), bought.spent.mean(), r2, self.model.score(self.X, self.progression))
