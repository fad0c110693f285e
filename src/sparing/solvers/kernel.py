r"""Kernel ridge regression, preconditioned by sampled columns of the kernel matrix (Agarwal & Gonen, appendix D).

The dual coefficients solve :math:`(K + \lambda I) \alpha = y`. With landmarks S drawn by leverage,
:math:`\tilde K = K_{:S} K_{SS}^{-1} K_{S:}` is at most K and within the ridge of it (Musco & Musco 2017), so that
:math:`\tilde K + \lambda I` bounds the condition number of the preconditioned system by a constant.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from sparing import checks
from sparing.geometry.leverage import LANDMARKS, draw_by_leverage, gram_of, most_landmarks
from sparing.linalg.gram import Gram, is_symmetric, whitened
from sparing.linalg.inverses import RidgeInverse, ShiftedInverse
from sparing.linalg.rows import Rows
from sparing.linalg.threads import one_blas_thread
from sparing.solvers.certificates import TERMS, certify_kernel
from sparing.solvers.conjugate import Descent, columnwise, conjugate_gradients
from sparing.solvers.least_squares import MARGIN, REFINEMENTS, LeastSquares, Preconditioner
from sparing.solvers.ridge import METHODS, checked_sketch_ridge
from sparing.types import Solution

SMALL = 2500  # examples up to which a Cholesky factor costs no more than a sketch
ONE_THREAD = range(300, 1200)  # numbers of examples for which one BLAS thread factors as fast as several
DEVIATION, MOST_PROBES = 0.03, 16  # target accuracy of the effective dimension, and maximum number of probes

Kernel = Callable[[np.ndarray | slice, np.ndarray | slice], np.ndarray]


class KernelGram(Gram):
    """A kernel matrix that is never stored: ``kernel(rows, columns)`` computes blocks on demand."""

    stored = False

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
    r"""Sampled examples, and factors B with :math:`B^T B = K_{:S} K_{SS}^{-1} K_{S:}`, one column per example."""

    indices: np.ndarray
    factors: np.ndarray
    triangle: np.ndarray


def draw_landmarks(gram: Gram, ridge: float, rng, *, oversampling: float, most: int | None = None) -> Landmarks:
    """Sample examples by leverage; a small jitter is added to the diagonal of a singular K_SS."""
    sample = draw_by_leverage(gram, ridge, rng, oversampling=oversampling, most=most)
    columns = gram.columns(sample.indices)
    triangle = ShiftedInverse(columns[sample.indices], 0.0).triangle
    return Landmarks(sample.indices, whitened(columns, triangle).T, triangle)


def solve_kernel_ridge(
    gram: Gram | np.ndarray,
    y,
    ridge,
    *,
    method: str = "auto",
    sketch_ridge: float | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
    random_state=None,
) -> Solution:
    r"""Solve :math:`(K + \lambda I) \alpha = y`, the dual of ridge regression on features with inner products K.

    Parameters
    ----------
    gram : array of shape (n, n), or Gram
        K, stored or computed.
    y : array of shape (n,) or (n, n_targets)
    ridge : float
        :math:`\lambda > 0`.
    method : {"auto", "sketch", "cholesky", "cg"}
        "sketch" is conjugate gradients preconditioned by landmarks, "cg" is conjugate gradients alone. "auto" uses a
        Cholesky factor up to 2,500 examples and the sketch beyond.
    sketch_ridge : float, optional
        A larger ridge for the landmarks of "sketch", which are then fewer; the number of steps grows by up to
        :math:`\sqrt{\lambda'/\lambda}` (Corollary 4 has :math:`\lambda'/\lambda`).
    tol : float
        Relative tolerance on the excess of :math:`\tfrac12 \alpha^T (K + \lambda I) \alpha - y^T \alpha` over its
        minimum. A solution with ``converged`` is within it, rounding errors included.
    max_iter : int
        Maximum number of steps, each a product with K.
    random_state : int, RandomState or None
        For the landmarks.

    Examples
    --------
    >>> solution = solve_kernel_ridge(np.diag([1.0, 3.0]), [2.0, 4.0], ridge=1.0)
    >>> solution.coef, solution.converged
    (array([1., 1.]), True)
    """
    gram, ridge = gram_of(gram), checks.positive("ridge", ridge)
    tol, max_iter = checks.positive("tol", tol), checks.whole("max_iter", max_iter)
    n = gram.shape[0]
    sketch_ridge = checked_sketch_ridge(sketch_ridge, ridge, checks.one_of("method", method, METHODS))
    if method == "auto":
        method = "cholesky" if n <= SMALL else "sketch"
    targets = checks.targets(y, n)
    if method == "cholesky":
        solution = _descend(gram, targets, ridge, _whole(gram, targets, ridge), np.empty((n, 0)), tol, max_iter)
    else:
        rng = np.random.default_rng(checks.seed(random_state))
        made = precondition_kernel(gram, ridge, method, rng, sketch_ridge=sketch_ridge)
        solution = _descend(gram, targets, ridge, made, _probes(gram, ridge, made, rng), tol, max_iter)
    return replace(solution, coef=solution.coef[:, 0]) if np.ndim(y) == 1 else solution


def allowed_kernel(targets: np.ndarray, tol: float, W: np.ndarray) -> np.ndarray:
    """tol times twice the modulus of the dual objective, by target."""
    return np.maximum(tol * np.abs(columnwise(W, targets)), np.finfo(float).tiny)


def _descend(
    gram: Gram, targets: np.ndarray, ridge: float, made: Preconditioner, probes: np.ndarray, tol: float, max_iter: int
) -> Solution:
    """Conjugate gradients for the targets and for the probes of the effective dimension."""
    wanted, dimension = slice(targets.shape[1]), made.effective_dimension

    def allowed(W: np.ndarray) -> np.ndarray:
        return allowed_kernel(targets, tol, W[:, wanted])

    if made.first is not None:
        W, steps, energy, scale = made.first, 1, made.rounding, allowed(made.first)
        settled = bool(np.all(energy <= scale))
    else:
        near = np.full(probes.shape[1], DEVIATION * (dimension or 0.0) / ridge)
        descent = _conjugate(
            gram, np.hstack([targets, probes]), ridge, made, lambda W: np.append(allowed(W), near), max_iter
        )
        if probes.size:
            missing = made.inverse(probes) - descent.point[:, targets.shape[1] :]
            dimension = (dimension or 0.0) + ridge * float(np.sum(probes * missing)) / probes.shape[1]
        W, steps, energy = descent.point[:, wanted], descent.iterations, descent.energy[wanted]
        scale = allowed(W)
        settled = not np.all(energy <= scale) or _is_accurate(gram, ridge, W, energy, scale, steps)
    excess = float(np.max(tol * energy / scale))
    if not settled:
        W, steps, excess = _confirmed(gram, targets, ridge, made, W, steps, tol, max_iter)
    return Solution(W, steps, excess, excess <= tol, made.size, dimension)


def _conjugate(gram: Gram, right, ridge: float, made: Preconditioner, allowed, max_iter: int) -> Descent:
    return conjugate_gradients(
        lambda V: gram @ V + ridge * V,
        right,
        made.inverse,
        enough=lambda energy, W: made.slack * energy <= allowed(W),
        max_iter=max_iter,
    )


def _is_accurate(gram: Gram, ridge: float, W, energy, scale, steps: int) -> bool:
    """Whether rounding errors are negligible, by a rough bound from the trace of K."""
    unit = (TERMS + steps) * float(np.finfo(float).eps)
    trace = float(gram.squared_norms().sum())
    noise = unit * (trace + ridge) * np.linalg.norm(W, axis=0) / np.sqrt(ridge)
    return bool(unit * trace <= 0.01 * ridge and np.all((np.sqrt(energy) + noise) ** 2 <= scale))


def _confirmed(gram: Gram, targets, ridge: float, made: Preconditioner, W, steps: int, tol: float, most: int):
    """Iterative refinement with the true residual: the solution, the number of steps and the certified excess."""
    inverse = made.inverse if isinstance(made.inverse, RidgeInverse | ShiftedInverse) else None
    best, excess = W, np.inf
    with np.errstate(all="ignore"):  # infinities have no certificate
        for _ in range(REFINEMENTS + 1):
            found = certify_kernel(gram, targets, ridge, W, inverse, made.slack)
            if not found.excess < 0.5 * excess:
                break
            best, excess = W, found.excess
            if excess <= tol or steps >= most:
                break
            goal = MARGIN * tol * np.maximum(found.least, np.finfo(float).tiny)
            more = _conjugate(gram, found.residual, ridge, made, lambda _, goal=goal: goal, most - steps)
            W, steps = W + more.point, steps + more.iterations
    return best, steps, excess


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


def precondition_kernel(gram: Gram, ridge: float, method: str, rng, *, sketch_ridge: float = 0.0) -> Preconditioner:
    """A preconditioner for the system, with landmarks for the larger of both ridges."""
    some = np.unique(np.random.default_rng(0).integers(gram.shape[0], size=64))
    among = gram.columns(some)[some]
    _refuse_asymmetric(among)
    if method == "cg":
        return Preconditioner(lambda V: V / ridge)
    most = most_landmarks(gram.shape[0])
    made = draw_landmarks(gram, max(ridge, sketch_ridge), rng, oversampling=LANDMARKS, most=most)
    inverse = RidgeInverse(Rows(made.factors), ridge)
    return Preconditioner(inverse, len(made.indices), inverse.within.effective_dimension)


def _probes(gram: Gram, ridge: float, made: Preconditioner, rng) -> np.ndarray:
    r"""Random signs z, solved for along with the targets, that estimate the effective dimension outside the landmarks.

    With :math:`P = \tilde K + \lambda I` that part is :math:`\lambda\, \mathrm{tr}(P^{-1} - (K + \lambda I)^{-1})`, the
    mean of :math:`\lambda z^T (P^{-1} z - (K + \lambda I)^{-1} z)`. It is at most the trace of
    :math:`(K - \tilde K)/\lambda`, and its variance at most twice its value, which determines the number of probes.
    """
    if not isinstance(made.inverse, RidgeInverse) or not made.effective_dimension:
        return np.empty((gram.shape[0], 0))
    missed = max(0.0, gram.squared_norms().sum() - np.square(made.inverse.rows.X).sum()) / ridge
    wanted = ceil(2 * missed / (DEVIATION * made.effective_dimension) ** 2)
    return rng.choice((-1.0, 1.0), (gram.shape[0], min(wanted, MOST_PROBES)))


def _whole(gram: Gram, targets: np.ndarray, ridge: float) -> Preconditioner:
    """The Cholesky solution; for a singular K the ridge is raised to the level of rounding errors."""
    products = gram.products()
    _refuse_asymmetric(products)
    with one_blas_thread(len(products) in ONE_THREAD):
        inverse = ShiftedInverse(products, ridge)
        first, dimension = inverse(targets), inverse.effective_dimension
    rounding = inverse.rounding(products, columnwise(targets, first))
    slack = inverse.ridge / ridge
    return Preconditioner(inverse, effective_dimension=dimension, slack=slack, first=first, rounding=rounding)


def _refuse_asymmetric(K: np.ndarray) -> None:
    if not is_symmetric(K):
        raise ValueError("the kernel matrix is not symmetric; pass a kernel with k(x, z) = k(z, x).")
