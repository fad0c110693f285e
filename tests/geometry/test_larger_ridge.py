"""The larger ridge for proximal steps: against the exact dimensions, and against the work that solutions take."""

import numpy as np
import pytest
from scipy import sparse

from sparing.geometry import best_ridge, effective_dimension
from sparing.geometry.larger_ridge import Work, lanczos_dimensions
from sparing.linalg.gram import Gram
from sparing.linalg.rows import Rows
from sparing.solvers import proximal_point
from sparing.solvers.kernel import KernelGram

RNG = np.random.default_rng(0)


def words(n, d, per_row):
    """Sparse rows of normal entries in columns drawn with frequencies 1/i."""
    columns = np.minimum(d ** RNG.random((n, per_row)), d - 1).astype(int).ravel()
    entries = RNG.standard_normal(n * per_row), (np.repeat(np.arange(n), per_row), columns)
    return sparse.csr_array(entries, shape=(n, d))


DENSE = RNG.standard_normal((1000, 200)) * np.sqrt(1.0 / np.arange(1, 201) / 1000)
SPARSE = words(2500, 1500, 5)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_dimensions_from_a_few_passes(power):
    """Within four standard deviations of a quadratic form in signs plus 20 % for the quadrature."""
    A = RNG.standard_normal((400, 300)) * np.arange(1, 301) ** (-power / 2)
    ridges = [1.0, 10.0, 100.0]
    exact = effective_dimension(A, ridges)
    for rows in (Rows(A), Rows(A.T), Rows(sparse.csr_array(A)), Gram(A @ A.T)):
        found = lanczos_dimensions(rows, ridges, np.random.default_rng(1))
        assert np.all(np.abs(found / exact - 1) < 0.2 + 4 * np.sqrt(2 / exact))


def test_dimensions_of_few_eigenvalues_are_exact_for_signs():
    """With D distinct eigenvalues at most as many as steps, and a diagonal matrix, every sign vector gives the sum."""
    A = np.diag(np.sqrt(np.tile([4.0, 1.0, 0.0], 20)))
    np.testing.assert_allclose(lanczos_dimensions(Rows(A), [1.0], np.random.default_rng(0)), 20 * (0.8 + 0.5))


@pytest.mark.parametrize("method", ["estimated", "tested"])
@pytest.mark.parametrize("which", ["dense", "sparse", "kernel"])
def test_the_choice_is_within_a_factor_2_of_the_least_cost(method, which):
    """The cost by the same constants, but from exact dimensions, over the grid."""
    A, ridge, gram = {
        "dense": (DENSE, 1e-3, False),
        "sparse": (SPARSE, 3.0, False),
        "kernel": (SPARSE[:600] @ SPARSE[:600].T, 1.0, True),
    }[which]
    A = A.toarray() if which == "kernel" else A
    ratios = 2.0 ** np.arange(14)
    work = Work.of(Gram(A) if gram else Rows(A))
    costs = [work(ratio, d) for ratio, d in zip(ratios, effective_dimension(A, ratios * ridge, gram=gram), strict=True)]
    for seed in range(3):
        chosen = best_ridge(A, ridge, seed, method=method, gram=gram) / ridge
        assert costs[int(np.log2(chosen))] <= 2 * min(costs)


def test_a_pass_over_the_data_counts():
    """Where passes dominate, the ridge stays; the second factor of the cost alone asked for 4,096 times it here."""
    assert best_ridge(DENSE, 1e-3, random_state=0) == 1e-3
    second = [2.0**j * max(1.0, effective_dimension(DENSE, 2.0**j * 1e-3)) ** 2 for j in range(13)]
    assert np.argmin(second) > 8


def test_a_larger_ridge_is_taken_where_it_saves_work():
    """Sparse rows, whose passes are cheap: multiplications of the factor and all steps, from the sizes reported."""
    y = SPARSE @ RNG.standard_normal(1500) + RNG.standard_normal(2500)

    def work(**options):
        found = proximal_point(SPARSE, y, 3.0, random_state=0, **options)
        assert found.converged
        m = min(found.sketch_size, 1500)
        return m**2 * (m / 3 + 2 * found.iterations) + 4 * found.iterations * SPARSE.nnz

    assert best_ridge(SPARSE, 3.0, random_state=0) > 3.0
    assert work() < 0.5 * work(larger=3.0)


def test_a_kernel_that_is_not_stored_is_passed_over_less_often():
    X = RNG.standard_normal((400, 20))
    K = X @ X.T
    computed = KernelGram(lambda rows, columns: X[rows] @ X[columns].T, 400)
    assert Work.of(computed)(2.0, 10.0) > 10 * Work.of(Gram(K))(2.0, 10.0)
    assert best_ridge(computed, 1.0, random_state=0) == 1.0


def test_single_precision():
    found = lanczos_dimensions(Rows(DENSE.astype(np.float32)), [1e-3], np.random.default_rng(0))
    np.testing.assert_allclose(found, lanczos_dimensions(Rows(DENSE), [1e-3], np.random.default_rng(0)), rtol=1e-3)


def test_zeros_and_one_row():
    assert best_ridge(np.zeros((300, 4)), 1.0) == 1.0
    assert best_ridge(np.ones((1, 3)), 1.0) == 1.0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'estimated', 'tested'; got 'fast'"):
        best_ridge(np.eye(3), 1.0, method="fast")
