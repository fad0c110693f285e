"""From the options of an estimator to a pilot, an online learner, and the model in the data's own units."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields
from functools import partial
from math import ceil, sqrt
from typing import Any, Self

import numpy as np

from sparing import checks, designs, learners
from sparing.buying.buyer import Buyer
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.learners import AELR, AERR, DDAELR, DDAERR, PlugInSVR, TwoPhasedDDAELR, TwoPhasedDDAERR
from sparing.learners.online import OnlineLearner
from sparing.models.summary import Summary, summarize

PILOT_STREAM = 0x5EED  # keeps the pilot's draws apart from those of the learner, which has the same seed
PILOT_LOOKS = 10  # looks per attribute from which its scale is reliable
SMALLEST, LARGEST_ATTRIBUTE, LARGEST_TARGET = 1e-140, 1e140, 1e75  # sizes whose squares and gradients are in range
FLOOR = 0.05  # fraction of the draws that stays uniform if second moments are estimated


def is_auto(option) -> bool:
    """Whether an option, which may be an array, is "auto"."""
    return isinstance(option, str) and option == "auto"


def pilot_size(n_attributes: int, budget: float, n_examples: int | None) -> int:
    """A tenth of the examples, as in Kukliansky & Shamir 2015, or enough for ten looks per attribute, up to a quarter.

    If the number of examples is unknown, enough for ten looks per attribute.
    """
    enough = ceil(PILOT_LOOKS * n_attributes / budget)
    if n_examples is None:
        return enough
    return max(ceil(n_examples / 10), min(enough, n_examples // 4), 1)


@dataclass(eq=False)
class OnlineFit:
    """A fit over chunks of rows: first a pilot if one is needed, then the learner.

    The pilot buys by a uniform plan; the summary of its cells gives scales, radius and second moments, and the cells
    are dropped. The state does not depend on how rows are divided into chunks.
    """

    penalty: str
    n_attributes: int
    n_outputs: int
    budget: Any
    design: str
    radius: str | float
    alpha: str | float
    step_size: str | float
    second_moments: np.ndarray | None
    scale: Any
    center: bool
    pilot: int | None
    n_examples: int | None
    seed: int
    why: str
    costs: Any = None
    tube: float | None = None
    accuracy: float = 0.5

    def __post_init__(self):
        d = self.n_attributes
        if self.costs is not None and not self.center:
            raise ValueError("costs= with an online learner needs fit_intercept=True, which counts the looks.")
        if self.budget is None:
            raise ValueError(
                "budget=None, which learns from every available value, needs a learner that keeps them; an online "
                f"one was chosen because {self.why}. Pass a budget, or leave out learner='online'."
            )
        if self.costs is not None and not checks.costs(self.costs, d, free=True).all():
            raise ValueError(
                "an online learner draws attributes by their price and has no free ones; give attributes that cost 0 a "
                "small price, or leave out learner='online'."
            )
        shop = Shop(d, self.budget, costs=self.costs)
        self.buyer, self.costs = Buyer(shop, self.seed ^ PILOT_STREAM), shop.costs
        looks = shop.budget if self.costs is None else self._affordable(designs.uniform(d))
        self.looks = checks.attribute_budget(looks, d)
        if self.design == "auto":
            self.design = "two-phase" if self.second_moments is None else "moments"
        if self.design == "moments" and self.second_moments is None:
            raise ValueError("design='moments' needs second_moments=: one E[x_i^2] per attribute, in column order.")
        if self.second_moments is not None:
            self.second_moments = checks.second_moments(self.second_moments, d)
        self._check_scales()
        self.learner: OnlineLearner | None = None
        self.bought = Cells(d, n_outputs=self.n_outputs)
        self.pilot_rows = self._pilot_rows()
        self._make(1.0, None, np.ones(d)).begin()  # refuses bad options before anything is bought
        if not self.pilot_rows:
            self._begin()

    def _check_scales(self) -> None:
        for name in ("radius", "alpha"):
            if not is_auto(getattr(self, name)):
                checks.positive(name, getattr(self, name))
        for name in ("pilot", "n_examples"):
            if getattr(self, name) is not None:
                checks.whole(name, getattr(self, name))
        if isinstance(self.scale, str):
            checks.one_of("scale", self.scale, ("auto",))
        elif self.scale is not None:
            self.scale = checks.scale(self.scale, self.n_attributes)
        if self.step_size == "theory" and self.scale is None:
            raise ValueError(
                "step_size='theory' depends on how large attributes can be; pass scale='auto', or their largest "
                "distances from the mean as scale=."
            )

    def _affordable(self, shares) -> int:
        """The number of looks that the money pays for in expectation, if they are drawn by these shares."""
        price = float(shares @ self.costs)
        looks = int(self.budget / price)
        if looks < 2:
            raise ValueError(
                f"budget is {self.budget:g} per example, and attributes cost {price:g} on average: an online learner "
                "needs two looks. Raise the budget."
            )
        return min(looks, self.n_attributes)

    def _pilot_rows(self) -> int:
        if not (is_auto(self.radius) or is_auto(self.scale) or self.design == "two-phase"):
            return 0
        return pilot_size(self.n_attributes, self.looks, self.n_examples) if self.pilot is None else self.pilot

    def run_checked(self, X, y, weights=None, *, progress: Callable[[int], None] | None = None) -> None:
        """Learn from more rows, which have been checked; y has one column per output.

        ``progress`` is called with the number of rows just done. If a bought value is infinite or cannot be squared,
        the call is refused and changes nothing.
        """
        before, pilot, ledger = vars(self).copy(), self.bought.n_examples, copy(self.buyer.ledger)
        try:
            self._learn_rows(X, y, weights, progress)
        except ValueError:
            vars(self).update(before)
            self.bought, self.buyer.ledger = self.bought.take(np.arange(pilot)), ledger
            raise

    def _learn_rows(self, X, y, weights, progress) -> None:
        done = 0
        if self.learner is None:
            seen = self.buyer.ledger.examples
            done = min(X.shape[0], self.pilot_rows - seen)
            keep = partial(self.bought.extend, weights=None if weights is None else weights[:done])
            self.buyer.buy(X, y, seen, 0, done, keep)
            if self.buyer.ledger.examples == self.pilot_rows:
                self._begin()
        if self.learner is not None and done < X.shape[0]:
            self.learner.run_checked(X, y, weights, first=done, progress=progress)

    def _begin(self) -> None:
        """Make the learner from the estimates of the pilot."""
        scale, moments, summary = self.scale, np.ones(self.n_attributes), None
        if self.bought.n_examples:
            self._check_sizes()
            summary = summarize(self.bought)
            scale = self._pilot_scale(summary) if is_auto(scale) else scale
            moments = self._estimates(summary, scale)
        radius = self._auto_radius(moments) if is_auto(self.radius) else float(self.radius)
        if self.second_moments is not None:
            moments = self.second_moments if scale is None else self.second_moments / scale**2
        elif self.design == "two-phase":
            moments = moments + self._doubt(scale)
        if self.costs is not None and self.design != "uniform":
            self.looks = self._affordable(designs.priced(moments, self.costs, self.penalty))
            moments = moments if self.penalty == "lasso" else moments / self.costs
        self.learner = self._make(radius, scale, moments)
        self.learner.begin()
        if summary is not None:
            looks = np.bincount(self.bought.attributes, minlength=self.n_attributes)
            known = (looks, summary.means, self._squares(summary.means), summary.target_means)
            self.learner.recall(*known, self.bought.n_examples)
        self.bought = Cells(self.n_attributes, n_outputs=self.n_outputs)

    def _check_sizes(self) -> None:
        """Refuse attributes and targets whose squares, or those of their gradients, would overflow or vanish."""
        largest = np.zeros(self.n_attributes)
        np.maximum.at(largest, self.bought.attributes, np.abs(self.bought.values))
        outputs = np.abs(self.bought.targets).max(axis=0)
        small = (largest > 0.0) & (largest.max() < SMALLEST)  # if others are larger, these are negligible
        wrong = [("attribute", largest, small | (largest > LARGEST_ATTRIBUTE), LARGEST_ATTRIBUTE)]
        wrong += [
            ("output", outputs, (outputs > LARGEST_TARGET) | ((outputs > 0) & (outputs < SMALLEST)), LARGEST_TARGET)
        ]
        for name, sizes, bad, most in wrong:
            if bad.any():
                raise ValueError(
                    f"{name} {np.argmax(bad)} has values of about {sizes[bad][0]:.0e}, which cannot be squared; "
                    f"rescale it to between {SMALLEST:g} and {most:g}."
                )

    def _squares(self, centers) -> np.ndarray:
        """Mean squared distances of the pilot's values from ``centers``."""
        attributes = self.bought.attributes
        sums = np.bincount(attributes, (self.bought.values - centers[attributes]) ** 2, self.n_attributes)
        return sums / np.maximum(np.bincount(attributes, minlength=self.n_attributes), 1)

    def _pilot_scale(self, summary: Summary) -> np.ndarray:
        """The largest distances from the mean in the pilot; at least the typical one if there were few looks."""
        largest, attributes = np.zeros(self.n_attributes), self.bought.attributes
        np.maximum.at(largest, attributes, np.abs(self.bought.values - self.center * summary.means[attributes]))
        typical = float(np.median(largest[largest > 0])) if largest.any() else 1.0
        unsure = 1.0 - np.minimum(summary.counts / PILOT_LOOKS, 1.0)
        return np.maximum(np.where(largest > 0, np.maximum(largest, SMALLEST), typical), unsure * typical)

    def _estimates(self, summary: Summary, scale) -> np.ndarray:
        """Second moments of the attributes as the model sees them, estimated from the pilot."""
        squares = self._squares(self.center * summary.means)
        return designs.estimated_moments(summary.counts, squares if scale is None else squares / scale**2)

    def _doubt(self, scale) -> float:
        """The uncertainty of second moments from the pilot, if attributes are scaled to a range of about 1.

        An attribute that was zero in n looks has a second moment of at most 1/n, at one standard error. It is the
        confidence term of phase two: see :func:`sparing.designs.confident`.
        """
        return 0.0 if scale is None else self.n_attributes / (self.looks * self.pilot_rows)

    def _auto_radius(self, moments) -> np.ndarray:
        r"""Three times the norm of weights whose predictions vary as much as the targets, for equal attributes.

        :math:`3\sqrt{\mathrm{Var}\,y / \sum_i \mathrm{Var}\,x_i}` for ridge; :math:`\sqrt d` times that for lasso. With
        a penalty of strength :math:`\alpha`, no minimiser is longer than :math:`\sqrt{\mathrm{Var}\,y / \alpha}`
        (ridge) or :math:`\mathrm{Var}\,y / (2\alpha)` (lasso): zero weights would cost less. One radius per output.
        """
        lasso, targets = self.penalty == "lasso", self.bought.targets
        weights = self.bought.weights if self.bought.is_weighted else None
        centers = self.center * np.average(targets, axis=0, weights=weights)
        variances = np.average((targets - centers) ** 2, axis=0, weights=weights)
        if is_auto(self.alpha):
            radii = 3.0 * np.sqrt(variances / moments.sum() * (self.n_attributes if lasso else 1))
        else:
            radii = variances / (2 * float(self.alpha)) if lasso else np.sqrt(variances / float(self.alpha))
        return np.where(variances > 0.0, radii, 1.0)  # for a constant target any radius will do

    def _make(self, radius, scale, moments) -> OnlineLearner:
        """The papers' learner for these options: AERR, DDAERR or two-phased DDAERR, or their lasso versions."""
        d, ridge, theory = self.n_attributes, self.penalty == "ridge", self.step_size == "theory"
        two_phased = self.design == "two-phase" and self.tube is None and self.costs is None
        options: dict[str, Any] = {
            "budget": self.looks,
            "radius": radius,
            "n_examples": self.n_examples,
            "step_size": "adaptive" if self.step_size == "auto" else self.step_size,
            "split": "paper" if theory else "even",
            "center": self.center,
            "scale": scale,
            "norm_bound": sqrt(d) if ridge else 1.0,
            "n_outputs": self.n_outputs,
            "random_state": self.seed,
        }
        if self.n_examples is not None and not two_phased:
            options["n_examples"] = max(1, self.n_examples - self.pilot_rows)
        if self.design == "uniform" and self.tube is None:
            return (AERR if ridge else AELR)(d, **options)
        options["inner"] = "paper" if theory or (two_phased and not ridge) else "improved"
        options["floor"] = FLOOR if self.design == "two-phase" else 0.0
        if two_phased:
            options["epsilon"] = 6.0 / 13.0 * self._doubt(scale)
            return (TwoPhasedDDAERR if ridge else TwoPhasedDDAELR)(d, pilot=self.pilot_rows, **options)
        options["second_moments"] = np.ones(d) if self.design == "uniform" else moments
        if self.tube is not None:
            return PlugInSVR(d, tube=self.tube, accuracy=self.accuracy, **options)
        return (DDAERR if ridge else DDAELR)(d, **options)

    # In a file -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The complete state: parameters, the pilot's counts and cells, and the learner's own state."""
        ledger = self.buyer.ledger
        return {
            "settings": {setting.name: getattr(self, setting.name) for setting in fields(self)},
            "looks": self.looks,
            "books": [ledger.examples, ledger.cells, ledger.spent_units],
            "pilot": self.bought.state(),
            "learner": None if self.learner is None else self.learner.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The fit that was saved; it continues as if it had never been interrupted."""
        fit = cls(**state["settings"])
        fit.looks = checks.attribute_budget(state["looks"], fit.n_attributes)
        fit.bought = Cells.from_state(state["pilot"])
        fit.buyer.ledger.record(*(checks.whole("books", entry, at_least=0) for entry in state["books"]))
        fit.learner = None
        if state["learner"] is not None:
            fit.learner = getattr(learners, str(state["learner"]["algorithm"])).from_state(state["learner"])
        held = fit.bought if fit.learner is None else fit.learner
        if (held.n_attributes, held.n_outputs) != (fit.n_attributes, fit.n_outputs):
            raise ValueError(f"the state is not one of {fit.n_attributes} attributes and {fit.n_outputs} outputs.")
        return fit

    # What it holds ---------------------------------------------------------------------------------------------------

    @property
    def n_rounds(self) -> int:
        """Examples looked at, including those of the pilot."""
        return self.buyer.ledger.examples + (self.learner.n_rounds if self.learner else 0)

    @property
    def cells(self) -> int:
        """Distinct values read, including those of the pilot."""
        return self.buyer.ledger.cells + (self.learner.cells if self.learner else 0)

    @property
    def draws(self) -> int:
        """Draws made, including those of the pilot."""
        return self.buyer.ledger.cells + (self.learner.draws if self.learner else 0)

    @property
    def spent(self) -> float:
        """The cost of the values read; without prices each costs one."""
        ledger = self.buyer.ledger
        if self.costs is None:
            return float(self.cells)
        if self.learner is None:
            return ledger.spent
        return ledger.amount(int(ledger.prices @ self.learner.looks.astype(np.int64)))  # with the pilot's looks

    @property
    def coef(self) -> np.ndarray:
        """Weights; zero during the pilot."""
        shape = (self.n_attributes,) if self.n_outputs == 1 else (self.n_outputs, self.n_attributes)
        return np.zeros(shape) if self.learner is None else self.learner.coef

    @property
    def intercept(self):
        """The intercept; during the pilot, the mean target."""
        if self.learner is not None:
            return self.learner.intercept
        return self.bought.targets.mean(axis=0) if self.center and self.bought.n_examples else np.zeros(self.n_outputs)

    @property
    def facts(self) -> dict[str, Any]:
        """Which learner is used, and why."""
        name = "a pilot, so far" if self.learner is None else type(self.learner).__name__
        return {"setting": name, "families": ["online"], "why": f"{name}: an online learner, because {self.why}"}
