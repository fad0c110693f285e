r"""The effective dimension :math:`d_\lambda = \sum_i \lambda_i / (\lambda_i + \lambda)`, and what follows from it.

The :math:`\lambda_i` are the eigenvalues of :math:`A^T A`. A ridge problem needs as many examples, and a solver as
much work, as if it had :math:`d_\lambda` attributes (Agarwal & Gonen). Where printed formulas contradict their
proofs, this module follows the proofs.
"""

from math import log
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from sparing import checks
from sparing.geometry.leverage import approximate_scores, draw, rows_of
from sparing.linalg.gram import Gram
from sparing.linalg.rows import Rows

ACCURACY = 1 / 3  # epsilon of the undersampled sketch; gives the constant 3 of Theorem 10


def effective_dimension(A, ridge, *, gram: bool = False) -> Any:
    r"""The effective number of directions above a ridge, :math:`d_\lambda = \sum_i \lambda_i / (\lambda_i + \lambda)`.

    Parameters
    ----------
    A : array, CSR matrix or LinearOperator of shape (n, d)
        The matrix itself: :math:`\lambda_i` are the eigenvalues of :math:`A^T A`. For examples x with a ridge on
        their average loss, pass :math:`x_i/\sqrt n`.
    ridge : float or array
        :math:`\lambda > 0`; an array gives several dimensions from one decomposition.
    gram : bool
        Whether A is a kernel matrix :math:`A A^T` rather than the matrix of rows.

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

    True implies :math:`d_\lambda \le 6m` and False implies :math:`d_\lambda > m`, both with high probability;
    between m and 6m either answer is possible. Costs a few passes over A and :math:`O(d m^2)` up to logarithms.

    Starts from the bounds :math:`u_i = \min(1, \|a_i\|^2/\lambda)` on the leverage scores. While they sum to more
    than 6m, a sample that is too small by the factor :math:`\alpha = 6m/\|u\|_1 < 1` tightens them (Theorem 10): if
    :math:`d_\lambda \le m`, their sum then falls to :math:`3 d_\lambda/\alpha \le \|u\|_1/2` at most.

    Examples
    --------
    >>> A = np.diag(1.0 / np.arange(1.0, 1001.0))
    >>> round(effective_dimension(A, 1e-2), 1)
    15.1
    >>> effective_dimension_at_most(A, 1e-2, 16, random_state=0), effective_dimension_at_most(A, 1e-2, 2)
    (True, False)
    """
    ridge, m = checks.positive("ridge", ridge), checks.positive("m", m)
    rng = np.random.default_rng(checks.seed(random_state))
    return at_most(rows_of(A, gram), ridge, m, rng)


def rough_dimension(rows: Rows, ridge: float, rng, n_rows: int = 256) -> float:
    r"""An estimate of :math:`d_\lambda` from a few rows, which costs less than a pass over a large A.

    Let :math:`t(\mu)` be the effective dimension of m uniformly sampled rows, scaled by :math:`\sqrt{n/m}`. By the
    Marchenko-Pastur equation it is about that of all n rows at the ridge
    :math:`\mu (1 - t(\mu)/n) / (1 - t(\mu)/m)`, and this function interpolates between several :math:`\mu`. Dimensions
    above 0.9 m are extrapolated by a power law. The estimate is good enough to choose a solver; it may miss a few rows
    of high leverage.

    >>> A = np.random.default_rng(0).standard_normal((3000, 300)) / np.arange(1, 301)
    >>> abs(rough_dimension(Rows(A), 1.0, np.random.default_rng(0)) / effective_dimension(A, 1.0) - 1) < 0.1
    True
    """
    n, m = rows.shape[0], min(n_rows, rows.shape[0])
    spectrum = np.maximum(eigvalsh(rows.take(rng.choice(n, m, replace=False)).inner()).astype(float), 0.0) * (n / m)
    if not spectrum[-1] > 0:
        return 0.0
    trial = np.geomspace(1e-4 * ridge, 10 * max(ridge, spectrum[-1]), 96)
    dimensions = np.sum(spectrum[:, None] / (spectrum[:, None] + trial), axis=0)
    visible = dimensions <= 0.9 * m
    dimensions, trial = dimensions[visible], trial[visible]
    distance = np.log(trial * (1 - dimensions / n) / (1 - dimensions / m) / ridge)
    logarithm = np.interp(0.0, distance, np.log(dimensions))
    if distance[0] > 0:  # more than m rows can show
        logarithm += distance[0] * np.log(dimensions[0] / dimensions[1]) / (distance[1] - distance[0])
    return float(min(np.exp(min(logarithm, 700.0)), *rows.shape))


def at_most(rows: Rows | Gram, ridge: float, m: float, rng) -> bool:
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
