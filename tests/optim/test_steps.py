"""Every step against generic convex solvers, with the matrices written out from the definitions."""

import numpy as np
import pytest
from scipy import linalg, optimize

from sparing.optim import adagrad, comp_adagrad, full_adagrad, rada_grad


def psd_root(M):
    values, vectors = linalg.eigh(M)
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


def metric(gradients, sketch, *, tau, delta_r, delta_c):
    """A_t of equation (5), literally, from all gradients so far (one a row, padded); any sketch."""
    k, n = sketch.shape
    G = gradients.T @ gradients
    K = psd_root(sketch @ G @ sketch.T + delta_r * np.eye(k))
    P = sketch.T @ np.linalg.solve(sketch @ sketch.T, sketch)
    rest = np.eye(n) - P
    D = np.sqrt(np.maximum(np.diag(rest @ G @ rest), 0.0)) + delta_c
    return sketch.T @ K @ sketch + tau * rest @ np.diag(D) @ rest


def generic_step(A, x, g, *, eta, l2, l1):
    """argmin of eta <g, y> + eta l2/2 |y|^2 + eta l1 |y|_1 + |y - x|_A^2 / 2, by solvers of scipy that know none of it.

    Without L1 term: a trust-region Newton method on the objective as it stands. With it, the dual problem: the least
    |b - u|^2 in the inverse of A + eta l2 over all |u_i| <= eta l1, by an active-set method for bounded least squares.
    """
    whole, target = A + eta * l2 * np.eye(len(x)), A @ x - eta * g
    if l1:
        lower = linalg.cholesky(whole, lower=True)
        inverse = linalg.solve_triangular(lower, np.eye(len(x)), lower=True)
        bounds = (-eta * l1, eta * l1)
        dual = optimize.lsq_linear(inverse, inverse @ target, bounds, method="bvls", tol=1e-15, max_iter=10_000)
        return linalg.cho_solve((lower, True), target - dual.x)
    answer = optimize.minimize(
        lambda y: eta * g @ y + eta * l2 / 2 * y @ y + (y - x) @ A @ (y - x) / 2,
        np.zeros_like(x),
        jac=lambda y: eta * g + eta * l2 * y + A @ (y - x),
        hess=lambda y: whole,
        method="trust-exact",
        options={"gtol": 1e-11, "initial_trust_radius": 100.0, "max_trust_radius": 1e6, "maxiter": 10_000},
    )
    return answer.x


PENALTIES = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.05), (0.1, 0.3)]


@pytest.mark.parametrize(("l2", "l1"), PENALTIES)
@pytest.mark.parametrize(("n", "step"), [(1, 1), (3, 1), (8, 1), (11, 1), (16, 1), (32, 3)])
def test_comp_adagrad_solves_its_problem_for_every_k(n, step, l2, l1):
    """To 1e-8, over random states of a few rounds, with n a power of two or not."""
    for k in [*range(0, n, step), n]:
        rng = np.random.default_rng([n, k])
        tau, delta_r, delta_c = rng.uniform(0.5, 2), 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-3, 0)
        options = {"tau": tau, "delta_r": delta_r, "delta_c": delta_c}
        init, update = comp_adagrad(0.7, k=k, l2=l2, l1=l1, random_state=k, **options)
        x = rng.standard_normal(n)
        state = init(x)
        size = state.sketch.shape[1]
        sketch = state.sketch @ np.eye(size) if k else np.empty((0, size))
        gradients = np.zeros((4, size))
        for t in range(4):
            gradients[t, :n] = rng.standard_normal(n) * rng.random(n)
            A = metric(gradients[: t + 1], sketch, **options)
            expected = generic_step(A, np.append(x, state.hidden), gradients[t], eta=0.7, l2=l2, l1=l1)
            x, state = update(gradients[t, :n], state, x)
            np.testing.assert_allclose(np.append(x, state.hidden), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("l2", "l1"), [(0.0, 0.0), (0.3, 0.0), (0.1, 0.3)])
@pytest.mark.parametrize(("n", "k"), [(3, 0), (3, 2), (11, 5), (16, 4), (16, 15), (11, 11)])
def test_the_scaled_sketch_solves_equation_5_as_printed(n, k, l2, l1):
    """To 1e-8 of a generic solver, with the sketch multiplied by sqrt(n/k) and deltas apart."""
    rng = np.random.default_rng([n, k])
    options = {"tau": 1.3, "delta_r": 0.02, "delta_c": 0.3}
    init, update = comp_adagrad(0.7, k=k, l2=l2, l1=l1, random_state=k, scaled=True, **options)
    x = rng.standard_normal(n)
    state = init(x)
    rows, size = state.sketch.shape
    sketch = np.sqrt(size / rows) * (state.sketch @ np.eye(size)) if k else np.empty((0, size))
    gradients = np.zeros((4, size))
    for t in range(4):
        gradients[t, :n] = rng.standard_normal(n) * rng.random(n)
        A = metric(gradients[: t + 1], sketch, **options)
        expected = generic_step(A, np.append(x, state.hidden), gradients[t], eta=0.7, l2=l2, l1=l1)
        x, state = update(gradients[t, :n], state, x)
        np.testing.assert_allclose(np.append(x, state.hidden), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("l2", "l1"), PENALTIES)
@pytest.mark.parametrize("n", [1, 6, 16])
def test_diagonal_and_full_solve_theirs(n, l2, l1):
    rng = np.random.default_rng(n)
    gradients = rng.standard_normal((6, n))
    for make, matrix in (
        (adagrad, lambda G: np.diag(np.sqrt(np.diag(G)) + 0.01)),
        (full_adagrad, lambda G: psd_root(G + 0.01 * np.eye(n))),
    ):
        init, update = make(0.5, delta=0.01, l2=l2, l1=l1)
        x = rng.standard_normal(n)
        state = init(x)
        for t in range(6):
            seen = gradients[: t + 1]
            expected = generic_step(matrix(seen.T @ seen), x, gradients[t], eta=0.5, l2=l2, l1=l1)
            x, state = update(gradients[t], state, x)
            np.testing.assert_allclose(x, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("l2", [0.0, 0.2])
def test_rada_grad_is_full_matrix_adagrad_on_the_sketch(l2):
    rng = np.random.default_rng(0)
    init, update = rada_grad(0.5, k=5, delta=0.1, l2=l2, random_state=1)
    full_init, full_update = full_adagrad(0.5, delta=0.1, l2=l2)
    x = np.zeros(16)
    state = init(x)
    z = state.sketch.matvec(x)
    full_state = full_init(z)
    for _ in range(10):
        g = rng.standard_normal(16)
        x, state = update(g, state, x)
        z, full_state = full_update(state.sketch.matvec(g), full_state, z)
        np.testing.assert_allclose(x, state.sketch.rmatvec(z), atol=1e-10)
