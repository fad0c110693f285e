"""Functions of columns: a look at a column pays for all of them, so a curve costs no more than a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sparing.cells import Cells
from sparing.models.summary import LOOKS_FOR_A_SCALE, Summary, looks_that_vary, summarize

TAIL = 0.005  # part of a column's looks, on each side, that winsorizing moves to the quantile there
MOST_KNOTS = 200  # of normal scores
LEAST_CURVE = 0.02  # relative standard deviation that a function must have of its own, beside those before it


class Column(NamedTuple):
    """Functions of one column, linear between knots and constant outside them.

    Over the looks at the column they are centred, uncorrelated and of variance one. The first is the column itself,
    transformed; the others bend it.
    """

    knots: np.ndarray  # increasing, at least two
    values: np.ndarray  # (n_knots, n_functions)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The functions at some values: (n, n_functions)."""
        left = np.clip(np.searchsorted(self.knots, x) - 1, 0, self.knots.size - 2)
        part = np.clip((x - self.knots[left]) / np.diff(self.knots)[left], 0.0, 1.0)
        return self.values[left] + part[:, None] * np.diff(self.values, axis=0)[left]


NO_FUNCTIONS = Column(np.array([0.0, 1.0]), np.zeros((2, 0)))


class Kind(NamedTuple):
    """How columns are transformed, and at how many of their quantiles a curve may bend."""

    transform: str  # "winsorized" or "normal scores"
    hinges: int

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.transform}, {self.hinges} hinge{'' if self.hinges == 1 else 's'}"


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
        """The first function of each column, and the number of all."""
        return np.concatenate([[0], np.cumsum([column.values.shape[1] for column in self.columns])])

    @property
    def size(self) -> int:
        """Functions of all columns."""
        return int(self.starts[-1])

    def expand(self, cells: Cells) -> Cells:
        """Every cell replaced by those of its column's functions."""
        repeats = np.diff(self.starts)[cells.attributes]
        ends = np.concatenate([[0], np.cumsum(repeats)])
        attributes, values = np.empty(ends[-1], np.int64), np.empty(ends[-1])
        for column, at in _looks(cells):
            functions = np.arange(self.starts[column], self.starts[column + 1])
            places = ends[at][:, None] + np.arange(functions.size)
            attributes[places] = functions
            values[places] = self.columns[column](cells.values[at].astype(np.float64))
        expanded = Cells(max(self.size, 1), n_outputs=cells.n_outputs)
        sizes = np.diff(ends[cells.starts])
        chances = np.repeat(cells.probabilities, repeats)
        weights = cells.weights if cells.is_weighted else None
        expanded.extend(sizes, attributes, values, cells.targets, probabilities=chances, weights=weights)
        return expanded

    def summary(self, expanded: Cells) -> Summary:
        """Of cells that the functions were learnt from: means 0 and variances 1, unless some have weights."""
        if expanded.is_weighted:
            return summarize(expanded)
        ones = np.ones(expanded.n_attributes)
        counts = np.bincount(expanded.attributes, minlength=expanded.n_attributes)
        return Summary(
            counts, counts, 0.0 * ones, ones, ones, expanded.targets.mean(axis=0), expanded.targets.var(axis=0)
        )

    def functions(self, X: np.ndarray) -> np.ndarray:
        """All functions of whole rows: (n, size)."""
        return np.concatenate([column(X[:, j]) for j, column in enumerate(self.columns)], axis=1)


def learn_basis(kind: Kind, cells: Cells) -> Basis:
    """Knots, quantiles and scales from these cells alone; a column that hardly varied has no function."""
    columns = [NO_FUNCTIONS] * cells.n_attributes
    varied = looks_that_vary(cells)
    for column, at in _looks(cells):
        if varied[column] >= LOOKS_FOR_A_SCALE:
            columns[column] = _column(kind, cells.values[at].astype(np.float64))
    return Basis(kind, columns)


def _looks(cells: Cells) -> Iterator[tuple[int, np.ndarray]]:
    """Every column that was looked at, with the places of its cells."""
    order = np.argsort(cells.attributes, kind="stable")
    columns, firsts = np.unique(cells.attributes[order], return_index=True)
    return zip(columns.tolist(), np.split(order, firsts[1:]), strict=True) if columns.size else iter(())


def _column(kind: Kind, looks: np.ndarray) -> Column:
    knots, scores = (_normal_scores if kind.transform == "normal scores" else _winsorized)(looks)
    if knots.size < 2:
        return NO_FUNCTIONS
    quantiles = np.arange(1, kind.hinges + 1) / (kind.hinges + 1.0)
    bends = np.unique(np.quantile(np.interp(looks, knots, scores), quantiles))
    bends = bends[(bends > scores[0]) & (bends < scores[-1])]
    corners = np.union1d(knots, np.interp(bends, scores, knots))
    scores = np.interp(corners, knots, scores)
    bent = Column(corners, np.column_stack([scores, *(np.maximum(scores - bend, 0.0) for bend in bends)]))
    return bent._replace(values=_uncorrelated(bent.values, bent(looks)))


def _winsorized(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and scores: the column as it is between two quantiles, which leave out a look on each side at least."""
    ordered = np.sort(looks)
    out = max(1, int(TAIL * ordered.size))
    knots = np.unique(ordered[[out, -1 - out]])
    if knots.size < 2:  # nearly always one value: all that differs is in the tails
        knots = np.unique(ordered[[0, -1]])
    return knots, (knots - knots[0]) / max(np.ptp(knots), np.finfo(float).tiny)


def _normal_scores(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and scores: the normal quantiles of the ranks, which undo tails and any monotone change of units."""
    knots, counts = np.unique(looks, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts) / looks.size
    if knots.size > MOST_KNOTS:
        kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], MOST_KNOTS)))
        knots, ranks = knots[kept], ranks[kept]
    return knots, ndtri(ranks)


def _uncorrelated(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Functions (values at knots, and at the looks) made centred, uncorrelated and of unit variance, in this order."""
    values, seen = values - seen.mean(axis=0), seen - seen.mean(axis=0)
    done, done_seen = values[:, :0], seen[:, :0]
    for function, scale in enumerate(seen.std(axis=0)):
        own, looks = values[:, function], seen[:, function]
        for _ in range(2):  # twice is enough for full precision
            shared = done_seen.T @ looks / len(looks)
            own, looks = own - done @ shared, looks - done_seen @ shared
        spread = looks.std()
        if spread > LEAST_CURVE * scale:
            done = np.column_stack([done, own / spread])
            done_seen = np.column_stack([done_seen, looks / spread])
    return done
