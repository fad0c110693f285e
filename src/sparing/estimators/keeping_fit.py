"""From the options of an estimator to a learner that keeps what it buys."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.learners.keepers import WIDEST_LASSO
from sparing.learners.keeping import BatchLearner

NAMES = ("auto", "pairwise", "factor")
WIDEST = {"ridge": 1_000_000, "lasso": WIDEST_LASSO}  # attributes; above as many the online learners remain


@dataclass
class BatchFit:
    """One fit, over chunks of rows. The state after some rows does not depend on how they were cut into chunks."""

    name: str
    penalty: str
    n_attributes: int
    n_outputs: int
    budget: Any
    costs: Any
    groups: Any
    total_budget: Any
    design: str
    alpha: Any
    second_moments: Any
    n_examples: int | None
    seed: int

    def __post_init__(self):
        options = {
            "budget": self.budget,
            "costs": self.costs,
            "groups": self.groups,
            "total_budget": self.total_budget,
            "design": "adaptive" if self.design == "auto" else self.design,
            "second_moments": self.second_moments,
            "n_examples": self.n_examples,
            "n_outputs": self.n_outputs,
            "random_state": self.seed,
        }
        self.learner: BatchLearner
        if self.name == "factor":
            self.learner = FactorModel(self.n_attributes, **options)
        elif self.name == "auto" and self.alpha == "auto":
            self.learner = AutoLearner(self.n_attributes, penalty=self.penalty, **options)
        else:
            strength = {"ridge": self.alpha} if self.penalty == "ridge" else {"alpha": self.alpha}
            self.learner = PairwiseMoments(self.n_attributes, penalty=self.penalty, **strength, **options)

    @property
    def blind_spots(self) -> str:
        """What the budget can never learn, in words."""
        return self.learner.blind_spots

    def learn(self, X, y) -> None:
        """Go on with more rows; y has one column per output."""
        self.learner.run(X, y)

    @property
    def n_rounds(self) -> int:
        """Examples looked at."""
        return self.learner.n_rounds

    @property
    def cells(self) -> int:
        """Values read."""
        return self.learner.cells

    @property
    def draws(self) -> int:
        """Draws made: none twice of the same value."""
        return self.learner.draws

    @property
    def spent(self) -> float:
        """What they cost."""
        return self.learner.spent

    @property
    def report(self) -> dict[str, Any]:
        """What was chosen and why."""
        return {"why": "it was asked for"} | self.learner.fitted.facts

    def model(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_outputs, d) and intercepts (n_outputs,)."""
        return self.learner.fitted.weights.T.copy(), self.learner.fitted.intercept.copy()
