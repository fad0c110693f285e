"""Boosted trees on rows with holes: they model interactions of columns, which a sum of curves cannot."""

import os
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
from threadpoolctl import ThreadpoolController

from sparing.cells import Cells
from sparing.models.folds import folds, thinned

JUDGED = 2  # fits that each leave out one fold and predict it; one more uses all examples
BINS = 63  # of a column, or categories; four times as many took 1.4 times as long and were no better on tables
FIRST = {"max_iter": 50, "learning_rate": 0.15}  # the first fit is a short one: it often shows that trees do not help
SIDE_BY_SIDE = 1_000_000  # values of rows, including holes, from which fits are made at once, one on each core
HIDDEN = 20_000  # maximum number of examples that are repeated with some of their cells hidden
GRID = 2.0**20  # steps per standard deviation to which targets are rounded: gradients have 24 bits


def rows_with_holes(cells: Cells) -> np.ndarray:
    """One row per example, with NaN where nothing was bought."""
    rows = np.full((cells.n_examples, cells.n_attributes), np.nan)
    rows[cells.examples(), cells.attributes] = cells.values
    return rows


class Fit(NamedTuple):
    """One scikit-learn model per output, on the columns that have a value in its examples."""

    columns: np.ndarray  # some versions of scikit-learn refuse a column without a value
    models: list[Any]


class BoostedTrees:
    """Gradient-boosted trees for each output, by scikit-learn's histograms, which allow holes and any units.

    Some fits leave out one fold of the examples, by which they can be judged, and one uses all examples; predictions
    are their average. Targets are standardized and rounded, or else their units would decide between splits of equal
    gain. Fits are made when they are first needed, and are a pure function of the cells.

    Trees fitted to whole rows predict poorly from parts of them. So if more than half of the values were seen, examples
    are repeated with random cells hidden; rows bought on a smaller budget have enough holes. Columns of up to 63
    categories (``levels``) are split by category; codes of more categories are treated as numbers.
    """

    def __init__(self, cells: Cells, levels: np.ndarray | None = None):
        self._cells: Cells | None = cells
        levels = np.zeros(cells.n_attributes, np.int64) if levels is None else levels
        self._categorical = (levels > 0) & (levels <= BINS)
        self._fits: list[Fit] = []
        self.units, self.target_units = np.zeros(cells.n_attributes, int), np.zeros(cells.n_outputs, int)
        ends, spreads = (cells.targets.min(axis=0), cells.targets.max(axis=0)), cells.targets.std(axis=0)
        self._middles, constant = (ends[0] + ends[1]) / 2.0, ends[0] == ends[1]  # exact if the target is constant
        self._spreads = np.where(constant, 1.0, spreads)

    def fit(self, n_fits: int = JUDGED + 1) -> Self:
        """Make at least ``n_fits`` fits, side by side if they take long."""
        if self._cells is not None:
            make, folds = partial(self._leaving_out, self._cells), range(len(self._fits), n_fits)
            if self.take_long and len(folds) > 1:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    self._fits += pool.map(make, folds)
            else:
                self._fits += map(make, folds)
        if len(self._fits) > JUDGED:
            self._cells = None  # no longer needed
        return self

    @property
    def take_long(self) -> bool:
        """Whether fits are long enough to be made side by side."""
        return self._cells is not None and self._cells.n_examples * self._cells.n_attributes >= SIDE_BY_SIDE

    def _leaving_out(self, cells: Cells, fold: int) -> Fit:
        from sklearn.ensemble import HistGradientBoostingRegressor

        with_hidden_parts = mostly_seen(cells)
        if fold < JUDGED:
            cells = cells.take(folds(cells) != fold)
        if with_hidden_parts:
            cells = Cells.merge([cells, thinned(cells, HIDDEN).partly_hidden()])
        columns, weights = np.unique(cells.attributes), cells.weights if cells.is_weighted else None
        rows, categorical = rows_with_holes(cells), self._categorical[columns]
        rows = rows if columns.size == cells.n_attributes else rows[:, columns]
        options = ({"categorical_features": categorical} if categorical.any() else {}) | (FIRST if fold == 0 else {})
        models = [
            HistGradientBoostingRegressor(max_bins=BINS, early_stopping=False, random_state=0, **options)
            for _ in range(cells.n_outputs)
        ]
        targets = np.round(GRID * (cells.targets - self._middles) / self._spreads) / GRID
        with _one_thread():  # with more, threads wait for each other on tables of this size
            for model, target in zip(models, targets.T, strict=True):
                model.fit(rows, target, sample_weight=weights)
        return Fit(columns, models)

    def predict_without(self, fold: int, X) -> np.ndarray:
        """Predictions by the fit that left out this fold."""
        return self._predict(self.fit(fold + 1)._fits[fold], X)

    def predict(self, X) -> np.ndarray:
        """Predictions for rows, with NaN or whole: (n, n_outputs)."""
        return np.mean([self._predict(fit, X) for fit in self.fit()._fits], axis=0)

    def _predict(self, fit: Fit, X) -> np.ndarray:
        columns, models = fit
        rows = np.ldexp(X[:, columns], -self.units[columns])
        with _one_thread():
            standardized = np.column_stack([model.predict(rows) for model in models])
        return np.ldexp(self._middles + self._spreads * standardized, self.target_units)

    def in_units(self, attributes: np.ndarray, targets: np.ndarray) -> Self:
        """The same trees, for attributes and targets multiplied by these powers of two."""
        trees = copy(self.fit())
        trees.units, trees.target_units = self.units + attributes, self.target_units + targets
        return trees


def _one_thread() -> Any:
    return _openmp().limit(limits=1, user_api="openmp")


@cache
def _openmp() -> ThreadpoolController:
    """The thread pools, found once those of trees are loaded; searching for them takes milliseconds."""
    return ThreadpoolController()


def boosting_seconds(cells: Cells) -> float:
    """Estimated seconds of one fit on one core of 2020: a hundred trees per output, all columns and examples."""
    n_examples = cells.n_examples + (min(cells.n_examples, HIDDEN) if mostly_seen(cells) else 0)
    size = n_examples * cells.n_attributes
    return cells.n_outputs * (0.15 + 1e-6 * size + 5e-3 * cells.n_attributes)


def mostly_seen(cells: Cells) -> bool:
    """Whether more than half of the values were seen."""
    return 2 * len(cells) > cells.n_examples * cells.n_attributes
