"""From the options of an estimator to a pilot, an online learner, and the model in the data's own units."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from sparing import checks, designs
from sparing.estimators.pilot import Pilot, pilot_size
from sparing.learners import AELR, AERR, DDAELR, DDAERR, PlugInSVR
from sparing.learners.online import OnlineLearner

FLOOR = 0.05  # part of the draws that stays uniform where second moments are estimates


def _is_auto(option) -> bool:
    return isinstance(option, str) and option == "auto"


@dataclass
class OnlineFit:
    """One fit, over chunks of rows: first a pilot where one is needed, then the learner.

    The state after some rows does not depend on how they were cut into chunks.
    """

    penalty: str
    n_attributes: int
    n_outputs: int
    budget: int
    design: str
    radius: str | float
    alpha: str | float
    step_size: str | float
    second_moments: np.ndarray | None
    scale: Any
    center: bool
    n_pilot: int | None
    n_examples: int | None
    seed: int
    tube: float | None = None
    accuracy: float = 0.5
    costs: Any = None
    why: str = "it was asked for"

    def __post_init__(self):
        self._price()
        if self.design == "auto":
            self.design = "two-phase" if self.second_moments is None else "moments"
        if self.design == "moments" and self.second_moments is None:
            raise ValueError("design='moments' needs second_moments=: one E[x_i^2] per attribute, in column order.")
        if self.second_moments is not None:
            self.second_moments = checks.second_moments(self.second_moments, self.n_attributes)
        for name in ("radius", "alpha"):
            if not _is_auto(getattr(self, name)):
                checks.positive(name, getattr(self, name))
        if isinstance(self.scale, str):
            checks.one_of("scale", self.scale, ("auto",))
        elif self.scale is not None:
            self.scale = checks.scale(self.scale, self.n_attributes)
        if self.step_size == "theory" and self.scale is None:
            raise ValueError(
                "step_size='theory' depends on how large attributes can be; pass scale='auto', or their largest "
                "distances from the mean as scale=."
            )
        for name, value in (("pilot", self.n_pilot), ("n_examples", self.n_examples)):
            if value is not None:
                checks.whole(name, value)
        self.learner: OnlineLearner | None = None
        self.pilot = Pilot(self._pilot_rows(), self.n_attributes, self.n_outputs, self.budget, self.seed)
        moments = None if self.design == "uniform" else np.ones(self.n_attributes)
        self._make(self._options(1.0, None), moments).begin()  # to refuse bad options before the pilot reads
        if self.pilot.complete:
            self._begin()

    def _price(self) -> None:
        """Turn money into a number of looks: what it buys, in expectation, of attributes drawn alike."""
        if self.costs is not None:
            self.costs = checks.costs(self.costs, self.n_attributes)
            if not self.center:
                raise ValueError("costs= with an online learner needs fit_intercept=True, which counts the looks.")
            self.money = checks.positive("budget", self.budget)
            self.budget = self._affordable(designs.uniform(self.n_attributes))
        self.budget = checks.attribute_budget(self.budget, self.n_attributes)

    def _affordable(self, shares) -> int:
        """Looks that the money pays for in expectation, if they follow these shares."""
        looks = int(self.money / float(shares @ self.costs))
        if looks < 2:
            raise ValueError(
                f"budget is {self.money:g} an example, and attributes cost {float(shares @ self.costs):g} on average: "
                "an online learner needs two looks. Raise the budget."
            )
        return min(looks, self.n_attributes)

    def _pilot_rows(self) -> int:
        if not (_is_auto(self.radius) or _is_auto(self.scale) or self.design == "two-phase"):
            return 0
        if self.n_pilot is not None:
            return self.n_pilot
        return max(1, pilot_size(self.n_attributes, self.budget, self.n_examples))

    def learn(self, X, y) -> None:
        """Go on with more rows; y has one column per output."""
        looked_at = 0
        if self.learner is None:
            looked_at = self.pilot.look(X, y)
            if self.pilot.complete:
                self._begin()
        if self.learner is not None and looked_at < X.shape[0]:
            self.learner.run(X[looked_at:], y[looked_at:])

    def _begin(self) -> None:
        """Make the learner from what the pilot says."""
        self.pilot.describe(self.center)
        scale = self.pilot.scale if _is_auto(self.scale) else self.scale
        divide_by = np.ones(self.n_attributes) if scale is None else scale
        estimates = self.pilot.second_moments(divide_by)
        radius = self._auto_radius(estimates) if _is_auto(self.radius) else float(self.radius)
        moments = self._known_moments(divide_by, estimates)
        if self.costs is not None and moments is not None:
            shares = designs.priced(moments, self.costs, self.penalty)
            moments = moments if self.penalty == "lasso" else moments / self.costs
            self.budget = self._affordable(shares)
        self.learner = self._make(self._options(radius, scale), moments)
        self.learner.begin()
        pilot = self.pilot
        if pilot.n_seen:
            self.learner.recall(pilot.counts, pilot.means, pilot.squares, pilot.target_means, pilot.n_seen)

    def _options(self, radius: float, scale) -> dict[str, Any]:
        """What every learner is told."""
        return {
            "budget": self.budget,
            "radius": radius,
            "n_examples": None if self.n_examples is None else max(1, self.n_examples - self.pilot.n_rows),
            "step_size": "adaptive" if self.step_size == "auto" else self.step_size,
            "split": "paper" if self.step_size == "theory" else "even",
            "center": self.center,
            "scale": scale,
            "norm_bound": sqrt(self.n_attributes) if self.penalty == "ridge" else 1.0,
            "n_outputs": self.n_outputs,
            "random_state": self.seed,
        }

    def _auto_radius(self, moments) -> float:
        r"""Three times the weight norm at which predictions vary as much as the targets, were all attributes alike.

        :math:`3\sqrt{\mathrm{Var}\,y / \sum_i \mathrm{Var}\,x_i}` for ridge; :math:`\sqrt d` times that for lasso. With
        a penalty of strength :math:`\alpha`, no minimiser is longer than :math:`\sqrt{\mathrm{Var}\,y / \alpha}`
        (ridge) or :math:`\mathrm{Var}\,y / (2\alpha)` (lasso): zero weights would cost less.
        """
        variance, lasso = self.pilot.target_variance, self.penalty == "lasso"
        if variance == 0.0:
            return 1.0  # a constant target: zero weights fit it, whatever the radius
        if not _is_auto(self.alpha):
            return variance / (2 * float(self.alpha)) if lasso else sqrt(variance / float(self.alpha))
        return 3.0 * sqrt(variance / moments.sum() * (self.n_attributes if lasso else 1))

    def _known_moments(self, divide_by, estimates) -> np.ndarray | None:
        if self.design == "uniform":
            return None
        return estimates if self.second_moments is None else self.second_moments / divide_by**2

    def _make(self, options, moments) -> OnlineLearner:
        if self.tube is None and moments is None:
            return (AERR if self.penalty == "ridge" else AELR)(self.n_attributes, **options)
        options["second_moments"] = np.ones(self.n_attributes) if moments is None else moments
        options["floor"] = FLOOR if self.design == "two-phase" else 0.0
        options["inner"] = "paper" if self.step_size == "theory" else "improved"
        if self.tube is not None:
            return PlugInSVR(self.n_attributes, tube=self.tube, accuracy=self.accuracy, **options)
        return (DDAERR if self.penalty == "ridge" else DDAELR)(self.n_attributes, **options)

    @property
    def n_rounds(self) -> int:
        """Examples looked at, the pilot's included."""
        return self.pilot.n_seen + (self.learner.n_rounds if self.learner else 0)

    @property
    def cells(self) -> int:
        """Distinct values read, the pilot's included."""
        return self.pilot.cells + (self.learner.cells if self.learner else 0)

    @property
    def draws(self) -> int:
        """Draws made, the pilot's included."""
        return self.pilot.cells + (self.learner.draws if self.learner else 0)

    @property
    def spent(self) -> float:
        """What the values read cost, at one a value where there are no prices."""
        if self.costs is None:
            return float(self.cells)
        looks = self.pilot.sums(np.ones_like(self.pilot.values[: self.pilot.n_seen]))
        return float(self.costs @ (looks if self.learner is None else self.learner.looks))

    @property
    def report(self) -> dict[str, Any]:
        """What learns, and why."""
        name = "a pilot, so far" if self.learner is None else type(self.learner).__name__
        return {"setting": name, "families": ["online"], "why": f"{name}: an online learner, for {self.why}"}

    def model(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_outputs, d) and intercepts (n_outputs,); during the pilot, the mean target."""
        if self.learner is not None:
            return np.atleast_2d(self.learner.coef), np.atleast_1d(self.learner.intercept)
        return np.zeros((self.n_outputs, self.n_attributes)), self.center * self.pilot.target_means
