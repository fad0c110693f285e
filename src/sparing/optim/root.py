"""The square root of a growing sum of outer products, decomposed periodically and exact in between."""

from functools import lru_cache
from math import ceil, isfinite, log2
from typing import NamedTuple

import numpy as np
from scipy import special

from sparing.kernels.root import correct, leads_elsewhere, tridiagonal_solve
from sparing.linalg.threads import one_blas_thread

DIGITS = 12  # accuracy of the rational approximation
SMALL = 32  # rows up to which a tridiagonal form in every round is faster than a decomposition with corrections
ONE_THREAD = 512  # rows up to which a second BLAS thread costs more than it saves: at 64, 24 to 36 times as much
NEW_DIRECTION = 1e4  # ratio of a squared entry to the earlier moment above which a correction loses digits


class Root(NamedTuple):
    r""":math:`M = \sum_s z_s z_s^T`: its eigendecomposition at some round, and the vectors that came since.

    ``moments`` is M at that round, ``basis`` and ``values`` decompose it, ``recent`` holds the later vectors as rows,
    in that basis. Up to ``SMALL`` rows ``moments`` is M now, and the others are not kept.
    """

    moments: np.ndarray
    basis: np.ndarray
    values: np.ndarray
    recent: np.ndarray


NOTHING = np.empty((0, 0)), np.empty(0), np.empty((0, 0))


def no_moments(k: int) -> Root:
    """M = 0."""
    return Root(np.zeros((k, k)), np.eye(k), np.zeros(k), np.empty((0, k)))


def add(root: Root, z, *, delta: float, refresh: int) -> Root:
    """M + z z^T, with a new decomposition if one is :func:`due`."""
    if len(z) <= SMALL:
        moments = renewed(root).moments if len(root.recent) else root.moments
        return Root(moments + z[:, None] * z, *NOTHING)
    turned = root.basis.T @ z
    late = due(turned, root.values, len(root.recent), delta=delta, refresh=refresh)
    root = root._replace(recent=np.vstack([root.recent, turned]))
    return renewed(root) if late else root


def ready(root: Root) -> Root:
    """The same M in the form that kernels take: up to ``SMALL`` rows the moments alone."""
    if len(root.moments) > SMALL or not len(root.values):
        return root
    return Root(renewed(root).moments, *NOTHING)


def room(root: Root) -> np.ndarray:
    """For the moments, or for ``recent``, after one vector more."""
    k = len(root.moments)
    return np.empty((len(root.recent) + 1, k) if len(root.values) else (k, k))


def grown(root: Root, new, *, delta: float, refresh: int) -> Root:
    """The root after :func:`sparing.kernels.compressed.learn`, decomposed again if it is due."""
    if not len(root.values):
        return Root(new, *NOTHING)
    late = len(new) >= refresh or leads_elsewhere(new[-1], root.values, delta, NEW_DIRECTION)
    root = Root(root.moments, root.basis, root.values, new)
    return renewed(root) if late else root


def scratch(root: Root) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`sparing.kernels.compressed.solve` works in."""
    if not len(root.values):
        return np.empty_like(root.moments), *NOTHING[:2]
    count, k = root.recent.shape
    return np.empty((count, k)), np.empty((count, count)), np.empty(count)


def due(turned, values, n_recent: int, *, delta: float, refresh: int) -> bool:
    """Whether to decompose: after ``refresh`` vectors, and on a new direction."""
    return n_recent + 1 >= refresh or bool((turned**2 > NEW_DIRECTION * (values + delta)).any())


def renewed(root: Root) -> Root:
    """The same M with a new decomposition, in O(k^3)."""
    moments = root.moments
    if len(root.recent):
        since = root.recent @ root.basis.T
        moments = moments + since.T @ since
    elif len(root.values):
        return root
    with one_blas_thread(len(moments) <= ONE_THREAD):
        values, basis = np.linalg.eigh(moments)
    return Root(moments, basis, np.maximum(values, 0.0), np.empty((0, len(values))))


def trace(root: Root) -> float:
    r""":math:`\mathrm{tr}\, M^{1/2}`."""
    return float(np.sqrt(renewed(root).values).sum())


def dense(root: Root, *, delta: float) -> np.ndarray:
    r""":math:`(M + \delta I)^{1/2}` as a matrix, in :math:`O(k^3)`."""
    root = renewed(root)
    return root.basis * np.sqrt(root.values + delta) @ root.basis.T


def solve(root: Root, v, *, delta: float, shift: float = 0.0) -> np.ndarray:
    r""":math:`((M + \delta I)^{1/2} + \lambda I)^{-1} v` with ``shift`` :math:`\lambda`, in :math:`O(k^2)`.

    With :math:`\Lambda` the values at the last decomposition and Z the vectors since, in its basis,

    .. math:: f(\Lambda + Z^T Z) v = f(\Lambda) v - \sum_j w_j E_j Z^T (I + Z E_j Z^T)^{-1} Z E_j v, \quad
              E_j = (\Lambda + (\delta + s_j^2) I)^{-1},

    where the nodes :math:`s_j` and weights :math:`w_j` are those of :func:`nodes`. About thirty of them give eleven
    digits, so the root is exact at every round however rarely it is decomposed.
    """
    if len(v) <= SMALL:
        return _solve_small(root.moments, v, delta, shift)
    turned = root.basis.T @ v
    answer = turned / (np.sqrt(root.values + delta) + shift)
    if len(root.recent):
        count, k = root.recent.shape
        squared, weights = enclosing(root.values[-1] + np.sum(root.recent**2), delta, shift)
        scratch = np.empty((count, k)), np.empty((count, count)), np.empty(count)
        correct(root.values, root.recent, turned, squared, weights, delta, answer, *scratch)
    return root.basis @ answer


def _solve_small(moments, v, delta: float, shift: float) -> np.ndarray:
    """The same nodes on a tridiagonal form of M itself."""
    k = len(v)
    diagonal, below, ahead, pivots, answer = np.empty((5, k))
    squared, weights = enclosing(moments.trace(), delta, shift)
    tridiagonal_solve(moments.copy(), squared, weights, delta, v.copy(), diagonal, below, ahead, pivots, answer)
    return answer


def enclosing(largest: float, delta: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, squared, and weights for eigenvalues of M up to a power of two, so that few of them serve all rounds."""
    if not isfinite(largest):
        raise ValueError("the sum of squared gradients overflows; scale attributes or targets down.")
    return nodes(delta, 2.0 ** ceil(log2(delta + largest)), shift)


@lru_cache(maxsize=256)
def nodes(smallest: float, largest: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Squares :math:`s_j^2` and weights with :math:`1/(\sqrt y + \lambda) = \sum_j w_j / (y + s_j^2)` for y between.

    :math:`\frac{1}{\sqrt y + \lambda} = \frac{2}{\pi} \int_0^\infty \frac{s^2}{s^2 + \lambda^2} \frac{ds}{y + s^2}`,
    and in the variable v of :math:`s = \sqrt{m}\, \mathrm{sn}(v) / \mathrm{cn}(v)` the midpoint rule converges as
    :math:`\exp(-2 \pi^2 N / (\log(M/m) + 3))` (Hale, Higham & Trefethen 2008, method 3); m and M enclose y and
    :math:`\lambda^2`, where the integrand has its poles.
    """
    if shift:
        smallest, largest = min(smallest, shift**2), max(largest, shift**2)
    parameter = 1.0 - max(smallest / largest, 1e-14)
    ratio = 1.0 - parameter  # as rounded: mapping and quarter period must belong together
    half = int(np.ceil(DIGITS * np.log(10.0) * (3.0 - np.log(ratio)) / (4 * np.pi**2)))
    step = special.ellipk(parameter) / (2 * half)
    sn, cn, _, _ = special.ellipj((np.arange(half) + 0.5) * step, parameter)
    t = np.concatenate([sn / cn, cn / (sn * np.sqrt(ratio))])  # sc(K - v) = 1 / (k' sc(v)) spares cn near zero
    s = np.sqrt(largest * ratio) * t
    slopes = np.sqrt(largest * ratio * (1 + t**2) * (1 + ratio * t**2))
    return s**2, 2 / np.pi * step * slopes * s**2 / (s**2 + shift**2)
