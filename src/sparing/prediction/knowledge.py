"""The conditional distribution of a case, updated look by look: a Cholesky factor that grows by one row per look."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

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
    """

    model: FittedModel
    room: GrowingRows
    outputs: np.ndarray
    looks: tuple[int, ...]
    variances: np.ndarray
    with_outputs: np.ndarray

    @classmethod
    def of_nothing(cls, model: FittedModel) -> Self:
        """Before the first look."""
        d, m = model.weights.shape
        variances, with_outputs = model.attributes.variances, model.conditional.with_targets
        return cls(model, GrowingRows(np.empty((0, d))), np.empty((0, m)), (), variances, with_outputs)

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
        row = (self.model.attributes.column(j) - self.rows[:, j] @ self.rows) / spread
        output = self.with_outputs[j] / spread
        return type(self)(
            self.model,
            self.room.with_row(len(self.looks), row),
            np.concatenate([self.outputs, output[None]]),
            (*self.looks, j),
            np.maximum(self.variances - row**2, 0.0),
            self.with_outputs - np.outer(row, output),
        )

    def _is_open(self, j) -> np.ndarray:
        return self.variances[j] > LEAST_LEFT * self._all_variances[j]

    @cached_property
    def _all_variances(self) -> np.ndarray:
        return self.model.attributes.variances

    @cached_property
    def unexplained(self) -> np.ndarray:
        """The covariances of the outputs that are left: (n_outputs, n_outputs)."""
        return self.model.conditional.total - self.outputs.T @ self.outputs

    @cached_property
    def separations(self) -> np.ndarray:
        """The inner products of the class means, given what is known."""
        return self.model.classes.separations(self.unexplained[None])[0]

    def gains(self, variables: np.ndarray) -> np.ndarray:
        r"""What looks at each row of variables, all of a row together, would explain: :math:`c_P^T V_{PP}^{-1} c_P`.

        An array of shape (n, k) gives covariances of shape (n, n_outputs, n_outputs).
        """
        c, n_together = self.with_outputs[variables], variables.shape[1]
        if n_together == 1:
            is_open = self._is_open(variables[:, 0])
            inverse = np.divide(1.0, self.variances[variables[:, 0]], out=np.zeros(len(variables)), where=is_open)
            return c[:, 0, :, None] * c[:, 0, None, :] * inverse[:, None, None]
        before = np.swapaxes(self.rows[:, variables], 0, 1)  # (n, n_looks, k)
        left = self.model.attributes.blocks(variables) - np.swapaxes(before, 1, 2) @ before
        closed = LEAST_LEFT * self._all_variances[variables]
        return np.swapaxes(c, 1, 2) @ np.linalg.solve(left + closed[:, :, None] * np.eye(n_together), c)

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
