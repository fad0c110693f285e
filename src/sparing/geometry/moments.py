"""Second moments of the attributes, and how much a learner that knows them can save."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from sparing import checks

CHUNK_VALUES = 2**20  # 8 MB of float64 at a time


def second_moments(X, *, center: bool = False, chunk_rows: int | None = None) -> np.ndarray:
    r"""How large each attribute is: :math:`m_i = E[x_i^2]`, about the column means with ``center``.

    Works in float64, a chunk of rows at a time, so that neither a memory map nor a matrix of integers or
    float32 is ever copied as a whole (sparse formats other than CSR and CSC are, to CSR). Chunks are merged
    by their means and variances, which keeps ``center=True`` sound however far the columns lie from zero.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_examples, n_attributes), or an iterable of such
        An iterable gives chunks of rows. A list or tuple is one matrix: pass its ``iter`` if it holds chunks.
    center : bool
        Whether to take the moments about the column means, that is, the variances.
    chunk_rows : int, optional
        Rows to read at once; by default as many as make about 8 MB.

    Returns
    -------
    ndarray of shape (n_attributes,)

    Examples
    --------
    >>> second_moments([[3, 0], [1, 2]])
    array([5., 2.])
    >>> second_moments([[3, 0], [1, 2]], center=True)
    array([1., 1.])
    >>> second_moments(np.full((2, 1), value) for value in (1.0, 3.0))
    array([5.])
    """
    if chunk_rows is not None:
        chunk_rows = checks.whole("chunk_rows", chunk_rows)
    if sparse.issparse(X) and X.format == "csc":
        _refuse_unknown(X)
        mean, variance = np.hstack([_of_chunks([columns]) for columns in _column_chunks(X)])
    else:
        mean, variance = _of_chunks(_chunks(X, chunk_rows))
    with np.errstate(over="ignore"):
        moments = variance if center else variance + mean**2
    if not np.isfinite(moments).all():
        raise ValueError(
            f"X is too large to square: the second moment of column {np.argmin(np.isfinite(moments))} is not "
            "finite; rescale X."
        )
    if not center and (vanished := (moments == 0.0) & (mean != 0.0)).any():
        raise ValueError(
            f"X is too small to square: the second moment of column {np.argmax(vanished)} is zero, its mean is not; "
            "rescale X."
        )
    return moments


def half_norm(v) -> float:
    r"""The 1/2-"norm" :math:`\|v\|_{1/2} = (\sum_i \sqrt{|v_i|})^2` (Kukliansky & Shamir 2015, section 2.1).

    It lies between the sum of the :math:`|v_i|` (only one is not zero) and d times that sum (all are equal).

    Examples
    --------
    >>> half_norm([4.0, 1.0, 0.0])
    9.0
    """
    v = np.asarray(v, dtype=np.float64)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(f"v must be a vector of finite numbers; got shape {v.shape}: {v!r}.")
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.sqrt(np.abs(v) / largest).sum() ** 2) if largest else 0.0


def improvement_ratio(second_moments, penalty: str = "ridge") -> float:
    r"""How much less an informed learner must look at: 1 is no gain, near 0 a large one.

    For ridge it is :math:`\|m\|_{1/2} / (d \|m\|_1)`, for lasso :math:`\|m\|_1 / (d \|m\|_\infty)`,
    with :math:`m_i = E[x_i^2]` (Kukliansky & Shamir 2015, equations 11 and 12).

    Examples
    --------
    >>> improvement_ratio([4.0, 1.0, 0.0])
    0.6
    >>> round(improvement_ratio([4.0, 1.0, 0.0], penalty="lasso"), 3)
    0.417
    """
    checks.one_of("penalty", penalty, ("ridge", "lasso"))
    moments = checks.second_moments(second_moments)
    moments = moments / moments.max()  # sums of the largest could overflow
    total = float(moments.sum())
    ratio = half_norm(moments) / total if penalty == "ridge" else total / float(moments.max())
    return ratio / moments.size


def _of_chunks(chunks: Iterable) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns, merged over chunks of rows (Chan, Golub & LeVeque 1979)."""
    mean = variance = np.zeros(0)
    first_row = 0
    for chunk in map(_rows, chunks):
        if first_row == 0:
            mean = variance = np.zeros(chunk.shape[1])
        if chunk.shape[1] != mean.size:
            raise ValueError(
                f"the chunk of X from row {first_row} on has {chunk.shape[1]} columns, the ones before it "
                f"{mean.size}; pass chunks with the same columns."
            )
        if chunk.shape[0] == 0:
            continue
        _refuse_unknown(chunk, first_row)
        share = chunk.shape[0] / (first_row + chunk.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(chunk):
                from sklearn.utils.sparsefuncs import mean_variance_axis

                chunk_mean, chunk_variance = mean_variance_axis(chunk, axis=0)
            else:
                chunk_mean, chunk_variance = chunk.mean(axis=0), chunk.var(axis=0)
            shift = chunk_mean - mean
            variance = (1 - share) * variance + share * chunk_variance + share * (1 - share) * shift**2
            mean = mean + share * shift
        first_row += chunk.shape[0]
    if first_row == 0 or mean.size == 0:
        raise ValueError(
            f"X has {first_row} rows{' and no columns' if first_row else ''}; second moments need at least "
            "one example and one attribute."
        )
    return mean, variance


def _chunks(X, chunk_rows: int | None) -> Iterator:
    """Chunks of rows of a matrix; an iterable of chunks is passed on, each cut further if it is large."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    elif not hasattr(X, "shape") and isinstance(X, Iterable):
        for chunk in X:
            yield from _chunks(chunk, chunk_rows)
        return
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        raise ValueError(
            "X must have two dimensions, examples and attributes, or be an iterable of such chunks of rows; "
            f"got {f'shape {shape}' if shape else repr(X)}."
        )
    if sparse.issparse(X):
        X = X.tocsr()
        step = chunk_rows or max(1, shape[0] * max(CHUNK_VALUES, shape[1]) // max(1, X.nnz))
    else:
        X = getattr(X, "iloc", X)
        step = chunk_rows or max(1, CHUNK_VALUES // max(1, shape[1]))
    for start in range(0, max(1, shape[0]), step):
        yield X[start : start + step]


def _column_chunks(X) -> Iterator:
    """Blocks of columns of a CSC matrix, whose rows are scattered."""
    step = max(1, X.shape[1] * CHUNK_VALUES // max(1, X.nnz))
    for start in range(0, max(1, X.shape[1]), step):
        yield X[:, start : start + step]


def _rows(chunk):
    """One chunk as numbers in float64: CSR or CSC if sparse, without repeated entries; else an array."""
    kind = getattr(getattr(chunk, "dtype", None), "kind", "O")
    try:
        if kind not in "biufO":
            raise TypeError(f"its type is {chunk.dtype}")
        if sparse.issparse(chunk):
            chunk = chunk.astype(np.float64)
            chunk.sum_duplicates()
            return chunk
        return np.asarray(chunk, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold real numbers: {error}. Encode or drop the other columns.") from error


def _refuse_unknown(chunk, first_row: int = 0) -> None:
    if np.isfinite(chunk.data if sparse.issparse(chunk) else chunk).all():
        return
    entries = sparse.coo_array(chunk)
    bad = np.flatnonzero(~np.isfinite(entries.data))[0]
    raise ValueError(
        f"X contains NaN or infinity, first in row {first_row + entries.row[bad]}, column "
        f"{entries.col[bad]}; every value must be known. Fill or drop such values first."
    )
