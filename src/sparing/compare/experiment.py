"""Split, tune, run: the papers' experiment on any data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from sparing import checks
from sparing.compare.algorithms import ALGORITHMS, LINE_UPS, algorithm_names
from sparing.compare.data import Data
from sparing.compare.result import Comparison, Row
from sparing.compare.running import seed_of_repetition
from sparing.geometry import improvement_ratio


def compare(
    X,
    y,
    *,
    budget: float,
    costs=None,
    groups=None,
    penalty: str = "ridge",
    algorithms=None,
    seeds: int = 10,
    points: int = 6,
    test_fraction: float = 0.25,
    scale: bool = True,
    jobs: int = 1,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Test error against attributes bought, for several algorithms on one data set.

    Parameters
    ----------
    X, y : matrix of shape (n_examples, n_attributes), dense or CSR, and one target per example
        NaN in a dense matrix is filled with the mean of the training rows, for all algorithms alike.
    budget : int or float
        Attributes of one example that an attribute-efficient algorithm may look at; with ``costs``, money for each
        example.
    costs : array of shape (n_attributes,), optional
        Price of each attribute. Allowances are then money, a whole row costs the sum of all prices, and only algorithms
        that stay within a sum of money run: those that keep what they buy, and those on whole rows.
    groups : sequence of length n_attributes, optional
        Attributes with equal labels are a panel: bought together.
    penalty : {"ridge", "lasso"}
        Which of the papers' line-ups runs if ``algorithms`` is not given.
    algorithms : list of str, optional
        Names in :data:`sparing.compare.ALGORITHMS`.
    seeds : int
        Repetitions, each with a new split into training and test rows and new draws.
    points : int
        Allowances of attributes, from a 64th of budget times training rows (or the least that suffices for learning)
        to all of it. Algorithms on whole rows do not run at allowances that buy too few of them.
    test_fraction : float
        Fraction of the rows used for the test error of a repetition, and for nothing else in it.
    scale : bool
        The papers' scaling: attributes are centred (unless sparse) and divided by their largest absolute value, and
        the target is centred, all from training data. The zero predictor is then the training mean.
    jobs : int
        Threads; -1 is one per core. The result does not depend on it.
    random_state : int
        Same seed, same result.
    progress : callable, optional
        Called with the fraction of all work that was just done.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(400, 10, exponent=-2.0, random_state=0, return_X_y=True)
    >>> result = compare(X, y, budget=2, algorithms=["AERR", "DDAERR"], seeds=2, points=2, scale=False)
    >>> [len(result.curve(name)) for name in result.algorithms]
    [2, 2]
    """
    if jobs == 0:
        raise ValueError("jobs is a number of threads, or -1 for one per core; got 0.")
    names = algorithm_names(LINE_UPS[checks.one_of("penalty", penalty, LINE_UPS)] if algorithms is None else algorithms)
    unable = [name for name in names if costs is not None and not ALGORITHMS[name].takes_prices]
    if unable and algorithms is not None:
        raise ValueError(f"{unable[0]} knows no prices; leave it out, or compare without costs.")
    names = [name for name in names if name not in unable]
    points = checks.whole("points", points)
    report = progress or (lambda part: None)
    rows: list[Row] = []
    ratios = []
    for repetition in range(checks.whole("seeds", seeds)):
        seed = seed_of_repetition(checks.seed(random_state), repetition)
        data = Data.split(X, y, budget, test_fraction, scale, seed, costs=costs, groups=groups)
        ratios.append(improvement_ratio(data.moments, ALGORITHMS[names[0]].penalty))
        tasks = [
            (repetition, name, allowance)
            for allowance in reversed(data.allowances(points))
            for name in names
            if data.affords(ALGORITHMS[name], allowance)
        ]
        # Algorithms without a search start first, since the search has to import scikit-learn.
        tasks.sort(key=lambda task: bool(ALGORITHMS[task[1]].radii))
        work = sum(allowance for *_, allowance in tasks)
        for (*_, allowance), row in _in_parallel(jobs, data.run, tasks):
            rows.append(row)
            report(allowance / work / seeds)
    rows.sort(key=lambda row: (names.index(row.algorithm), row.allowance, row.repetition))
    sizes = data.X.shape[0], data.X_test.shape[0], data.X.shape[1]
    return Comparison(rows, names, *sizes, data.budget, float(np.mean(ratios)), costs is not None)


def _in_parallel(jobs: int, task: Callable, arguments: list[tuple]) -> Iterator[tuple[tuple, Any]]:
    """Arguments and result of each task, in order of completion; compiled loops run in parallel threads."""

    def labelled(values):
        return values, task(*values)

    run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")
    yield from run(delayed(labelled)(values) for values in arguments)
