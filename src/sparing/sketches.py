"""Fast Hadamard transforms, and the randomised sketch made of them.

:math:`H` is the Walsh-Hadamard matrix in natural order (that of ``scipy.linalg.hadamard``), divided by
:math:`\\sqrt n` so that it is orthonormal and its own inverse.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_random_state

from sparing import checks
from sparing.kernels import hadamard as kernels

AT_ONCE = 64  # numbers that a kernel processes together


def power_of_two(n: int) -> int:
    """The least power of two that is n or more."""
    return 1 << (max(int(n), 1) - 1).bit_length()


def _numbers(x, name: str = "x") -> np.ndarray:
    """An array of float32 or float64; other real numbers become float64."""
    x = np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers; got {x.dtype}.")
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def _check_length(n: int, what: str) -> int:
    if n < 1 or n & (n - 1):
        raise ValueError(
            f"{what} is {n}, not a power of two; pad with zeros to {power_of_two(n)}, or use srht(), which does."
        )
    return n


def _check_indices(name: str, indices, n: int) -> np.ndarray:
    found = np.asarray(indices)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a vector of whole numbers; got {found.dtype} of shape {found.shape}.")
    found = found.astype(np.int64)
    if found.size and found.view(np.uint64).max() >= n:  # as unsigned numbers, negative ones are huge
        raise IndexError(f"{name} must lie between 0 and {n - 1}; got {found.min()} to {found.max()}.")
    return found


def hadamard(x, *, orthonormal: bool = True, overwrite: bool = False) -> np.ndarray:
    r"""The Hadamard transform of the last axis: :math:`H x` in :math:`O(n \log n)`.

    Parameters
    ----------
    x : array of shape (..., n), n a power of two
        float32 stays float32; anything else is computed in float64.
    orthonormal : bool, default=True
        Divide by :math:`\sqrt n`. Without it the matrix holds +1 and -1.
    overwrite : bool, default=False
        Transform x in place and return it; x must be a C-contiguous float32 or float64 array.

    Examples
    --------
    >>> import numpy as np
    >>> hadamard(np.array([1.0, 2.0, 3.0, 4.0]), orthonormal=False)
    array([10., -2., -4.,  0.])
    """
    given, x = x, _numbers(x)
    if x.ndim == 0:
        raise ValueError("x is a single number; pass a vector, or an array of vectors.")
    n = _check_length(x.shape[-1], "the last axis of x")
    if not overwrite:
        x = np.array(x, order="C")
    elif x is not given or not (x.flags.c_contiguous and x.flags.writeable and x.dtype.isnative):
        raise ValueError(
            "overwrite=True needs a writeable, C-contiguous array of float32 or float64; got "
            f"{getattr(given, 'dtype', type(given).__name__)}. Pass such an array, or overwrite=False."
        )
    kernels.transform(x.reshape(-1), n, x.dtype.type(n**-0.5 if orthonormal else 1.0))
    return x


def stretch_width(n: int, few: int) -> int:
    """Length of the stretches for ``few`` nonzeros or wanted outputs, or 0 if the whole transform is as fast.

    Short stretches skip only a few levels, and the whole transform makes better use of the cache.
    """
    width = n // power_of_two(few)
    return width if width >= 16 * AT_ONCE else 0


def hadamard_sparse(indices, values, n: int, *, orthonormal: bool = True) -> np.ndarray:
    r"""The Hadamard transform of a vector with few nonzeros: :math:`O(n \log r)` for r of them.

    :math:`H_n = H_{r'} \otimes H_{n/r'}` with :math:`r'` the least power of two from r on. Each nonzero adds its
    column of :math:`H_{n/r'}` to its own stretch of :math:`n/r'` numbers, at most 2n operations in all, and then
    :math:`\log_2 r'` levels remain. (This settles Conjecture 1 of Mehta et al., CompAdaGrad, 2016; Theorem 4 is r = 1.)

    Parameters
    ----------
    indices, values : vectors of length r
        The nonzeros and their positions; values at a repeated index are added up.
    n : int
        Length of the vector, a power of two.
    orthonormal : bool, default=True
        Divide by :math:`\sqrt n`.

    Examples
    --------
    >>> hadamard_sparse([2], [3.0], 4, orthonormal=False)
    array([ 3.,  3., -3., -3.])
    """
    n = _check_length(checks.whole("n", n), "n")
    values = _numbers(values, "values")
    indices = _check_indices("indices", indices, n)
    if values.shape != indices.shape:
        raise ValueError(f"values has shape {values.shape} for {indices.size} indices; pass one value per index.")
    x = np.empty(n, values.dtype)
    _scatter(x, indices, values, values.dtype.type(n**-0.5 if orthonormal else 1.0))
    return x


def _scatter(x, indices, values, factor) -> None:
    """x <- factor H e, where e holds ``values`` at ``indices``; H of +1 and -1."""
    width = stretch_width(x.size, values.size)
    if width:
        kernels.scatter(x, width, indices, factor * values, np.empty(AT_ONCE, x.dtype))
        kernels.upper_levels(x, width)
    else:
        x.fill(0.0)
        np.add.at(x, indices, values)
        kernels.transform(x, x.size, factor)


def hadamard_rows(x, rows, *, orthonormal: bool = True) -> np.ndarray:
    r"""Some entries of :math:`H x` only: :math:`O(n \log k)` for k of them.

    The transpose of :func:`hadamard_sparse`: first :math:`\log_2 k'` levels over stretches of :math:`n/k'` numbers,
    then every wanted entry is a sum, with signs, over one stretch.

    Parameters
    ----------
    x : vector of length n, a power of two
    rows : vector of k whole numbers
        Which entries; they may repeat.
    orthonormal : bool, default=True
        Divide by :math:`\sqrt n`.

    Examples
    --------
    >>> hadamard_rows([1.0, 2.0, 3.0, 4.0], [3, 0], orthonormal=False)
    array([ 0., 10.])
    """
    x = np.array(_numbers(x), order="C")
    if x.ndim != 1:
        raise ValueError(f"x must be a vector; got shape {x.shape}.")
    n = _check_length(x.size, "the length of x")
    wanted = _gather(x, _check_indices("rows", rows, n))
    wanted *= n**-0.5 if orthonormal else 1.0
    return wanted


def _gather(x, rows) -> np.ndarray:
    """Entries ``rows`` of H x, with H of +1 and -1; x is used up."""
    width = stretch_width(x.size, rows.size)
    if not width:
        kernels.transform(x, x.size, x.dtype.type(1))
        return x[rows]
    out = np.empty(rows.size, x.dtype)
    kernels.upper_levels(x, width)
    kernels.gather(x, width, rows, out, np.empty(AT_ONCE, x.dtype))
    return out


class SRHT(LinearOperator):
    r"""The subsampled randomised Hadamard transform :math:`\Pi = c\, R H \Sigma`; make one with :func:`srht`.

    Attributes
    ----------
    rows : vector of k whole numbers
        R: which rows of H, without repetition.
    signs : vector of length n
        :math:`\Sigma`: -1.0 or +1.0 each.
    n_padded : int
        The order of H, a power of two; vectors are padded with zeros.
    scale : float
        c: 1, or :math:`\sqrt{n/k}` in the scaled form.
    """

    def __init__(self, rows, signs, *, scale: float = 1.0):
        self.rows, self.signs, self.scale = rows, signs, scale
        self.n_padded = power_of_two(signs.size)
        super().__init__(np.float64, (rows.size, signs.size))

    @property
    def _factor(self) -> float:
        return self.scale * self.n_padded**-0.5

    def _matvec(self, x):
        x = _numbers(np.asarray(x).reshape(-1))
        padded = np.zeros(self.n_padded, x.dtype)
        np.multiply(x, self.signs, out=padded[: x.size], casting="same_kind")
        return _gather(padded, self.rows) * x.dtype.type(self._factor)

    def _rmatvec(self, z):
        z = _numbers(np.asarray(z).reshape(-1))
        x = np.empty(self.n_padded, z.dtype)
        _scatter(x, self.rows, z, z.dtype.type(self._factor))
        x = x[: self.signs.size]
        x *= self.signs
        return x

    def columns(self, indices) -> np.ndarray:
        """The columns at ``indices`` as a dense matrix of k rows."""
        indices = _check_indices("indices", indices, self.shape[1])
        out = np.empty((self.rows.size, indices.size))
        kernels.columns(self.rows, indices, self._factor, out)
        return out * self.signs[indices]

    def gram(self, weights) -> np.ndarray:
        r""":math:`\Pi\, \mathrm{diag}(b)\, \Pi^T` from one transform and :math:`k^2` look-ups.

        :math:`H \mathrm{diag}(b) H` is dyadic-circulant: entry (i, j) is :math:`n^{-1/2} (H b)_{i \oplus j}`, with
        :math:`\oplus` the exclusive or of the binary digits; the random signs cancel.
        """
        weights = _numbers(weights, "weights")
        if weights.shape != (self.shape[1],):
            raise ValueError(f"weights has shape {weights.shape}; pass one number for each of {self.shape[1]} columns.")
        table = np.zeros(self.n_padded, weights.dtype)
        table[: weights.size] = weights
        kernels.transform(table, table.size, weights.dtype.type(1))
        out = np.empty((self.rows.size, self.rows.size), weights.dtype)
        kernels.look_up_xor(table, self.rows, weights.dtype.type(self._factor**2), out)
        return out


def srht(k: int, n: int, random_state=None, *, scaled: bool = False) -> SRHT:
    r"""The subsampled randomised Hadamard transform of k rows on n columns, as a scipy ``LinearOperator``.

    :math:`\Pi = R H \Sigma`, with random signs :math:`\Sigma`, Hadamard matrix H and a draw R of k of its rows. Both
    :math:`\Pi x` and :math:`\Pi^T z` take :math:`O(n \log k)`. If n is not a power of two, vectors are padded with
    zeros to the next one; then H has more than n rows, and k of *those* are drawn.

    Parameters
    ----------
    k : int
        Rows: 0 to n.
    n : int
        Columns.
    random_state : int, RandomState or None
    scaled : bool, default=False
        False: the rows are orthonormal (for n a power of two), :math:`\Pi \Pi^T = I`. True: multiplied by
        :math:`\sqrt{n/k}` with the padded n, so that :math:`E \|\Pi x\|^2 = \|x\|^2`.

    Examples
    --------
    >>> import numpy as np
    >>> sketch = srht(3, 8, random_state=0)
    >>> bool(np.allclose(sketch @ (sketch.T @ np.eye(3)), np.eye(3)))
    True
    """
    n = checks.whole("n", n)
    k = checks.whole("k", k, at_least=0)
    if k > n:
        raise ValueError(f"k is {k}, more than the n = {n} columns; pass a k between 0 and {n}.")
    rng = check_random_state(random_state)
    padded = power_of_two(n)
    rows = np.sort(rng.choice(padded, size=k, replace=False)).astype(np.int64)
    signs = rng.choice((-1.0, 1.0), size=n)
    return SRHT(rows, signs, scale=(padded / k) ** 0.5 if scaled and k else 1.0)
