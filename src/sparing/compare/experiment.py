"""Split, tune, run: the papers' experiment on any data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, log, sqrt
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from sparing import checks
from sparing.compare.algorithms import ALGORITHMS, LINE_UPS, Algorithm, Setting, algorithm_names
from sparing.compare.result import Comparison, Row
from sparing.datasets import scale_max_abs
from sparing.geometry import improvement_ratio, second_moments

FOLDS, SHORT_FOLDS, SHORT = 5, 10, 2_000  # more folds for runs of fewer examples, whose results vary more
TUNING_ROWS = 20_000  # the theorems' steps fall as 1/sqrt(m), which carries a choice over to longer prefixes
FOLD_ROWS = 500
REFERENCE_ROWS = 1_000
SPAN = 64  # the largest allowance over the smallest
LIMIT = 4.0**7  # how far from 1 the strength is looked for


def compare(
    X,
    y,
    *,
    budget: int,
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
    X, y : matrix of shape (n_examples, n_attributes), dense or CSR, and one target an example
    budget : int
        Attributes of one example that an attribute-efficient algorithm may look at.
    penalty : {"ridge", "lasso"}
        Which of the papers' line-ups runs if ``algorithms`` is not given.
    algorithms : list of str, optional
        Names in :data:`sparing.compare.ALGORITHMS`.
    seeds : int
        Repetitions, each with a new order of the training data and new draws.
    points : int
        Allowances of attributes, from a 64th of budget times training rows (or as little as can be learnt from) to
        all of it. Where an allowance does not buy enough whole rows, algorithms that need them have no run.
    test_fraction : float
        Part of the rows kept for the test error; nothing is chosen by them.
    scale : bool
        The papers' scaling: attributes are centred (unless sparse) and divided by their largest absolute value, and
        the target is centred, all by training data. The zero predictor is then the training mean.
    jobs : int
        Threads; -1 is one per core. The result does not depend on it.
    random_state : int
        Same seed, same result.
    progress : callable, optional
        Called with the part of all the work that was just done.

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
    data = Data.split(X, y, budget, test_fraction, scale, random_state)
    allowances = data.allowances(checks.whole("points", points))
    tasks = [(n, a) for a in reversed(allowances) for n in names if data.affords(ALGORITHMS[n], a)]
    searched = [task for task in tasks if ALGORITHMS[task[0]].radii]
    work = sum(allowance for _, allowance in searched)
    report = progress or (lambda part: None)
    repetitions = [(repetition,) for repetition in range(checks.whole("seeds", seeds))]
    rows: list[Row] = []

    def repeat(settings, share: float) -> None:
        for _, some in _in_parallel(jobs, partial(data.repeat, settings), repetitions if settings else []):
            rows.extend(some)
            report(share / seeds)

    # those that need no search come first: they can begin before scikit-learn, which the search needs, is imported
    free = {task: (1.0, 1.0) for task in tasks if task not in searched}
    repeat(free, 0.3 if searched else 1.0)
    chosen: dict[tuple[str, int], tuple[float, float]] = {}
    for task, best in _in_parallel(jobs, data.tune, searched):
        chosen[task] = best
        report((0.4 if free else 0.7) * task[1] / work)
    repeat(chosen, 0.3)
    rows.sort(key=lambda row: (names.index(row.algorithm), row.allowance, row.repetition))
    ratio = improvement_ratio(data.moments, ALGORITHMS[names[0]].penalty)
    return Comparison(rows, names, data.X.shape[0], data.X_test.shape[0], data.X.shape[1], data.budget, ratio)


@dataclass
class Data:
    """A data set split in two, and what the choice of settings needs to know of its training part."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    budget: int
    seed: int

    @classmethod
    def split(cls, X, y, budget, test_fraction, scale, seed) -> "Data":
        """Check, split, scale by the training part; refuse what nothing can be learnt from."""
        X = checks.matrix(X)
        y = checks.targets(y, X.shape[0])
        if y.shape[1] != 1:
            raise ValueError(f"y has {y.shape[1]} columns; compare one target at a time.")
        budget = checks.attribute_budget(budget, X.shape[1])
        least = _least_rows(X.shape[1])
        if X.shape[0] * (1 - checks.fraction("test_fraction", test_fraction)) < least:
            raise ValueError(
                f"{X.shape[0]} rows are too few: training on {X.shape[1]} attributes needs {least}, and "
                f"{test_fraction:g} of all rows are for the test; pass {ceil(least / (1 - test_fraction)) + 1} or more."
            )
        order = np.random.default_rng(checks.seed(seed)).permutation(X.shape[0])
        test, train = np.split(order, [ceil(test_fraction * order.size)])
        X, X_test, y, y_test = X[train], X[test], y[train, 0], y[test, 0]
        if scale:
            X, scaler = scale_max_abs(X, center=not sparse.issparse(X))
            X_test, y, y_test = scaler.transform(X_test), y - y.mean(), y_test - y.mean()
        if np.ptp(y) < 1e-12 * max(1.0, abs(y).max()) or not y_test.any():
            raise ValueError("the target is constant; there is nothing to predict. Choose another target.")
        return cls(X, y, X_test, y_test, budget, checks.seed(seed))

    def __post_init__(self):
        self.moments = second_moments(self.X)
        self.norms = {"ridge": sqrt(self.moments.sum()), "lasso": sqrt(self.moments.max())}
        self.target_norm = float(np.sqrt(np.mean(self.y**2)))
        if not self.moments.any():
            raise ValueError("every attribute is constant; there is nothing to learn from. Add other columns.")
        self._lay_out_folds()

    def _lay_out_folds(self) -> None:
        """Rows for tuning, written down twice: so each fold's training rows, from its end on, lie in one piece."""
        rows = np.random.default_rng(self.seed).permutation(self.y.size)[:TUNING_ROWS]
        twice = np.concatenate([rows, rows])
        self.fold_X, self.fold_y, self.fold_rows = self.X[twice], self.y[twice], rows.size
        self.fold_size = min(rows.size // SHORT_FOLDS, FOLD_ROWS)

    @cached_property
    def radii(self) -> dict[str, float]:
        """Norms of an offline ridge solution, for want of anything better to call large."""
        ridge = ALGORITHMS["Ridge"]
        m = min(self.fold_rows, REFERENCE_ROWS)
        coef = fit(ridge, self._setting(ridge, 1.0, 1.0, self.seed), self.fold_X[:m], self.fold_y[:m])[0]
        return {"ridge": float(np.linalg.norm(coef)) or 1.0, "lasso": float(np.abs(coef).sum()) or 1.0}

    # Allowances -----------------------------------------------------------------------------------------------------

    def allowances(self, points: int) -> list[int]:
        """Numbers of attributes, evenly spread on a log scale; the last buys ``budget`` of each training row."""
        n, d = self.X.shape
        most, least = self.budget * n, self.budget * _least_rows(d)
        spread = np.geomspace(max(least, most / SPAN), most, points) if points > 1 else [most]
        return sorted({self.budget * round(allowance / self.budget) for allowance in spread})

    def examples(self, algorithm: Algorithm, allowance: int) -> int:
        """How many examples the allowance buys."""
        return allowance // (self.X.shape[1] if algorithm.whole_rows else self.budget)

    def affords(self, algorithm: Algorithm, allowance: int) -> bool:
        """Whether it buys enough of them."""
        return self.examples(algorithm, allowance) >= log(2 * self.X.shape[1])

    # Choosing settings ----------------------------------------------------------------------------------------------

    def tune(self, name: str, allowance: int) -> tuple[float, float]:
        """The radius and strength with the best cross-validated loss at this allowance."""
        algorithm = ALGORITHMS[name]
        return self._search(algorithm, self.examples(algorithm, allowance))

    def _search(self, algorithm: Algorithm, m: int) -> tuple[float, float]:
        """For every radius go by factors of 4 in strength while that helps; then try half and twice the best."""
        m = min(m, self.fold_rows - self.fold_size)
        scores: dict[tuple[float, float], float] = {}

        def score(radius: float, strength: float) -> float:
            key = (radius, strength)
            if key not in scores:
                scores[key] = self._cross_validate(algorithm, radius, strength, m)
            return scores[key]

        for radius in algorithm.radii:
            low, high = algorithm.strengths
            step = 0.25 if score(radius, low) <= score(radius, high) else 4.0
            best = low if step < 1 else high
            while 1 / LIMIT < best * step < LIMIT and score(radius, best * step) < score(radius, best):
                best *= step
        radius, strength = min(scores, key=lambda key: scores[key])
        for factor in (0.5, 2.0):
            score(radius, factor * strength)
        return min(scores, key=lambda key: scores[key])

    def _cross_validate(self, algorithm: Algorithm, radius: float, strength: float, m: int) -> float:
        """Mean loss over the folds plus its standard error, so that a setting that sometimes fails is passed over."""
        losses = []
        folds = SHORT_FOLDS if m <= SHORT else FOLDS
        for fold in range(folds):
            first = fold * self.fold_rows // folds
            last = first + self.fold_size
            setting = self._setting(algorithm, radius, strength, self.seed + fold)
            coef, intercept, _, _ = fit(algorithm, setting, self.fold_X[last : last + m], self.fold_y[last : last + m])
            predicted = self.fold_X[first:last] @ coef + intercept
            losses.append(np.mean((predicted - self.fold_y[first:last]) ** 2))
        return cautious_mean(losses)

    def _setting(self, algorithm: Algorithm, radius: float, strength: float, seed: int) -> Setting:
        return Setting(
            n_attributes=self.X.shape[1],
            budget=self.budget,
            radius=radius * self.radii[algorithm.penalty] if algorithm.radii else radius,
            strength=strength,
            second_moments=self.moments,
            norm=self.norms[algorithm.penalty],
            target_norm=self.target_norm,
            seed=seed,
        )

    # Running --------------------------------------------------------------------------------------------------------

    def repeat(self, chosen, repetition: int) -> list[Row]:
        """All algorithms at all allowances on one new order of the training data."""
        seed = seed_of_repetition(self.seed, repetition)
        order = np.random.default_rng(seed).permutation(self.y.size)
        X, y, zero = self.X[order], self.y[order], np.mean(self.y_test**2)
        rows = []
        for (name, allowance), (radius, strength) in chosen.items():
            m = self.examples(ALGORITHMS[name], allowance)
            setting = self._setting(ALGORITHMS[name], radius, strength, seed)
            coef, intercept, cells, draws = fit(ALGORITHMS[name], setting, X[:m], y[:m])
            error = float(np.mean((self.X_test @ coef + intercept - self.y_test) ** 2) / zero)
            rows.append(Row(name, allowance, repetition, m, cells, draws, error, setting.radius, strength))
        return rows


def fit(algorithm: Algorithm, setting: Setting, X, y) -> tuple[np.ndarray, float, int, int]:
    """The weights and the intercept, how many values were bought for them, and how many draws were made."""
    model = algorithm.make(setting)
    if hasattr(model, "run"):
        model.run(X, y)
        return model.coef, model.intercept, model.cells, model.draws
    from sklearn.exceptions import ConvergenceWarning

    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # a setting that does not converge shows in its loss
        model.fit(X, y)
    return np.ravel(model.coef_), 0.0, X.shape[0] * X.shape[1], X.shape[0] * X.shape[1]


def seed_of_repetition(seed: int, repetition: int) -> int:
    """One of its own for every pair: experiments with neighbouring seeds have no repetition in common."""
    return int(np.random.SeedSequence((seed, repetition)).generate_state(1)[0])


def cautious_mean(losses) -> float:
    """The mean plus its standard error; infinite if a run diverged, so that its setting is never the least."""
    if not np.isfinite(losses).all():
        return np.inf
    return float(np.mean(losses) + np.std(losses, ddof=1) / sqrt(len(losses)))


def _least_rows(n_attributes: int) -> int:
    """Two-phased lasso needs log(2d) examples in phase one, a tenth of a run; nine tenths remain while tuning."""
    return max(50, ceil(15 * log(2 * n_attributes)))


def _in_parallel(jobs: int, task: Callable, arguments: list[tuple]) -> Iterator[tuple[tuple, Any]]:
    """Arguments and result of each task, as they come; the compiled loops run beside each other in threads."""

    def labelled(values):
        return values, task(*values)

    run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")
    yield from run(delayed(labelled)(values) for values in arguments)
