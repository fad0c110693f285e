"""Boosted trees on rows with holes: what columns do together, which a sum of curves cannot say."""

from copy import copy
from functools import cached_property
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from sparing.cells import Cells

BINS = 63  # per column, or categories: four times as many were no better on tables, and took 1.4 times as long


def rows_with_holes(cells: Cells) -> np.ndarray:
    """One row per example, with NaN where nothing was bought."""
    rows = np.full((cells.n_examples, cells.n_attributes), np.nan)
    rows[cells.examples(), cells.attributes] = cells.values
    return rows


class BoostedTrees:
    """Gradient-boosted trees for each output, by scikit-learn's histograms, which need no units and allow holes.

    Its gradients are single precision, so targets are divided by powers of two first, which is exact.

    Columns of up to 63 categories (``levels``) are split by category; codes of more are taken for numbers. They are a
    pure function of the cells. Those of a model that was read from a file are fitted when first needed.
    """

    def __init__(self, cells: Cells, levels: np.ndarray | None = None, *, at_once: bool = True):
        self._cells, self.columns = cells, np.unique(cells.attributes)  # some versions refuse a column without a value
        levels = np.zeros(cells.n_attributes, np.int64) if levels is None else levels
        self._categorical = ((levels > 0) & (levels <= BINS))[self.columns]
        self.units, self.target_units = np.zeros(self.columns.size, int), np.frexp(np.abs(cells.targets).max(axis=0))[1]
        if at_once:
            _ = self.models

    @cached_property
    def models(self) -> list:
        """One for each output."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        cells = self.__dict__.pop("_cells")  # no longer needed
        rows, weights = rows_with_holes(cells)[:, self.columns], cells.weights if cells.is_weighted else None
        options = {"categorical_features": self._categorical} if self._categorical.any() else {}
        with threadpool_limits(1, user_api="openmp"):  # with more, threads wait for each other on tables of this size
            return [
                HistGradientBoostingRegressor(max_bins=BINS, early_stopping=False, random_state=0, **options).fit(
                    rows, target, sample_weight=weights
                )
                for target in np.ldexp(cells.targets, -self.target_units).T
            ]

    def predict(self, X) -> np.ndarray:
        """Predictions for rows, with NaN or whole: (n, n_outputs)."""
        models, rows = self.models, np.ldexp(X[:, self.columns], -self.units)
        with threadpool_limits(1, user_api="openmp"):
            return np.ldexp(np.column_stack([model.predict(rows) for model in models]), self.target_units)

    def in_units(self, attributes: np.ndarray, targets: np.ndarray) -> Self:
        """The same trees, for attributes and targets multiplied by these powers of two."""
        trees = copy(self)
        trees.units, trees.target_units = self.units + attributes[self.columns], self.target_units + targets
        return trees


def boosting_seconds(cells: Cells) -> float:
    """Of one fit on one core of 2020: a hundred trees per output, which all columns and examples pass through."""
    size = cells.n_examples * cells.n_attributes
    return cells.n_outputs * (0.15 + 1e-6 * size + 5e-3 * cells.n_attributes)
