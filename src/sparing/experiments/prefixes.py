"""The protocol of both papers on attributes: settings by cross-validation, then runs on growing prefixes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from sklearn.model_selection import train_test_split

from sparing.compare import ALGORITHMS, Algorithm
from sparing.compare.data import SHORT, SHORT_FOLDS, Data
from sparing.compare.running import FittedRun, cautious_mean, fit, seed_of_repetition
from sparing.datasets import load_covertype, load_mnist_pair, make_power_law, scale_max_abs
from sparing.experiments.figures import RATIO, Scale, Task, Tuning
from sparing.geometry import improvement_ratio

TEST_ROWS = 10_000
SLOW = ("AutoLearner", "AutoLasso")


@dataclass
class Prefixes(Data):
    """Training and test data, the algorithms that run on them, and how many folds choose their settings.

    A repetition is a new order of the training rows with new draws. All algorithms of a repetition share the order and
    see a prefix of it at every spend. ``ratio`` is the improvement ratio where it is known exactly.
    """

    algorithms: Mapping[str, Algorithm] = field(default_factory=dict)
    folds: int = 10
    ratio: float | None = None

    def __post_init__(self):
        super().__post_init__()
        self.X_test = np.asarray(self.X_test, dtype=np.float64)  # converted once, not in every prediction
        columns = np.column_stack([self.X_test, np.ones(len(self.y_test)), self.y_test])
        self.test_moments = columns.T @ columns / len(columns)
        self.in_order = lru_cache(maxsize=2)(self._in_order)  # the runs of a repetition follow one another

    def tasks(self, scale: Scale) -> list[Task]:
        """Every algorithm at every spend that buys enough rows, and the improvement ratio once.

        The papers' algorithms come first, repetition by repetition, so that an interrupted command has whole ones.
        """
        spends = self.allowances(scale.points)
        found = []
        for name, algorithm in self.algorithms.items():
            slow = name in SLOW
            chosen = spends[:: -scale.slow_stride] if slow else spends[::-1]
            for spend in (spend for spend in chosen if self.affords(algorithm, spend)):
                repetitions = range(scale.slow_repetitions if slow else scale.repetitions)
                found += [Task(name, float(spend), repetition) for repetition in repetitions]
        found.sort(key=lambda task: (task.algorithm in SLOW, task.repetition, -task.spend))
        return [Task(RATIO, 0.0, 0), *found]

    def choose(self, algorithm: str, spend: float) -> Tuning | None:
        """The radius and strength with the best cross-validated loss; None if the algorithm chooses them itself."""
        found = self.algorithms.get(algorithm)
        return self.search(found, self.examples(found, int(spend))) if found and found.radii else None

    def cross_validate(self, algorithm: Algorithm, radius: float, strength: float, m: int) -> float:
        """The loss over ``self.folds`` folds, or more for the shortest prefixes."""
        folds = max(self.folds, SHORT_FOLDS) if m <= SHORT else self.folds
        starts = [fold * self.fold_rows // folds for fold in range(folds)]
        losses = [self.held_out_loss(algorithm, radius, strength, m, start) for start in starts]
        return cautious_mean(losses)

    def held_out_loss(self, algorithm: Algorithm, radius: float, strength: float, m: int, start: int) -> float:
        """Loss on the fold that begins at ``start``, after learning from the rows that follow it."""
        end = start + self.fold_size
        setting = self.setting(algorithm, radius, strength, self.seed + start)
        run = fit(algorithm, setting, self.fold_X[end : end + m], self.fold_y[end : end + m])
        return run.loss(self.fold_X[start:end], self.fold_y[start:end])

    def measure(self, task: Task, setting: Tuning | None) -> tuple[float, float]:
        """Values bought, and the test loss over that of the zero predictor."""
        if task.algorithm == RATIO:
            penalty = next(iter(self.algorithms.values())).penalty
            return 0.0, improvement_ratio(self.moments, penalty) if self.ratio is None else self.ratio
        algorithm, seed = self.algorithms[task.algorithm], seed_of_repetition(self.seed, task.repetition)
        m = self.examples(algorithm, int(task.spend))
        chosen = self.setting(algorithm, *(setting or (1.0, 1.0)), seed)
        X, y = self.in_order(seed)
        run = fit(algorithm, chosen, X[:m], y[:m])
        loss = run.loss(self.X_test, self.y_test) if task.algorithm in SLOW else self._linear_loss(run)
        return float(run.cells), loss / float(self.test_moments[-1, -1])

    def _in_order(self, seed: int):
        """The training rows in the order of a repetition."""
        order = np.random.default_rng(seed).permutation(self.y.size)
        return self.X[order], self.y[order]

    def _linear_loss(self, run: FittedRun) -> float:
        """The test loss of linear predictions, computed from the moments of the test rows in O(d²)."""
        d = self.X.shape[1]
        intercept = run.predict(np.zeros((1, d)))
        contrast = np.concatenate([run.predict(np.eye(d)) - intercept, intercept, [-1.0]])
        return float(contrast @ self.test_moments @ contrast)


# The papers' data ---------------------------------------------------------------------------------------------------

Panel = Callable[[Scale, int], Prefixes]


def line_up(*names: str) -> dict[str, Algorithm]:
    """The algorithms of `compare` with these names."""
    return {name: ALGORITHMS[name] for name in names}


def simulated(exponent: float, penalty: str, algorithms: Mapping[str, Algorithm]) -> Panel:
    """Independent 0/1 attributes, 500 of them, whose means fall by a power; 5 looks."""

    def make(scale: Scale, seed: int) -> Prefixes:
        rows = 20_000 if scale.name == "quick" else 40_000
        made = make_power_law(rows + TEST_ROWS, 500, exponent, penalty, random_state=seed, dtype=np.float32)
        X, y = made.data, made.target.astype(np.float64)
        ratio = improvement_ratio(made.second_moments, penalty)  # from exact moments: some attributes are 1 in no row
        return Prefixes(X[:rows], y[:rows], X[rows:], y[rows:], 5, seed, algorithms, scale.folds, ratio)

    return make


def mnist(budget: int, algorithms: Mapping[str, Algorithm]) -> Panel:
    """MNIST 3 against 5 with the data set's own test part, scaled by the training part."""

    def make(scale: Scale, seed: int) -> Prefixes:
        train, test = (load_mnist_pair(3, 5, subset=part, dtype=np.float32) for part in ("train", "test"))
        X, scaler = scale_max_abs(train.data)
        y, y_test = train.target.astype(np.float64), test.target.astype(np.float64)
        return Prefixes(X, y, scaler.transform(test.data), y_test, budget, seed, algorithms, scale.folds)

    return make


def covertype(algorithms: Mapping[str, Algorithm]) -> Panel:
    """Covertype, class 2 against the rest, 5 looks; the test rows are 10,000 others."""

    def make(scale: Scale, seed: int) -> Prefixes:
        X, y = load_covertype(2, dtype=np.float32, return_X_y=True)
        rows = 20_000 if scale.name == "quick" else 100_000
        parts = train_test_split(X, y.astype(np.float64), train_size=rows, test_size=TEST_ROWS, random_state=seed)
        X, scaler = scale_max_abs(parts[0])
        return Prefixes(X, parts[2], scaler.transform(parts[1]), parts[3], 5, seed, algorithms, scale.folds)

    return make
