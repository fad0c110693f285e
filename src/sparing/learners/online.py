"""What all online learners share: asking, telling, running, and the phases of their designs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, ClassVar, NamedTuple
from warnings import warn

import numpy as np

from sparing import checks, designs, theory
from sparing.kernels import state as kernel
from sparing.kernels.sampling import alias_table
from sparing.kernels.tell import LARGEST
from sparing.learners.ask_tell import Loop
from sparing.learners.online_state import Memory, State
from sparing.learners.slopes import Drawn, Pending, PlugInSlope, SeriesSlope
from sparing.types import Query

PENALTY = {"ridge": kernel.RIDGE, "lasso": kernel.LASSO, "shrunk": kernel.SHRUNK}
PAPER_INNER = {"ridge": kernel.SQUARE, "lasso": kernel.ABSOLUTE, "shrunk": kernel.ABSOLUTE}
STEPS: dict[Any, int] = {"theory": kernel.FIXED, "adaptive": kernel.ADAPTIVE, "adagrad": kernel.ADAGRAD}
CHUNK = 65536  # rows between two chances to report progress or to be interrupted


class PhaseDesign(NamedTuple):
    """The design of one phase: what is drawn and for how long, and the arguments of the learner's theorem."""

    probabilities: np.ndarray  # q of the point draws
    importance: np.ndarray | None = None  # sqrt(E[x_j^2]) for improved inner-product draws
    until: float = np.inf  # the first round of the next phase
    options: dict[str, Any] = {}  # what the kernels do differently in this phase  # noqa: RUF012
    theorem: dict[str, Any] = {}  # arguments of the theorem besides d, b, m, B and X  # noqa: RUF012
    exact: bool = True  # whether the theorem assumes this design


class StepRule(NamedTuple):
    """A step size: "theory", "adaptive", "adagrad" or a number, and a factor."""

    size: str | float
    scale: float = 1.0

    def constant(self, penalty: str, radius: float, d: int, theorem: Callable[[float], dict[str, Any]]) -> float:
        """The constant of the step sizes; ``theorem`` is called only if the step size comes from theory."""
        if not isinstance(self.size, str):
            return self.scale * float(self.size)
        if self.size == "theory":
            return self.scale * theory.step_size(**theorem(radius))
        if penalty == "lasso":  # an exponent: no units
            return self.scale * sqrt(log(2 * d) / 5)
        return self.scale * (radius / sqrt(d) if self.size == "adagrad" else radius)


@dataclass(kw_only=True, eq=False)
class OnlineLearner(Memory, Loop):
    r"""Learns a linear model from a few attributes of each example, one example after another.

    The algorithms differ in three things: the design of their looks, the loss and the step rule. A learner is one
    sequence of rounds: do not call ``tell`` or ``run`` from two threads at once.

    Parameters
    ----------
    n_attributes : int
        d.
    budget : int
        Attributes to look at per example, the papers' k + 1: from 2 to d.
    radius : float, or array of shape (n_outputs,)
        B: the weights of each output stay within this 2-norm (ridge) or 1-norm (lasso).
    n_examples : int, optional
        m, the number of examples to come. Only ``step_size="theory"`` and a phase one given as a fraction need it;
        ``run`` sets it.
    step_size : {"theory", "adaptive", "adagrad"} or float
        "theory": the constant of the learner's theorem. "adaptive": B over the root of the summed squared gradient
        norms so far (for lasso: of the largest per-attribute sum), which needs no moments and no m. "adagrad": the
        same for each attribute separately (Kukliansky & Shamir 2015, Appendix A). A number: that constant.
    step_scale : float
        Multiplies the step size, whatever it is.
    projection : {"euclidean", "own"}
        How weights return to the ball :math:`\|w\|_2 \le B` after a step of "adagrad": to the nearest
        point, or to the nearest in the norm of the step's own matrix :math:`\mathrm{diag}(\sum_s g_{s,i}^2)^{1/2}`, as
        in AdaGrad (Duchi, Hazan & Singer 2011), at O(d) for a round that leaves the ball. Weights without a gradient so
        far do not change.
    split : {"paper", "even"}
        How looks are shared between point and inner product: all but one for the point, or half of them (as in the
        papers' experiments).
    inner : {"paper", "improved", "absolute"}
        Inner-product draws: :math:`p_j \propto w_j^2` (ridge) or :math:`|w_j|` (lasso); "absolute" is :math:`|w_j|`;
        "improved" is :math:`|w_j| \sqrt{E[x_j^2]}` and needs second moments.
    center : bool
        Subtract the means of the cells bought so far from attributes and target.
    scale : array of shape (n_attributes,), optional
        Attributes are divided by this before the model sees them. ``radius`` bounds the weights of the scaled
        attributes; ``coef`` refers to the attributes in their own units.
    norm_bound : float
        X: the largest norm of an example (2-norm for ridge, largest entry for lasso), which is 1 in the theorems.
    n_outputs : int
        Number of targets, which are learnt from the same looks; each has its own ball and step size.
    random_state : int
        Every query is a pure function of this seed, its round and what was told before.
    """

    n_attributes: int = field(kw_only=False)
    budget: int
    radius: float | np.ndarray
    n_examples: int | None = None
    step_size: str | float = "theory"
    step_scale: float = 1.0
    projection: str = "euclidean"
    split: str = "paper"
    inner: str = "paper"
    center: bool = False
    scale: np.ndarray | None = None
    norm_bound: float = 1.0
    n_outputs: int = 1
    random_state: int = 0

    penalty: ClassVar[str] = "ridge"
    reads_everything: ClassVar[bool] = False
    estimates_moments: ClassVar[bool] = False

    def __post_init__(self):
        d = checks.whole("n_attributes", self.n_attributes)
        self.budget = d if self.reads_everything else checks.attribute_budget(self.budget, d)
        checks.whole("n_outputs", self.n_outputs)
        self.radius = checks.radius(self.radius, self.n_outputs)
        checks.positive("step_scale", self.step_scale)
        checks.positive("norm_bound", self.norm_bound)
        checks.one_of("split", self.split, ("paper", "even"))
        checks.one_of("inner", self.inner, ("paper", "improved", "absolute"))
        checks.one_of_or(checks.positive, "step_size", self.step_size, STEPS)
        checks.one_of("projection", self.projection, ("euclidean", "own"))
        if self.projection == "own" and (self.penalty != "ridge" or self.step_size != "adagrad"):
            raise ValueError(
                "projection='own' is AdaGrad's projection on the ball of ridge; pass step_size='adagrad' to a ridge "
                f"learner, or leave it out. Got step_size={self.step_size!r} for {type(self).__name__}."
            )
        if self.scale is not None:
            self.scale = checks.scale(self.scale, d)
        self.random_state = checks.seed(self.random_state)
        if self.n_examples is not None:
            checks.whole("n_examples", self.n_examples)
        self._slope = self._loss()
        self._pending: tuple[int, Pending] | None = None  # the round and its draws

    # What an algorithm is made of -----------------------------------------------------------------------------------

    def _looks(self) -> PhaseDesign:
        """The design of the current phase; by default, every attribute has the same probability."""
        if self.inner == "improved":
            raise ValueError(
                f"inner='improved' draws by second moments, which {type(self).__name__} does not know; use a learner "
                "that takes or estimates them, or inner='paper'."
            )
        return PhaseDesign(designs.uniform(self.n_attributes))

    def _loss(self) -> PlugInSlope | SeriesSlope:
        """The estimator of the derivative of the loss; by default, of the squared loss."""
        return PlugInSlope()

    def _steps(self) -> StepRule:
        return StepRule(self.step_size, self.step_scale)

    def _turn(self) -> None:
        """Begin the next phase if one is due."""

    # The loop -------------------------------------------------------------------------------------------------------

    def begin(self, n_examples: int | None = None) -> None:
        """Build the state before the first round, given the number of examples to come if it is known."""
        if self._state is not None:
            return
        if self.n_examples is None:
            self.n_examples = n_examples
        self._design = self._looks()
        options = self._options()
        model = kernel.new_model(self.n_attributes, self.n_outputs, options, self._design.importance)
        seen = kernel.new_seen(self.n_attributes, self.n_outputs, self.scale)
        self._state = State(model, alias_table(self._design.probabilities), seen, options)

    @property
    def _for_kernels(self) -> State:
        """The state for kernels: without running moments if the learner has no use for them, so that less compiles."""
        used = self.center or self.scale is not None or self.estimates_moments
        return self._state if used else self._state._replace(seen=None)

    def _drawn(self) -> Pending:
        """The draws of this round; they are computed again if the learner was restored or has run since."""
        self.begin()
        if self._pending is None or self._pending[0] != self.n_rounds:
            self._pending = self.n_rounds, self._slope.ask(self._state)
        return self._pending[1]

    def _asked(self) -> np.ndarray:
        return self._drawn().attributes

    @property
    def drawn(self) -> Drawn:
        """How the values of the next query will be used: which draws estimate what, and with which weights."""
        return self._drawn().view()

    def tell(self, query: Query, values, y, *, weight: float | None = None) -> None:
        """Learn from the values of ``query.attributes``, in that order, and the example's target.

        ``weight`` multiplies the gradient; weights should average one. NaN is an unavailable value: point draws of it
        are left out, and if the inner product needs it, no step is taken. A refused call changes nothing.
        """
        self.begin()
        values, y = self._checked(query, values, y)
        weight = self._weight(weight)
        self._slope.tell(self._for_kernels, self._drawn(), values, y, weight)
        self._turn()

    def _chunk(self) -> int:
        return int(min(CHUNK, self._design.until - self.n_rounds))

    def _weight(self, weight: float | None) -> float:
        if weight is None:
            return 1.0
        weight = checks.positive("weight", weight, zero=True)
        self._weighted = True
        return weight

    def _learn_rows(self, X, y: np.ndarray, weights: np.ndarray | None, first: int, last: int) -> None:
        before = self._count(kernel.SKIPPED)
        self._weighted = self._weighted or weights is not None
        self._slope.run(self._for_kernels, X, y, np.empty(0) if weights is None else weights, first, last)
        if skipped := self._count(kernel.SKIPPED) - before:
            message = (
                f"{skipped} gradients in {last - first} examples were {LARGEST:g} or larger, and no step was taken"
            )
            warn(f"{message}: their squares would overflow. Rescale X or y.", RuntimeWarning, stacklevel=2)
        self._turn()

    def recall(self, counts, means, variances, target_means, n_examples: int) -> None:
        """Begin with moments of cells bought elsewhere; variances are about the means even without ``center``."""
        self.begin()
        seen = self._state.seen.attributes
        seen[:, kernel.LOOKS], seen[:, kernel.MEAN], seen[:, kernel.VARIANCE] = counts, means, variances
        self._state.seen.targets[:] = target_means
        self._state.model.counts[kernel.EXAMPLES] = n_examples

    def _restore(self, groups) -> None:
        super()._restore(groups)
        if self._state is not None:
            self._design = self._looks()

    # Arguments of kernels and theorems ------------------------------------------------------------------------------

    @property
    def point_looks(self) -> int:
        """Looks per example that estimate the point, the papers' k."""
        return self._slope.n_point or (self.budget - 1 if self.split == "paper" else self.budget // 2)

    def _options(self) -> kernel.Options:
        """The options of the kernels in the current phase."""
        rule, looks = self._steps(), self._design
        inner = kernel.ABSOLUTE if self.inner == "absolute" else PAPER_INNER[self.penalty]
        learn, radii = looks.options.get("learn", True), np.broadcast_to(self.radius, self.n_outputs).astype(np.float64)
        steps = [rule.constant(self.penalty, float(B), self.n_attributes, self._theorem) for B in radii if learn]
        return kernel.new_options(
            seed=self.random_state,
            n_point=self.point_looks,
            n_inner=self.budget - self.point_looks,
            everything=False,
            penalty=PENALTY[self.penalty],
            inner=inner if looks.importance is None else kernel.MOMENT,
            step_kind=STEPS.get(rule.size, kernel.FIXED),
            step=np.array(steps or np.zeros(self.n_outputs)),
            radius=radii,
            center=checks.boolean("center", self.center),
            scaled=self.scale is not None,
            track=bool(self.center),
            learn=True,
            tube=float(self._slope.tube),
            accuracy=float(self._slope.accuracy),
            own_norm=self.projection == "own",
        )._replace(**looks.options)

    def _theorem(self, radius: float) -> dict[str, Any]:
        """The arguments of the learner's theorem, for an output whose ball has this radius."""
        if self.n_examples is None:
            raise ValueError(
                "step_size='theory' depends on how many examples will come; pass n_examples=, or step_size='adaptive'."
            )
        names = ("n_attributes", "n_examples", "budget", "point_looks", "norm_bound")
        settings = {"algorithm": type(self).__name__, "radius": radius} | {name: getattr(self, name) for name in names}
        return settings | self._design.theorem

    @property
    def bound(self) -> float | None:
        """The theorem's bound on the expected excess risk, for targets within norm_bound times radius.

        None before all ``n_examples`` are told, if step size or draws are not those of the theorem, and if examples
        have weights, which make gradients larger than the theorem allows.
        """
        plain = self.inner == "paper" and not self.center and self.n_outputs == 1 and not self._weighted
        if not plain or self._steps() != ("theory", 1.0) or self._state is None or not self._design.exact:
            return None
        theorem = self._theorem(float(self.radius))
        done = self._count(kernel.AVERAGED) >= theorem["n_examples"]
        return theory.risk_bound(**theorem) if done else None
