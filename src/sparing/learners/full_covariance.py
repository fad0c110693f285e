"""Any covariance of attributes and targets, by expectation-maximisation on bought cells: for some 100 attributes."""

from collections.abc import Iterator

import numpy as np

from sparing.cells import Cells
from sparing.geometry.cells import Described
from sparing.kernels.covariance import expect_second_moments
from sparing.learners.choice import Candidate, Family
from sparing.learners.expectation import PRIOR, STOPS, Standard, lasso_candidates


def covariance_rounds(cells: Cells, seen: Described, prior: float = PRIOR) -> Iterator[tuple[Standard, np.ndarray]]:
    """The covariance of attributes and targets after one round of EM, two, and so on, shrunk to the identity."""
    data = Standard(cells, seen)
    size = data.n_attributes + data.n_outputs
    most = data.most + data.n_outputs
    n, covariance = cells.n_examples, np.eye(size)

    def expect(first, last):
        seconds = np.zeros((size, size))
        room = (
            np.empty(most, np.int64),
            np.empty(most),
            np.empty((most, most)),
            np.empty((most, size)),
            np.empty(size),
        )
        parts = (data.starts, data.attributes, data.values, data.targets, first, last, room, seconds)
        expect_second_moments(covariance, *parts)
        return seconds

    while True:
        lower = sum(data.in_parts(expect))
        whole = lower + np.tril(lower, -1).T
        covariance = (whole + n * covariance + prior * np.eye(size)) / (n + prior)
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
