r"""Ridge leverage scores: how much each row of a matrix matters at a given ridge.

The score of row :math:`a_i` is :math:`\tau_i = a_i^T (A^T A + \lambda I)^{-1} a_i`, the smallest t for which
:math:`a_i a_i^T \preceq t (A^T A + \lambda I)` (Agarwal & Gonen, Lemma 2); the scores sum to the effective
dimension. Rows sampled with probabilities proportional to their scores and rescaled approximate the whole matrix.
"""

from math import ceil, log
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from sparing import checks
from sparing.linalg.gram import Gram, leverage_through_columns
from sparing.linalg.inverses import RidgeInverse, ShiftedInverse
from sparing.linalg.rows import Rows

FIRST_SIZE, GROWTH = 256, 4  # rows of the first sketch, and the factor by which sketches grow
OVERSAMPLING = 8.0  # sketch size over d log d for the scores of method="recursive": at most a few per cent too high
PRECONDITIONER = 0.5  # the same for a preconditioner; more rows cost more than the steps they save
LANDMARKS = 0.25  # the same for landmarks of a kernel
FEWEST, SHARE = 1000, 15  # a kernel preconditioner has at most max(FEWEST, n / SHARE) landmarks


class Sample(NamedTuple):
    """Sampled rows, the factor to multiply each by, the scores of all rows, and the sample size that these call for."""

    indices: np.ndarray
    factors: np.ndarray
    scores: np.ndarray
    wanted: float


def ridge_leverage_scores(A, ridge, method: str = "exact", random_state=None, *, gram: bool = False) -> np.ndarray:
    r"""Ridge leverage scores, one per row: :math:`\tau_i = a_i^T (A^T A + \lambda I)^{-1} a_i`, between 0 and 1.

    Parameters
    ----------
    A : array, CSR matrix or LinearOperator of shape (n, d)
        The matrix itself: for examples x with a ridge on their average loss, pass :math:`x_i/\sqrt n`.
    ridge : float
        :math:`\lambda > 0`.
    method : {"exact", "recursive"}
        "exact" uses all rows, in O(n d min(n, d)). "recursive" estimates scores from a sketch of about
        :math:`d_\lambda \log d_\lambda` rows, which is sampled by the scores from a smaller sketch, and so on. Random
        projections keep the cost at a few passes over A plus :math:`O(d_\lambda^2 d)`.
    random_state : int, RandomState or None
        For "recursive".
    gram : bool
        Whether A is a kernel matrix :math:`A A^T` rather than the matrix of rows.

    Examples
    --------
    >>> ridge_leverage_scores([[1.0, 0.0], [0.0, 2.0]], ridge=1.0)
    array([0.5, 0.8])
    >>> ridge_leverage_scores([[1.0, 0.0], [0.0, 4.0]], ridge=1.0, gram=True)
    array([0.5, 0.8])
    """
    ridge = checks.positive("ridge", ridge)
    rows = rows_of(A, gram)
    if checks.one_of("method", method, ("exact", "recursive")) == "recursive":
        rng = np.random.default_rng(checks.seed(random_state))
        sample = draw_by_leverage(rows, ridge, rng, oversampling=OVERSAMPLING)
        return np.clip(approximate_scores(rows, sample, ridge, rng, ceil(16 * log(rows.shape[0] + 1))), 0.0, 1.0)
    if isinstance(rows, Gram) or rows.shape[0] < rows.shape[1]:
        inverse = ShiftedInverse(rows.products(), ridge)
        return 1.0 - inverse.ridge * inverse.diagonal()
    within = ShiftedInverse(rows.outer(), ridge)
    step = max(1, 2**22 // rows.shape[1])
    parts = [rows.take(np.arange(i, min(i + step, rows.shape[0]))) for i in range(0, rows.shape[0], step)]
    return np.concatenate([_quadratic_form(part, within) for part in parts])


def spectral_bounds(A, sketch, ridge) -> tuple[float, float]:
    r"""How well a sketch S approximates A: the best l, u with :math:`l P \preceq S^T S + \lambda I \preceq u P`.

    Here :math:`P = A^T A + \lambda I`. S is a :math:`(\lambda, \epsilon)` spectral approximation (Agarwal & Gonen,
    Definition 1, up to a factor) if :math:`l \ge 1 - \epsilon` and :math:`u \le 1 + \epsilon`; conjugate gradients
    preconditioned by S then need a number of steps that grows with :math:`\sqrt{u/l}` only. O(d^3).

    Examples
    --------
    >>> spectral_bounds([[1.0], [1.0]], [[2.0]], ridge=1.0)
    (1.66..., 1.66...)
    """
    ridge = checks.positive("ridge", ridge)
    exact, approximate = Rows.of(A), Rows.of(sketch)
    if exact.shape[1] != approximate.shape[1]:
        raise ValueError(
            f"the sketch has {approximate.shape[1]} columns for a matrix of {exact.shape[1]}; pass rows of A, rescaled."
        )
    identity = ridge * np.eye(exact.shape[1])
    ratios = eigvalsh(approximate.outer() + identity, exact.outer() + identity)
    return float(ratios[0]), float(ratios[-1])


def draw_by_leverage(
    rows: Rows | Gram, ridge: float, rng, *, oversampling: float = 1.0, most: int | None = None
) -> Sample:
    r"""A sample whose size follows the effective dimension: ``oversampling`` times :math:`d_\lambda \log d_\lambda`.

    Starts from the upper bounds :math:`u_i = \min(1, \|a_i\|^2/\lambda)` on the scores. Each sample drawn with
    probabilities proportional to u yields tighter bounds and hence a larger, more informative sample, until the next
    one would be large enough, or has ``most`` rows. ``wanted`` of the result is the size that the scores call for.
    Matrices of at most 256 rows are returned whole.
    """
    scores = np.minimum(1.0, rows.squared_norms() / ridge)
    n_rows = rows.shape[0]
    size, most = FIRST_SIZE, min(n_rows, most or n_rows)
    if n_rows <= min(size, most):
        return Sample(np.arange(n_rows), np.ones(n_rows), scores, float(n_rows))
    wanted = float(most)
    while size < most:
        scores = np.minimum(scores, approximate_scores(rows, draw(scores, size, rng), ridge, rng))
        wanted = sketch_size(min(float(scores.sum()), *rows.shape), oversampling)
        size *= GROWTH
        if wanted <= size:
            break
    return draw(scores, min(wanted, most), rng)._replace(wanted=wanted)


def sketch_size(dimension: float, oversampling: float) -> float:
    """The number of rows that a sketch needs for an effective dimension."""
    return oversampling * dimension * max(1.0, log(max(dimension, 1.0)))


def most_landmarks(n: int) -> int:
    """Factors of m landmarks cost n m^2 and a step n^2, so with many landmarks more steps are cheaper."""
    return max(FEWEST, n // SHARE)


def draw(scores: np.ndarray, size: float, rng, *, shrink: float = 1.0) -> Sample:
    r"""Keep row i with probability :math:`p_i = \min(1, size\, u_i / \|u\|_1)`, times :math:`\sqrt{shrink/p_i}`."""
    total = scores.sum()
    chances = np.minimum(1.0, size * scores / total) if total > 0 else np.zeros_like(scores)
    indices = np.flatnonzero(rng.random(len(scores)) < chances)
    if len(indices) == 0:  # the ridge dominates: one row will do
        indices = np.array([np.argmax(scores)])
    return Sample(indices, np.sqrt(shrink / np.maximum(chances[indices], np.finfo(float).tiny)), scores, size)


def approximate_scores(rows: Rows | Gram, sample: Sample, ridge: float, rng, n_directions: int = 32) -> np.ndarray:
    r"""Leverage scores of all rows relative to the sampled ones, :math:`a_i^T P^{-1} a_i`.

    Here :math:`P = \tilde A^T \tilde A + \lambda I`. As
    :math:`P^{-1} = P^{-1} (\tilde A^T \tilde A + \lambda I) P^{-1}`, it is the mean square of :math:`a_i \cdot r`
    over random directions :math:`r = P^{-1} (\tilde A^T g + \sqrt\lambda h)` with g and h standard normal: each
    score has a relative standard error of :math:`\sqrt{2 / n_{directions}}`. For a kernel matrix it is exact.
    """
    if isinstance(rows, Gram):
        columns = rows.columns(sample.indices)
        return leverage_through_columns(columns, sample.indices, sample.factors, rows.squared_norms(), ridge)
    sketch = rows.take(sample.indices, sample.factors)
    inverse = RidgeInverse(sketch, ridge)
    g = rng.standard_normal((sketch.shape[0], n_directions), dtype=sketch.dtype)
    h = rng.standard_normal((sketch.shape[1], n_directions), dtype=sketch.dtype)
    directions = inverse(sketch.transposed(g) + np.sqrt(ridge) * h)
    return np.mean(np.square(rows @ directions), axis=1)


def rows_of(A, gram: bool) -> Rows | Gram:
    """The matrix or kernel matrix passed by the caller."""
    if isinstance(A, Gram):
        return A
    rows = Rows.of(A)
    if not gram:
        return rows
    K = rows.X
    if not isinstance(K, np.ndarray) or K.shape[0] != K.shape[1] or not np.allclose(K, K.T):
        raise ValueError(
            f"a Gram matrix must be a dense, square, symmetric array; got {type(K).__name__} of shape {K.shape}. "
            "Pass gram=False for a matrix of examples."
        )
    return Gram(K)


def _quadratic_form(rows: Rows, inverse: ShiftedInverse) -> np.ndarray:
    """a_i^T P^-1 a_i for each row."""
    dense = rows.X if isinstance(rows.X, np.ndarray) else rows @ np.eye(rows.shape[1])
    return np.einsum("ij,ji->i", dense, inverse(dense.T))
