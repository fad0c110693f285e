"""Learners that keep what they buy, under their public names."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparing import checks
from sparing.cells import Cells
from sparing.learners.keeping import BatchLearner
from sparing.models.covariance import FULL_PRIOR, covariance_rounds, covariance_weights, unrelated
from sparing.models.covariance_families import covariance_family, near_factors_family
from sparing.models.em import STOPS, Standard, after
from sparing.models.factor import RANKS, factor_family, factor_rounds, factor_weights, fit_factors
from sparing.models.gaussian import Fitted
from sparing.models.imputed import imputed_errors, imputed_family
from sparing.models.independence import ALONE, FAINT, go_together, most_in_common
from sparing.models.pairwise import FRACTIONS, USUAL, WIDEST_TO_TRY, Repaired, can_judge, lasso_weights, pairwise_family
from sparing.models.selection import Candidate, Family, Judgement, agreeing, consensus, facts_of, judge, judged
from sparing.models.summary import Described, covariances, describe

WIDEST_FULL = 100  # attributes, up to which any covariance is tried
WIDEST_NEAR = 1_000  # attributes, up to which one near that of factors is, where looks are few and pairs not too rare
FEW_LOOKS = 20  # at an example: longer ones take long
PAIRS = 100  # for each cell
WIDEST_LASSO = 20_000  # attributes, up to which a path on all covariances is followed
LARGEST_FACTOR = 3e7  # cells, up to which the factor model is tried by cross-validation


@dataclass(kw_only=True, eq=False)
class PairwiseMoments(BatchLearner):
    r"""Keeps what it buys, estimates the covariance from pairs seen together, and solves.

    :math:`w = (C_+ + \mathrm{ridge})^{-1} c`, where C has every average over the examples that saw both of a pair, and
    negative eigenvalues, which only noise makes, are set to zero. Memory and time of a solve are those of a d × d
    matrix: for d up to some ten thousand. Other parameters are those of :class:`BatchLearner`.

    Parameters
    ----------
    ridge : float or "auto"
        Added to the diagonal of the covariance. "auto" tries multiples of the most negative eigenvalue by
        cross-validation on the cells bought and averages those that cannot be told apart; it takes half of that
        eigenvalue where d > 3,000 or there are fewer than 10 examples.
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

    def _fit(self, cells: Cells) -> Fitted:
        seen = describe(cells)
        weights, facts = self._weights(cells, seen)
        return Fitted(weights, seen.target_means - seen.means @ weights, facts)

    def _weights(self, cells: Cells, seen: Described) -> tuple[np.ndarray, dict[str, Any]]:
        given = self.ridge if self.penalty == "ridge" else self.alpha
        if given == "auto" and can_judge(cells):
            family = pairwise_family(self.penalty)
            judgement, candidates = judge(cells, [family]), family(cells, seen)
            return consensus(candidates, agreeing(candidates, judgement)), judged(candidates, judgement)
        moments = covariances(cells, seen)
        repaired = Repaired(moments, seen, "raw" if self.penalty == "lasso" or given != "auto" else "range")
        ridge = USUAL * repaired.noise if self.penalty == "lasso" or given == "auto" else given
        if self.penalty == "ridge":
            return repaired.ridge(ridge), {"setting": f"ridge {ridge:g}"}
        largest = max(float(np.abs(moments.targets).max()), np.finfo(float).tiny)
        fraction = FRACTIONS[4] if given == "auto" else min(given / largest, 1.0)
        weights = lasso_weights(repaired.covariance(ridge), moments.targets, (fraction,))[0]
        return weights, {"setting": f"lasso {fraction * largest:g}"}

    def _planning_weights(self, seen: Described) -> np.ndarray | None:
        """A quick solve: choosing a ridge would take several."""
        if self.n_attributes > WIDEST_TO_TRY:
            return None
        cells = self.bought.in_order()
        repaired = Repaired(covariances(cells, seen), seen, "looks")
        return repaired.ridge(USUAL * max(-repaired.values[0], 0.01 * repaired.noise))  # bold: looks only follow it

    def standard_errors(self) -> np.ndarray:
        r"""Standard errors of the weights as the noise of the moments makes them, ridge held fixed; like ``coef``.

        The error of :math:`c - C w` in coordinate i is that of a mean of :math:`x_i - \bar x_i` times the residual
        over the :math:`n_i` looks at it, and that of seeing :math:`x_j` in only :math:`n_{ij}` of those. If fourth
        moments are products of second ones, its covariances are :math:`C_{ik} \sigma^2 n_{ik} / (n_i n_k)` with
        :math:`\sigma^2 = \sigma_y^2 - 2 c^T w + w^T C w`, and besides
        :math:`s_i^2 \sum_j w_j^2 s_j^2 (1/n_{ij} - 1/n_i)` on the diagonal. From whole rows that is what least squares
        has. With ``ridge="auto"`` it is taken at half the noise; a lasso's weights are judged as if by that ridge.
        """
        cells = self.bought.in_order()
        seen = describe(cells)
        moments = covariances(cells, seen)
        repaired, weights = Repaired(moments, seen, "raw"), self.fitted.weights
        ridge = USUAL * repaired.noise if isinstance(self.ridge, str) else self.ridge
        inverse = (repaired.vectors / (np.maximum(repaired.values, 0.0) + ridge)) @ repaired.vectors.T
        covariance = repaired.covariance(0.0)
        explained = np.sum(weights * (2.0 * moments.targets - covariance @ weights), axis=0)
        residual = np.maximum(seen.target_variances - explained, 0.0)
        looks = 1.0 / np.maximum(seen.counts, 1)
        shared = covariance * moments.counts * np.outer(looks, looks)
        unseen = 1.0 / np.maximum(moments.counts, 1) - looks[:, None]
        alone = seen.variances[:, None] * (unseen @ (weights**2 * seen.variances[:, None]))
        variances = np.sum(inverse * (shared @ inverse), axis=0)[:, None] * residual + inverse**2 @ alone
        errors = np.sqrt(variances)
        return errors[:, 0] if self.n_outputs == 1 else errors.T


@dataclass(kw_only=True, eq=False)
class FactorModel(BatchLearner):
    r"""Keeps what it buys and models attributes and targets as :math:`L z + \mathrm{noise}`, fitted by EM.

    A few common factors z and independent noise per attribute, after centring and scaling. Time of a round is
    O(cells · rank · min(b, rank)) for b cells of an example, memory O(d · rank): it works at a million attributes.
    Other parameters are those of :class:`BatchLearner`.

    Parameters
    ----------
    rank : int, "full" or "auto"
        Number of factors. "full": any covariance, for some hundred attributes. "auto": 5 or 20, by the likelihood of
        held-out targets given the cells bought beside them.
    rounds : int or "auto"
        Rounds of EM: too many overfit. "auto": as the same likelihood says, 40 at most.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> from sparing.learners import FactorModel
    >>> X, y = make_power_law(4000, 20, -1.0, random_state=0, return_X_y=True)
    >>> learner = FactorModel(20, budget=4, random_state=0).run(X, y)
    >>> bool(np.mean((X @ learner.coef + learner.intercept - y) ** 2) < 0.25 * y.var())
    True
    """

    rank: Any = "auto"
    rounds: Any = "auto"

    def __post_init__(self):
        self.rank = checks.one_of_or(checks.whole, "rank", self.rank, ("auto", "full"))
        self.rounds = checks.one_of_or(checks.whole, "rounds", self.rounds, ("auto",))
        super().__post_init__()

    def _fit(self, cells: Cells) -> Fitted:
        seen = describe(cells)
        weights, facts = self._weights(cells, seen)
        return Fitted(weights, seen.target_means - seen.means @ weights, facts)

    def _weights(self, cells: Cells, seen: Described) -> tuple[np.ndarray, dict[str, Any]]:
        if self.rank != "full":
            return fit_factors(cells, seen, self.rank, self.rounds)
        rounds, data = max(STOPS) if self.rounds == "auto" else self.rounds, Standard(cells, seen)
        covariance = after(covariance_rounds(data, unrelated(data), FULL_PRIOR), rounds)
        return covariance_weights(data, covariance), {"setting": f"full covariance, {rounds} rounds"}

    def _planning_weights(self, seen: Described) -> np.ndarray | None:
        """A few rounds of a small model."""
        data, factors = after(factor_rounds(self.bought.in_order(), seen, min(5, self.n_attributes)), 10)
        return data.weights(factor_weights(data, factors))


@dataclass(kw_only=True, eq=False)
class MeanImputed(BatchLearner):
    """Ridge regression on rows filled with means, its strength by cross-validation on such rows: a baseline.

    Parameters are those of :class:`BatchLearner`.
    """

    def _fit(self, cells: Cells) -> Fitted:
        seen = describe(cells)
        chosen = imputed_family(cells, seen)[int(np.argmin(imputed_errors(cells)))]
        facts = {"setting": f"mean-imputed: {chosen.setting}", "families": [chosen.family]}
        return Fitted(chosen.weights, seen.target_means - seen.means @ chosen.weights, facts)


@dataclass(kw_only=True, eq=False)
class AutoLearner(BatchLearner):
    """Keeps what it buys and takes the model that predicts best from it, judged by cells held out.

    Candidates are pairwise moments with several ridges; covariances held near no correlation, for up to 100 attributes;
    one held near that of a factor model, for up to 100 attributes, or 1,000 where looks are few; else factor models of
    several ranks and rounds. Each learns from a part of the examples and is judged by an unbiased estimate of its risk
    on whole rows, made from the cells bought of the rest. The least risk plus two standard errors wins; those that
    cannot be told from the winner learn from all examples with it, and their mean is the model. Where attributes turn
    out to be uncorrelated it is ridge regression on mean-imputed rows, which is then right (above 100 attributes it is
    a candidate anyway); where even the best is judged worse than the mean target, it is that. ``fitted.facts`` says
    what was chosen and why. Above 3,000 attributes it is a factor model, its rank and rounds chosen by the likelihood
    of held-out targets. Parameters are those of :class:`BatchLearner`.

    Parameters
    ----------
    penalty : {"ridge", "lasso"}
        "lasso": few weights differ from zero.
    """

    penalty: str = "ridge"

    def __post_init__(self):
        checks.one_of("penalty", self.penalty, ("ridge", "lasso"))
        if self.penalty == "lasso" and self.n_attributes > WIDEST_LASSO:
            raise ValueError(
                f"penalty='lasso' follows a path on a matrix of {self.n_attributes} x {self.n_attributes} covariances; "
                f"above {WIDEST_LASSO} attributes take penalty='ridge' or an online learner (DDAELR)."
            )
        super().__post_init__()

    def _families(self, cells: Cells) -> list[Family]:
        families: list[Family] = []
        any_covariance = self.n_attributes <= WIDEST_FULL
        if self.n_attributes <= WIDEST_TO_TRY:
            families.append(pairwise_family(self.penalty))
        if any_covariance:
            families.append(covariance_family(self.penalty))
        elif families and self.penalty == "ridge":
            families.append(imputed_family)
        if len(cells) > LARGEST_FACTOR:
            return families
        if any_covariance or self._worth_pairs(cells):
            return [*families, near_factors_family(self.penalty)]
        return families + [factor_family(min(rank, self.n_attributes), self.penalty) for rank in RANKS]

    def _worth_pairs(self, cells: Cells) -> bool:
        """Whether a covariance of many attributes can be learnt beyond its factors, and soon enough."""
        few = len(cells) <= FEW_LOOKS * cells.n_examples
        return few and self.n_attributes <= WIDEST_NEAR and self.n_attributes**2 <= PAIRS * len(cells)

    def _fit(self, cells: Cells) -> Fitted:
        seen = describe(cells)
        if self.n_attributes > WIDEST_TO_TRY and self.penalty == "ridge":
            weights, facts = fit_factors(cells, seen)
            why = (
                f"above {WIDEST_TO_TRY:,} attributes it is a factor model, chosen by the likelihood of held-out targets"
            )
            return self._model(seen, weights, facts | {"families": ["factor"], "why": why})
        families = self._families(cells) or [factor_family(RANKS[-1], self.penalty)]
        if not can_judge(cells):
            chosen = families[0](cells, seen)[2]
            setting = f"{chosen.family}: {chosen.setting}"
            why = "too few examples, or too many attributes, to judge by"
            return self._model(seen, chosen.weights, {"setting": setting, "families": [chosen.family], "why": why})
        if self.penalty == "ridge" and self._independent(cells, seen):
            return self._imputed(cells, seen)
        judgement = judge(cells, families)
        candidates = [candidate for family in families for candidate in family(cells, seen)]
        if judgement.hopeless:
            return self._nothing(seen, candidates, judgement)
        return self._model(seen, consensus(candidates, agreeing(candidates, judgement)), judged(candidates, judgement))

    def _independent(self, cells: Cells, seen: Described) -> bool:
        """Whether nothing shows that attributes go together, and pairs leave little room for it.

        Of few attributes, less: a covariance held near none learns the same there, and is right if they do.
        """
        limit = FAINT if self.n_attributes > WIDEST_FULL else ALONE
        return most_in_common(cells, seen) < limit and not go_together(cells)

    def _imputed(self, cells: Cells, seen: Described) -> Fitted:
        """Regression on rows filled with means: of independent attributes it is the one to make, and to judge by."""
        candidates, judgement = imputed_family(cells, seen), judge(cells, [imputed_family])
        if judgement.hopeless:
            return self._nothing(seen, candidates, judgement)
        chosen = judgement.as_good()
        best = int(chosen[np.argmin(imputed_errors(cells)[chosen])])
        facts = facts_of(candidates, judgement, best, [best])
        facts["why"] = (
            "attributes seen together do not go together, so that rows may be filled with means; of the regressions on "
            "such rows that cannot be told from the best by their risk, the one with "
            f"{candidates[best].setting} erred least on rows held out, filled so"
        )
        return self._model(seen, candidates[best].weights, facts)

    def _nothing(self, seen: Described, candidates: list[Candidate], judgement: Judgement) -> Fitted:
        """The mean target."""
        facts = facts_of(candidates, judgement, judgement.best, [])
        why = "every candidate was judged to be worse than the mean target; buy more values"
        weights = np.zeros_like(candidates[0].weights)
        return self._model(seen, weights, facts | {"setting": "the mean target", "why": why})

    def _model(self, seen: Described, weights: np.ndarray, facts: dict[str, Any]) -> Fitted:
        return Fitted(weights, seen.target_means - seen.means @ weights, facts)

    def _planning_weights(self, seen: Described) -> np.ndarray | None:
        return PairwiseMoments._planning_weights(self, seen)  # type: ignore[arg-type]
