"""A factor model of the bought cells, by expectation-maximisation: best when looks are few, and for very wide data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from sparing import checks
from sparing.cells import Cells
from sparing.geometry.cells import Described, covariances, describe
from sparing.kernels import factor as kernel
from sparing.learners.batch import BatchLearner, Fitted
from sparing.learners.choice import Candidate, Family
from sparing.learners.expectation import PRIOR, STOPS, Standard, after, lasso_candidates
from sparing.learners.full_covariance import covariance_rounds

RANKS = (5, 20)
LEAST_NOISE = 1e-3  # of an attribute's variance
WIDEST_START = 2000  # attributes, up to which EM starts from pairwise moments


def first_factors(cells: Cells, seen: Described, data: Standard, rank: int) -> kernel.Factors:
    """Where EM starts: the leading part of the pairwise correlations, less their noise; at random where d is large."""
    size = data.n_attributes + data.n_outputs
    if data.n_attributes > WIDEST_START:
        random = np.random.default_rng(rank).standard_normal((size, rank))
        return kernel.Factors(0.3 * random / np.sqrt(rank), np.full(size, 0.8))
    moments = covariances(cells, seen)
    together = np.eye(size)
    d = data.n_attributes
    together[:d, :d] = moments.attributes / np.outer(data.units, data.units)
    together[:d, d:] = moments.targets / np.outer(data.units, data.target_units)
    together[d:, :d] = together[:d, d:].T
    together[d:, d:] = data.targets.T @ data.targets / len(data.targets)
    values, vectors = eigh(together, subset_by_index=[max(size - rank, 0), size - 1])
    noise = max(-float(eigh(together, eigvals_only=True, subset_by_index=[0, 0])[0]), 0.0)
    loadings = vectors * np.sqrt(np.maximum(values - noise, 0.05 * noise + 1e-6))
    shared = np.sum(loadings**2, axis=1, keepdims=True)
    loadings = np.ascontiguousarray(loadings * np.sqrt(np.minimum(1.0, 0.8 / np.maximum(shared, 1e-12))))
    return kernel.Factors(loadings, np.maximum(1.0 - np.sum(loadings**2, axis=1), 0.1))


def one_round(data: Standard, factors: kernel.Factors) -> kernel.Factors:
    r"""One round of EM with parameter expansion.

    Each attribute's loadings are a regression on the expected factors: :math:`L_i = (A_i + \kappa I)^{-1} b_i` with
    :math:`A_i = \sum E[z z^T]`, :math:`b_i = \sum x_i E[z]` over the examples that saw it. Expanding the factors'
    covariance to its estimate and folding it back into the loadings makes many rounds one (Liu, Rubin & Wu 1998).
    """
    size, rank = factors.loadings.shape

    def expect(first, last):
        sums, room = kernel.new_sums(size, rank), kernel.new_room(data.most, data.n_outputs, rank)
        parts = (data.starts, data.attributes, data.values, data.targets, first, last, room, sums)
        kernel.expect_rows(factors, *parts)
        return sums

    done = data.in_parts(expect)
    seconds, lower = np.empty((size, rank, rank)), np.tril_indices(rank)
    seconds[:, *lower] = seconds[:, *lower[::-1]] = sum(sums.seconds for sums in done)
    products = sum(sums.products for sums in done)
    spread = seconds[-1] / data.counts[-1]  # a target is seen in every example
    loadings = np.linalg.solve(seconds + PRIOR * np.eye(rank), products[:, :, None])[:, :, 0]
    explained = np.sum(loadings * products, axis=1)
    noise = np.maximum((data.squares - explained + 1.0) / (data.counts + 2.0), LEAST_NOISE)
    return kernel.Factors(loadings @ np.linalg.cholesky(spread), noise)


def factor_weights(data: Standard, factors: kernel.Factors) -> np.ndarray:
    r"""Weights :math:`\Psi^{-1} L (I + L^T \Psi^{-1} L)^{-1} l_y` for standard attributes, a column an output."""
    d = data.n_attributes
    precise = factors.loadings[:d] / factors.noise[:d, None]
    gram = np.eye(precise.shape[1]) + factors.loadings[:d].T @ precise
    return precise @ np.linalg.solve(gram, factors.loadings[d:].T)


def factor_rounds(cells: Cells, seen: Described, rank: int) -> Iterator[tuple[Standard, kernel.Factors]]:
    """The model after one round, two, three, and so on."""
    data = Standard(cells, seen)
    factors = first_factors(cells, seen, data, rank)
    while True:
        factors = one_round(data, factors)
        yield data, factors


def held_out_likelihood(cells: Cells, seen: Described, factors: kernel.Factors) -> float:
    """Mean log-likelihood of the targets of these examples, given the cells bought of them."""
    data, likelihoods = Standard(cells, seen), np.empty(cells.n_examples)
    room = kernel.new_room(data.most, data.n_outputs, factors.loadings.shape[1])
    kernel.target_likelihood(factors, data.starts, data.attributes, data.values, data.targets, room, likelihoods)
    return float(likelihoods.mean())


def choose_rank(cells: Cells, seen: Described, ranks, most_rounds: int) -> tuple[int, int, float]:
    """The rank and number of rounds with the best held-out likelihood, learning from four fifths of the examples."""
    held_out = np.arange(cells.n_examples) % 5 == 0
    learnt, judged = cells.take(~held_out), cells.take(held_out)
    seen, best = describe(learnt), (-np.inf, ranks[0], most_rounds)
    for rank in ranks:
        top, since = -np.inf, 0
        for rounds, (_, factors) in zip(range(1, most_rounds + 1), factor_rounds(learnt, seen, rank), strict=False):
            likelihood = held_out_likelihood(judged, seen, factors)
            best = max(best, (likelihood, rank, rounds))
            since = 0 if likelihood > top else since + 1
            top = max(top, likelihood)
            if since == 5:
                break
    return best[1], best[2], best[0]


def fit_factors(cells: Cells, seen: Described, rank="auto", rounds="auto") -> tuple[np.ndarray, dict[str, Any]]:
    """Weights of a factor model and what to say of it; "auto" is chosen by held-out likelihood, from 10 examples on."""
    ranks = [min(choice, cells.n_attributes) for choice in (RANKS if rank == "auto" else (rank,))]
    best, after_rounds, facts = ranks[-1], max(STOPS) if rounds == "auto" else rounds, {}
    if "auto" in (rank, rounds) and cells.n_examples >= 10:
        best, chosen_rounds, likelihood = choose_rank(cells, seen, ranks, after_rounds)
        after_rounds = chosen_rounds if rounds == "auto" else rounds
        facts = {"held_out_likelihood": likelihood}
    data, factors = after(factor_rounds(cells, seen, best), after_rounds)
    setting = {"setting": f"rank {best}, {after_rounds} rounds"}
    return data.weights(factor_weights(data, factors)), setting | facts


def factor_family(rank: int, penalty: str = "ridge") -> Family:
    """Candidates from a factor model, after several numbers of rounds."""

    def family(cells: Cells, seen: Described) -> list[Candidate]:
        candidates = []
        for rounds, (data, factors) in zip(range(1, max(STOPS) + 1), factor_rounds(cells, seen, rank), strict=False):
            if rounds in STOPS and penalty == "ridge":
                weights = data.weights(factor_weights(data, factors))
                candidates.append(Candidate("factor", f"rank {rank}, {rounds} rounds", weights))
        if penalty == "lasso":
            shared = factors.loadings @ factors.loadings.T + np.diag(factors.noise)
            candidates = lasso_candidates("factor", data, shared)
        return candidates

    return family


@dataclass(kw_only=True, eq=False)
class FactorModel(BatchLearner):
    r"""Keeps what it buys and models attributes and targets as :math:`L z + \mathrm{noise}`, fitted by EM.

    A few common factors z and independent noise per attribute, after centring and scaling. Time of a round is
    O(cells · rank²), memory O(d · rank²): it works at a hundred thousand attributes and more. Other parameters are
    those of :class:`BatchLearner`.

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
        rounds, d = max(STOPS) if self.rounds == "auto" else self.rounds, self.n_attributes
        data, covariance = after(covariance_rounds(cells, seen), rounds)
        weights = np.linalg.solve(covariance[:d, :d], covariance[:d, d:])
        return data.weights(weights), {"setting": f"full covariance, {rounds} rounds"}

    def _planning_weights(self, seen: Described) -> np.ndarray | None:
        """A few rounds of a small model."""
        data, factors = after(factor_rounds(self.bought.in_order(), seen, min(5, self.n_attributes)), 10)
        return data.weights(factor_weights(data, factors))
