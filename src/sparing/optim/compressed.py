"""CompAdaGrad: full-matrix AdaGrad inside a random subspace, diagonal AdaGrad in the rest."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sparing import checks
from sparing.kernels import compressed as kernels
from sparing.kernels.adagrad import diagonal_step
from sparing.optim import root as roots
from sparing.optim.l1_step import solve_lasso
from sparing.optim.root import Root
from sparing.optim.vectors import Optimizer, Strengths, flat, like, pair, strengths
from sparing.sketches import AT_ONCE, SRHT, power_of_two, srht, stretch_width

NONE, NO_ROWS = np.empty(0), np.empty((0, 0))
SHORT = 64  # rows up to which a compiled Cholesky factor is no slower than LAPACK's with its call
NOT_POSITIVE = (
    "the system of the complement is not positive definite: gradients are too large to be squared, or delta_c is too "
    "small."
)


class CompressedState(NamedTuple):
    r"""What CompAdaGrad has learnt.

    Vectors are padded with zeros to length n', a power of two; ``sketch`` :math:`\Pi` (k by n') has orthonormal rows.
    ``root`` holds :math:`\Pi G_t \Pi^T`, ``squares`` the diagonal of :math:`P^\perp G_t P^\perp` (None in RadaGrad),
    and ``hidden`` the n' - n additional parameters, which have no gradient but change with each step.
    """

    sketch: SRHT
    root: Root
    squares: np.ndarray | None
    hidden: np.ndarray


def comp_adagrad(
    step_size: float = 1.0,
    *,
    k: int,
    tau: float = 1.0,
    delta: float = 1e-4,
    delta_r: float | None = None,
    delta_c: float | None = None,
    scaled: bool = False,
    l2: float = 0.0,
    l1: float = 0.0,
    refresh: int = 16,
    random_state=None,
) -> Optimizer:
    r"""CompAdaGrad (Mehta, Rendell, Varghese & Webers 2016).

    .. math:: A_t = \Pi^T K_t \Pi + \tau P^\perp D_t P^\perp, \quad K_t = (\Pi G_t \Pi^T + \delta_r I)^{1/2}, \quad
              D_t = \mathrm{diag}(P^\perp G_t P^\perp)^{1/2} + \delta_c I,

    with :math:`G_t = \sum_{s \le t} g_s g_s^T`, the orthonormal sketch :math:`\Pi = R H \Sigma` of
    :func:`sparing.sketches.srht` and :math:`P^\perp = I - \Pi^T \Pi`: equation (5) with the unscaled sketch of Theorem
    3. ``scaled=True`` is equation (5) as it is printed, with :math:`\sqrt{n/k}\,\Pi` in place of :math:`\Pi`.

    A step with :math:`h = \eta (g + \lambda x_t)`, :math:`B = (\tau D_t + \eta\lambda)^{-1}` is

    .. math:: x_{t+1} = x_t - \Pi^T (K_t + \eta\lambda I)^{-1} \Pi h - B (h - \Pi^T \nu), \quad
              \Pi B \Pi^T \nu = \Pi B h

    (Lemmas 5 and 6, written for the increment). It costs :math:`O(n \log n + k^3/3)`, since :math:`\Pi B \Pi^T` takes
    one transform (:meth:`sparing.sketches.SRHT.gram`); no n by k matrix is formed. With ``l1`` the step is a lasso,
    solved on the coordinates that matter.

    Parameters
    ----------
    step_size : float, default=1.0
        :math:`\eta`.
    k : int
        Dimension of the sketch, 0 to n. With 0 this is :func:`adagrad` (times tau), with n :func:`full_adagrad`.
    tau : float, default=1.0
        Divides the steps of the complement. Very large values freeze it, as :func:`rada_grad` does.
    delta : float, default=1e-4
        The default of :math:`\delta_r`, inside the root, and of :math:`\delta_c`, outside it.
    delta_r, delta_c : float, optional
        Values for either of the two.
    scaled : bool, default=False
        Use the sketch scaled by :math:`\sqrt{n/k}`, with n the padded number of parameters, as printed. That is the
        unscaled method with :math:`\eta` and :math:`\tau` times :math:`(k/n)^{3/2}` and :math:`\delta_r` times k/n;
        with :math:`\tau` near 1 it hardly learns from the sketch.
    l2, l1 : float, default=0.0
        Strengths of the composite terms :math:`\frac{\lambda}{2} \|x\|_2^2` and :math:`\lambda_1 \|x\|_1`.
    refresh : int, default=16
        Rounds between two eigendecompositions of the k by k matrix. In between, new gradients enter as a correction of
        low rank that is as accurate: ``refresh`` changes the time, not the result. With l1, and while gradients have
        new directions, there is one in every round; for k up to 32 none is needed.
    random_state : int, RandomState or None
        Draws the sketch, in ``init``.

    Examples
    --------
    >>> import numpy as np
    >>> init, update = comp_adagrad(1.0, k=4, random_state=0)
    >>> x = np.ones(10)
    >>> state = init(x)
    >>> state.sketch.shape
    (4, 16)
    >>> for _ in range(100):
    ...     x, state = update(x, state, x)
    >>> bool(abs(x).max() < 1e-3)
    True
    """
    options = strengths(step_size, delta, l2, l1, tau, delta_r=delta_r, delta_c=delta_c)
    k, refresh = checks.whole("k", k, at_least=0), 1 if l1 else checks.whole("refresh", refresh)
    scaled = checks.boolean("scaled", scaled)

    def init(params) -> CompressedState:
        return begin(k, flat("params", params).size, random_state, complement=True)

    def update(gradient, state: CompressedState, params) -> tuple[np.ndarray, CompressedState]:
        return _round(gradient, state, params, unscaled(options, state.sketch) if scaled else options, refresh)

    return init, update


def rada_grad(
    step_size: float = 1.0, *, k: int, delta: float = 1e-4, l2: float = 0.0, refresh: int = 16, random_state=None
) -> Optimizer:
    r"""RadaGrad (Krummenacher & McWilliams 2014): the sketched part of :func:`comp_adagrad` alone.

    Full-matrix AdaGrad on :math:`\Pi x`; the complement of the subspace never changes. It is the limit
    :math:`\tau \to \infty`. (With :math:`\tau = 0` the step would be unbounded.) Parameters are those of
    :func:`comp_adagrad`.

    Examples
    --------
    >>> import numpy as np
    >>> init, update = rada_grad(1.0, k=2, random_state=0)
    >>> x = np.zeros(8)
    >>> state = init(x)
    >>> x, state = update(np.arange(8.0), state, x)
    >>> bool(np.allclose(state.sketch.T @ (state.sketch @ x), x))
    True
    """
    options = strengths(step_size, delta, l2, 0.0)
    k, refresh = checks.whole("k", k), checks.whole("refresh", refresh)

    def init(params) -> CompressedState:
        return begin(k, flat("params", params).size, random_state, complement=False)

    def update(gradient, state: CompressedState, params) -> tuple[np.ndarray, CompressedState]:
        return _round(gradient, state, params, options, refresh)

    return init, update


def unscaled(options: Strengths, sketch: SRHT) -> Strengths:
    r"""The options with which the orthonormal sketch makes the steps of the sketch scaled by :math:`\sqrt{n/k}`.

    :math:`\Pi^T(\Pi G\Pi^T + \delta_r I)^{1/2}\Pi` grows by :math:`(n/k)^{3/2}` with :math:`\Pi`, if
    :math:`\delta_r` is divided by n/k; dividing the objective of the step by that changes the rest.
    """
    k, n = sketch.shape
    part = k / n if k else 1.0  # no scaling without a sketch
    eta, tau = options.step_size * part**1.5, options.tau * part**1.5
    return options._replace(step_size=eta, tau=tau, delta_r=options.delta_r * part)


def begin(k: int, n: int, random_state, *, complement: bool) -> CompressedState:
    """Draw the sketch. For k = n it takes all rows of the padded transform, and no complement is left."""
    if k > n:
        raise ValueError(f"k is {k}, but there are only {n} parameters; pass a k between 0 and {n}.")
    padded = power_of_two(n) if k else n
    rows = padded if k == n else k
    squares = np.zeros(padded) if complement and rows < padded else None
    return CompressedState(srht(rows, padded, random_state), roots.no_moments(rows), squares, np.zeros(padded - n))


def _round(gradient, state: CompressedState, params, options: Strengths, refresh: int):
    g, x = pair(gradient, params, state.sketch.shape[1] - state.hidden.size)
    new_x, state = advance(x, g, state, options, refresh)
    return like(new_x, params), state


def advance(x, g, state: CompressedState, options: Strengths, refresh: int) -> tuple[np.ndarray, CompressedState]:
    """One round on vectors of float64: learn from the gradient and step, both on padded vectors."""
    if state.sketch.shape[0] == 0:
        return _diagonal_round(x, g, state, options)
    if not state.hidden.size:
        return _step(x, g, state, options, refresh)
    n = x.size
    x, g = np.concatenate([x, state.hidden]), np.concatenate([g, np.zeros(state.hidden.size)])
    new_x, state = _step(x, g, state, options, refresh)
    return new_x[:n], state._replace(hidden=new_x[n:])


def _diagonal_round(x, g, state: CompressedState, options: Strengths):
    """One round with k = 0, where everything is complement."""
    new_x, squares = np.empty_like(x), np.empty_like(x)
    eta, _, delta, l2, l1, tau = options
    diagonal_step(x, g, state.squares, eta, tau, delta, l1, l2, new_x, squares)
    return new_x, state._replace(squares=squares)


def _step(x, g, state: CompressedState, options: Strengths, refresh: int) -> tuple[np.ndarray, CompressedState]:
    """The step by Lemmas 5 and 6: one in each subspace, with a multiplier that keeps the second in the complement."""
    eta, delta_r, delta_c, l2, l1, tau = options
    k, n = state.sketch.shape
    if k <= SHORT and not l1:
        return _short_step(x, g, state, options, refresh)
    rows, signs, shift = state.sketch.rows, state.sketch.signs, eta * l2
    width, work, few = stretch_width(n, k), np.empty(n), np.empty(AT_ONCE)
    old, rest, system = (NONE, 0, 0) if state.squares is None else (state.squares, n, k)
    sketched, pull, force = np.empty(k), np.empty(k), np.empty(n)
    squares, weights, gram, right = np.empty(rest), np.empty(rest), np.empty((system, system)), np.empty(system)
    out = force, squares, weights, gram, right
    kernels.prepare(x, g, signs, rows, width, old, eta, tau, delta_c, shift, sketched, pull, out, work, few)
    root = roots.add(state.root, sketched, delta=delta_r, refresh=refresh)
    state = CompressedState(state.sketch, root, squares if rest else None, state.hidden)
    if l1:
        return _lasso_step(x, g, state, options), state
    new_x, inside = x.copy(), roots.solve(root, pull, delta=delta_r, shift=shift)
    multiplier = _solve_positive(gram, right) if rest else NONE
    kernels.move(new_x, weights, force, signs, rows, width, inside, multiplier, work, few)
    return new_x, state


def _short_step(x, g, state: CompressedState, options: Strengths, refresh: int):
    """The same in two calls of kernels."""
    eta, delta_r, delta_c, l2, _, tau = options
    (sketch, root, squares, hidden), shift = state, eta * l2
    (k, n), rows, signs = sketch.shape, sketch.rows, sketch.signs
    width = stretch_width(n, k)
    few = np.empty(AT_ONCE) if width else NONE
    old, new_squares, gram = (NONE, NONE, NO_ROWS) if squares is None else (squares, np.empty(n), np.empty((k, k)))
    out, vectors = (new_squares, gram, np.empty((8, k))), np.empty((3, n))
    root = roots.ready(root)
    new = roots.room(root)
    largest = kernels.learn(x, g, signs, rows, width, old, eta, tau, delta_c, shift, root, new, out, vectors, few)
    root = roots.grown(root, new, delta=delta_r, refresh=refresh)
    nodes, scratch, new_x = roots.enclosing(largest, delta_r, shift), roots.scratch(root), x.copy()
    if not kernels.solve(new_x, signs, rows, width, root, nodes, delta_r, shift, out, vectors, few, scratch):
        raise np.linalg.LinAlgError(NOT_POSITIVE)
    return new_x, CompressedState(sketch, root, None if squares is None else new_squares, hidden)


def _solve_positive(gram, right) -> np.ndarray:
    """Solve a positive definite system and overwrite its matrix; the transpose of a symmetric matrix needs no copy."""
    _, solution, failed = lapack.dposv(gram.T, right, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(NOT_POSITIVE)
    return solution


def _lasso_step(x, g, state: CompressedState, options: Strengths) -> np.ndarray:
    r"""The step with an L1 term (section 4.2): a lasso with Gram matrix A and target :math:`A x_t - \eta g`.

    With :math:`Q = K + \Pi D \Pi^T` and the columns :math:`c_i` of :math:`\Pi`,
    :math:`A_{ij} = c_i^T Q c_j - (d_i + d_j) c_i^T c_j + d_i 1_{i = j}`, equations (17) and (18).
    """
    sketch, eta, shift = state.sketch, options.step_size, options.step_size * options.l2
    K = roots.dense(state.root, delta=options.delta_r)
    d = np.zeros_like(x) if state.squares is None else options.tau * (np.sqrt(state.squares) + options.delta_c)
    Q = K + sketch.gram(d)

    def product(v):
        inside = sketch.matvec(v)
        outside = d * (v - sketch.rmatvec(inside))
        return outside + sketch.rmatvec(K @ inside - sketch.matvec(outside)) + shift * v

    def gram(working):
        c, d_working = sketch.columns(working), d[working]
        A = c.T @ Q @ c - (d_working[:, None] + d_working) * (c.T @ c)
        A[np.diag_indices_from(A)] += d_working + shift
        return A

    return solve_lasso(gram, product, product(x) - shift * x - eta * g, eta * options.l1, x)
