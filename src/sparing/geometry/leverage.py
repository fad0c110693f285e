r"""Ridge leverage scores: how much each row of a matrix matters at a given ridge.

The score of row :math:`a_i` is :math:`\tau_i = a_i^T (A^T A + \lambda I)^{-1} a_i`, the smallest t for which
:math:`a_i a_i^T \preceq t (A^T A + \lambda I)` (Agarwal & Gonen, Lemma 2); the scores sum to the effective
dimension. Rows sampled with probabilities proportional to their scores and rescaled approximate the whole matrix.
"""

from math import ceil, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.stats import chi2

from sparing import checks
from sparing.linalg.gram import Gram, is_symmetric, leverage_through_columns
from sparing.linalg.inverses import RidgeInverse, ShiftedInverse
from sparing.linalg.rows import Rows

DIRECTIONS = 32  # random directions from which scores are estimated
FIRST_SIZE, GROWTH = 256, 4  # rows of the first sketch, and the factor by which sketches grow
OVERSAMPLING = 8.0  # sketch size over d log d for the scores of method="recursive": at most a few per cent too high
ABOVE, MOST_ROUNDS = 0.5, 8  # epsilon and the maximum number of samples of overestimated scores
PRECONDITIONER = 0.5  # sketch size over d log d for a preconditioner; more rows cost more than the steps they save
LANDMARKS = 0.25  # number of landmarks over d log d for a kernel
FEWEST, SHARE = 1000, 15  # a kernel preconditioner has at most max(FEWEST, n / SHARE) landmarks


class Sample(NamedTuple):
    """Sampled rows, the factor to multiply each by, the scores of all rows, and the sample size that these call for."""

    indices: np.ndarray
    factors: np.ndarray
    scores: np.ndarray
    wanted: float


def ridge_leverage_scores(
    A,
    ridge,
    method: str = "exact",
    random_state=None,
    *,
    gram: bool = False,
    overestimate: bool = False,
    failure: float = 0.01,
) -> np.ndarray:
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
    overestimate : bool
        With "recursive": scores that are all at least the true ones, with probability at least 1 - ``failure``, as
        Definition 2 of the paper asks. They are up to 5 times the true ones in our tests, and take longer.
    failure : float
        The probability that some score is below the true one.

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
        if overestimate:
            return overestimated_scores(rows, ridge, checks.fraction("failure", failure), rng)
        sample = draw_by_leverage(rows, ridge, rng, oversampling=OVERSAMPLING)
        return np.clip(approximate_scores(rows, sample, ridge, rng, ceil(16 * log(rows.shape[0] + 1))), 0.0, 1.0)
    if overestimate:
        raise ValueError("overestimate=True is for method='recursive'; exact scores need no bound.")
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


def overestimated_scores(rows: Rows | Gram, ridge: float, failure: float, rng) -> np.ndarray:
    r"""Scores that are all at least the true ones with probability at least 1 - ``failure`` (Theorem 10, corrected).

    Starts from :math:`u_i = \min(1, \|a_i\|^2/\lambda)`. A round samples row i with probability
    :math:`p_i = \min(1, \alpha c u_i)`, :math:`\alpha \le 1`, and weight :math:`\alpha/p_i`. If
    :math:`u \ge \tau`, then :math:`\tilde A^T \tilde A + \lambda I \preceq (1 + \epsilon) (A^T A + \lambda I)` but for
    a probability of :math:`2 (d_\lambda + 1) (e^\epsilon / (1 + \epsilon)^{1 + \epsilon})^c` (matrix Chernoff bound
    with intrinsic dimension, Tropp 2015, Theorem 7.2.1), which determines c, so that
    :math:`(1 + \epsilon)\, a_i^T (\tilde A^T \tilde A + \lambda I)^{-1} a_i \ge \tau_i`. Scores from random directions
    are divided by a quantile of their chi-square distribution. Samples grow until :math:`\alpha = 1`.
    """
    n, share = rows.shape[0], failure / (2 * MOST_ROUNDS)
    directions = ceil(8 * log(n / share))
    quantile = 1.0 if isinstance(rows, Gram) else float(chi2.ppf(share / n, directions)) / directions
    bounds, size = np.minimum(1.0, rows.squared_norms() / ridge).astype(float), 4 * FIRST_SIZE
    for rounds in range(1, MOST_ROUNDS + 1):
        dimension = min(float(bounds.sum()), *rows.shape)
        wanted = log(4 * (dimension + 1) / share) / ((1 + ABOVE) * log1p(ABOVE) - ABOVE) * bounds.sum()
        shrink = min(1.0, size / wanted) if wanted > 0 and rounds < MOST_ROUNDS else 1.0
        sample = draw(bounds, shrink * wanted, rng, shrink=shrink)
        whole = shrink == 1.0 and len(sample.indices) == n
        scores = approximate_scores(rows, sample, ridge, rng, directions) / quantile
        bounds = np.minimum(bounds, scores if whole else (1 + ABOVE) * scores)
        if shrink == 1.0:
            break
        size *= GROWTH
    return bounds


def most_landmarks(n: int) -> int:
    """The maximum number of landmarks: factors of m cost n m^2 and a step n^2, so beyond it more steps are cheaper."""
    return max(FEWEST, n // SHARE)


def draw(scores: np.ndarray, size: float, rng, *, shrink: float = 1.0) -> Sample:
    r"""Keep row i with probability :math:`p_i = \min(1, size\, u_i / \|u\|_1)`, times :math:`\sqrt{shrink/p_i}`."""
    total = scores.sum()
    chances = np.minimum(1.0, size * scores / total) if total > 0 else np.zeros_like(scores)
    indices = np.flatnonzero(rng.random(len(scores)) < chances)
    if len(indices) == 0:  # the ridge dominates, and one row is enough
        indices = np.array([np.argmax(scores)])
    return Sample(indices, np.sqrt(shrink / np.maximum(chances[indices], np.finfo(float).tiny)), scores, size)


def approximate_scores(
    rows: Rows | Gram, sample: Sample, ridge: float, rng, n_directions: int = DIRECTIONS
) -> np.ndarray:
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
    directions = inverse(sketch.transposed(g) + sqrt(ridge) * h)  # in the precision of the rows
    return np.mean(np.square(rows @ directions), axis=1)


def rows_of(A, gram: bool) -> Rows | Gram:
    """The matrix or kernel matrix passed by the caller."""
    return gram_of(A) if gram or isinstance(A, Gram) else Rows.of(A)


def gram_of(A) -> Gram:
    """The kernel matrix passed by the caller, checked; a ``Gram`` is returned unchanged."""
    if isinstance(A, Gram):
        return A
    K = Rows.of(A).X
    if not isinstance(K, np.ndarray) or K.shape[0] != K.shape[1] or not is_symmetric(K):
        raise ValueError(
            f"a kernel matrix must be a dense, square, symmetric array; got {type(K).__name__} of shape {K.shape}"
            f"{', not symmetric' if K.shape[0] == K.shape[1] else ''}. Pass inner products, not a matrix of examples."
        )
    if (negative := np.flatnonzero(np.diagonal(K) < 0)).size:
        raise ValueError(
            f"entry {negative[0]} of the diagonal of the kernel matrix is negative, which no squared norm is."
        )
    return Gram(K)


def _quadratic_form(rows: Rows, inverse: ShiftedInverse) -> np.ndarray:
    """a_i^T P^-1 a_i for each row."""
    dense = rows.X if isinstance(rows.X, np.ndarray) else rows @ np.eye(rows.shape[1])
    return np.einsum("ij,ji->i", dense, inverse(dense.T))
