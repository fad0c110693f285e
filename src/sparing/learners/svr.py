r"""Learners for losses other than the squared one: any with an entire derivative, and the smooth tube loss of AESVR."""

from dataclasses import dataclass, field
from math import ceil, floor
from typing import Self

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.kernels import series as kernel
from sparing.kernels.ask import Draws, new_draws, new_room
from sparing.kernels.gather import rows_of
from sparing.kernels.state import Options
from sparing.learners.losses import AnalyticLoss, tube_loss
from sparing.learners.online import OnlineLearner
from sparing.types import Query

MOST_LOOKS = 10_000_000  # what a round may need room for


@dataclass(frozen=True, eq=False)
class SeriesQuery(Query):
    """A query whose inner-product draws make products: for each shift of the loss an order n and n factors.

    A factor averages ``repeats`` draws, in the order of ``inner``; its ``inner_weights`` are w_j / (N p_j). Shared
    draws stand there once. All three arrays are empty where the weights are zero: the slope is then known.
    """

    orders: np.ndarray  # n
    repeats: np.ndarray  # N; 0 where a_n is zero and so nothing need be looked at
    term_weights: np.ndarray  # a_n / Pr[n], over the number of shifts


@dataclass(kw_only=True, eq=False)
class AnalyticLearner(OnlineLearner):
    r"""AERR with any :class:`AnalyticLoss`: its slope is estimated without bias (Hazan & Koren 2012, Procedure 3).

    One call of GenEst draws an order n with probability :math:`2^{-(n+1)}` and returns
    :math:`2^{n+1} a_n \tilde\theta_1 \cdots \tilde\theta_n`, each factor an independent estimate of the argument.

    **How many looks that takes is random**: ``budget`` holds on average only. As many draws as are left of it,
    ``point_looks``, go to the point; ``expected_inner_looks`` go on average to the slope. ``cells`` and ``draws`` say
    what was really looked at. ``max_looks`` is a ceiling that is never passed.

    Orders above 63, of probability :math:`2^{-64}`, are never drawn: that is a bias below :math:`10^{-6}` for arguments
    of h up to 3, beyond which the variance has made the estimate useless anyway.

    **The variance grows like** :math:`e^{4\theta^2}` in the argument :math:`\theta` of h: see ``slope_moments``.

    Parameters
    ----------
    loss : AnalyticLoss
        What to minimise.
    orders : {"paper", "nonzero"}
        Draw among all orders, or only among those whose coefficient is not zero, the j-th with probability
        :math:`2^{-j}`: less variance, more looks. An order of coefficient zero costs no look in either case.
    shared : bool
        One set of draws for all shifts of the loss: fewer looks, more variance.
    repeats : int, optional
        N, draws averaged in a factor of those orders that come with a probability below about :math:`N^{-2}`; other
        orders use one. By default :math:`\lceil (BX/\text{scale})^2 \rceil`, which brings the variance of a factor
        below 1.
    max_looks : int, optional
        Never draw more than this of one example. The orders that would need more are left out of the series: the
        slope is then that of a Taylor polynomial, off by ``loss.tail(max_order + 1, reach)`` at most.
    """

    loss: AnalyticLoss
    orders: str = "paper"
    shared: bool = False
    repeats: int | None = None
    max_looks: int | None = None
    step_size: str | float = "adaptive"

    def _check(self) -> None:
        super()._check()
        if self.step_size == "theory":
            raise ValueError(
                f"{type(self).__name__} has no step size from theory: the theorem's constant is unknown and grows "
                "exponentially in (radius/accuracy)^2; pass step_size='adaptive', 'adagrad' or a number."
            )
        checks.one_of("orders", self.orders, ("paper", "nonzero"))
        if self.repeats is not None:
            checks.whole("repeats", self.repeats)
        if self.center and self.loss.form == "margin":
            raise ValueError("center=True would shift the labels of a margin loss; pass center=False.")
        self._series = self._plan()

    def _plan(self) -> kernel.Series | None:
        """The series, and how many point draws the budget leaves beside it."""
        whole = self._series_of(np.arange(self.loss.coefficients.size))
        looks = kernel.expected_looks(whole)
        self._point_looks = floor(self.budget - looks + 1e-9)
        if self._point_looks < 1:
            raise ValueError(
                f"budget is {self.budget}, but the slope alone takes {looks:.3g} looks on average; pass "
                f"{ceil(1 + looks)} or more, or shared=True."
            )
        if self.max_looks is None:
            if (most := int(kernel.looks_needed(whole).max())) > MOST_LOOKS:
                raise ValueError(
                    f"the rarest round would look {most:,} times at one example; pass max_looks=, or a larger accuracy "
                    "or smaller radius."
                )
            return whole
        ceiling = checks.whole("max_looks", self.max_looks) - self._point_looks
        needed = kernel.looks_needed(whole)
        kept = whole.orders[np.cumprod(needed <= ceiling) == 1]
        if not self.loss.coefficients[kept[kept > 0]].any():
            least = self._point_looks + int(needed[needed > 0][0])
            raise ValueError(
                f"max_looks={self.max_looks} leaves {max(ceiling, 0)} looks an example for the slope, too few for any "
                f"order of the series; pass {least} or more."
            )
        return self._series_of(kept)

    def _series_of(self, orders: np.ndarray) -> kernel.Series:
        loss = self.loss
        if self.orders == "nonzero":
            orders = orders[loss.coefficients[orders] != 0.0]
        repeats = self.repeats or ceil((self.radius * self.norm_bound / loss.scale) ** 2)
        return kernel.new_series(
            loss.coefficients,
            orders,
            repeats,
            np.array(loss.shifts, dtype=np.float64),
            float(loss.scale),
            loss.form == "margin",
            bool(self.shared),
        )

    @property
    def point_looks(self) -> int:
        """Looks of each example that estimate the point: what the slope leaves of the budget, on average."""
        return super().point_looks if self._series is None else self._point_looks

    @property
    def expected_inner_looks(self) -> float:
        """Draws an example that the slope takes on average, while the weights are not zero."""
        return float(self.budget - self.point_looks) if self._series is None else kernel.expected_looks(self._series)

    @property
    def max_order(self) -> int:
        """The highest power of the Taylor series that is ever drawn."""
        return int(self._known_series().orders[-1])

    def _known_series(self) -> kernel.Series:
        if self._series is None:
            raise ValueError("the plug-in estimate uses no series; pass estimator='series'.")
        return self._series

    def slope_moments(self, argument: float, variance: float = 0.0) -> tuple[float, float]:
        r"""Mean and mean square of the slope's estimate at :math:`z = w \cdot x - y` (or :math:`y\, w \cdot x`).

        ``variance`` is that of one inner-product draw :math:`w_j x_j / p_j`. One call has
        :math:`E[\hat\phi^2] = \sum_n \Pr[n]^{-1} a_n^2 (\theta^2 + v/N_n)^n`: averaging N draws divides the variance of
        a factor, not its squared mean, so no N helps against a large :math:`\theta`.

        Examples
        --------
        >>> learner = AESVR(20, budget=6, radius=1.0, accuracy=1.0, tube=0.0)
        >>> [round(learner.slope_moments(z)[1], 1) for z in (0.5, 1.0, 1.5, 2.0)]
        [0.8, 4.5, 107.7, 41143.0]
        """
        s = self._known_series()
        theta = (argument - s.shifts) / s.scale
        spread = variance / np.maximum(s.repeats, 1) / s.scale**2
        means = (s.chances * s.weights * theta[:, None] ** s.orders).sum(axis=1)
        products = np.multiply.outer(theta, theta)[:, :, None] + spread
        squares = (s.chances * s.weights**2 * products**s.orders).sum(axis=2)
        if not s.shared:
            squares = np.where(np.eye(theta.size, dtype=bool), squares, np.multiply.outer(means, means))
        return float(means.sum()), float(squares.sum())

    # The loop: as that of the other learners, with orders beside the draws --------------------------------------------

    def _room(self) -> tuple[Draws, kernel.Terms]:
        """Arrays for the looks of the costliest round."""
        series = self._known_series()
        most = int(kernel.looks_needed(series).max())
        return new_draws(self._options.n_point, most, self.n_outputs), kernel.new_terms(series)

    def ask(self) -> Query:
        """What to look at of the next example. The same query until it is told."""
        self.begin()
        if self._series is None:
            return super().ask()
        draws, terms = self._room()
        drawn = kernel.ask_series(self._model, self._table, self._options, self._series, draws, terms)
        n, _, n_inner = draws.sizes
        calls = terms.orders.size if drawn else 0
        n_point = self._options.n_point
        return SeriesQuery(
            round=self.n_rounds,
            attributes=draws.attributes[:n].copy(),
            point=draws.place[:n_point].copy(),
            point_weights=draws.point_weights,
            inner=draws.place[n_point : n_point + n_inner].copy(),
            inner_weights=draws.inner_weights[:n_inner].copy(),
            orders=terms.orders[:calls],
            repeats=terms.repeats[:calls],
            term_weights=terms.weights[:calls],
        )

    def _learn(self, query: Query, draws: Draws, values: np.ndarray, y: np.ndarray) -> None:
        if self._series is None:
            super()._learn(query, draws, values, y)
        elif not isinstance(query, SeriesQuery):
            raise ValueError(f"{type(self).__name__} is told its own queries only; got a {type(query).__name__}.")
        elif query.orders.size == 0:
            phi = np.asarray(self.loss.slope(np.zeros(y.size), y - self._seen.targets if self.center else y))
            parts = (self._model, self._seen, self._options, draws)
            kernel.tell_slope(*parts, values, y, np.empty(values.size), phi, bool(np.isfinite(phi).all()))
        else:
            terms = kernel.Terms(query.orders, query.repeats, query.term_weights)
            told = (self._model, self._seen, self._options, self._series, draws, terms)
            kernel.tell_series(*told, values, y, np.empty(values.size), np.empty(y.size))

    def _run_rows(self, X, y, first, last) -> None:
        if self._series is None:
            return super()._run_rows(X, y, first, last)
        draws, terms = self._room()
        parts = (self._model, self._table, self._seen, self._options, self._series, draws, terms)
        room = new_room(draws, self.n_outputs)
        while first < last:
            first = kernel.run_series(*parts, *room, rows_of(X), y, first, last)
            if first < last:  # the weights are zero, and only Python knows the loss
                query = self.ask()
                row = X[[first]].toarray()[0] if sparse.issparse(X) else X[first]
                self.tell(query, row[query.attributes], y[first])
                first += 1
        return None

    def state(self) -> dict[str, np.ndarray]:
        """Everything, as arrays; of a loss that was given, only the name."""
        saved = super().state()
        if "setting.loss" in saved:
            saved["setting.loss"] = np.asarray(self.loss.name)
        return saved

    @classmethod
    def from_state(cls, state, loss: AnalyticLoss | None = None) -> Self:
        """The learner that was saved. A loss that was given to it must be given again."""
        state = {key: state[key] for key in state}
        if "setting.loss" in state:
            name = str(state["setting.loss"])
            if loss is None or loss.name != name:
                raise ValueError(f"the state is of a learner with the loss {name!r}; pass it as loss= again.")
            state["setting.loss"] = np.array(loss, dtype=object)
        return super().from_state(state)


@dataclass(kw_only=True, eq=False)
class AESVR(AnalyticLearner):
    r"""Attribute-efficient support-vector regression (Hazan & Koren 2012, Algorithm 4).

    Minimises the tube loss :math:`\max(|w \cdot x - y| - \delta, 0)`, made smooth to within
    :math:`\epsilon/\sqrt\pi`, over :math:`\|w\|_2 \le B`.

    The paper's ``"series"`` estimates the slope without bias, from a random number of looks that the budget covers on
    average only, and with a variance that leaves it useful only while residuals stay below about
    :math:`1.2\,\epsilon`. To get a good model take ``"plug-in"``: the slope at the mean of half the budget's
    inner-product draws, which is biased, but never more than 1 in size and within the budget for every example.

    Parameters
    ----------
    tube : float
        :math:`\delta`, errors up to which cost nothing.
    accuracy : float
        :math:`\epsilon`, how closely the smooth loss follows the tube loss.
    estimator : {"series", "plug-in"}
        As above. ``orders``, ``shared``, ``repeats`` and ``max_looks`` speak of the series, ``split`` of the plug-in.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (20_000, 4))
    >>> y = X @ [0.5, -0.5, 0.0, 0.0]
    >>> learner = AESVR(4, budget=4, radius=1.0, estimator="plug-in").run(X, y)
    >>> bool(np.abs(learner.coef - [0.5, -0.5, 0.0, 0.0]).max() < 0.05)
    True
    """

    loss: AnalyticLoss = field(init=False)
    tube: float = 0.1
    accuracy: float = 0.5
    estimator: str = "series"
    split: str = "even"

    def _check(self) -> None:
        self.tube = checks.positive("tube", self.tube, zero=True)
        self.accuracy = checks.positive("accuracy", self.accuracy)
        checks.one_of("estimator", self.estimator, ("series", "plug-in"))
        self.loss = tube_loss(self.tube, self.accuracy)
        super()._check()

    def _plan(self) -> kernel.Series | None:
        return None if self.estimator == "plug-in" else super()._plan()

    def _options_for(self, step_kind: int, step: float) -> Options:
        options = super()._options_for(step_kind, step)
        return options._replace(tube=self.tube, accuracy=self.accuracy) if self.estimator == "plug-in" else options
