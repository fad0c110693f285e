"""Partly seen rows, completed by draws of their unseen values from a model of the attributes."""

from collections.abc import Iterator

import numpy as np

from sparing.models.cross_validation import SplitOfFunctions
from sparing.models.curves import Column
from sparing.models.em import StandardizedCells
from sparing.models.gaussian import Gaussian
from sparing.models.risk import solved_by_seen
from sparing.models.summary import Summary
from sparing.models.trees import rows_with_holes

DRAWS = 8  # of each row


def completed_rows(
    split: SplitOfFunctions, summary: Summary, gaussian: Gaussian, levels: np.ndarray | None
) -> Iterator[np.ndarray]:
    r"""Held-out rows whose unseen values are drawn given the seen ones, several times; whole rows once.

    The model is of functions of the columns, or of the columns themselves. If z is a draw from the model that knows
    nothing of an example, then :math:`z + \Sigma_{\cdot S} \Sigma_{SS}^{-1} (x_S - z_S)` is a draw given :math:`x_S`
    (Matheron's rule). Different examples share their z; one example has a different one each time. A column without
    functions stays NaN.
    """
    rows, basis, generator = rows_with_holes(split.columns.judged), split.basis, np.random.default_rng(0)
    holes, data = np.isnan(rows), StandardizedCells(split.judged, summary)
    if not holes.any():
        yield rows
        return

    def given_seen(z):
        """The same draws given what was seen, in the order of the examples."""
        at = data.looks.attributes
        away = data.looks.values + (summary.means[at] - z[examples, at]) / summary.spreads[at]
        solved, _ = solved_by_seen(data, gaussian, away)
        return (z + gaussian.times(solved.toarray().T).T)[data.places]

    n, examples = len(rows), np.repeat(np.arange(len(rows)), np.diff(data.looks.starts))
    drawn = gaussian.simulate(max(n, DRAWS), generator)
    expected = given_seen(np.tile(gaussian.means, (n, 1))) if levels is not None else np.empty((n, 0))
    for number in range(DRAWS):
        z = given_seen(np.roll(drawn, number, axis=0)[:n])
        values = z if basis is None else basis.inverse(z)
        if basis is not None and levels is not None:
            for at in np.flatnonzero((levels > 0) & (np.diff(basis.starts) > 0)):
                functions = expected[:, basis.starts[at] : basis.starts[at + 1]]
                values[:, at] = drawn_categories(basis.columns[at], functions, rows[:, at], generator)
        yield np.where(holes, values, rows)


def drawn_categories(column: Column, expected: np.ndarray, seen: np.ndarray, generator) -> np.ndarray:
    r"""A category for each example, given the ``expected`` values of the column's functions.

    Functions f are orthonormal combinations of indicators. So the regression of the indicator of category k, of
    frequency :math:`p_k`, is :math:`p_k (1 + f(k)^T E[f])`, which is its probability. Frequencies are those of the
    ``seen`` codes, of which NaN is none.
    """
    codes, counts = np.unique(seen[~np.isnan(seen)], return_counts=True)
    if not codes.size:
        return np.full(len(expected), np.nan)
    chances = counts * np.maximum(1.0 + expected @ column.values[codes.astype(int)].T, 1e-9)
    below = np.cumsum(chances, axis=1)
    return codes[np.sum(below < generator.random((len(expected), 1)) * below[:, -1:], axis=1)]
