"""The public keeping learners, and how each of them turns cells into a model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparing import checks
from sparing.cells import Cells
from sparing.learners.keeping import KeepingLearner
from sparing.models import families, pairwise
from sparing.models.bases import transformed
from sparing.models.gaussian import FittedModel, fitted_model
from sparing.models.imputed import imputed_candidates, imputed_errors
from sparing.models.scaling import extreme_units
from sparing.models.selection import affordable_families, select, usual_model
from sparing.progress import Progress

WIDEST_LASSO = 20_000  # attributes up to which the lasso path on all covariances is computed


@dataclass(kw_only=True, eq=False)
class AutoLearner(KeepingLearner):
    """Keeps what it buys and selects the model that predicts held-out examples best.

    Candidates are pairwise moments with several ridges, covariances shrunk toward the identity or toward a factor
    model, factor models and mean-imputed regressions, as far as their cost allows. Each is fitted to some of the
    examples and predicts the targets of the others from the cells that were seen. Of those that are not clearly worse
    than the best, the ones whose correlations fit held-out cells best are averaged, fitted to all examples, and shrunk
    toward the mean target as far as held-out targets suggest. ``fitted.facts`` says which model was chosen, and why.
    Other parameters are those of :class:`KeepingLearner`.

    Parameters
    ----------
    penalty : {"ridge", "lasso"}
        "lasso": few weights differ from zero.
    features : {"linear", "additive", "auto"}
        "additive": a curve for every column, learnt from the same looks, if it predicts held-out examples better than a
        line. "auto": averaged with boosted trees if that is better still.
    classes : bool
        Whether targets are classes, -1 and +1. Boosted trees are then judged by log losses, not by squared errors.
    """

    penalty: str = "ridge"
    features: str = "linear"
    classes: bool = False

    FEATURES: ClassVar[tuple[str, ...]] = ("linear", "additive", "auto")

    def __post_init__(self):
        checks.one_of("penalty", self.penalty, ("ridge", "lasso"))
        checks.one_of("features", self.features, self.FEATURES)
        self.classes = checks.boolean("classes", self.classes)
        if self.penalty == "lasso" and self.features != "linear":
            raise ValueError(f"features={self.features!r} has no lasso; pass features='linear' or penalty='ridge'.")
        if self.penalty == "lasso" and self.n_attributes > WIDEST_LASSO:
            raise ValueError(
                f"penalty='lasso' follows a path on a matrix of {self.n_attributes} x {self.n_attributes} covariances; "
                f"above {WIDEST_LASSO} attributes take penalty='ridge' or an online learner (DDAELR)."
            )
        super().__post_init__()

    def _fit(self, cells: Cells, progress: Progress) -> FittedModel:
        expanded = cells if self.levels is None else transformed(None, self.levels, cells)[1]
        competing = affordable_families(expanded, self.penalty)
        return select(cells, competing, self.features, self.levels, progress, self.classes)


@dataclass(kw_only=True, eq=False)
class PairwiseMoments(KeepingLearner):
    r"""Keeps what it buys, estimates covariances from pairs seen together, and solves the normal equations.

    :math:`w = (C_+ + \mathrm{ridge})^{-1} c`, where every entry of C is an average over the examples in which both
    attributes were seen. Negative eigenvalues, which are due to noise, are set to zero. Memory and time are those of a
    d × d matrix, so d may be up to some ten thousand. Other parameters are those of :class:`KeepingLearner`.

    Parameters
    ----------
    ridge : float or "auto"
        Added to the diagonal of the covariance, for attributes in their own units. "auto" is half the most negative
        eigenvalue, which measures the noise, for attributes in units of their standard errors. If whole rows are
        bought, it is chosen by cross-validation.
    penalty : {"ridge", "lasso"}
        "lasso" follows the path of :math:`\frac12 w^T C w - c^T w + \alpha \|w\|_1` on the repaired covariance.
    alpha : float or "auto"
        The lasso's penalty; chosen by cross-validation unless given.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import PairwiseMoments
    >>> X, y = make_power_law(4000, 20, -1.0, random_state=0, return_X_y=True)
    >>> learner = PairwiseMoments(20, budget=4, random_state=0).run(X, y)
    >>> bool(np.mean((X @ learner.coef + learner.intercept - y) ** 2) < 0.15 * y.var())
    True
    """

    ridge: Any = "auto"
    penalty: str = "ridge"
    alpha: Any = "auto"

    def __post_init__(self):
        checks.one_of("penalty", self.penalty, ("ridge", "lasso"))
        self.ridge = checks.one_of_or(checks.positive, "ridge", self.ridge, ("auto",))
        self.alpha = checks.one_of_or(checks.positive, "alpha", self.alpha, ("auto",))
        super().__post_init__()

    def _fit(self, cells: Cells, progress: Progress) -> FittedModel:
        given = self.ridge if self.penalty == "ridge" else self.alpha
        whole = len(cells) == cells.n_examples * cells.n_attributes
        if given == "auto" and self.penalty == "ridge" and not whole:
            why = "half the noise is usually a good ridge"
            return usual_model(cells, families.pairwise_moments("ridge"), why, self.levels)
        if given == "auto":
            return select(cells, [families.pairwise_moments(self.penalty)], levels=self.levels, progress=progress)
        if extreme_units(cells).any:
            raise ValueError(
                f"some values are too large or small to be squared, so a {self.penalty} of {given:g} in the units of "
                'the attributes has no meaning; rescale the columns, or pass "auto".'
            )
        return pairwise.given_model(cells, self.penalty, given, self.levels)

    def standard_errors(self) -> np.ndarray:
        """Standard errors of the weights, in the shape of ``coef``: see ``sparing.models.pairwise.standard_errors``.

        With ``ridge="auto"``, and for a lasso, they are those of the usual ridge, half the noise.
        """
        _ = self.coef  # raises if the model has no weights
        ridge = None if isinstance(self.ridge, str) else self.ridge
        errors = pairwise.standard_errors(self.bought.to_learn_from(), self.fitted.weights, ridge)
        return errors[:, 0] if self.n_outputs == 1 else errors.T


@dataclass(kw_only=True, eq=False)
class FactorModel(KeepingLearner):
    """Keeps what it buys and models attributes and targets as a few common factors plus noise, fitted by EM.

    It is best if looks are few, and for very wide data: time and memory are linear in cells and attributes. Other
    parameters are those of :class:`KeepingLearner`.

    Parameters
    ----------
    rank : int, "auto" or "full"
        The number of factors. "auto" chooses it, and the number of iterations, by held-out examples; "full" is an
        unrestricted covariance, shrunk toward the identity, for up to some hundred attributes.
    rounds : int or "auto"
        EM iterations.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import FactorModel
    >>> X, y = make_power_law(4000, 20, -1.0, random_state=0, return_X_y=True)
    >>> learner = FactorModel(20, budget=4, rank=5, random_state=0).run(X, y)
    >>> bool(np.mean((X @ learner.coef + learner.intercept - y) ** 2) < 0.3 * y.var())
    True
    """

    rank: Any = "auto"
    rounds: Any = "auto"

    def __post_init__(self):
        self.rank = checks.one_of_or(checks.whole, "rank", self.rank, ("auto", "full"))
        self.rounds = checks.one_of_or(checks.whole, "rounds", self.rounds, ("auto",))
        super().__post_init__()

    def _fit(self, cells: Cells, progress: Progress) -> FittedModel:
        if self.rank == "full":
            iterations = families.ITERATIONS if self.rounds == "auto" else self.rounds
            return usual_model(cells, families.full_covariance("ridge", iterations=iterations), levels=self.levels)
        ranks = families.RANKS if self.rank == "auto" else (self.rank,)
        stops = families.STOPS if self.rounds == "auto" else (self.rounds,)
        return select(cells, [families.factor("ridge", ranks, stops)], levels=self.levels, progress=progress)


@dataclass(kw_only=True, eq=False)
class MeanImputed(KeepingLearner):
    """Ridge regression on mean-imputed rows, with its ridge chosen by cross-validation on such rows: a baseline.

    Parameters are those of :class:`KeepingLearner`.
    """

    def _fit(self, cells: Cells, progress: Progress) -> FittedModel:
        basis, cells, summary = transformed(None, self.levels, cells)
        chosen = imputed_candidates(cells, summary)[int(np.argmin(imputed_errors(cells)))]
        facts = {"setting": f"mean-imputed: {chosen.setting}", "families": ["mean-imputed"]}
        return fitted_model(summary, chosen.weights, chosen, facts | {"why": "it was asked for"}, basis)
