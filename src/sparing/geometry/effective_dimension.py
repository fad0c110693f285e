r"""The effective dimension :math:`d_\lambda = \sum_i \lambda_i / (\lambda_i + \lambda)`, and what can be told from it.

The :math:`\lambda_i` are the eigenvalues of :math:`A^T A`. A ridge problem needs as many examples, and a solver as
much work, as if it had :math:`d_\lambda` attributes (Agarwal & Gonen). Where their printed formulas contradict
their proofs, the proofs are followed.
"""

from math import log, log2, sqrt

import numpy as np
from scipy.linalg import eigvalsh

from sparing import checks
from sparing.geometry.leverage import approximate_scores, draw, draw_by_leverage, rows_of
from sparing.linalg.gram import Gram
from sparing.linalg.rows import Rows

ACCURACY = 1 / 3  # the epsilon of the undersampled sketch: with it Theorem 10 has its constant 3
SLACK = 4.0  # the test leaves a factor open: look at all ridges that cost this much more than the first one found


def effective_dimension(A, ridge, *, gram: bool = False):
    r"""How many directions outweigh the ridge: :math:`d_\lambda = \sum_i \lambda_i / (\lambda_i + \lambda)`.

    Parameters
    ----------
    A : array, CSR matrix or LinearOperator of shape (n, d)
        The matrix itself: :math:`\lambda_i` are the eigenvalues of :math:`A^T A`. For examples x with a ridge on
        their average loss, pass :math:`x_i/\sqrt n`.
    ridge : float or array
        :math:`\lambda > 0`; several give several dimensions from one decomposition.
    gram : bool
        Whether A is the kernel matrix :math:`A A^T` of rows that are not given.

    Examples
    --------
    >>> effective_dimension([[1.0, 0.0], [0.0, 2.0]], ridge=1.0)
    1.3
    >>> effective_dimension([[1.0, 0.0], [0.0, 2.0]], ridge=[1.0, 4.0])
    array([1.3, 0.7])
    """
    ridges = [checks.positive("ridge", value) for value in np.ravel(ridge).tolist()]
    spectrum = np.maximum(eigvalsh(rows_of(A, gram).products()), 0.0)
    dimensions = np.array([np.sum(spectrum / (spectrum + value)) for value in ridges])
    return float(dimensions[0]) if np.ndim(ridge) == 0 else dimensions


def effective_dimension_at_most(A, ridge, m, random_state=None, *, gram: bool = False) -> bool:
    r"""Whether :math:`d_\lambda` is of the order of m, without computing it (Agarwal & Gonen, Theorem 9).

    True certifies :math:`d_\lambda \le 6m`; False says :math:`d_\lambda > m`; both with high probability, and
    between m and 6m either may be the answer. Costs some passes over A and :math:`O(d m^2)` up to logarithms.

    Starts from the bounds :math:`u_i = \min(1, \|a_i\|^2/\lambda)` of the leverage scores. While they sum to more
    than 6m, a sample of too few rows by :math:`\alpha = 6m/\|u\|_1 < 1` sharpens them (Theorem 10): if
    :math:`d_\lambda \le m`, their sum then falls to :math:`3 d_\lambda/\alpha \le \|u\|_1/2` at most.

    Examples
    --------
    >>> A = np.diag(1.0 / np.arange(1.0, 2001.0))
    >>> round(effective_dimension(A, 1e-2), 1)
    15.2
    >>> effective_dimension_at_most(A, 1e-2, 16, random_state=0), effective_dimension_at_most(A, 1e-2, 2)
    (True, False)
    """
    ridge, m = checks.positive("ridge", ridge), checks.positive("m", m)
    rng = np.random.default_rng(checks.seed(random_state))
    return _at_most(rows_of(A, gram), ridge, m, rng)


def best_ridge(A, ridge, random_state=None, *, gram: bool = False) -> float:
    r"""The larger ridge :math:`\lambda'` at which a solver has the least to do (Agarwal & Gonen, Theorem 8).

    Minimises :math:`\psi(\lambda') = (\lambda'/\lambda) \max(1, d_{\lambda'})^2` over doublings of
    :math:`\lambda`, up to a constant: a sketch at :math:`\lambda'` costs :math:`d_{\lambda'}^2 d`, and
    :math:`\lambda'/\lambda` proximal steps make up for the difference. Guesses the least cost 1, 4, 16, ... and asks
    for each guess which :math:`\lambda'` attains it, by :func:`effective_dimension_at_most`, so that no question
    costs more than the answer is worth. Of those found it takes the best, by sketches of their size.

    A ridge larger than the given one gains only where :math:`d_{\lambda'}` falls faster than
    :math:`\lambda'^{-1/2}`: not with eigenvalues that fall exponentially, or as :math:`i^{-p}` with p > 2.

    Examples
    --------
    >>> best_ridge(np.diag(0.5 ** np.arange(30.0)), 1e-3, random_state=0)
    0.001
    """
    ridge = checks.positive("ridge", ridge)
    rng = np.random.default_rng(checks.seed(random_state))
    rows = rows_of(A, gram)
    guess = 1.0
    while not _attaining(rows, ridge, guess, rng):
        guess *= 4.0
    found = _attaining(rows, ridge, SLACK * guess, rng) or [ridge]
    return min(found, key=lambda larger: larger / ridge * max(1.0, _estimate(rows, larger, rng)) ** 2)


def _attaining(rows: Rows | Gram, ridge: float, cost: float, rng) -> list[float]:
    r"""The doublings :math:`2^j \lambda` of about that cost; for :math:`2^j` above the cost there is nothing to ask."""
    larger = [ridge * 2.0**j for j in range(int(log2(cost)) + 1)]
    return [value for value in larger if _at_most(rows, value, sqrt(cost * ridge / value), rng)]


def _at_most(rows: Rows | Gram, ridge: float, m: float, rng) -> bool:
    """The test of Theorem 9."""
    bounds = np.minimum(1.0, rows.squared_norms() / ridge)
    while (total := bounds.sum()) > 6 * m:
        shrink = 6 * m / total
        oversampling = 2 * max(1.0, log(6 * m))
        sample = draw(bounds, oversampling * 6 * m, rng, shrink=shrink)
        sharper = (1 + ACCURACY) * approximate_scores(rows, sample, ridge, rng)
        bounds = np.minimum(bounds, sharper)
        if bounds.sum() > total / 2:
            return False
    return True


def _estimate(rows: Rows | Gram, ridge: float, rng) -> float:
    """The effective dimension, from a sketch of its size."""
    sample = draw_by_leverage(rows, ridge, rng)
    return float(approximate_scores(rows, sample, ridge, rng).sum())
