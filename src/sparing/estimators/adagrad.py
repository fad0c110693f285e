"""Online linear models with the AdaGrad family: one pass, one gradient per round."""

from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from sparing import checks
from sparing.estimators.adagrad_run import Race, begin
from sparing.optim import adagrad, comp_adagrad, full_adagrad, rada_grad
from sparing.optim.prediction_losses import LOSSES
from sparing.optim.vectors import Optimizer, strengths

OPTIMIZERS = ("diagonal", "full", "compressed", "sketched")
FACTORS = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0)  # automatic steps, in mean absolute targets: benchmarks/online_steps.py


@dataclass(eq=False, repr=False)
class OnlineLinear(BaseEstimator):
    """What regressor and classifier share: parameters, the loop over rounds and the fitted attributes."""

    loss: str = "squared"
    _: KW_ONLY
    optimizer: str = "compressed"
    step_size: float | str = "auto"
    k: Any = "auto"
    tau: float = 1.0
    delta: float = 1e-4
    delta_r: float | None = None
    delta_c: float | None = None
    scaled: bool = False
    l2: float = 0.0
    l1: float = 0.0
    refresh: int = 16
    batch_size: int = 1
    n_passes: int = 1
    average: bool = True
    fit_intercept: bool = True
    random_state: Any = None

    _losses: ClassVar[tuple[str, ...]]

    def _make_optimizer(self, step_size: float, *, n_weights: int) -> Optimizer:
        """The optimiser for the current parameters, after checking them."""
        checks.one_of("loss", self.loss, self._losses)
        kind = checks.one_of("optimizer", self.optimizer, OPTIMIZERS)
        for name in ("scaled", "average", "fit_intercept"):
            checks.boolean(name, getattr(self, name))
        as_printed: dict[str, Any] = {"delta_r": self.delta_r, "delta_c": self.delta_c, "scaled": self.scaled}
        if kind != "compressed" and as_printed != {"delta_r": None, "delta_c": None, "scaled": False}:
            raise ValueError(f"scaled=, delta_r= and delta_c= need optimizer='compressed'; got optimizer={kind!r}.")
        common: dict[str, Any] = {"delta": self.delta, "l2": self.l2}
        if kind == "diagonal":
            return adagrad(step_size, l1=self.l1, **common)
        common["refresh"] = self.refresh
        if kind == "full":
            return full_adagrad(step_size, l1=self.l1, **common)
        automatic = isinstance(self.k, str) and checks.one_of("k", self.k, ("auto",)) == "auto"
        common["k"] = max(1, min(64, n_weights // 2)) if automatic else self.k
        common["random_state"] = self.random_state
        if kind == "compressed":
            return comp_adagrad(step_size, tau=self.tau, l1=self.l1, **common, **as_printed)
        if self.l1:
            raise ValueError("optimizer='sketched' has no L1 step; pass l1=0, or optimizer='compressed'.")
        return rada_grad(step_size, **common)

    def _check(self, X, *, reset: bool, **more):
        checks.refuse_huge_targets(more.get("y"))
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64, **more)

    def _learn(self, X, targets, *, reset: bool, n_passes: int = 1) -> None:
        """Continue with these rows; ``targets`` has one column per weight vector."""
        n_weights = X.shape[1] + bool(self.fit_intercept)
        checks.one_of_or(checks.positive, "step_size", self.step_size, ("auto",))
        automatic = isinstance(self.step_size, str)
        make = cache(partial(self._make_optimizer, n_weights=n_weights))
        size = checks.whole("batch_size", self.batch_size)
        factors = FACTORS if automatic else (float(self.step_size),)
        if reset:
            self._races: list[Race] = [begin(n_weights, make, factors, automatic=automatic) for _ in targets.T]
            self._n_seen, self._n_wrong = 0, 0
        for race in self._races:
            race.go_on(factors, automatic=automatic)
        options: dict[str, Any] = {"loss": LOSSES[self.loss], "make": make, "intercept": bool(self.fit_intercept)}
        for first in [*range(0, X.shape[0], size)] * n_passes:
            rows, wanted = X[first : first + size], targets[first : first + size]
            scores = [race.learn(rows, wanted[:, i], **options) for i, race in enumerate(self._races)]
            self._n_seen += len(wanted)
            self._n_wrong += self._mistakes(np.array(scores).T, wanted)
        self._publish(X.shape[1])

    def _mistakes(self, scores, targets) -> int:
        return 0

    def _publish(self, n_features: int) -> None:
        """Set the fitted attributes from the averaged iterate, or from the last one."""
        runs = [race.best for race in self._races]
        weights = np.array([run.total / run.n_rounds if self.average else run.weights for run in runs])
        self.last_weights_ = np.array([run.weights for run in runs])
        self.step_size_: Any = np.array([race.step_size for race in self._races])
        self.coef_ = weights[:, :n_features]
        self.intercept_: Any = weights[:, n_features] if self.fit_intercept else np.zeros(len(weights))
        self.n_iter_ = runs[0].n_rounds
        self.online_loss_ = sum(race.loss for race in self._races) / self._n_seen

    @property
    def regret_bound_(self) -> float | None:
        """The bound on the regret relative to the fitted weights: see the class."""
        check_is_fitted(self, "coef_")
        if self.optimizer == "sketched" or any(race.unit != 1 for race in self._races):
            return None
        coef, intercept = np.atleast_2d(self.coef_), np.reshape(self.intercept_, (-1, 1))
        weights = np.hstack([coef, intercept]) if self.fit_intercept else coef
        tau = self.tau if self.optimizer == "compressed" else 1.0
        deltas = {"delta_r": self.delta_r, "delta_c": self.delta_c}
        return sum(
            race.best.bound(
                row, strengths(race.step_size, self.delta, self.l2, self.l1, tau, **deltas), scaled=self.scaled
            )
            for race, row in zip(self._races, weights, strict=True)
        )

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = self._check(X, reset=False)
        return safe_sparse_dot(X, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class OnlineRegressor(RegressorMixin, OnlineLinear):
    r"""Online linear regression with an optimiser of the AdaGrad family.

    Each round predicts a few rows with the weights :math:`x_t`, suffers their mean loss and makes one step of composite
    mirror descent (:mod:`sparing.optim`). Rows are taken in their order.

    Parameters
    ----------
    loss : {"squared", "absolute"}, default="squared"
        :math:`\frac12 (z - y)^2` or :math:`|z - y|`.
    optimizer : {"compressed", "diagonal", "full", "sketched"}, default="compressed"
        :func:`sparing.optim.comp_adagrad`, ``adagrad``, ``full_adagrad`` or ``rada_grad``.
    step_size : float or "auto", default="auto"
        Step size of the optimiser. "auto" makes five runs side by side, with 1/256, 1/64, 1/16, 1/4 and 1 times the
        mean absolute target. The run with the least loss so far makes the predictions, and in the end it is the model.
        Attributes should be standardised. It takes five times the time and memory.
    tau, delta, delta_r, delta_c, scaled, l2, l1, refresh : float, bool or int
        Options of the optimiser; ``delta_r``, ``delta_c`` and ``scaled`` belong to "compressed". Penalties include the
        intercept, the weight of a constant 1.
    k : int or "auto"
        Dimension of the sketch; "auto" is half of the weights, at most 64.
    batch_size : int, default=1
        Rows per round. The last round of a chunk passed to ``partial_fit`` may be shorter.
    n_passes : int, default=1
        Passes of ``fit`` over the rows; with more than one the method is no longer online.
    average : bool, default=True
        Keep the mean of all :math:`x_t` rather than the last.
    fit_intercept : bool, default=True
    random_state : int, RandomState or None
        Draws the sketch.

    Attributes
    ----------
    coef_, intercept_ : array, float
    last_weights_ : array of shape (1, n_features + 1), one row per class with several
        The last iterate, intercept at the end, whether or not ``coef_`` is the average.
    step_size_ : float, or an array with one entry per weight vector
        The step size of the run that is the model.
    n_iter_ : int
        Rounds.
    online_loss_ : float
        Mean loss of the rows, each predicted before it was learnt from.
    regret_bound_ : float or None
        Theorems 1 to 3 (:func:`sparing.theory.regret.regret_bound`): the sum over all rounds of the mean loss (plus
        penalty) of the run that is the model exceeds that of the fitted weights by no more. None for "sketched", which
        has no such theorem, and if "auto" changed its unit during the run.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sparing import OnlineRegressor
    >>> X, y = make_regression(2000, 20, noise=1.0, random_state=0)
    >>> model = OnlineRegressor(random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.9
    True
    """

    _losses: ClassVar[tuple[str, ...]] = ("squared", "absolute")

    def fit(self, X, y) -> Self:
        """Learn from all rows of X, in their order."""
        X, y = self._check(X, y=y, y_numeric=True, reset=True)
        self._learn(X, y[:, None], reset=True, n_passes=checks.whole("n_passes", self.n_passes))
        return self

    def partial_fit(self, X, y) -> Self:
        """Learn from more rows."""
        reset = not hasattr(self, "_races")
        X, y = self._check(X, y=y, y_numeric=True, reset=reset)
        self._learn(X, y[:, None], reset=reset)
        return self

    def _publish(self, n_features):
        super()._publish(n_features)
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])
        self.step_size_ = float(self.step_size_[0])

    def predict(self, X) -> np.ndarray:
        """Linear predictions."""
        return self._scores(X)[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # one pass over 200 examples
        return tags
