"""The families of models that compete: each has candidates and an estimated cost."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models import imputed, pairwise
from sparing.models.covariance import covariance_candidate, covariance_iterates
from sparing.models.em import StandardizedCells, nth_iterate, standardize
from sparing.models.factor import factor_candidate, factor_iterates
from sparing.models.factor_gradients import implied_covariance
from sparing.models.gaussian import Candidate
from sparing.models.summary import Summary

RANKS = (5, 20)  # of factor models
STOPS = (5, 10, 20, 40)  # EM iterations after which a factor model is a candidate: too many overfit
TOWARD_IDENTITY = (50.0, 15.0, 5.0, 2.0)  # prior sample sizes with which a covariance is shrunk toward the identity
USUAL_PRIOR = 5.0
ITERATIONS = 30  # EM iterations of a full covariance with a single prior sample size
CONTINUED = 10  # EM iterations for each of several prior sample sizes, each started from the one before
TOWARD_FACTORS = 20.0  # prior sample size with which a covariance is shrunk toward a factor model
FROM_FACTORS = 40  # EM iterations started from the factor model


class Size(NamedTuple):
    """What the cost of a fit depends on."""

    attributes: int
    cells: int
    cubes: float  # sum over examples of the cubed number of their cells and targets

    @classmethod
    def of(cls, cells: Cells) -> "Size":
        """The size of a fit to these cells."""
        return cls(cells.n_attributes, *cells.summed(cells_and_cubes))


def cells_and_cubes(cells: Cells) -> tuple[int, float]:
    """What the cost of a fit to cells depends on, besides the number of attributes."""
    return len(cells), float(np.sum((np.diff(cells.starts).astype(float) + cells.n_outputs) ** 3))


@dataclass(frozen=True)
class Family:
    """Models of one kind under several settings.

    Parameters
    ----------
    name : str
    fits : callable
        From cells and their summary to candidates, always with the same settings in the same order. If it is a
        generator, candidates are fitted one after another, as far as they are needed.
    usual : int
        The candidate to use if models cannot be compared.
    seconds : callable
        From the size to the seconds that a fit takes on one core of 2020, by a count of operations. It is right within
        a factor of three, as measured by ``benchmarks/keeping_speed.py``.
    """

    name: str
    fits: Callable[[Cells, Summary], Iterable[Candidate]]
    usual: int
    seconds: Callable[[Size], float]

    def candidates(self, cells: Cells, summary: Summary) -> list[Candidate]:
        """All candidates, fitted to these cells."""
        return list(self.fits(cells, summary))

    def fitted(self, cells: Cells, summary: Summary, settings: set[str]) -> list[Candidate]:
        """The candidates of these settings; those that come after the last of them are not fitted."""
        wanted = (candidate for candidate in self.fits(cells, summary) if candidate.setting in settings)
        return list(islice(wanted, len(settings)))


def mean_target() -> Family:
    """The mean target: all weights are zero."""

    def candidates(cells, summary):
        return [imputed.uncorrelated("no weights", summary, np.zeros((cells.n_attributes, cells.n_outputs)))]

    return Family("mean target", candidates, 0, lambda size: 0.0)


def mean_imputed() -> Family:
    """Ridge regression on mean-imputed rows: the model in which attributes are uncorrelated."""

    def seconds(size):
        return 3e-10 * size.attributes**3

    return Family("mean-imputed", imputed.imputed_candidates, 3, seconds)


def pairwise_moments(penalty: str) -> Family:
    """Ridge or lasso on pairwise covariances."""

    def seconds(size):
        return 2e-9 * size.attributes**3

    if penalty == "lasso":
        return Family("pairwise", pairwise.lasso_candidates, 4, seconds)
    return Family("pairwise", pairwise.ridge_candidates, 2, seconds)


def full_covariance(penalty: str, iterations: int = ITERATIONS) -> Family:
    """A covariance shrunk toward the identity."""

    def candidates(cells, summary):
        data = standardize(cells, summary)
        return _shrunk(data, np.eye(data.counts.size), USUAL_PRIOR, penalty, iterations)

    def seconds(size):
        return _em_seconds(size, iterations)

    return Family("full covariance", candidates, _first_or_unpenalized(penalty), seconds)


def less_and_less_shrunk() -> Family:
    """Covariances shrunk toward the identity with several prior sample sizes, each starting from the one before."""

    def candidates(cells, summary):
        data = standardize(cells, summary)
        covariance = identity = np.eye(data.counts.size)
        for prior in TOWARD_IDENTITY:
            covariance = nth_iterate(covariance_iterates(data, identity, prior, covariance), CONTINUED)
            yield covariance_candidate(f"prior sample size {prior:g}", data, covariance)

    def seconds(size):
        return _em_seconds(size, CONTINUED * len(TOWARD_IDENTITY))

    return Family("full covariance", candidates, TOWARD_IDENTITY.index(USUAL_PRIOR), seconds)


def near_factors(penalty: str) -> Family:
    """A covariance shrunk toward that of a factor model, which adds correlations beyond the factors."""

    def candidates(cells, summary):
        data = standardize(cells, summary)
        factors = nth_iterate(factor_iterates(cells, data, RANKS[-1]), STOPS[-2])
        return _shrunk(data, implied_covariance(factors), TOWARD_FACTORS, penalty, FROM_FACTORS)

    def seconds(size):
        return _em_seconds(size, FROM_FACTORS) + _factor_seconds(size, STOPS[-2])

    return Family("covariance near factors", candidates, _first_or_unpenalized(penalty), seconds)


def factor(penalty: str, ranks=RANKS, stops=STOPS) -> Family:
    """Factor models of several ranks, after several numbers of iterations."""

    def candidates(cells, summary):
        data = standardize(cells, summary)
        for rank in ranks:
            iterates = zip(range(1, max(stops) + 1), factor_iterates(cells, data, rank), strict=False)
            for done, factors in iterates:
                if done in stops and penalty == "ridge":
                    yield factor_candidate(f"rank {rank}, {done} iterations", data, factors)
            if penalty == "lasso":
                yield from _lasso(data, implied_covariance(factors), f"rank {rank}, ")

    def seconds(size):
        return len(ranks) * _factor_seconds(size, max(stops))

    usual = len(ranks) * len(stops) - 2 if penalty == "ridge" and len(stops) > 1 else -1
    return Family("factor", candidates, usual, seconds)


def _first_or_unpenalized(penalty: str) -> int:
    """The number of the usual candidate; for a lasso, the end of its path."""
    return 0 if penalty == "ridge" else -1


def _em_seconds(size: Size, iterations: int) -> float:
    return iterations * (4e-10 * size.attributes**3 + 2e-9 * size.cubes)


def _factor_seconds(size: Size, iterations: int) -> float:
    return iterations * 2e-7 * size.cells


def _shrunk(
    data: StandardizedCells, target: np.ndarray, prior: float, penalty: str, iterations: int
) -> list[Candidate]:
    """The regression on a covariance shrunk toward a target, or a lasso path on it."""
    covariance = nth_iterate(covariance_iterates(data, target, prior), iterations)
    if penalty == "lasso":
        return _lasso(data, covariance)
    return [covariance_candidate(f"prior sample size {prior:g}", data, covariance)]


def _lasso(data: StandardizedCells, covariance: np.ndarray, of: str = "") -> list[Candidate]:
    """The lasso path on a joint covariance of standardized cells, of a model of that name."""
    d = data.n_attributes
    whole = covariance_candidate("", data, covariance)
    paths = pairwise.lasso_path(covariance[:d, :d], covariance[:d, d:])
    return [Candidate(of + setting, data.weights(path), whole.attributes) for setting, path in paths]
