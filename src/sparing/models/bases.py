"""Basis functions of columns. One look serves all functions of a column, so a curve costs no more than a line."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from sparing.cells import Cells
from sparing.cells.pieces import PIECE
from sparing.models.curves import LINE, LINES, NO_FUNCTIONS, Column, Kind
from sparing.models.summary import LOOKS_FOR_A_SCALE, Summary, looks_that_vary, summarize

TAIL = 0.005  # fraction of a column's looks that is winsorized on each side
MOST_KNOTS = 200  # of normal scores
LEAST_CURVE = 0.02  # smallest relative standard deviation of a function, given the functions before it
TINY = float(np.finfo(float).tiny)
MOST_LEVELS = 20  # categories with an indicator of their own: fits are cubic in it, and all others are rarer than 5 %


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions of all columns, learnt from cells.

    Parameters
    ----------
    kind : Kind
    columns : list of Column

    Examples
    --------
    >>> cells = Cells(1)
    >>> cells.extend([1] * 6, [0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 1000.0], np.zeros(6))
    >>> basis = learn_basis(Kind("normal scores", 0), cells)
    >>> basis.functions(np.array([[1.0], [3.5], [1000.0], [2000.0]])).round(2).ravel().tolist()
    [-1.54, 0.0, 1.54, 1.54]
    """

    kind: Kind
    columns: list[Column]

    @cached_property
    def starts(self) -> np.ndarray:
        """The number of the first function of each column, and the number of all functions."""
        return np.concatenate([[0], np.cumsum([column.values.shape[1] for column in self.columns])])

    @property
    def columns_of_functions(self) -> np.ndarray:
        """The number of the column of each function."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.starts))

    @property
    def size(self) -> int:
        """The number of functions of all columns."""
        return int(self.starts[-1])

    def expand(self, cells: Cells) -> Cells:
        """Cells of the functions in place of cells of the columns."""
        widths, order, columns = np.diff(self.starts), *_by_column(cells)
        repeats, looks = widths[cells.attributes], cells.values[order].astype(np.float64)
        ends = np.concatenate([[0], np.cumsum(repeats)])
        table = np.concatenate([column.values.ravel() for column in self.columns])  # of all values at knots
        begins = np.cumsum([0, *(column.values.size for column in self.columns)])
        places, parts = np.empty(len(cells), np.int64), np.empty(len(cells))  # of the cells, as in that table
        for column, here in columns:
            left, parts[order[here]] = self.columns[column].place(looks[here])
            places[order[here]] = begins[column] + widths[column] * left
        attributes, values = np.empty(ends[-1], np.int64), np.empty(ends[-1])
        for first in range(0, len(cells), PIECE):  # to bound memory
            some = slice(first, first + PIECE)
            at = np.repeat(np.arange(len(cells))[some], repeats[some])
            into = slice(ends[first], ends[first] + at.size)
            functions = np.arange(into.start, into.stop) - ends[at]
            here, after = table[places[at] + functions], table[places[at] + functions + repeats[at]]
            attributes[into] = self.starts[cells.attributes[at]] + functions
            values[into] = here + parts[at] * (after - here)
        expanded = Cells(max(self.size, 1), n_outputs=cells.n_outputs)
        sizes = np.diff(ends[cells.starts])
        chances = np.repeat(cells.probabilities, repeats)
        more = {"weights": cells.weights if cells.is_weighted else None, "blocks": cells.blocks}
        expanded.extend(sizes, attributes, values, cells.targets, probabilities=chances, **more)
        return expanded

    def summary(self, expanded: Cells) -> Summary:
        """The summary of the cells from which functions were learnt; means 0, variances 1 without lines and weights."""
        if self.kind == LINES or expanded.is_weighted:
            return summarize(expanded)
        ones = np.ones(expanded.n_attributes)
        counts = np.bincount(expanded.attributes, minlength=expanded.n_attributes)
        return Summary(
            counts, counts, 0.0 * ones, ones, ones, expanded.targets.mean(axis=0), expanded.targets.var(axis=0)
        )

    def functions(self, X: np.ndarray) -> np.ndarray:
        """The values of all functions for whole rows: (n, size)."""
        return np.concatenate([column(X[:, j]) for j, column in enumerate(self.columns)], axis=1)

    def inverse(self, functions: np.ndarray) -> np.ndarray:
        """Values of numeric columns at which their functions have these values; NaN for a column without functions."""
        rows = np.full((len(functions), len(self.columns)), np.nan)
        for at, column in enumerate(self.columns):
            if column.values.shape[1]:
                rows[:, at] = column.inverse(functions[:, self.starts[at]])
        return rows

    def by_column(self, of_functions: np.ndarray, otherwise) -> np.ndarray:
        """The sum over each column's functions; ``otherwise`` for a column without functions."""
        added = of_functions[: self.size]
        sums = np.bincount(self.columns_of_functions, weights=added, minlength=len(self.columns))
        return np.where(np.diff(self.starts) > 0, sums, otherwise)


def learn_basis(kind: Kind, cells: Cells, levels: np.ndarray | None = None) -> Basis:
    """The basis whose knots and scales are learnt from these cells; a column that hardly varies has no function.

    ``levels`` is the number of categories of each column, 0 for a numeric one.
    """
    columns = [NO_FUNCTIONS] * cells.n_attributes
    varied, (order, seen) = looks_that_vary(cells), _by_column(cells)
    looks = cells.values[order].astype(np.float64)
    for column, here in seen:
        if levels is not None and levels[column]:
            columns[column] = _indicators(looks[here], levels[column])
        elif kind == LINES:
            columns[column] = _line(looks[here])
        elif varied[column] >= LOOKS_FOR_A_SCALE:
            columns[column] = _column(kind, looks[here])
    return Basis(kind, columns)


def transformed(kind: Kind | None, levels: np.ndarray | None, learnt: Cells, *others: Cells) -> tuple:
    """The basis of this kind learnt from cells, these cells expanded, their summary, and the other cells expanded.

    Without a kind and without categorical columns no basis is needed: it is None, and cells are returned unchanged.
    """
    if kind is None and (levels is None or levels.max() < 2):
        return None, learnt, summarize(learnt), *others
    basis = learn_basis(LINES if kind is None else kind, learnt, levels)
    expanded = basis.expand(learnt)
    return basis, expanded, basis.summary(expanded), *(basis.expand(cells) for cells in others)


def _by_column(cells: Cells) -> tuple[np.ndarray, list[tuple[int, slice]]]:
    """An order of cells by column, and the columns that were looked at, with the positions of their cells in it."""
    attributes = cells.attributes.astype(np.min_scalar_type(cells.n_attributes))  # few bytes are sorted digit by digit
    order = np.argsort(attributes, kind="stable")
    columns, firsts = np.unique(attributes[order], return_index=True)
    ends = [*firsts.tolist(), order.size]
    return order, [(column, slice(*ends[at : at + 2])) for at, column in enumerate(columns.tolist())]


def _line(looks: np.ndarray) -> Column:
    """The column itself, minus its mean."""
    ends = np.array([-LINE, LINE]) * (looks.std() or 1.0)
    return Column(looks.mean() + ends, ends[:, None], is_line=True)


def _indicators(looks: np.ndarray, n_levels: int) -> Column:
    """One indicator for each category with enough looks, in order of frequency; all others form one category.

    That category has no indicator, because indicators sum to one. If it has too few looks as well, it is merged with
    the most frequent one.
    """
    counts = np.bincount(looks.astype(np.int64), minlength=n_levels)
    own = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    own = own[counts[own] >= LOOKS_FOR_A_SCALE]
    if looks.size - counts[own].sum() < LOOKS_FOR_A_SCALE:
        own = own[1:]
    if not own.size:
        return NO_FUNCTIONS
    values = np.zeros((n_levels, own.size))
    values[own, np.arange(own.size)] = 1.0
    indicators = Column(np.arange(float(n_levels)), values)
    return indicators._replace(values=_uncorrelated(values, indicators(looks)))


def _column(kind: Kind, looks: np.ndarray) -> Column:
    knots, scores = (_normal_scores if kind.transform == "normal scores" else _winsorized)(looks)
    if knots.size < 2:
        return NO_FUNCTIONS
    quantiles = np.arange(1, kind.hinges + 1) / (kind.hinges + 1.0)
    bends = distinct(quantiles_of(np.interp(looks, knots, scores), quantiles))
    bends = bends[(bends > scores[0]) & (bends < scores[-1])]
    corners = distinct(np.concatenate([knots, np.interp(bends, scores, knots)]))
    scores = np.interp(corners, knots, scores)[:, None]
    bent = Column(corners, np.concatenate([scores, np.maximum(scores - bends, 0.0)], axis=1))
    return bent._replace(values=_uncorrelated(bent.values, bent(looks)))


def distinct(values: np.ndarray) -> np.ndarray:
    """The same as ``np.unique``, which takes ten times as long on few values."""
    ordered, is_first = np.sort(values), np.ones(values.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def quantiles_of(values: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The same as ``np.quantile``, bit for bit, without its options, which take most of the time on few values."""
    ordered, places = np.sort(values), (values.size - 1) * probabilities
    before = places.astype(np.int64)
    low, high, part = ordered[before], ordered[np.minimum(before + 1, values.size - 1)], places - before
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))


def _winsorized(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and scores of the winsorized column, with at least one look beyond the quantile on each side."""
    ordered = np.sort(looks)
    out = max(1, int(TAIL * ordered.size))
    ends = ordered[[out, -1 - out]]
    if ends[0] == ends[1]:  # nearly constant: all variation is in the tails
        ends = ordered[[0, -1]]
    width = ends[1] - ends[0]
    return (ends, (ends - ends[0]) / max(width, TINY)) if width > 0 else (ends[:1], np.zeros(1))


def _normal_scores(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and scores: normal quantiles of the ranks, which are invariant to monotone transformations."""
    knots, counts = np.unique(looks, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts) / looks.size
    if knots.size > MOST_KNOTS:
        kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], MOST_KNOTS)))
        knots, ranks = knots[kept], ranks[kept]
    return knots, ndtri(ranks)


def _uncorrelated(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Values at the knots of functions that are orthonormalised, one after another, over the looks ``seen``."""
    means = seen.mean(axis=0)
    values, seen = values - means, seen - means
    done, done_seen = values[:, :0], seen[:, :0]
    for function, scale in enumerate(spreads_of(seen)):
        own, looks = values[:, function], seen[:, function]
        for _ in range(2 if function else 0):  # twice is enough for full precision
            shared = done_seen.T @ looks / len(looks)
            own, looks = own - done @ shared, looks - done_seen @ shared
        spread = spreads_of(looks)
        if spread > LEAST_CURVE * scale:
            done = np.concatenate([done, own[:, None] / spread], axis=1)
            done_seen = np.concatenate([done_seen, looks[:, None] / spread], axis=1)
    return done


def spreads_of(values: np.ndarray) -> np.ndarray:
    """The same as ``values.std(axis=0)``, bit for bit, in half the time if values are few."""
    distances = values - np.add.reduce(values) / len(values)
    return np.sqrt(np.add.reduce(distances * distances) / len(values))
