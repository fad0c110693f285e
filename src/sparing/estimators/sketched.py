"""What the sketched estimators share: sparse rows, and what they report of the solver's work."""

from typing import Any
from warnings import warn

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from sparing.types import Solution


class SketchedEstimator(BaseEstimator):
    """An estimator that is fitted by a solver."""

    tol: Any

    def _report(self, solution: Solution, remedy: str) -> None:
        """Set the fitted attributes about the solver's work, and warn if it stopped too early."""
        self.n_iter_ = solution.iterations
        self.sketch_size_ = solution.sketch_size
        self.effective_dimension_ = solution.effective_dimension
        if not solution.converged:
            warn(
                f"after {solution.iterations} steps the objective may still be {solution.residual:.1g} of itself above "
                f"its minimum, over tol={self.tol:.1g}; raise max_iter, tol or alpha, {remedy}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
