r"""Learners for losses other than the squared one: any with an entire derivative, and the smooth tube loss of AESVR."""

from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, Self

import numpy as np

from sparing import checks
from sparing.kernels import series as kernel
from sparing.learners.losses import AnalyticLoss, tube_loss
from sparing.learners.online import OnlineLearner
from sparing.learners.papers import DDAERR
from sparing.learners.slopes import PlugInSlope, SeriesSlope

MOST_LOOKS = 10_000_000  # a round of more looks would exhaust the memory


@dataclass(kw_only=True, eq=False)
class AnalyticLearner(OnlineLearner):
    r"""AERR with any :class:`AnalyticLoss`: its slope is estimated without bias (Hazan & Koren 2012, Procedure 3).

    One call of GenEst draws an order n with probability :math:`2^{-(n+1)}` and returns
    :math:`2^{n+1} a_n \tilde\theta_1 \cdots \tilde\theta_n`, each factor an independent estimate of the argument.

    **The number of looks is random**: ``budget`` holds on average only. On average ``expected_inner_looks`` go to the
    slope, and the rest of the budget, ``point_looks``, goes to the point. ``cells`` and ``draws`` count the actual
    looks. ``max_looks`` is a ceiling that is never exceeded.

    Orders above 63, of probability :math:`2^{-64}`, are never drawn. The bias is below :math:`10^{-6}` for arguments of
    h up to 3; beyond that, the variance makes the estimate useless anyway.

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
        N, the number of draws averaged in a factor of orders with a probability below about :math:`N^{-2}`; other
        orders use one draw. By default :math:`\lceil (BX/\text{scale})^2 \rceil`, which brings the variance of a factor
        below 1.
    max_looks : int, optional
        The maximum number of draws from one example. Orders that would need more are left out of the series: the slope
        is then that of a Taylor polynomial, with an error of at most ``loss.tail(max_order + 1, reach)``.
    """

    loss: AnalyticLoss
    orders: str = "paper"
    shared: bool = False
    repeats: int | None = None
    max_looks: int | None = None
    step_size: str | float = "adaptive"

    def __post_init__(self):
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
        super().__post_init__()

    def _loss(self) -> PlugInSlope | SeriesSlope:
        """The whole series, or as many orders as ``max_looks`` leaves room for besides the point draws."""
        whole = self._series_of(np.arange(self.loss.coefficients.size))
        looks, needed = kernel.expected_looks(whole), kernel.looks_needed(whole)
        n_point = floor(self.budget - looks + 1e-9)
        if n_point < 1:
            raise ValueError(
                f"budget is {self.budget}, but the slope alone takes {looks:.3g} looks on average; pass "
                f"{ceil(1 + looks)} or more, or shared=True."
            )
        if self.max_looks is None:
            if (most := int(needed.max())) > MOST_LOOKS:
                raise ValueError(
                    f"the rarest round would look {most:,} times at one example; pass max_looks=, or a larger accuracy "
                    "or smaller radius."
                )
            return SeriesSlope(self.loss, whole, n_point)
        ceiling = checks.whole("max_looks", self.max_looks) - n_point
        kept = whole.orders[np.cumprod(needed <= ceiling) == 1]
        if not self.loss.coefficients[kept[kept > 0]].any():
            least = n_point + int(needed[needed > 0][0])
            raise ValueError(
                f"max_looks={self.max_looks} leaves {max(ceiling, 0)} looks per example for the slope, too few for any "
                f"order of the series; pass {least} or more."
            )
        return SeriesSlope(self.loss, self._series_of(kept), n_point)

    def _series_of(self, orders: np.ndarray) -> kernel.Series:
        loss = self.loss
        if self.orders == "nonzero":
            orders = orders[loss.coefficients[orders] != 0.0]
        repeats = self.repeats or ceil((float(np.max(self.radius)) * self.norm_bound / loss.scale) ** 2)
        shifts = np.array(loss.shifts, dtype=np.float64)
        form = (shifts, float(loss.scale), loss.form == "margin", bool(self.shared))
        return kernel.new_series(loss.coefficients, orders, repeats, *form)

    @property
    def expected_inner_looks(self) -> float:
        """Expected draws per example for the slope, while the weights are not zero."""
        plug_in = isinstance(self._slope, PlugInSlope)
        return float(self.budget - self.point_looks) if plug_in else kernel.expected_looks(self.series)

    @property
    def series(self) -> kernel.Series:
        """The Taylor series: its orders, their probabilities and weights."""
        if not isinstance(self._slope, SeriesSlope):
            raise ValueError("the plug-in estimate uses no series; pass estimator='series'.")
        return self._slope.series

    @property
    def max_order(self) -> int:
        """The highest power of the Taylor series that is ever drawn."""
        return int(self.series.orders[-1])

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
        s = self.series
        theta = (argument - s.shifts) / s.scale
        spread = variance / np.maximum(s.repeats, 1) / s.scale**2
        means = (s.chances * s.weights * theta[:, None] ** s.orders).sum(axis=1)
        products = np.multiply.outer(theta, theta)[:, :, None] + spread
        squares = (s.chances * s.weights**2 * products**s.orders).sum(axis=2)
        if not s.shared:
            squares = np.where(np.eye(theta.size, dtype=bool), squares, np.multiply.outer(means, means))
        return float(means.sum()), float(squares.sum())

    def _settings(self) -> dict[str, Any]:
        """As for other learners, but of a loss only the name is saved."""
        settings = super()._settings()
        return settings | {"loss": self.loss.name} if "loss" in settings else settings

    @classmethod
    def from_state(cls, state, loss: AnalyticLoss | None = None) -> Self:
        """The learner that was saved. If it was made with a loss, pass that loss again."""
        if "setting.loss" not in state:
            return cls._restored(state, {})
        name = str(state["setting.loss"])
        if loss is None or loss.name != name:
            raise ValueError(f"the state is of a learner with the loss {name!r}; pass it as loss= again.")
        return cls._restored(state, {"loss": loss})


@dataclass(kw_only=True, eq=False)
class AESVR(AnalyticLearner):
    r"""Attribute-efficient support-vector regression (Hazan & Koren 2012, Algorithm 4).

    Minimises the tube loss :math:`\max(|w \cdot x - y| - \delta, 0)`, made smooth to within
    :math:`\epsilon/\sqrt\pi`, over :math:`\|w\|_2 \le B`.

    The paper's ``"series"`` estimates the slope without bias, from a random number of looks that the budget covers on
    average only. Its variance makes it useful only while residuals stay below about :math:`1.2\,\epsilon`. For a good
    model use ``"plug-in"``, the slope at the mean of the inner-product draws, which get half the budget. It is biased,
    but never above 1 in absolute value, and every example stays within the budget.

    Parameters
    ----------
    tube : float
        :math:`\delta`: errors up to this size cost nothing.
    accuracy : float
        :math:`\epsilon`, how closely the smooth loss follows the tube loss.
    estimator : {"series", "plug-in"}
        As above. ``orders``, ``shared``, ``repeats`` and ``max_looks`` apply to the series, ``split`` to the plug-in.

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

    def __post_init__(self):
        self.tube = checks.positive("tube", self.tube, zero=True)
        self.accuracy = checks.positive("accuracy", self.accuracy)
        checks.one_of("estimator", self.estimator, ("series", "plug-in"))
        self.loss = tube_loss(self.tube, self.accuracy)
        super().__post_init__()

    def _loss(self) -> PlugInSlope | SeriesSlope:
        return PlugInSlope(self.tube, self.accuracy) if self.estimator == "plug-in" else super()._loss()


class AELSVR(AESVR):
    r"""Attribute-efficient support-vector regression on the 1-norm ball: the loss of AESVR with the steps of AELR.

    Minimises the smooth tube loss over :math:`\|w\|_1 \le B` by exponentiated gradient steps (Hazan & Koren 2012,
    Algorithm 2), with inner-product draws :math:`p_j \propto |w_j|`. Their estimates are as in :class:`AESVR`: each
    draw :math:`w_j x_j / p_j` is at most :math:`B \max_i |x_i|` in size. The parameters are those of :class:`AESVR`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (20_000, 20))
    >>> learner = AELSVR(20, budget=6, radius=1.0, estimator="plug-in").run(X, X[:, 3])
    >>> int(learner.coef.argmax()), bool(learner.coef[3] > 0.8)
    (3, True)
    """

    penalty = "lasso"


@dataclass(kw_only=True, eq=False)
class PlugInSVR(DDAERR):
    r"""DDAERR with the smooth tube loss of AESVR, its slope taken at the estimated inner product.

    :math:`\phi = \frac12[\mathrm{erf}((\tilde\theta-\delta)/\epsilon) + \mathrm{erf}((\tilde\theta+\delta)/\epsilon)]`
    with ``tube`` :math:`\delta`, ``accuracy`` :math:`\epsilon` and the estimate :math:`\tilde\theta` of
    :math:`w \cdot x - y`: biased where the estimate is noisy, but of bounded variance. Split the budget evenly. The
    other parameters are those of :class:`DDAERR`.
    """

    tube: float = 0.1
    accuracy: float = 0.5
    step_size: str | float = "adaptive"
    split: str = "even"

    def __post_init__(self):
        checks.positive("tube", self.tube, zero=True)
        checks.positive("accuracy", self.accuracy)
        if self.step_size == "theory":
            raise ValueError("the plug-in slope has no theorem; pass step_size='adaptive', 'adagrad' or a number.")
        super().__post_init__()

    def _loss(self) -> PlugInSlope:
        return PlugInSlope(self.tube, self.accuracy)
