"""A solution that says converged is one: random problems of extreme scales against a minimum of a hundred digits.

Set SPARING_FUZZ_MINUTES to search for longer; the seeds go on where those of the short search end.
"""

import os
from time import monotonic

import numpy as np
import pytest
from scipy import sparse

from high_precision import kernel_excess, logistic_excesses, ridge_excess
from sparing.solvers import proximal_point, solve_kernel_ridge, solve_ridge, solve_ridge_path, solve_smooth
from sparing.solvers.conjugate import conjugate_gradients
from sparing.solvers.smooth_losses import LogisticLoss

METHODS = ("auto", "sketch", "cholesky", "cg")
MULTIPLE = 5.0  # of the tolerance: a sketch stands for the matrix up to a constant
MINUTES = float(os.environ.get("SPARING_FUZZ_MINUTES", "0"))
pytestmark = pytest.mark.filterwarnings("default::RuntimeWarning")  # float32 overflows on some of these scales


def matrix(rng, longest=1200):
    """A few rows or a few columns, some of low rank, some with zeros, scaled by powers of ten on either side."""
    small = int(rng.integers(1, 7))
    long = int(rng.integers(small, 40)) if rng.random() < 0.6 else int(rng.integers(40, longest))
    rank = small if rng.random() < 0.7 else int(rng.integers(1, small + 1))
    A = rng.standard_normal((long, rank))
    if rank < small:
        A = A @ rng.standard_normal((rank, small))
    if rng.random() < 0.5:
        A = A.T
    if rng.random() < 0.3:
        A = A * (rng.random(A.shape) < 0.4)
    rows, columns = rng.choice([0, 2, 4, 8], 2)
    return A * 10.0 ** rng.uniform(-rows, rows, (A.shape[0], 1)) * 10.0 ** rng.uniform(-columns, columns, A.shape[1])


def some_ridge(rng, A):
    """Any, or a part of the trace down to where double precision ends."""
    ridge = 10.0 ** rng.uniform(-10, 4)
    return (A**2).sum() * 10.0 ** rng.uniform(-20, 0) if rng.random() < 0.4 and A.any() else ridge


def ridge_claims(seed):
    """What each method claims: its name, whether it converged, and the true excess over the tolerance."""
    rng = np.random.default_rng(seed)
    A = matrix(rng)
    y, kind = rng.standard_normal(len(A)), rng.random()
    if kind < 0.4:
        y = A @ rng.standard_normal(A.shape[1]) + rng.choice([0, 1e-6, 1]) * y
    elif kind < 0.6:
        y = y * 10.0 ** rng.uniform(-8, 8, len(y))
    ridge = float(some_ridge(rng, A))
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    A, y = A.astype(dtype), y.astype(dtype)
    form = sparse.csr_array(A) if rng.random() < 0.3 else A
    tol = max(1e-8, float(np.finfo(dtype).eps))
    for method in METHODS:
        one = solve_ridge(form, y, ridge, method=method, random_state=0)
        several = solve_ridge_path(form, y, [ridge, 100 * ridge], method=method, random_state=0)
        for name, solution in ((method, one), (f"path {method}", several[0])):
            yield name, solution.converged, ridge_excess(A, y, ridge, solution.coef) / tol


def kernel_claims(seed):
    """K is a product of whole numbers and powers of two, without rounding errors of its own."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60)) if rng.random() < 0.7 else int(rng.integers(260, 500))
    rank = int(rng.integers(1, 7))
    p, q = rng.choice([0, 7, 13, 26], 2)
    F = rng.integers(-8, 9, (n, rank)) * 2.0 ** rng.integers(-p, p + 1, (n, 1))
    F = F * 2.0 ** rng.integers(-q // 8, q // 8 + 1, rank)
    y, K = rng.standard_normal(n), F @ F.T
    if rng.random() < 0.5:
        y = y * 10.0 ** rng.uniform(-8, 8, n)
    if rng.random() < 0.3:
        y = F @ rng.standard_normal(rank)
    ridge = float(10.0 ** rng.uniform(-10, 4) if rng.random() < 0.6 else np.trace(K) * 10.0 ** rng.uniform(-18, 0))
    for method in METHODS:
        solution = solve_kernel_ridge(K, y, ridge or 1.0, method=method, random_state=0)
        yield method, solution.converged, kernel_excess(F, y, ridge or 1.0, solution.coef) / 1e-10


def logistic_claims(seed):
    rng = np.random.default_rng(seed)
    A = matrix(rng, 60)
    y = np.where(rng.random(len(A)) < 0.5, 1.0, -1.0)
    if rng.random() < 0.5:
        y = np.where(A @ rng.standard_normal(A.shape[1]) > 0, 1.0, -1.0)
    ridge = float(some_ridge(rng, A))
    form = sparse.csr_array(A) if rng.random() < 0.3 else A
    loss = LogisticLoss(y, np.ones(len(y)))
    solutions = {name: solve_smooth(form, loss, ridge, method=name, random_state=0) for name in METHODS}
    claimed = {name: solution.coef[:-1, 0] for name, solution in solutions.items() if solution.converged}
    excesses = dict(zip(claimed, logistic_excesses(A, y, ridge, list(claimed.values())), strict=True))
    yield from ((name, name in claimed, excesses.get(name, np.inf) / 1e-6) for name in METHODS)


CLAIMS = {"ridge": ridge_claims, "kernel": kernel_claims, "logistic": logistic_claims}
SHORT = {"ridge": 16, "kernel": 20, "logistic": 4}  # problems of the short search: some seconds each
LEAST_CLAIMED = {
    "ridge": 0.5,
    "kernel": 0.6,
    "logistic": 0.6,
}  # of all solutions: to claim nothing would be honest, too


@pytest.mark.parametrize("kind", CLAIMS)
def test_no_claim_is_false(kind):
    end, seed, claims = monotonic() + 60 * MINUTES / len(CLAIMS), 0, []
    while seed < SHORT[kind] or monotonic() < end:
        claims += [(seed, *claim) for claim in CLAIMS[kind](seed)]
        seed += 1
    false = [claim for claim in claims if claim[2] and not claim[3] <= MULTIPLE]
    assert not false
    assert np.mean([claim[2] for claim in claims]) >= LEAST_CLAIMED[kind]


# Each was claimed as converged at 1e3 to 1e32 times the tolerance.
FOUND = [
    ("ridge", 45),  # 25 x 6, sparse: residuals by recurrence had drifted from the true ones
    ("ridge", 29),  # 7 x 6 of low rank: the ridge was below the rounding errors of the Cholesky factor
    ("ridge", 22),  # 5 x 17 on a path: rows that a sample overweights make the energy too small
    ("ridge", 854),  # 1 x 1,005: the energy was negative
    ("kernel", 22),  # 39 examples, of which the landmarks missed some
    ("kernel", 5),  # 265 examples of rank 5: rounding errors of the residual
    ("logistic", 30),  # 1 x 10: a negative energy again
    ("logistic", 26),  # 22 x 6: the preconditioner's ridge was raised, and energies did not say so
    ("logistic", 65),  # 2 x 3: scores change by so much that the quadratic model says nothing
]


@pytest.mark.parametrize(("kind", "seed"), FOUND)
def test_what_was_found(kind, seed):
    assert [claim for claim in CLAIMS[kind](seed) if claim[1] and not claim[2] <= MULTIPLE] == []


def three_rows(seed):
    """Sixteen orders of magnitude between rows and between columns."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 1100)) * 10.0 ** rng.uniform(-8, 8, (3, 1)) * 10.0 ** rng.uniform(-8, 8, 1100)
    return A, rng.standard_normal(3), 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_three_rows_of_very_different_scales(method, seed):
    A, y, ridge = three_rows(seed)
    solution = solve_ridge(A, y, ridge, method=method, random_state=0)
    assert not solution.converged or ridge_excess(A, y, ridge, solution.coef) <= MULTIPLE * 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_proximal_steps_are_as_honest(seed):
    A, y, ridge = three_rows(seed)
    solution = proximal_point(A, y, ridge, larger=100 * ridge, random_state=0, max_iter=200)
    assert not solution.converged or ridge_excess(A, y, ridge, solution.coef) <= MULTIPLE * 1e-8


def test_auto_turns_to_a_factorisation_that_copes():
    """The products of rows lose all digits of the smallest ones; a QR factorisation of the rows themselves does not."""
    A, y, ridge = three_rows(2)
    solution = solve_ridge(A, y, ridge)
    assert solution.converged
    assert ridge_excess(A, y, ridge, solution.coef) <= 1e-8


def test_auto_returns_the_better_of_two_that_do_not_converge():
    """Here weights rounded to double precision leave more than the least objective: 1e4 times it, not 1e17."""
    A, y, ridge = three_rows(0)
    assert ridge_excess(A, y, ridge, solve_ridge(A, y, ridge).coef) < 1e5


def test_a_negative_energy_is_no_success():
    descent = conjugate_gradients(
        lambda V: V, np.ones((2, 1)), lambda V: -V, enough=lambda energy, _: energy <= 1e-8, max_iter=5
    )
    assert descent.energy[0] == np.inf
