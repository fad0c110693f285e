r"""Upper bounds on the excess of ridge objectives that account for rounding errors.

An iterative solver updates its residual by a recurrence and measures the error through a preconditioner. Rounding
errors affect both, and on badly scaled data they can make a point far from the minimum look converged. Here residuals
are recomputed, in higher precision where that is cheap, and bounds on their rounding errors are added.

Energies are squared norms in the inverse Hessian: the energy of a gradient is twice the excess of the objective.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from sparing.linalg.gram import Gram
from sparing.linalg.inverses import OrthogonalInverse, RidgeInverse, ShiftedInverse
from sparing.linalg.rows import Rows
from sparing.solvers.conjugate import columnwise

EXTENDED = 2**20  # values of a float64 matrix up to which residuals are computed in extended precision
CORRECTIONS = 2  # refinements of the vector that bounds the energy of a gradient
TERMS = 4.0  # rounding units in a sum of few terms; a sum of n terms has sqrt(n) more

# P V, the squared norms of V in P, and bounds of the norms of rounding errors in P V, by column
Form = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class Certificate(NamedTuple):
    """For each target: an upper bound on the energy of the error, a lower bound on twice the least objective, and the
    residual for a refinement."""

    energy: np.ndarray
    least: np.ndarray
    residual: np.ndarray

    @property
    def excess(self) -> float:
        """The largest relative excess over the targets; infinite if nothing is known."""
        with np.errstate(all="ignore"):
            ratios = np.where(self.energy == 0, 0.0, self.energy / np.maximum(self.least, 0.0))
        return float(np.max(np.where(np.isnan(ratios), np.inf, ratios)))


def certify(
    rows: Rows, targets, ridge: float, W, inverse: RidgeInverse | OrthogonalInverse | None, slack: float
) -> Certificate:
    r"""Bounds for the ridge objective at W from its gradient :math:`g = A^T r - \lambda W`, :math:`r = y - A W`.

    ``inverse`` is that of some P that is at most ``slack`` times the Hessian H; without one P is the ridge. An error
    e of r adds at most :math:`\|e\|` to the root of the energy, as :math:`H \succeq A^T A`, and one of g at most
    :math:`\|e\|/\sqrt\lambda`, as :math:`H \succeq \lambda I`.
    """
    W = W.astype(_precision(rows))
    return certify_sums(residual_sums(rows, targets, W), rows.shape[0], ridge, W, inverse, slack)


class ResidualSums(NamedTuple):
    """What a certificate needs to know of all residuals: sums over rows, so that parts of the rows can be added up."""

    gradient: np.ndarray  # A^T r
    magnitude: np.ndarray  # |A|^T |r|
    squares: np.ndarray  # of r, by column
    errors: np.ndarray  # squared bounds of the rounding errors of r, by column


def residual_sums(rows: Rows, targets, W) -> ResidualSums:
    """Of these rows, in the precision of W."""
    W, r, r_error = _residual(rows, targets, W)
    return ResidualSums(*_transposed(rows, r), columnwise(r, r), columnwise(r_error, r_error))


def certify_sums(sums: ResidualSums, n_rows: int, ridge: float, W, inverse, slack: float) -> Certificate:
    """:func:`certify` from sums over n rows."""
    gradient = sums.gradient - ridge * W
    g_error = _rounding(n_rows, W) * sums.magnitude + TERMS * _unit(W) * ridge * np.abs(W)
    root = np.sqrt(slack) * energy_root(inverse, gradient.astype(np.float64), ridge)
    root = root + np.sqrt(sums.errors) + _norms(g_error) / np.sqrt(ridge)
    return _certificate(root, np.sqrt(sums.squares), np.sqrt(sums.errors), ridge, W, gradient)


def certify_dual(rows: Rows, targets, ridge: float, W, dual: np.ndarray) -> Certificate:
    r"""Bounds for the ridge objective at W from multipliers :math:`\alpha` of the rows, with :math:`W = A^T \alpha`.

    For any W and :math:`\alpha` the root of the energy is at most
    :math:`\|y - A W - \lambda \alpha\| + \sqrt\lambda \|W - A^T \alpha\|`: no inverse is needed. The residual to
    correct is that of :math:`(A A^T + \lambda I) \alpha = y`.
    """
    W, r, r_error = _residual(rows, targets, W.astype(_precision(rows)))
    missing = r - ridge * dual
    combined, magnitude = _transposed(rows, dual.astype(W.dtype))
    w_error = _norms(_rounding(rows.shape[0], W) * magnitude + TERMS * _unit(W) * np.abs(W))
    r_error = r_error + TERMS * _unit(W) * (np.abs(r) + ridge * np.abs(dual))
    root = _norms(missing) + _norms(r_error) + np.sqrt(ridge) * (_norms(W - combined) + w_error)
    return _certificate(root, _norms(r), _norms(r_error), ridge, W, missing + rows @ (W - combined))


def _certificate(root, r_norm, r_error, ridge: float, W, residual) -> Certificate:
    energy = root.astype(np.float64) ** 2
    surely = np.maximum(r_norm - r_error, 0.0)
    least = (surely**2 + ridge * columnwise(W, W)).astype(np.float64) - energy
    return Certificate(energy, least, residual.astype(np.float64))


def _residual(rows: Rows, targets, W) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W and y - A W in its precision, and bounds of the rounding errors of the latter."""
    unit = (TERMS + np.sqrt(rows.shape[1])) * _unit(W)
    r, error = np.empty((len(targets), W.shape[1]), dtype=W.dtype), np.empty((len(targets), W.shape[1]))
    for place, part in rows.parts():
        r[place] = targets[place] - part @ W
        error[place] = unit * (part.magnitudes() @ np.abs(W) + np.abs(targets[place]))
    return W, r, error


def _transposed(rows: Rows, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A^T R, and the same of magnitudes, which times :func:`_rounding` bounds its rounding errors."""
    total, error = (np.zeros((rows.shape[1], R.shape[1]), dtype=R.dtype) for _ in range(2))
    for place, part in rows.parts():
        total += part.transposed(R[place])
        error += part.magnitudes().transposed(np.abs(R[place]))
    return total, error


def _rounding(n_rows: int, R: np.ndarray) -> float:
    return (TERMS + np.sqrt(n_rows)) * _unit(R)


def certify_kernel(gram: Gram, targets, ridge: float, W, inverse, slack: float) -> Certificate:
    r"""Bounds for the dual objective of kernel ridge at W, from the residual of :math:`(K + \lambda I) W = y`.

    ``least`` is twice the modulus of the least objective, :math:`y^T (K + \lambda I)^{-1} y`. Rounding errors are
    bounded through :math:`|K_{ij}| \le \sqrt{K_{ii} K_{jj}}`.
    """
    n = gram.shape[0]
    W = W.astype(np.longdouble if n * n <= EXTENDED else np.float64)
    scale = np.sqrt(np.maximum(gram.squared_norms(), 0.0))[:, None]
    unit = (TERMS + np.sqrt(n)) * _unit(W)
    residual = targets - (gram @ W + ridge * W)
    error = unit * (scale * np.sum(scale * np.abs(W), axis=0) + ridge * np.abs(W) + np.abs(targets))
    apply = _kernel_form(gram, scale, inverse.ridge) if isinstance(inverse, ShiftedInverse) else None
    root = np.sqrt(slack) * energy_root(inverse, residual.astype(np.float64), ridge, apply)
    root = (root + _norms(error) / np.sqrt(ridge)).astype(np.float64)
    size = columnwise(W, targets - residual) - np.sum(np.abs(W) * error, axis=0)
    least = np.square(np.maximum(np.sqrt(np.maximum(size, 0.0)).astype(np.float64) - root, 0.0))
    return Certificate(root**2, least, residual.astype(np.float64))


def energy_root(inverse, gradient: np.ndarray, ridge: float, apply: Form | None = None) -> np.ndarray:
    r"""An upper bound of :math:`\|g\|_{P^{-1}}`, whatever rounding errors did to the inverse of P.

    For every v it is at most :math:`\|v\|_P + \|g - P v\|/\sqrt\lambda`, and close to that for v near
    :math:`P^{-1} g`.
    """
    if inverse is None:
        return _norms(gradient) / np.sqrt(ridge)
    ridge, apply = inverse.ridge, apply or _rows_form(inverse.rows, inverse.ridge)
    best, left, V = _norms(gradient) / np.sqrt(ridge), gradient, np.zeros_like(gradient)
    for _ in range(CORRECTIONS + 1):
        V = V + inverse(left)
        image, squares, noise = apply(V)
        left = gradient - image
        outside = _norms(left) + noise + TERMS * _unit(V) * _norms(gradient)
        best = np.fmin(best, np.sqrt(squares) + outside / np.sqrt(ridge))
    return best


def _rows_form(rows: Rows, ridge: float) -> Form:
    """P = A^T A + ridge."""
    unit = (TERMS + np.sqrt(max(rows.shape))) * np.finfo(float).eps
    norm = rows.norm()

    def apply(V):
        image, squares = rows.normal_and_squares(V)
        noise = unit * (norm * np.sqrt(squares) + ridge * _norms(V))
        return image + ridge * V, squares + ridge * columnwise(V, V), noise

    return apply


def _kernel_form(gram: Gram, scale: np.ndarray, ridge: float) -> Form:
    """P = K + ridge."""
    unit = (TERMS + np.sqrt(len(scale))) * np.finfo(float).eps

    def apply(V):
        image, size = gram @ V + ridge * V, np.sum(scale * np.abs(V), axis=0)
        squares = np.maximum(columnwise(V, image), 0.0) + unit * (size**2 + ridge * columnwise(V, V))
        return image, squares, unit * (_norms(scale) * size + ridge * _norms(V))

    return apply


def _precision(rows: Rows):
    """More digits than the rows have, unless that takes too long."""
    if isinstance(rows.X, LinearOperator) or rows.dtype == np.float32 or rows.n_values > EXTENDED:
        return np.float64
    return np.longdouble


def _unit(array: np.ndarray) -> float:
    return float(np.finfo(array.dtype).eps)


def _norms(columns: np.ndarray) -> np.ndarray:
    return np.sqrt(columnwise(columns, columns))
