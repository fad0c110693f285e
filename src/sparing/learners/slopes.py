"""Estimators of the derivative of a loss from a few looks: asking, telling, and compiled runs over rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparing import checks
from sparing.kernels import series as kernel
from sparing.kernels.ask import Draws, new_draws, new_room, new_scratch
from sparing.kernels.gather import matrix_view
from sparing.kernels.run import ask_once, run_rows, tell_once
from sparing.learners.losses import AnalyticLoss
from sparing.learners.online_state import State
from sparing.sources import ArraySource

_NO_TERMS = kernel.Terms(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Drawn(NamedTuple):
    """How a learner will use the values of a query. ``point`` and ``inner`` are positions in ``query.attributes``.

    The point is estimated from the values at ``point`` with weights 1 / (k q_i), the inner product with the weights of
    the model from those at ``inner`` with weights w_j / (n p_j), one column per output.

    The Taylor series of a derivative draws, for each shift of the loss, an order n and n factors. A factor averages N
    draws, in the order of ``inner``, with weights w_j / (N p_j); draws shared by all shifts are listed once. The last
    three arrays are empty for other learners, and while the weights are zero, when the derivative is known.
    """

    point: np.ndarray
    point_weights: np.ndarray
    inner: np.ndarray
    inner_weights: np.ndarray
    orders: np.ndarray  # n
    repeats: np.ndarray  # N; 0 if a_n is zero, so that no look is needed
    term_weights: np.ndarray  # a_n / Pr[n], over the number of shifts


class Pending(NamedTuple):
    """The draws of a round that was asked but not yet told."""

    draws: Draws
    terms: kernel.Terms = _NO_TERMS

    @property
    def attributes(self) -> np.ndarray:
        """The distinct attributes that were drawn."""
        return self.draws.attributes[: self.draws.sizes[0]]

    def view(self) -> Drawn:
        """A copy of the draws for users."""
        _, place, point_weights, inner_weights, (_, _, n) = self.draws
        k = point_weights.size
        arrays = (place[:k], point_weights, place[k : k + n], inner_weights[:n], *self.terms)
        return Drawn(*(array.copy() for array in arrays))


@dataclass(frozen=True)
class PlugInSlope:
    """The derivative at the estimated inner product: unbiased for the squared loss, biased for the smooth tube loss."""

    tube: float = -1.0  # half-width of the tube; the squared loss has a negative one
    accuracy: float = 1.0

    n_point = 0  # the learner decides how many looks go to the point

    def ask(self, state: State) -> Pending:
        """Draw the looks of the next round."""
        options, n_outputs = state.options, state.model.rows.shape[1]
        draws = new_draws(options.n_point, options.n_inner, n_outputs, everything=options.everything)
        ask_once(state.model, state.table.cells, options, draws, new_scratch(draws))
        return Pending(draws)

    def tell(self, state: State, pending: Pending, values: np.ndarray, y: np.ndarray, weight: float) -> None:
        """Move the state by a round whose values and target were checked."""
        room = np.empty(values.size), np.empty(y.size)
        tell_once(state.model, state.seen, state.options, pending.draws, values, y, weight, *room)

    def run(self, state: State, X, y: np.ndarray, weights: np.ndarray, first: int, last: int) -> None:
        """Rounds over rows first..last of a matrix, compiled."""
        model, table, seen, options = state
        draws = new_draws(options.n_point, options.n_inner, y.shape[1], everything=options.everything)
        ahead = new_draws(options.n_point, 0, y.shape[1], everything=options.everything)
        room = new_scratch(draws), *new_room(draws, y.shape[1])
        data = (matrix_view(X), y, weights, first, last)
        row, infinite = run_rows(model, table.cells, seen, options, draws, ahead, *room, *data)
        if infinite >= 0:
            raise checks.infinite(row, infinite)


@dataclass(frozen=True)
class SeriesSlope:
    """The derivative by its Taylor series, unbiased, from a random number of looks (Hazan & Koren 2012, Procedure 3).

    While the weights are zero, the derivative is known without a look. It is evaluated in Python, so the compiled loop
    stops before such a round.
    """

    loss: AnalyticLoss
    series: kernel.Series
    n_point: int  # looks that the expected length of the series leaves to the point

    tube, accuracy = -1.0, 1.0  # no tube for the kernels, since the series represents the loss

    def _room(self, state: State) -> Pending:
        """Arrays for the looks of the costliest round."""
        most = int(kernel.looks_needed(self.series).max())
        draws = new_draws(state.options.n_point, most, state.model.rows.shape[1])
        return Pending(draws, kernel.new_terms(self.series))

    def ask(self, state: State) -> Pending:
        """Draw the looks of the next round."""
        room = self._room(state)
        told = state.model, state.table.cells, state.options, self.series
        by_series = kernel.ask_series(*told, room.draws, new_scratch(room.draws), room.terms)
        return room if by_series else Pending(room.draws)

    def tell(self, state: State, pending: Pending, values: np.ndarray, y: np.ndarray, weight: float) -> None:
        """Move the state by a round whose values and target were checked."""
        told: tuple[Any, ...] = (state.model, state.seen, state.options)
        point = np.empty(values.size)
        if pending.terms.orders.size:
            kernel.tell_series(*told, self.series, *pending, values, y, weight, point, np.empty(y.size))
            return
        target = y - state.seen.targets if state.options.center else y
        phi = np.asarray(self.loss.slope(np.zeros(y.size), target))
        kernel.tell_slope(*told, pending.draws, values, y, weight, point, phi)

    def run(self, state: State, X, y: np.ndarray, weights: np.ndarray, first: int, last: int) -> None:
        """Rounds over rows first..last of a matrix, compiled but for those at zero weights."""
        draws, terms = self._room(state)
        model, table, seen, options = state
        room = new_scratch(draws), terms, *new_room(draws, y.shape[1])
        while first < last:
            told = (model, table.cells, seen, options, self.series, draws, *room)
            first, infinite = kernel.run_series(*told, matrix_view(X), y, weights, first, last)
            if infinite >= 0:
                raise checks.infinite(first, infinite)
            if first < last:
                pending = self.ask(state)
                weight = float(weights[first]) if weights.size else 1.0
                self.tell(state, pending, ArraySource(X).read(first, pending.attributes), y[first], weight)
                first += 1
