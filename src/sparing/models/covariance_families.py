"""Candidates from any covariance of attributes and targets: held near no correlation, or near that of a few factors."""

import numpy as np

from sparing.cells import Cells
from sparing.models.covariance import FULL_PRIOR, covariance_rounds, covariance_weights, tails, unrelated
from sparing.models.em import Standard, after, lasso_candidates
from sparing.models.factor import factor_rounds
from sparing.models.factor_gradients import implied_covariance
from sparing.models.selection import Candidate, Family
from sparing.models.summary import Described

ROUNDS = 40
TO_NONE = (FULL_PRIOR, 50.0)  # imagined examples; fewer overfit, more tell of nothing else
SHARE = 2.0  # families to count for: as a rule it is the nearest to the best of them, whichever that is
TO_FACTORS = (50.0,)
RANK, FACTOR_ROUNDS = 20, 20


def covariance_family(penalty: str = "ridge") -> Family:
    """Attributes without correlation are what is expected: for few attributes, or examples."""

    def family(cells: Cells, seen: Described) -> list[Candidate]:
        data = Standard(cells, seen)
        candidates = _candidates("full covariance", data, unrelated(data), TO_NONE, penalty)
        return [candidate._replace(share=SHARE) for candidate in candidates]

    return family


def near_factors_family(penalty: str = "ridge") -> Family:
    """A factor model is what is expected; what pairs say beyond it is added: the best of both where looks are few."""

    def family(cells: Cells, seen: Described) -> list[Candidate]:
        data, factors = after(factor_rounds(cells, seen, min(RANK, cells.n_attributes)), FACTOR_ROUNDS)
        target = implied_covariance(factors) + np.diag(tails(data))
        return _candidates("covariance near factors", data, target, TO_FACTORS, penalty)

    return family


def _candidates(name: str, data: Standard, target: np.ndarray, priors, penalty: str) -> list[Candidate]:
    if penalty == "lasso":
        return lasso_candidates(name, data, after(covariance_rounds(data, target, priors[0]), ROUNDS))
    candidates = []
    for prior in priors:
        covariance = after(covariance_rounds(data, target, prior), ROUNDS)
        candidates.append(Candidate(name, f"held by {prior:g} examples", covariance_weights(data, covariance)))
    return candidates
