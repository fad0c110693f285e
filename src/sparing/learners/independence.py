"""Do attributes go together at all? Where they do not, rows may be filled with means, and judged so."""

import numpy as np

from sparing.cells import Cells
from sparing.geometry.cells import Described, covariances

ALONE = 0.3  # of squared correlations of an attribute with all others, at most


def independent(cells: Cells, seen: Described) -> bool:
    r"""Whether the cells say that attributes are as good as uncorrelated.

    The two halves of the examples have correlations :math:`r_{ij}, r'_{ij}` with errors that know nothing of each
    other, so the mean of :math:`r_{ij} r'_{ij}`, pairs weighed by how often they were seen in both, estimates the mean
    square of the true ones, and its standard error follows from the terms (it is taken for no less than that of
    independent ones, as few terms may all happen to be small). Attributes are taken for uncorrelated if
    that mean plus two standard errors, times the number of attributes that looks are spread over, is below 0.3: so much
    an attribute's squared correlations with all others could be together. Too few pairs give a large error, and the
    answer no. On independent attributes (simulated, Gaussian) it was 0.05 to 0.9; on all others at hand (images,
    Covertype, medical tests, series) above 0.34.
    """
    halves = [covariances(cells.take(np.arange(cells.n_examples) % 2 == half), seen) for half in (0, 1)]
    spreads = np.sqrt(seen.variances)
    above = np.triu_indices(cells.n_attributes, 1)
    product = np.prod([(half.attributes / np.outer(spreads, spreads))[above] for half in halves], axis=0)
    often = np.prod([half.counts[above].astype(np.float64) for half in halves], axis=0)
    if not often.any():
        return False
    mean = max(float(often @ product / often.sum()), 0.0)
    error = max(float(np.linalg.norm(often * product) / often.sum()), often.sum() ** -0.5)  # the least it can be
    spread_over = float(seen.counts.sum()) ** 2 / float(seen.counts @ seen.counts)
    return spread_over * (mean + 2.0 * error) < ALONE
