r"""The larger ridge :math:`\lambda'` at which proximal steps solve a ridge problem in the least time.

A sketch at :math:`\lambda'` is smaller than one at :math:`\lambda`, but is followed by :math:`\lambda'/\lambda` times
as many steps: the work is :math:`(\lambda'/\lambda) (\mathrm{nnz}(A) + d\, d_{\lambda'}^2)` up to constants and
logarithms (Agarwal & Gonen, Corollary 2). The constants here are those of :func:`sparing.solvers.proximal_point`, in
multiplications of a matrix product; ``benchmarks/larger_ridge.py`` compares the choice with the fastest ridge.
"""

from dataclasses import dataclass
from math import log2

import numpy as np
from scipy.linalg import eigh_tridiagonal

from sparing import checks
from sparing.geometry.effective_dimension import at_most
from sparing.geometry.leverage import (
    FIRST_SIZE,
    GROWTH,
    LANDMARKS,
    PRECONDITIONER,
    approximate_scores,
    draw_by_leverage,
    most_landmarks,
    rows_of,
    sketch_size,
)
from sparing.linalg.gram import Gram
from sparing.linalg.rows import Rows

STEPS, POWER = 14, 0.9  # conjugate gradient steps at the ridge itself; they grow with this power of the ratio
PASS = {"dense": 20, "sparse": 90, "gram": 8, "computed": 250}  # cost of a step per value of the matrix that it reads
SCORES = {"dense": 100, "sparse": 2000, "gram": 0, "computed": 0}  # cost per value of one round of leverage scores
READ = 15  # cost per value of a sketch that a step reads
SOLVE = 30  # cost per value of a triangular factor that a step reads
PROBES = 64  # columns that a round of leverage scores solves for, and their cost relative to a product
CLOSE = 1.25  # costs within this factor count as equal: they are estimates, and the smaller ridge has fewer steps
LANCZOS, SETTLED = 32, 0.05  # maximum number of Lanczos passes, and the change in 4 passes at which they stop
SEARCH = 0.15  # fraction of the cost of the solution that these passes may take
SLACK = 4.0  # all ridges within this factor of the first cost compete, as Theorem 9 holds up to a constant only


@dataclass(frozen=True)
class Work:
    """The cost of proximal steps as a function of the ratio of the ridges and the dimension at the larger ridge."""

    kind: str  # "dense", "sparse", "gram", or "computed" for a kernel matrix that is not stored
    shape: tuple[int, int]
    n_values: int

    @classmethod
    def of(cls, rows: Rows | Gram) -> "Work":
        if isinstance(rows, Gram):
            return cls("gram" if rows.stored else "computed", rows.shape, rows.shape[0] ** 2)
        return cls("sparse" if rows.is_sparse else "dense", rows.shape, rows.n_values)

    @property
    def is_kernel(self) -> bool:
        return self.kind in ("gram", "computed")

    def __call__(self, ratio: float, dimension: float) -> float:
        n, d = self.shape
        if self.is_kernel:
            wanted = min(sketch_size(dimension, LANDMARKS), most_landmarks(n))
        else:
            wanted = sketch_size(dimension, PRECONDITIONER)
        rows = min(max(wanted, 1.0), n)
        cost, size = self._factor(rows), FIRST_SIZE
        while size < n:
            cost += SCORES[self.kind] * self.n_values + self._factor(size) + 2 * PROBES * min(size, d) ** 2
            size *= GROWTH
            if rows <= size:
                break
        smaller = min(rows, d)
        sketch = READ * 2 * rows * self.n_values / n if rows < d else 0.0
        return cost + STEPS * ratio**POWER * (PASS[self.kind] * self.n_values + sketch + SOLVE * smaller**2)

    def _factor(self, rows: float) -> float:
        """The cost of the Gram matrix of a sketch on its smaller side, and of its Cholesky factor."""
        n, d = self.shape
        smaller = min(rows, d)
        products = smaller * rows * (2 * n if self.is_kernel else self.n_values / n)
        return products + smaller**3 / 3


def best_ridge(A, ridge, random_state=None, *, method: str = "estimated", gram: bool = False) -> float:
    r"""The larger ridge :math:`\lambda'` that minimises the cost of proximal steps (Agarwal & Gonen, Theorem 8).

    The cost is :math:`(\lambda'/\lambda) (\mathrm{nnz}(A) + d\, d_{\lambda'}^2)`, the whole of Corollary 2 with the
    constants of :func:`sparing.solvers.proximal_point`, over doublings of :math:`\lambda`; for a kernel matrix it is
    :math:`(\lambda'/\lambda) (n^2 + n\, d_{\lambda'}^2)` (Corollary 4). A larger ridge pays only where a pass over the
    data is cheap compared with the sketch, and :math:`d_{\lambda'}` falls faster than :math:`\lambda'^{-1/2}`: on
    sparse data above all, not with eigenvalues that fall exponentially, or as :math:`i^{-p}` with p > 2.

    Parameters
    ----------
    A : array, CSR matrix or LinearOperator of shape (n, d)
        The matrix itself: for examples x with a ridge on their average loss, pass :math:`x_i/\sqrt n`.
    ridge : float
        :math:`\lambda > 0`.
    random_state : int, RandomState or None
    method : {"estimated", "tested"}
        "estimated" returns :math:`\lambda` at once where nothing could be saved even if :math:`d_{\lambda'}` were zero,
        and otherwise estimates all :math:`d_{\lambda'}` from 8 to 32 passes over A (Lanczos quadrature). "tested" is
        the algorithm of Theorem 8: it guesses the least cost and multiplies the guess by 4 until some :math:`\lambda'`
        attains it by the test of Theorem 9 (:func:`effective_dimension_at_most`), so that no test costs more than the
        solution. It takes longer, and holds with high probability whatever the spectrum.
    gram : bool
        Whether A is a kernel matrix :math:`A A^T` rather than the matrix of rows.

    Examples
    --------
    >>> best_ridge(np.diag(0.5 ** np.arange(30.0)), 1e-3, random_state=0)
    0.001
    """
    ridge = checks.positive("ridge", ridge)
    checks.one_of("method", method, ("estimated", "tested"))
    rng = np.random.default_rng(checks.seed(random_state))
    rows = rows_of(A, gram)
    work = Work.of(rows)
    highest = min(float(np.sum(np.minimum(1.0, rows.squared_norms() / ridge))), *rows.shape)
    most = work(1.0, highest)  # what the ridge itself costs at most
    ratios = [1.0]
    while CLOSE * work(2 * ratios[-1], 0.0) < most:
        ratios.append(2 * ratios[-1])
    if len(ratios) == 1:
        return ridge
    if method == "tested":
        return _tested(rows, ridge, work, ratios, rng)
    affordable = int(SEARCH * most / (PASS[work.kind] * work.n_values))
    dimensions = lanczos_dimensions(rows, [ridge * ratio for ratio in ratios], rng, min(max(affordable, 8), LANCZOS))
    return ridge * _cheapest(work, ratios, dimensions)


def _cheapest(work: Work, ratios: list[float], dimensions) -> float:
    """The smallest ratio whose cost is close to the least."""
    costs = [work(ratio, dimension) for ratio, dimension in zip(ratios, dimensions, strict=True)]
    return next(ratio for ratio, cost in zip(ratios, costs, strict=True) if cost <= CLOSE * min(costs))


def lanczos_dimensions(rows: Rows | Gram, ridges, rng, most: int = LANCZOS) -> np.ndarray:
    r"""Estimates of :math:`d_\lambda` at several ridges from a few passes over A, by stochastic Lanczos quadrature.

    For a random vector z of D signs, :math:`d_\lambda = E\, z^T M (M + \lambda I)^{-1} z` with M the smaller of
    :math:`A^T A` and :math:`A A^T`. A few Lanczos steps from z yield nodes :math:`\theta_j` and weights
    :math:`\omega_j` with :math:`z^T f(M) z \approx D \sum_j \omega_j f(\theta_j)` for all f at once (Golub & Meurant
    2010). The sum falls with every step towards its limit, whose relative standard deviation over z is at most
    :math:`\sqrt{2/d_\lambda}`; steps end when it hardly falls at the smallest ridge.

    >>> A = np.random.default_rng(0).standard_normal((3000, 300)) / np.arange(1, 301)
    >>> lanczos_dimensions(Rows(A), [1.0, 10.0], np.random.default_rng(0)).round(0)
    array([74., 25.])
    """
    size = min(rows.shape)
    if isinstance(rows, Gram):
        apply = rows.__matmul__
    elif rows.shape[0] < rows.shape[1]:
        apply = lambda V: rows @ rows.transposed(V)  # noqa: E731
    else:
        apply = rows.normal
    precision = rows.dtype if isinstance(rows, Rows) else np.float64  # products of mixed types copy the matrix
    previous: np.ndarray = np.zeros((size, 1), dtype=precision)
    vector = (rng.choice((-1.0, 1.0), (size, 1)) / np.sqrt(size)).astype(precision)
    basis, diagonal, beside = [vector], [], [0.0]
    last, found = 2.0 * size, np.zeros(0)  # more than any dimension
    for step in range(1, min(most, size) + 1):
        image = apply(vector) - beside[-1] * previous
        diagonal.append(float(np.sum(image * vector)))
        image -= diagonal[-1] * vector
        for one in basis:  # few vectors: keeping them orthogonal costs less than a pass
            image -= np.sum(one * image) * one
        beside.append(float(np.linalg.norm(image)))
        done = step == min(most, size) or beside[-1] <= 1e-12 * abs(diagonal[0])
        if done or step % 4 == 0:
            found = size * _quadrature(diagonal, beside[1:step], ridges)
            if done or found.max() >= (1 - SETTLED) * last:
                break
            last = found.max()
        previous, vector = vector, image / beside[-1]
        basis.append(vector)
    return found


def _quadrature(diagonal: list[float], beside: list[float], ridges) -> np.ndarray:
    """The mean of x / (x + ridge) over the nodes of a tridiagonal matrix."""
    nodes, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside))
    nodes = np.maximum(nodes, 0.0)
    return np.array([float(vectors[0] ** 2 @ (nodes / (nodes + ridge))) for ridge in ridges])


def _tested(rows: Rows | Gram, ridge: float, work: Work, ratios: list[float], rng) -> float:
    """The ridge found by the search of Theorem 8 over these ratios."""
    guess = work(1.0, 1.0)
    while not _attaining(rows, ridge, work, ratios, guess, rng):
        guess *= 4.0
    found = _attaining(rows, ridge, work, ratios, SLACK * guess, rng) or [1.0]
    return ridge * _cheapest(work, found, [_estimate(rows, ratio * ridge, rng) for ratio in found])


def _attaining(rows: Rows | Gram, ridge: float, work: Work, ratios: list[float], guess: float, rng) -> list[float]:
    """The ratios whose cost is at most about this guess."""
    dimensions = np.geomspace(1.0, min(rows.shape), 2 + int(4 * log2(min(rows.shape))))
    limits = [max((m for m in dimensions if work(ratio, m) <= guess), default=0.0) for ratio in ratios]
    return [ratio for ratio, m in zip(ratios, limits, strict=True) if m and at_most(rows, ratio * ridge, m, rng)]


def _estimate(rows: Rows | Gram, ridge: float, rng) -> float:
    """A sketched estimate of the effective dimension."""
    sample = draw_by_leverage(rows, ridge, rng)
    return float(approximate_scores(rows, sample, ridge, rng).sum())
