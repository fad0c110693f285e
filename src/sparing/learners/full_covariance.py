"""Any covariance of attributes and targets, by expectation-maximisation on bought cells: for some 100 attributes."""

from collections.abc import Iterator

import numpy as np

from sparing.cells import Cells
from sparing.geometry.cells import Described
from sparing.kernels.covariance import add_covariance_slopes
from sparing.kernels.sweep import new_block
from sparing.learners.choice import Candidate, Family
from sparing.learners.expectation import PRIOR, STOPS, Standard, lasso_candidates


def covariance_slopes(data: Standard, covariance: np.ndarray) -> np.ndarray:
    r"""The slope W of the log-likelihood in the covariance; :math:`W + W^T = \sum a a^T - \Sigma_S^{-1}`."""

    def add(first, last):
        slopes = np.zeros_like(covariance)
        add_covariance_slopes(covariance, data.looks, first, last, new_block(data.most), slopes)
        return slopes

    slopes = sum(data.in_parts(add))
    slopes[np.diag_indices_from(slopes)] /= 2.0
    return slopes


def covariance_rounds(cells: Cells, seen: Described, prior: float = PRIOR) -> Iterator[tuple[Standard, np.ndarray]]:
    r"""The covariance of attributes and targets after one round of EM, two, and so on, shrunk to the identity.

    What a round expects of an example is :math:`E[x x^T | x_S] = \Sigma + \Sigma (a a^T - \Sigma_S^{-1}) \Sigma`, the
    middle put into zeros: so examples only add up slopes.
    """
    data = Standard(cells, seen)
    n, size = data.n_examples, data.counts.size
    covariance = np.eye(size)
    while True:
        moved = covariance @ covariance_slopes(data, covariance) @ covariance
        covariance = (n * covariance + moved + moved.T + prior * np.eye(size)) / (n + prior)
        yield data, covariance


def covariance_family(penalty: str = "ridge") -> Family:
    """Candidates from a full covariance, after several numbers of rounds."""

    def family(cells: Cells, seen: Described) -> list[Candidate]:
        candidates, d = [], cells.n_attributes
        rounds_of = zip(range(1, max(STOPS) + 1), covariance_rounds(cells, seen), strict=False)
        for rounds, (data, covariance) in rounds_of:
            if rounds in STOPS and penalty == "ridge":
                weights = data.weights(np.linalg.solve(covariance[:d, :d], covariance[:d, d:]))
                candidates.append(Candidate("full covariance", f"{rounds} rounds", weights))
        return candidates if penalty == "ridge" else lasso_candidates("full covariance", data, covariance)

    return family
