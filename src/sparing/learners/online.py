"""The loop that all online learners share: ask, tell, run, save, restore."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from sparing import checks, designs, theory
from sparing.kernels import state as kernel
from sparing.kernels.ask import Draws, new_draws, new_room
from sparing.kernels.gather import rows_of
from sparing.kernels.run import ask_once, run_rows, tell_once
from sparing.kernels.sampling import alias_table
from sparing.learners.ask_tell import Loop
from sparing.learners.online_state import Memory
from sparing.sources import ArraySource
from sparing.types import Ledger, Query

PENALTY = {"ridge": kernel.RIDGE, "lasso": kernel.LASSO, "shrunk": kernel.SHRUNK}
STEPS = {"theory": kernel.FIXED, "adaptive": kernel.ADAPTIVE, "adagrad": kernel.ADAGRAD}
CHUNK = 65536  # rows between two chances to report progress or to be interrupted


@dataclass(kw_only=True, eq=False)
class OnlineLearner(Memory, Loop):
    r"""Learns a linear model from a few attributes of each example, one example after the other.

    A learner is one sequence of rounds: do not tell or run it from two threads at once.

    Parameters
    ----------
    n_attributes : int
        d.
    budget : int
        Attributes to look at of each example, the papers' k + 1: from 2 to d.
    radius : float
        B: the weights stay within this 2-norm (ridge) or 1-norm (lasso).
    n_examples : int, optional
        m, how many examples will come. Only ``step_size="theory"`` and a phase one given as a fraction need it;
        ``run`` fills it in.
    step_size : {"theory", "adaptive", "adagrad"} or float
        "theory": the constant of the learner's theorem. "adaptive": B over the root of the summed squared gradient
        norms so far (for lasso: of the largest per-attribute sum), which needs no moments and no m. "adagrad": the
        like for every attribute on its own (Kukliansky & Shamir 2015, Appendix A). A number: that constant.
    step_scale : float
        Multiplies the step size, whatever it is.
    split : {"paper", "even"}
        How the budget is shared: all but one look for the point, or half of them (their experiments).
    inner : {"paper", "improved", "absolute"}
        Inner-product draws: :math:`p_j \propto w_j^2` (ridge) or :math:`|w_j|` (lasso); "improved" is
        :math:`|w_j| \sqrt{E[x_j^2]}` and needs second moments.
    center : bool
        Subtract running means, of the cells bought so far, from attributes and target.
    scale : array of shape (n_attributes,), optional
        Attributes are learnt from divided by this; ``radius`` bounds the weights of the attributes so scaled, ``coef``
        speaks of the attributes as they are.
    norm_bound : float
        X: the largest norm of an example (2-norm for ridge, largest entry for lasso), which the theorems take for 1.
    n_outputs : int
        Targets learnt at once from the same looks.
    random_state : int
        Every query is a pure function of this seed, its round and what was told before.
    """

    n_attributes: int = field(kw_only=False)
    budget: int
    radius: float
    n_examples: int | None = None
    step_size: str | float = "theory"
    step_scale: float = 1.0
    split: str = "paper"
    inner: str = "paper"
    center: bool = False
    scale: np.ndarray | None = None
    norm_bound: float = 1.0
    n_outputs: int = 1
    random_state: int = 0

    penalty: ClassVar[str] = "ridge"
    reads_everything: ClassVar[bool] = False

    def __post_init__(self):
        checks.whole("n_attributes", self.n_attributes)
        self._check()
        self._forget()
        if self.n_examples is not None:
            checks.whole("n_examples", self.n_examples)

    def _check(self) -> None:
        """Refuse bad options before anything is asked."""
        self._check_budget()
        self.radius = checks.positive("radius", self.radius)
        checks.positive("step_scale", self.step_scale)
        checks.positive("norm_bound", self.norm_bound)
        checks.whole("n_outputs", self.n_outputs)
        checks.one_of("split", self.split, ("paper", "even"))
        checks.one_of("inner", self.inner, ("paper", "improved", "absolute"))
        if isinstance(self.step_size, str):
            checks.one_of("step_size", self.step_size, STEPS)
        else:
            checks.positive("step_size", self.step_size)
        if self.scale is not None:
            self.scale = checks.scale(self.scale, self.n_attributes)
        self.random_state = checks.seed(self.random_state)

    def _check_budget(self) -> None:
        self.budget = checks.attribute_budget(self.budget, self.n_attributes)

    # What a family or an algorithm decides ------------------------------------------------------------------------

    def _design(self) -> np.ndarray:
        """Probabilities q of the point draws."""
        return designs.uniform(self.n_attributes)

    def _importance(self) -> np.ndarray | None:
        """Root second moments for improved inner-product draws."""
        if self.inner == "improved":
            raise ValueError(
                f"inner='improved' draws by second moments, which {type(self).__name__} does not know; use a learner "
                "that takes or estimates them, or inner='paper'."
            )
        return None

    def _theory(self) -> dict[str, Any]:
        """What the learner's theorem is told beside d, b, m, B and X."""
        return {}

    # The loop -----------------------------------------------------------------------------------------------------

    def ask(self) -> Query:
        """What to look at of the next example. The same query until it is told."""
        self.begin()
        draws = new_draws(self._options.n_point, self._options.n_inner, self.n_outputs)
        ask_once(self._model, self._table, self._options, draws)
        n, _, n_inner = draws.sizes
        n_point = self._options.n_point
        return Query(
            round=self.n_rounds,
            attributes=draws.attributes[:n],
            point=draws.place[:n_point],
            point_weights=draws.point_weights,
            inner=draws.place[n_point : n_point + n_inner],
            inner_weights=draws.inner_weights[:n_inner],
        )

    def tell(self, query: Query, values, y) -> None:
        """Learn from the values of ``query.attributes``, in that order, and the example's target.

        NaN means that a value could not be had: a point draw that needs it is left out, and without a value of the
        inner product there is no step. A refused call changes nothing.
        """
        self.begin()
        query, values, y = self._checked(query, values, y)
        sizes = np.array([query.attributes.size, np.unique(query.point).size, query.inner.size])
        place = np.concatenate([query.point, query.inner])
        draws = Draws(query.attributes, place, query.point_weights, query.inner_weights, sizes)
        self._learn(query, draws, values, y)
        self._turn()

    def _learn(self, query: Query, draws: Draws, values: np.ndarray, y: np.ndarray) -> None:
        """Move the state by a round whose values and target were checked."""
        room = np.empty(values.size), np.empty(y.size)
        tell_once(self._model, self._seen, self._options, draws, values, y, *room)

    def run(self, X, y, *, ledger: Ledger | None = None, progress: Callable[[int], None] | None = None) -> Self:
        """Ask and tell over all rows of ``X``: an array, a sparse matrix, a data frame or a :class:`Source`.

        Arrays run compiled and a source step by step, with the same result bit for bit. ``progress`` is called with
        the number of rows just done. With a ``ledger`` every purchase is booked before it is read.
        """
        if ledger is not None or hasattr(X, "read"):
            return self._run_source(X if hasattr(X, "read") else ArraySource(X), y, ledger, progress)
        X = checks.matrix(X, self.n_attributes)
        y = self._targets(y, X.shape[0])
        self.begin(X.shape[0])
        row = 0
        while row < X.shape[0]:
            last = min(row + CHUNK, X.shape[0], row + self._rounds_left())
            self._run_rows(X, y, row, last)
            self._turn()
            if progress is not None:
                progress(last - row)
            row = last
        return self

    def _run_rows(self, X, y, first, last) -> None:
        draws = new_draws(self._options.n_point, self._options.n_inner, self.n_outputs)
        ahead = new_draws(self._options.n_point, 0, self.n_outputs)._replace(lookup=draws.lookup)
        parts = (self._model, self._table, self._seen, self._options, draws, *new_room(draws, self.n_outputs))
        run_rows(*parts, ahead, rows_of(X), y, first, last)

    # Starting, and turning from one phase to the next ---------------------------------------------------------------

    def begin(self, n_examples: int | None = None) -> None:
        """Build the state before the first round, when all that it depends on is known."""
        if self._model is not None:
            return
        if self.n_examples is None:
            self.n_examples = n_examples
        importance = self._importance()
        self._options = self._first_options()
        self._table = alias_table(self._design())
        self._seen = kernel.new_seen(self.n_attributes, self.n_outputs, self.scale)
        self._model = kernel.new_model(self.n_attributes, self.n_outputs, self._options, importance)

    def _first_options(self) -> kernel.Options:
        """The options of the first phase; most learners have no other."""
        return self._options_for(*self._step())

    def _rounds_left(self) -> int:
        """Rounds until the present phase ends."""
        return CHUNK

    def _turn(self) -> None:
        """Go on to the next phase, if the present one has ended."""

    @property
    def point_looks(self) -> int:
        """Looks of each example that estimate the point, the papers' k."""
        return self.budget - 1 if self.split == "paper" else self.budget // 2

    def _inner_kind(self, inner: str | None = None) -> int:
        inner = self.inner if inner is None else inner
        if inner == "improved":
            return kernel.MOMENT
        return kernel.SQUARE if inner == "paper" and self.penalty == "ridge" else kernel.ABSOLUTE

    def _options_for(self, step_kind: int, step: float) -> kernel.Options:
        return kernel.Options(
            seed=self.random_state,
            n_point=self.point_looks,
            n_inner=self.budget - self.point_looks,
            everything=False,
            penalty=PENALTY[self.penalty],
            inner=self._inner_kind(),
            step_kind=step_kind,
            step=step,
            radius=self.radius,
            center=bool(self.center),
            scaled=self.scale is not None,
            track=bool(self.center),
            learn=True,
            tube=-1.0,
            accuracy=1.0,
        )

    def _step(self, **changes) -> tuple[int, float]:
        """The kind of step and its constant; ``changes`` go to the theorem."""
        if not isinstance(self.step_size, str):
            return kernel.FIXED, self.step_scale * float(self.step_size)
        if self.step_size == "theory":
            return kernel.FIXED, self.step_scale * theory.step_size(**self._theorem() | changes)
        if self.step_size == "adagrad":
            return kernel.ADAGRAD, self.step_scale * self.radius / sqrt(self.n_attributes)
        lasso = self.penalty == "lasso"
        return kernel.ADAPTIVE, self.step_scale * (sqrt(log(2 * self.n_attributes) / 5) if lasso else self.radius)

    def _theorem(self) -> dict[str, Any]:
        """The arguments of the learner's theorem."""
        if self.n_examples is None:
            raise ValueError(
                "step_size='theory' depends on how many examples will come; pass n_examples=, or step_size='adaptive'."
            )
        names = ("n_attributes", "n_examples", "radius", "budget", "point_looks", "norm_bound")
        return {"algorithm": type(self).__name__} | {name: getattr(self, name) for name in names} | self._theory()

    def _has_bound(self) -> bool:
        """Whether what runs is what the theorem speaks of."""
        plain = self.inner == "paper" and not self.center and self.n_outputs == 1
        done = self.n_examples is not None and self.n_rounds >= self.n_examples
        return plain and done and self.step_size == "theory" and self.step_scale == 1.0

    @property
    def bound(self) -> float | None:
        """The theorem's bound on the expected excess risk, for targets within norm_bound times radius.

        None before all ``n_examples`` are told, and where anything but the theorem's own step size and draws is used.
        """
        return theory.risk_bound(**self._theorem()) if self._has_bound() else None
