"""Sample sizes from spectra: against sums, and against ridge regression on the hardest data."""

import numpy as np
import pytest

from sparing.datasets import make_lower_bound
from sparing.geometry import effective_dimension
from sparing.solvers import proximal_point, solve_ridge
from sparing.theory import decay_dimension, excess_risk_bound, lower_risk_bound, rows_needed


@pytest.mark.parametrize("ratio", [0.1, 10.0, 1e3, 1e4])
def test_decay_bounds_hold_and_are_close(ratio):
    i = np.arange(1.0, 1e6)
    for power in (2.0, 3.0, 4.0):
        true = np.sum(1 / (1 + i**power / ratio))
        assert true <= decay_dimension(1 / ratio, power=power) <= true + 0.8
    true = np.sum(1 / (1 + np.exp(i[:700]) / ratio))
    assert true <= decay_dimension(1 / ratio) <= true + 0.8


def test_corollary_1_is_theorem_5_with_both_terms_alike():
    spectrum = 1.0 / np.arange(1, 500) ** 2
    for curvature in (1.0, 0.25):
        options = {"radius": 3.0, "slope": 1.5, "curvature": curvature}
        n = rows_needed(spectrum, excess=0.05, **options)
        bound = [excess_risk_bound(spectrum, n_examples=m, ridge=0.05 / 9, **options) for m in (n, n - 1)]
        assert bound[0] <= 0.05 < bound[1]
    A = np.diag(np.sqrt(spectrum))
    assert excess_risk_bound(spectrum, n_examples=16, ridge=0.1, radius=1e-9) == pytest.approx(
        effective_dimension(A, 0.1)
    )


@pytest.mark.parametrize("n", [100, 400, 1600])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_risk_on_the_hardest_data_lies_between_the_bounds(n, power):
    """Mean over 40 draws of ridge regression within the ball, with three standard errors on either side.

    Predictions stay within [-1, 1] as Example 1 asks: B = 1/sqrt(d l_1). Where the ball is so small that the best
    weights lie on it, they are those of the binding ridge, whose risk is known in closed form.
    """
    d = 30
    spectrum = np.arange(1, d + 1.0) ** -power
    radius, ridge = 1 / np.sqrt(d * spectrum[0]), 0.1 / n
    excess = []
    for seed in range(40):
        made = make_lower_bound(n, spectrum, random_state=seed)
        best = _projected(made.coef, spectrum, radius)
        found = solve_ridge(made.data.toarray(), made.target, n * ridge, radius=radius, tol=1e-6).coef
        risk = [0.5 * np.sum(spectrum * (w - made.coef) ** 2) for w in (found, best)]
        excess.append(risk[0] - risk[1])
    mean, error = np.mean(excess), 3 * np.std(excess) / np.sqrt(len(excess))
    assert mean - error > lower_risk_bound(spectrum, n_examples=n, radius=radius)
    assert mean + error < excess_risk_bound(spectrum, n_examples=n, ridge=ridge, radius=radius)


def _projected(coef, spectrum, radius):
    """The best weights within the ball, by bisection over the ridge."""
    low, high = 0.0, 1e3
    if np.linalg.norm(coef) <= radius:
        return coef
    for _ in range(100):
        ridge = (low + high) / 2
        shrunk = spectrum * coef / (spectrum + ridge)
        low, high = (ridge, high) if np.linalg.norm(shrunk) > radius else (low, ridge)
    return shrunk


def test_the_hardest_data_are_what_they_say():
    spectrum = np.array([0.6, 0.3, 0.1])
    made = make_lower_bound(300_000, spectrum, random_state=0)
    second = (made.data.T @ made.data).toarray() / 300_000
    np.testing.assert_allclose(second, np.diag(spectrum), atol=0.01)
    lean = made.data.T @ made.target / 300_000
    np.testing.assert_allclose(lean, spectrum * made.coef, atol=4 * np.sqrt(0.6 / 300_000))
    np.testing.assert_allclose(np.abs(made.coef) * np.sqrt(3 * spectrum), np.sqrt(3 / (6 * 300_000)))


def test_proximal_steps_reach_the_solution_of_the_smaller_ridge():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 40)) / np.arange(1, 41)
    y = rng.standard_normal((500, 2))
    expected = solve_ridge(A, y, 0.5, method="cholesky").coef
    for larger in (None, 0.5, 5.0):
        solution = proximal_point(A, y, 0.5, larger=larger, random_state=0)
        assert solution.converged
        np.testing.assert_allclose(A @ solution.coef, A @ expected, atol=1e-3)
    both = [proximal_point(A, y, 0.5, larger=r, random_state=0).iterations for r in (5.0, 50.0)]
    assert both[1] > 3 * both[0]
    assert not proximal_point(A, y, 0.5, larger=50.0, max_iter=3).converged
    with pytest.raises(ValueError, match="below the ridge"):
        proximal_point(A, y, 0.5, larger=0.1)


def test_bad_input_is_refused():
    for spectrum in ([], [-1.0], [np.nan], [[1.0]], [0.0]):
        with pytest.raises(ValueError, match="spectrum must be eigenvalues"):
            rows_needed(spectrum, excess=0.1, radius=1.0)
    with pytest.raises(ValueError, match="power must be above 1"):
        decay_dimension(1.0, power=1.0)
    with pytest.raises(ValueError, match="n >= 2d/3"):
        lower_risk_bound(np.ones(30), n_examples=19, radius=1.0)
    with pytest.raises(ValueError, match="n >= 2d/3"):
        make_lower_bound(19, np.ones(30))
