"""A data set split for training and test, and the choice of settings by cross-validation within the training rows."""

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.buying.shop import Shop
from sparing.compare.algorithms import ALGORITHMS, Algorithm, Setting
from sparing.compare.result import Row
from sparing.compare.running import cautious_mean, fit
from sparing.datasets import scale_max_abs
from sparing.geometry import second_moments

FOLDS, SHORT_FOLDS, SHORT = 5, 10, 2_000  # more folds for runs of fewer examples, whose results vary more
TUNING_ROWS = 20_000  # the theorems' step sizes fall as 1/sqrt(m), so a chosen factor carries over to longer prefixes
FOLD_ROWS = 500
REFERENCE_ROWS = 1_000
SPAN = 64  # the largest allowance over the smallest
LIMIT = 4.0**7  # largest factor, and one over the smallest
LARGEST_ERROR = 1e6  # times the zero predictor's: what is reported of runs that diverged


@dataclass
class Data:
    """Training and test rows, and the statistics of the training rows that settings are scaled by."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    budget: float
    seed: int
    costs: np.ndarray | None = field(default=None, kw_only=True)
    groups: Any = field(default=None, kw_only=True)

    @classmethod
    def split(cls, X, y, budget, test_fraction, scale, seed, *, costs=None, groups=None) -> "Data":
        """Check, split, fill holes and scale from the training rows; refuse data without anything to learn."""
        X = checks.matrix(X)
        if sparse.issparse(X) and not np.isfinite(X.data).all():
            raise ValueError("X is sparse and contains NaN or infinity; fill these values first.")
        if not sparse.issparse(X) and np.isinf(X).any():
            raise ValueError("X contains infinity; put numbers there.")
        y = checks.targets(y, X.shape[0])
        if y.shape[1] != 1:
            raise ValueError(f"y has {y.shape[1]} columns; compare one target at a time.")
        if costs is None:
            budget = checks.attribute_budget(budget, X.shape[1])
        else:
            shop = Shop(X.shape[1], budget, costs=costs, groups=groups)  # refuses a budget that buys nothing
            costs = shop.costs
        least = _least_rows(X.shape[1])
        if X.shape[0] * (1 - checks.fraction("test_fraction", test_fraction)) < least:
            raise ValueError(
                f"{X.shape[0]} rows are too few: training on {X.shape[1]} attributes needs {least}, and "
                f"{test_fraction:g} of all rows are test rows; pass {ceil(least / (1 - test_fraction)) + 1} or more."
            )
        order = np.random.default_rng(checks.seed(seed)).permutation(X.shape[0])
        test, train = np.split(order, [ceil(test_fraction * order.size)])
        X, X_test, y, y_test = X[train], X[test], y[train, 0], y[test, 0]
        X, X_test = _filled(X, X_test)
        if scale:
            X, scaler = scale_max_abs(X, center=not sparse.issparse(X))
            X_test, y, y_test = scaler.transform(X_test), y - y.mean(), y_test - y.mean()
        if np.ptp(y) < 1e-12 * max(1.0, abs(y).max()) or not y_test.any():
            raise ValueError("the target is constant; there is nothing to predict. Choose another target.")
        return cls(X, y, X_test, y_test, budget, checks.seed(seed), costs=costs, groups=groups)

    def __post_init__(self):
        self.moments = second_moments(self.X)
        self.norms = {"ridge": sqrt(self.moments.sum()), "lasso": sqrt(self.moments.max())}
        self.target_norm = float(np.sqrt(np.mean(self.y**2)))
        if not self.moments.any():
            raise ValueError("every attribute is constant; there is nothing to learn from. Add other columns.")
        self._lay_out_folds()

    def _lay_out_folds(self) -> None:
        """Store the tuning rows twice, one copy after the other: the training rows of each fold are then one slice."""
        rows = np.random.default_rng(self.seed).permutation(self.y.size)[:TUNING_ROWS]
        twice = np.concatenate([rows, rows])
        self.fold_X, self.fold_y, self.fold_rows = self.X[twice], self.y[twice], rows.size
        self.fold_size = min(rows.size // SHORT_FOLDS, FOLD_ROWS)

    @cached_property
    def radii(self) -> dict[str, float]:
        """Norms of an offline ridge solution, the unit in which radii are chosen."""
        ridge = ALGORITHMS["Ridge"]
        m = min(self.fold_rows, REFERENCE_ROWS)
        coef = ridge.make(self.setting(ridge, 1.0, 1.0, self.seed)).fit(self.fold_X[:m], self.fold_y[:m]).coef_
        return {"ridge": float(np.linalg.norm(coef)) or 1.0, "lasso": float(np.abs(coef).sum()) or 1.0}

    @property
    def row_price(self) -> float:
        """The cost of a whole row; without prices, the number of attributes."""
        return float(self.X.shape[1] if self.costs is None else self.costs.sum())

    # Allowances -----------------------------------------------------------------------------------------------------

    def allowances(self, points: int) -> list[float]:
        """Spends, evenly spaced on a log scale; the last one is ``budget`` for each training row."""
        n, d = self.X.shape
        most, least = self.budget * n, self.budget * _least_rows(d)
        spread = np.geomspace(max(least, most / SPAN), most, points) if points > 1 else [most]
        return sorted({self.budget * round(allowance / self.budget) for allowance in spread})

    def examples(self, algorithm: Algorithm, allowance: float) -> int:
        """Number of examples that an allowance buys."""
        price = self.row_price if algorithm.whole_rows else self.budget
        return min(int(allowance / price + 1e-9), self.X.shape[0])

    def affords(self, algorithm: Algorithm, allowance: float) -> bool:
        """Whether an allowance buys enough examples to learn from."""
        return self.examples(algorithm, allowance) >= log(2 * self.X.shape[1])

    # Choosing settings ----------------------------------------------------------------------------------------------

    def tune(self, name: str, allowance: float) -> tuple[float, float]:
        """The radius and strength with the best cross-validated loss at this allowance."""
        algorithm = ALGORITHMS[name]
        return self.search(algorithm, self.examples(algorithm, allowance))

    def search(self, algorithm: Algorithm, m: int) -> tuple[float, float]:
        """For each radius move the strength by factors of 4 while the loss falls; then try half and twice the best."""
        m = min(m, self.fold_rows - self.fold_size)
        scores: dict[tuple[float, float], float] = {}

        def score(radius: float, strength: float) -> float:
            key = (radius, strength)
            if key not in scores:
                scores[key] = self.cross_validate(algorithm, radius, strength, m)
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

    def cross_validate(self, algorithm: Algorithm, radius: float, strength: float, m: int) -> float:
        """Mean loss over the folds plus its standard error, which penalises settings that fail in some folds."""
        losses = []
        folds = SHORT_FOLDS if m <= SHORT else FOLDS
        for fold in range(folds):
            first = fold * self.fold_rows // folds
            last = first + self.fold_size
            setting = self.setting(algorithm, radius, strength, self.seed + fold)
            run = fit(algorithm, setting, self.fold_X[last : last + m], self.fold_y[last : last + m])
            losses.append(run.loss(self.fold_X[first:last], self.fold_y[first:last]))
        return cautious_mean(losses)

    def setting(self, algorithm: Algorithm, radius: float, strength: float, seed: int) -> Setting:
        return Setting(
            n_attributes=self.X.shape[1],
            budget=self.budget,
            radius=radius * self.radii[algorithm.penalty] if algorithm.radii else radius,
            strength=strength,
            second_moments=self.moments,
            norm=self.norms[algorithm.penalty],
            target_norm=self.target_norm,
            seed=seed,
            prices={} if self.costs is None else {"costs": self.costs, "groups": self.groups},
        )

    # Running --------------------------------------------------------------------------------------------------------

    def run(self, repetition: int, name: str, allowance: float) -> Row:
        """Choose settings within the training rows, and run on the first of them, which are in random order."""
        algorithm = ALGORITHMS[name]
        radius, strength = self.tune(name, allowance) if algorithm.radii else (1.0, 1.0)
        m = self.examples(algorithm, allowance)
        setting = self.setting(algorithm, radius, strength, self.seed)
        run = fit(algorithm, setting, self.X[:m], self.y[:m])
        error = min(run.loss(self.X_test, self.y_test) / float(np.mean(self.y_test**2)), LARGEST_ERROR)
        spent = m * self.row_price if algorithm.whole_rows else run.spent
        return Row(name, allowance, repetition, m, run.cells, run.draws, error, setting.radius, strength, spent)


def _filled(X, X_test) -> tuple[Any, Any]:
    """Both matrices with the means of the training rows in place of NaN; zero where no training row has a value."""
    if sparse.issparse(X) or not (np.isnan(X).any() or np.isnan(X_test).any()):
        return X, X_test
    counts = np.maximum(1, (~np.isnan(X)).sum(axis=0))
    means = np.nansum(X, axis=0, dtype=np.float64) / counts
    return np.where(np.isnan(X), means, X), np.where(np.isnan(X_test), means, X_test)


def _least_rows(n_attributes: int) -> int:
    """Two-phased lasso needs log(2d) examples in its first phase, a tenth of a run; tuning uses nine tenths."""
    return max(50, ceil(15 * log(2 * n_attributes)))
