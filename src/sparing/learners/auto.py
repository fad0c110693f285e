"""Choose how to learn by what the bought cells say."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparing import checks
from sparing.cells import Cells
from sparing.geometry.cells import Described, describe
from sparing.learners.batch import BatchLearner, Fitted
from sparing.learners.choice import Candidate, Family, Judgement, agreeing, consensus, facts_of, judge, judged
from sparing.learners.covariance_families import covariance_family, near_factors_family
from sparing.learners.factor import RANKS, factor_family, fit_factors
from sparing.learners.imputed import imputed_errors, imputed_family
from sparing.learners.independence import ALONE, FAINT, go_together, most_in_common
from sparing.learners.pairwise import WIDEST_TO_TRY, PairwiseMoments, can_judge, pairwise_family

WIDEST_FULL = 100  # attributes, up to which any covariance is tried
WIDEST_NEAR = 1_000  # attributes, up to which one near that of factors is, where looks are few and pairs not too rare
FEW_LOOKS = 20  # at an example: longer ones take long
PAIRS = 100  # for each cell
WIDEST_LASSO = 20_000  # attributes, up to which a path on all covariances is followed
LARGEST_FACTOR = 3e7  # cells, up to which the factor model is tried by cross-validation


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
