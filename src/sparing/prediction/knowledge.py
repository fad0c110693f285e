"""The conditional distribution of a case, updated look by look: a Cholesky factor that grows by one row per look."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sparing.models.classes import Classes, sum_in_turn
from sparing.models.gaussian import FittedModel

LEAST_LEFT = 1e-10  # part of a variance, below which what was looked at before determines a variable


class GrowingRows:
    """Rows of looks, one after the other, which knowledge after a further look shares with that before it.

    So the stages of a visit, and of the purchases ahead of it, take O(d) memory each.
    """

    def __init__(self, rows: np.ndarray):
        self.rows, self._used = rows, len(rows)

    def with_row(self, n: int, row: np.ndarray) -> "GrowingRows":
        """The first n rows and one more: here, unless other looks were made from there, or the room is used up."""
        room = self
        if n < self._used or n == len(self.rows):
            room = GrowingRows(np.concatenate([self.rows[:n], np.empty((n + 4, row.size))]))
        room.rows[n], room._used = row, n + 1
        return room


@dataclass(frozen=True, eq=False)
class Knowledge:
    r"""The Gaussian given some looks, of cases that share them: everything but what depends on values.

    A look at variable j appends the row :math:`r_t = (\Sigma_{\cdot j} - \sum_{s<t} r_s r_{sj}) / \sqrt{v_j}`, in time
    and memory O(d) per look made. For a case, :math:`z_t` is the distance of the value from its expectation in standard
    deviations: so :math:`E[x | x_S] = \mu + \sum_t r_t z_t`, and the same rows say what is left of variances and of
    covariances with the outputs.

    Parameters
    ----------
    model : FittedModel
    room : GrowingRows
        Holds the rows.
    outputs : array of shape (n_looks, n_outputs)
        The same rows for the outputs.
    looks : tuple of int
        The variables that were looked at.
    variances : array of shape (d,)
        Of the variables, given the looks.
    with_outputs : array of shape (d, n_outputs)
        Covariances with the outputs, given the looks.
    classes : Classes, optional
        Three or more, whose separation depends on all outputs.
    inverse : array of shape (n_classes, n_classes), optional
        Their matrix A.
    """

    model: FittedModel
    room: GrowingRows
    outputs: np.ndarray
    looks: tuple[int, ...]
    variances: np.ndarray
    with_outputs: np.ndarray
    classes: Classes | None = None
    inverse: np.ndarray | None = None

    @classmethod
    def of_nothing(cls, model: FittedModel, classes: Classes | None = None) -> Self:
        """Before the first look."""
        d, m = model.weights.shape
        variances, with_outputs = model.attributes.variances, model.conditional.with_targets
        inverse = None if classes is None else classes.inverse_at_first
        rows = GrowingRows(np.empty((0, d)))
        return cls(model, rows, np.empty((0, m)), (), variances, with_outputs, classes, inverse)

    @property
    def rows(self) -> np.ndarray:
        """The rows of the looks: (n_looks, d)."""
        return self.room.rows[: len(self.looks)]

    def after(self, variables) -> Self:
        """With looks at some more variables, in this order."""
        found = self
        for variable in variables:
            found = found._look(int(variable))
        return found

    def _look(self, j: int) -> Self:
        spread = np.sqrt(self.variances[j]) if self._is_open(j) else np.inf
        known = np.add.reduce(self.rows[:, j, None] * self.rows, axis=0)  # look by look, as in kernels/visits.py
        row = (self.model.attributes.column(j) - known) / spread
        output = self.with_outputs[j] / spread
        return type(self)(
            self.model,
            self.room.with_row(len(self.looks), row),
            np.concatenate([self.outputs, output[None]]),
            (*self.looks, j),
            np.maximum(self.variances - row**2, 0.0),
            self.with_outputs - np.outer(row, output),
            self.classes,
            None if self.classes is None or self.inverse is None else self.classes.after_look(self.inverse, output),
        )

    def _is_open(self, j) -> np.ndarray:
        return self.variances[j] > LEAST_LEFT * self._all_variances[j]

    @cached_property
    def _all_variances(self) -> np.ndarray:
        return self.model.attributes.variances

    @cached_property
    def unexplained(self) -> np.ndarray:
        """The covariances of the outputs that are left: (n_outputs, n_outputs)."""
        left = self.model.conditional.total
        return left - sum_in_turn((self.outputs[:, :, None] * self.outputs[:, None, :]).T).T if self.looks else left

    @cached_property
    def separations(self) -> np.ndarray:
        """The inner products of the class means, given what is known; of three or more, up to a constant matrix."""
        if self.classes is None or self.inverse is None:
            return self.model.classes.separations(self.unexplained[None])[0]
        return self.classes.slope * self.inverse

    def outputs_of(self, variables: np.ndarray) -> np.ndarray:
        r"""What ``outputs`` would be of looks at each row of variables, one after another: (n, k) gives (n, k, m).

        The sum of their products is what a row would explain: :math:`c_P^T V_{PP}^{-1} c_P`.
        """
        found, n_together = self.with_outputs[variables].copy(), variables.shape[1]
        closed = LEAST_LEFT * self._all_variances[variables]
        left = self.variances[variables][:, :, None]
        if n_together > 1:
            before = np.take(self.rows, variables, axis=1)  # (n_looks, n, k), in this order in memory
            known = np.add.reduce(before[:, :, :, None] * before[:, :, None, :], axis=0)
            left = self.model.attributes.blocks(variables) - known
        for at in range(n_together):
            own = left[:, at, at]
            spread = np.sqrt(own, out=np.full(len(own), np.inf), where=own > closed[:, at])[:, None]
            found[:, at] /= spread
            column = left[:, at + 1 :, at] / spread
            found[:, at + 1 :] -= column[:, :, None] * found[:, at, None, :]
            left[:, at + 1 :, at + 1 :] -= column[:, :, None] * column[:, None, :]
        return found

    def distances(self, known: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The distances of values (n, n_looks) of the last looks, after those ``known``: (n, n_known), to append."""
        found, means = known, self.model.attributes.means
        for j, value in zip(self.looks[known.shape[1] :], values.T, strict=True):
            t = found.shape[1]
            spread = self.rows[t, j]  # its own entry is the standard deviation; zero where others determine it
            away = value - means[j] - _sum_over_looks(found, self.rows[:t, j])
            z = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
            found = np.concatenate([found, z[:, None]], axis=1)
        return found

    def predictions(self, distances: np.ndarray) -> np.ndarray:
        """The means of the outputs for cases with these distances, trees aside: (n, n_outputs)."""
        moves = [_sum_over_looks(distances, of_looks) for of_looks in self.outputs.T]
        return self.model.center + np.stack(moves, axis=1)


def _sum_over_looks(distances: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """One after another for each case: so it is the same to the last bit whether alone or among others."""
    if not factors.size:
        return np.zeros(len(distances))
    return np.add.accumulate((distances * factors).T, axis=0)[-1]
