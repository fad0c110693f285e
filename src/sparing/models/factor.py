"""A factor model of cells, fitted by expectation-maximisation: best if looks are few, and for very wide data."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from sparing.cells import Cells
from sparing.kernels import factor as kernel
from sparing.models.em import StandardizedCells
from sparing.models.factor_gradients import factor_gradients
from sparing.models.gaussian import Candidate, Gaussian
from sparing.models.pair_moments import pair_moments

PRIOR = 4.0  # prior sample size with which loadings are shrunk toward zero
LEAST_NOISE = 1e-3  # smallest noise, as a fraction of an attribute's variance
DECREASE = 0.01  # largest decrease of the log-likelihood per example that an iteration may have
MOST_CAUTION = 1e6
WIDEST_START = 2000  # attributes up to which EM starts from pairwise correlations
WIDEST_SPECTRUM = 300  # attributes and targets up to which a full eigendecomposition is faster than a partial one


def initial_factors(cells: Cells, data: StandardizedCells, rank: int) -> kernel.Factors:
    """The start of EM: leading eigenvectors of the pairwise correlations, less their noise; random if d is large."""
    size, d = data.n_attributes + data.n_outputs, data.n_attributes
    if d > WIDEST_START:
        random = np.random.default_rng(rank).standard_normal((size, rank))
        return kernel.Factors(0.3 * random / np.sqrt(rank), np.full(size, 0.8))
    moments = pair_moments(cells, data.summary)
    together = np.eye(size)
    together[:d, :d] = moments.attributes / np.outer(data.spreads, data.spreads)
    together[:d, d:] = moments.targets / np.outer(data.spreads, data.target_spreads)
    together[d:, :d] = together[:d, d:].T
    together[d:, d:] = data.summed(_target_products) / data.total
    values, vectors, least = _ends_of_spectrum(together, rank)
    noise = max(-least, 0.0)
    loadings = vectors * np.sqrt(np.maximum(values - noise, 0.05 * noise + 1e-6))
    shared = np.sum(loadings**2, axis=1, keepdims=True)
    loadings = np.ascontiguousarray(loadings * np.sqrt(np.minimum(1.0, 0.8 / np.maximum(shared, 1e-12))))
    return kernel.Factors(loadings, np.maximum(1.0 - np.sum(loadings**2, axis=1), 0.1))


def _target_products(data: StandardizedCells) -> np.ndarray:
    targets = np.sqrt(data.looks.weights)[:, None] * data.looks.targets
    return targets.T @ targets


def _ends_of_spectrum(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The largest eigenvalues with their vectors, and the smallest eigenvalue."""
    size = len(matrix)
    if size <= WIDEST_SPECTRUM:
        values, vectors = eigh(matrix)
        return values[-rank:], vectors[:, -rank:], float(values[0])
    start = np.ones(size)  # so that the result is reproducible
    values, vectors = eigsh(matrix, k=rank, v0=start)
    return values, vectors, float(eigsh(matrix, k=1, which="SA", v0=start, return_eigenvectors=False, tol=1e-2)[0])


def em_step(
    data: StandardizedCells, factors: kernel.Factors, gradients: kernel.Gradients, caution: float = 1.0
) -> kernel.Factors:
    r"""One iteration of generalised EM with parameter expansion.

    EM regresses each attribute on the expected factors: with :math:`A_i = \sum E[z z^T]` over the :math:`n_i` examples
    that saw it, its loadings move by :math:`(A_i + \kappa I)^{-1} (\psi_i g_i - \kappa L_i)`, where :math:`g_i` is the
    gradient of the log-likelihood. Here :math:`(n_i + q) S` replaces :math:`A_i`: S is the mean of :math:`E[z z^T]`
    over all examples, and q the number of factors that an example informs about. So no matrix is stored per attribute.
    If the examples of an attribute are a random sample, :math:`A_i` is below twice its replacement, and the likelihood
    nearly always increases. Otherwise the replacement is multiplied by a larger ``caution``. Expanding the factors'
    covariance to S and folding it back into the loadings replaces many iterations by one (Liu, Rubin & Wu 1998).
    """
    loadings, noise = factors
    rank = loadings.shape[1]
    sizes, axes = eigh(np.eye(rank) + loadings.T @ gradients.loadings / data.total)
    along, uphill = loadings @ axes, noise[:, None] * (gradients.loadings @ axes)
    shared = np.sum(along**2, axis=1)
    informed = min(rank, data.counts @ (shared / (shared + noise)) / data.total)  # a cell informs about at most one
    curvature = caution * (data.counts + informed * (data.counts > 0))[:, None] * sizes
    move = (uphill - PRIOR * along) / (curvature + PRIOR)
    squares = noise * (data.counts + noise * gradients.noise)  # expected squared noise, before the move
    along += move
    left = squares + np.sum(move * (curvature * move - 2.0 * uphill) + PRIOR * along**2, axis=1)
    noise = np.maximum((left + 1.0) / (data.counts + 2.0), LEAST_NOISE)
    return kernel.Factors(along * np.sqrt(sizes), noise)


def em_iterates(data: StandardizedCells, factors: kernel.Factors) -> Iterator[kernel.Factors]:
    """The iterates of EM; an iteration that decreases the likelihood is undone and repeated with more caution.

    It counts as decreased if it decreases both with and without the prior, because parameter expansion ignores the
    prior.
    """
    gradients, caution = data.summed(factor_gradients, factors), 1.0
    while True:
        moved = em_step(data, factors, gradients, caution)
        there = data.summed(factor_gradients, moved)
        least = _objectives(factors, gradients) - DECREASE * data.total
        if not np.any(_objectives(moved, there) >= least) and caution < MOST_CAUTION:
            caution *= 4.0
            continue
        factors, gradients = moved, there
        yield factors


def _objectives(factors: kernel.Factors, gradients: kernel.Gradients) -> np.ndarray:
    """The log-likelihood, without and with the log of the prior."""
    penalty = (PRIOR * np.sum(factors.loadings**2, axis=1) + 1.0) / (2.0 * factors.noise) + np.log(factors.noise)
    return gradients.likelihood[0] - np.array([0.0, penalty.sum()])


def factor_iterates(cells: Cells, data: StandardizedCells, rank: int) -> Iterator[kernel.Factors]:
    """The factors after one iteration, two, and so on."""
    return em_iterates(data, initial_factors(cells, data, min(rank, data.n_attributes)))


def factor_candidate(setting: str, data: StandardizedCells, factors: kernel.Factors) -> Candidate:
    r"""The regression that factors imply: :math:`\Psi^{-1} L (I + L^T \Psi^{-1} L)^{-1} l_y` standardized."""
    d, means, spreads = data.n_attributes, data.summary.means, data.spreads  # the closure must not keep cells in memory
    loadings, noise = factors.loadings[:d], factors.noise[:d]
    precise = loadings / noise[:, None]
    gram = np.eye(precise.shape[1]) + loadings.T @ precise
    weights = data.weights(precise @ np.linalg.solve(gram, factors.loadings[d:].T))
    return Candidate(
        setting, weights, lambda: Gaussian.of_factors(means, loadings * spreads[:, None], noise * spreads**2)
    )
