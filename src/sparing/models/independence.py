"""Do attributes go together at all? Where they do not, rows may be filled with means."""

import numpy as np

from sparing.cells import Cells
from sparing.models.em import after
from sparing.models.factor import factor_rounds
from sparing.models.summary import Described, covariances, describe

ALONE = 0.3  # of squared correlations of an attribute with all others, that pairs may leave room for
FAINT = 1.5  # the same, where attributes are many
FOLDS, ROUNDS = 4, 10
SHOWN = 2.0  # standard errors
LARGEST = 3.0  # spreads, at which values are cut: one outlier is no evidence


def most_in_common(cells: Cells, seen: Described) -> float:
    r"""How large an attribute's squared correlations with all others may be together, as a rule.

    The two halves of the examples have correlations :math:`r_{ij}, r'_{ij}` with errors that know nothing of each
    other, so the mean of :math:`r_{ij} r'_{ij}`, pairs weighed by how often they were seen in both, estimates the mean
    square of the true ones, and its standard error follows from the terms (it is taken for no less than that of
    independent ones, as few terms may all happen to be small). Returned is that mean plus two standard errors, times
    the number of attributes that looks are spread over. Too few pairs make it large. On the simulated data (500
    independent attributes, 5 adaptive looks) it was 0.7 to 1.4 at 6,000 examples. It is blind to one factor that all
    attributes have a little of.
    """
    halves = [covariances(cells.take(np.arange(cells.n_examples) % 2 == half), seen) for half in (0, 1)]
    spreads = np.sqrt(seen.variances)
    above = np.triu_indices(cells.n_attributes, 1)
    product = np.prod([(half.attributes / np.outer(spreads, spreads))[above] for half in halves], axis=0)
    often = np.prod([half.counts[above].astype(np.float64) for half in halves], axis=0)
    if not often.any():
        return np.inf
    mean = max(float(often @ product / often.sum()), 0.0)
    error = max(float(np.linalg.norm(often * product) / often.sum()), often.sum() ** -0.5)  # the least it can be
    spread_over = float(seen.counts.sum()) ** 2 / float(seen.counts @ seen.counts)
    return spread_over * (mean + 2.0 * error)


def go_together(cells: Cells) -> bool:
    r"""Whether one common factor, learnt from some examples, says anything of the others.

    With loadings l it says that values :math:`x_i, x_j`, in units of their spreads, have a mean product
    :math:`l_i l_j`: so :math:`\sum_{i<j} l_i l_j x_i x_j` is above zero on average. The strongest factor is the first
    to be found: where 5 looks at 2,000 images of 784 pixels say nothing of single pairs, it is 2.6 to 4.6 standard
    errors above zero. Folds share what they learn from, so that without any factor it is above two standard errors in
    some 6 of 100 cases: attributes are rather taken to go together.
    """
    fold, sums = np.arange(cells.n_examples) % FOLDS, []
    for held_out in range(FOLDS):
        learnt, judged = cells.take(fold != held_out), cells.take(fold == held_out)
        seen = describe(learnt)
        loadings = after(factor_rounds(learnt, seen, 1), ROUNDS)[1].loadings[:, 0]
        spreads = np.sqrt(seen.variances)[judged.attributes]
        values = np.clip((judged.values - seen.means[judged.attributes]) / spreads, -LARGEST, LARGEST)
        said, examples = loadings[judged.attributes] * values, judged.examples()
        whole, squares = (np.bincount(examples, weights=s, minlength=judged.n_examples) for s in (said, said**2))
        sums.append((whole**2 - squares) / 2.0)
    products = np.concatenate(sums)
    return bool(products.mean() > SHOWN * products.std() / np.sqrt(products.size))
