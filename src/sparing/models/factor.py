"""A factor model of the bought cells, by expectation-maximisation: best when looks are few, and for very wide data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.models.em import PRIOR, STOPS, Standard, after, lasso_candidates
from sparing.models.factor_gradients import FEW, implied_covariance, parts_of, slopes_of
from sparing.models.selection import Candidate, Family
from sparing.models.summary import Described, covariances, describe

RANKS = (5, 20)
LEAST_NOISE = 1e-3  # of an attribute's variance
FALL = 0.01  # of the log-likelihood of an example, that is let pass
MOST_CAUTION = 1e6
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
    together[d:, d:] = data.looks.targets.T @ data.looks.targets / data.n_examples
    values, vectors = eigh(together, subset_by_index=[max(size - rank, 0), size - 1])
    noise = max(-float(eigh(together, eigvals_only=True, subset_by_index=[0, 0])[0]), 0.0)
    loadings = vectors * np.sqrt(np.maximum(values - noise, 0.05 * noise + 1e-6))
    shared = np.sum(loadings**2, axis=1, keepdims=True)
    loadings = np.ascontiguousarray(loadings * np.sqrt(np.minimum(1.0, 0.8 / np.maximum(shared, 1e-12))))
    return kernel.Factors(loadings, np.maximum(1.0 - np.sum(loadings**2, axis=1), 0.1))


def step(data: Standard, factors: kernel.Factors, slopes: kernel.Slopes, caution: float = 1.0) -> kernel.Factors:
    r"""One round of generalised EM with parameter expansion.

    EM regresses each attribute on the expected factors: with :math:`A_i = \sum E[z z^T]` over the :math:`n_i` examples
    that saw it, its loadings move by :math:`(A_i + \kappa I)^{-1} (\psi_i g_i - \kappa L_i)`, where :math:`g_i` is the
    slope of the log-likelihood. Here :math:`(n_i + q) S` stands for :math:`A_i`: S is the mean of :math:`E[z z^T]` over
    all examples, and q is how many factors an example tells of. If the examples of an attribute are a fair sample,
    :math:`A_i` is below twice that, as a rule enough to climb, and no matrix is kept for an attribute. If they are not,
    more ``caution`` multiplies it. Expanding the factors' covariance to S and folding it back into the loadings makes
    many rounds one (Liu, Rubin & Wu 1998).
    """
    loadings, noise = factors
    rank = loadings.shape[1]
    sizes, axes = eigh(np.eye(rank) + loadings.T @ slopes.loadings / data.n_examples)
    along, uphill = loadings @ axes, noise[:, None] * (slopes.loadings @ axes)
    shared = np.sum(along**2, axis=1)
    told_of = min(rank, data.counts @ (shared / (shared + noise)) / data.n_examples)  # a cell tells of one at most
    curvature = caution * (data.counts + told_of * (data.counts > 0))[:, None] * sizes
    move = (uphill - PRIOR * along) / (curvature + PRIOR)
    squares = noise * (data.counts + noise * slopes.noise)  # what is expected of the squared noise, before the move
    along += move
    left = squares + np.sum(move * (curvature * move - 2.0 * uphill) + PRIOR * along**2, axis=1)
    noise = np.maximum((left + 1.0) / (data.counts + 2.0), LEAST_NOISE)
    return kernel.Factors(along * np.sqrt(sizes), noise)


def climb(data: Standard, factors: kernel.Factors) -> Iterator[kernel.Factors]:
    """Round after round; one that falls is taken back, and made again with more caution.

    It falls if the likelihood does, both alone and with the prior, which the expansion of parameters knows nothing of.
    """
    slopes, caution = slopes_of(data, factors), 1.0
    while True:
        moved = step(data, factors, slopes, caution)
        there = slopes_of(data, moved)
        least = _heights(factors, slopes) - FALL * data.n_examples
        if not np.any(_heights(moved, there) >= least) and caution < MOST_CAUTION:
            caution *= 4.0
            continue
        factors, slopes = moved, there
        yield factors


def _heights(factors: kernel.Factors, slopes: kernel.Slopes) -> np.ndarray:
    """The log-likelihood, alone and with the log of the prior."""
    held = (PRIOR * np.sum(factors.loadings**2, axis=1) + 1.0) / (2.0 * factors.noise) + np.log(factors.noise)
    return slopes.likelihood[0] - np.array([0.0, held.sum()])


def factor_weights(data: Standard, factors: kernel.Factors) -> np.ndarray:
    r"""Weights :math:`\Psi^{-1} L (I + L^T \Psi^{-1} L)^{-1} l_y` for standard attributes, a column an output."""
    d = data.n_attributes
    precise = factors.loadings[:d] / factors.noise[:d, None]
    gram = np.eye(precise.shape[1]) + factors.loadings[:d].T @ precise
    return precise @ np.linalg.solve(gram, factors.loadings[d:].T)


def factor_rounds(cells: Cells, seen: Described, rank: int) -> Iterator[tuple[Standard, kernel.Factors]]:
    """The model after one round, two, three, and so on."""
    data = Standard(cells, seen)
    for factors in climb(data, first_factors(cells, seen, data, rank)):
        yield data, factors


def held_out_likelihood(cells: Cells, seen: Described, factors: kernel.Factors) -> float:
    """Mean log-likelihood of the targets of these examples, given the cells bought of them."""
    data, likelihoods, rank = Standard(cells, seen), np.empty(cells.n_examples), factors.loadings.shape[1]
    few = data.up_to(FEW * rank)
    if few:
        covariance = parts_of(factors, data.n_outputs)
        kernel.target_likelihoods_of_few(covariance, data.looks, 0, few, data.block(few), likelihoods)
    kernel.target_likelihoods_of_many(factors, data.looks, few, cells.n_examples, kernel.new_room(rank), likelihoods)
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
            candidates = lasso_candidates("factor", data, implied_covariance(factors))
        return candidates

    return family
