r"""Kernel ridge regression, preconditioned by sampled columns of the kernel matrix (Agarwal & Gonen, appendix D).

The weights of examples solve :math:`(K + \lambda I) \alpha = y`. With landmarks S drawn by leverage,
:math:`\tilde K = K_{:S} K_{SS}^{-1} K_{S:}` is below K and within the ridge of it (Musco & Musco 2017), so that
:math:`\tilde K + \lambda I` preconditions the system to a constant.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from sparing import checks
from sparing.geometry.gram import Gram
from sparing.geometry.leverage import draw_by_leverage
from sparing.geometry.rows import RidgeInverse, Rows, ShiftedInverse
from sparing.solvers.conjugate import conjugate_gradients
from sparing.solvers.least_squares import LeastSquares, Preconditioner
from sparing.types import Solution

METHODS = ("auto", "sketch", "cholesky", "cg")
OVERSAMPLING = 0.25  # landmarks over d log d
FEWEST, SHARE = 1000, 15  # landmarks to precondition with are at most so many, or one in so many examples
SMALL = 1000  # up to so many examples a Cholesky factor costs less than anything else

Kernel = Callable[[np.ndarray | slice, np.ndarray | slice], np.ndarray]


class KernelGram(Gram):
    """A kernel matrix that is never stored: ``kernel(rows, columns)`` computes a block of it whenever it is needed."""

    def __init__(self, kernel: Kernel, n: int, *, scale: np.ndarray | None = None):
        self.kernel, self.scale, self.shape = kernel, scale, (n, n)

    def _product(self, V: np.ndarray) -> np.ndarray:
        return np.concatenate([self.kernel(block, slice(None)) @ V for block in self._blocks(2**24)])

    def _columns(self, indices: np.ndarray) -> np.ndarray:
        return self.kernel(slice(None), indices)

    def _diagonal(self) -> np.ndarray:
        return np.concatenate([np.diagonal(self.kernel(block, block)) for block in self._blocks(2**6 * self.shape[0])])

    def _blocks(self, n_values: int) -> list[slice]:
        step = max(1, n_values // self.shape[0])
        return [slice(start, start + step) for start in range(0, self.shape[0], step)]


class Landmarks(NamedTuple):
    r"""Sampled examples, and factors B with :math:`B^T B = K_{:S} K_{SS}^{-1} K_{S:}`, one column an example."""

    indices: np.ndarray
    factors: np.ndarray
    triangle: np.ndarray


def draw_landmarks(gram: Gram, ridge: float, rng, *, oversampling: float, most: int | None = None) -> Landmarks:
    """Examples by leverage; a little is added to the diagonal of K_SS where it is singular."""
    sample = draw_by_leverage(gram, ridge, rng, oversampling=oversampling, most=most)
    columns = gram.columns(sample.indices)
    triangle = ShiftedInverse(columns[sample.indices], 0.0).triangle
    factors = solve_triangular(triangle, columns.T, lower=True, check_finite=False)
    return Landmarks(sample.indices, factors, triangle)


def solve_kernel_ridge(
    gram: Gram | np.ndarray,
    y,
    ridge,
    *,
    method: str = "auto",
    tol: float = 1e-10,
    max_iter: int = 1000,
    random_state=None,
) -> Solution:
    r"""Solve :math:`(K + \lambda I) \alpha = y`: the dual of ridge regression on features whose products K holds.

    Parameters
    ----------
    gram : array of shape (n, n), or Gram
        K, stored or computed.
    y : array of shape (n,) or (n, n_targets)
    ridge : float
        :math:`\lambda > 0`.
    method : {"auto", "sketch", "cholesky", "cg"}
        "sketch" is conjugate gradients preconditioned by landmarks, "cg" without. "auto" takes a Cholesky factor
        up to 1,000 examples, else the sketch.
    tol : float
        How far :math:`\tfrac12 \alpha^T (K + \lambda I) \alpha - y^T \alpha` may be above its minimum, relative to it.
    max_iter : int
        Steps at most, each of them a product with K.
    random_state : int, RandomState or None
        For the landmarks.

    Examples
    --------
    >>> solution = solve_kernel_ridge(np.diag([1.0, 3.0]), [2.0, 4.0], ridge=1.0)
    >>> solution.coef, solution.converged
    (array([1., 1.]), True)
    """
    gram, ridge = gram if isinstance(gram, Gram) else Gram(gram), checks.positive("ridge", ridge)
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    n = gram.shape[0]
    if checks.one_of("method", method, METHODS) == "auto":
        method = "cholesky" if n <= SMALL else "sketch"
    targets = checks.targets(y, n)
    made = _preconditioner(gram, ridge, method, np.random.default_rng(checks.seed(random_state)))

    def allowed(W: np.ndarray) -> np.ndarray:
        return tol * np.abs(np.einsum("ij,ij->j", W, targets))

    descent = conjugate_gradients(
        lambda V: gram @ V + ridge * V,
        targets,
        made.inverse,
        enough=lambda energy, W: energy <= allowed(W),
        max_iter=max_iter,
    )
    scale = np.maximum(allowed(descent.point), np.finfo(float).tiny)
    solution = Solution(
        descent.point,
        descent.iterations,
        float(np.max(tol * descent.energy / scale)),
        bool(np.all(descent.energy <= scale)),
        made.size,
        made.effective_dimension,
    )
    return replace(solution, coef=solution.coef[:, 0]) if np.ndim(y) == 1 else solution


def solve_on_landmarks(gram: Gram, y, ridge, *, tol: float, max_iter: int, random_state) -> tuple[Solution, np.ndarray]:
    r"""The Nyström form: functions spanned by the landmarks alone, in O(n m) memory for m of them.

    Ridge regression on the m features B of each example, so that K is never formed. Returns the coefficients of
    the landmarks, :math:`\beta = L^{-T} w` with :math:`K_{SS} = L L^T`, and which examples they are.
    """
    ridge = checks.positive("ridge", ridge)
    targets = checks.targets(y, gram.shape[0])
    rng = np.random.default_rng(checks.seed(random_state))
    made = draw_landmarks(gram, ridge, rng, oversampling=1.0)
    problem = LeastSquares(Rows(made.factors.T), targets, ridge, checks.positive("tol", tol), max_iter)
    solution = problem.descend(problem.whole(), None)
    coef = solve_triangular(made.triangle, solution.coef, lower=True, trans="T", check_finite=False)
    coef = coef[:, 0] if np.ndim(y) == 1 else coef
    return replace(solution, coef=coef, sketch_size=len(made.indices)), made.indices


def _preconditioner(gram: Gram, ridge: float, method: str, rng) -> Preconditioner:
    """The system's inverse, or one near it."""
    if method == "cg":
        return Preconditioner(lambda V: V / ridge)
    if method == "cholesky":
        return _whole(gram, ridge)
    # Factors cost n m^2, a step n^2: beyond some landmarks, more steps are cheaper.
    most = max(FEWEST, gram.shape[0] // SHARE)
    made = draw_landmarks(gram, ridge, rng, oversampling=OVERSAMPLING, most=most)
    inverse = RidgeInverse(Rows(made.factors), ridge)
    # K lies between the landmarks' part of it and that plus the trace of the rest: so does its dimension.
    low = inverse.within.effective_dimension
    high = low + max(0.0, gram.squared_norms().sum() - np.square(made.factors).sum()) / ridge
    return Preconditioner(inverse, len(made.indices), float(np.sqrt(low * high)))


def _whole(gram: Gram, ridge: float) -> Preconditioner:
    """A Cholesky factor, raised above rounding errors where K is singular; conjugate gradients refine it."""
    products = gram.products()
    if not np.allclose(products, products.T):
        raise ValueError("the kernel matrix is not symmetric; pass a kernel with k(x, z) = k(z, x).")
    inverse = ShiftedInverse(products, ridge)
    return Preconditioner(inverse, effective_dimension=inverse.effective_dimension)
