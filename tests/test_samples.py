"""Sample sizes from spectra: against sums, and against ridge regression on the hardest data."""

import numpy as np
import pytest

from sparing.datasets import make_lower_bound
from sparing.geometry import effective_dimension
from sparing.solvers import boost_confidence, proximal_point, solve_ridge
from sparing.theory import (
    confident_rows_needed,
    decay_dimension,
    decay_lower_bound,
    excess_risk_bound,
    lower_risk_bound,
    rows_needed,
)


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


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0, np.inf])
def test_corollary_5_is_below_theorem_6_and_has_its_rate(power):
    """The ridge of the corollary is at least the binding one, and both bounds fall alike as n grows."""
    i = np.arange(1.0, 151.0 if power < np.inf else 30.0)
    spectrum = np.exp(-i) if power == np.inf else i**-power
    ratios = []
    for n in (200, 20_000, 2_000_000):
        options = {"n_examples": n, "radius": 0.05}
        ratio = decay_lower_bound(spectrum, power=power, **options) / lower_risk_bound(spectrum, **options)
        assert ratio <= 1 + 1e-9
        ratios.append(ratio)
    assert min(ratios) > 0.25


def test_corollary_5_by_its_definition():
    """gamma >= d at the ridge gamma / (6 n B^2), for the profile itself, in the finite and the exponential case."""
    n, radius, constant = 5000, 0.3, 2.0
    i = np.arange(1.0, 3001.0)
    factor = (1 - np.sqrt(0.5)) / 24 / n
    kappa = (np.pi / 2) / np.sin(np.pi / 2)
    gamma = (kappa**2 * constant * 6 * n * radius**2) ** (1 / 3)
    expected = np.sum(constant / (constant + i**2 * gamma / (6 * n * radius**2)))
    assert expected <= gamma
    found = decay_lower_bound(constant / i**2, n_examples=n, radius=radius, constant=constant, power=2.0)
    assert found == pytest.approx(factor * expected)
    with pytest.raises(ValueError, match=r"eigenvalue 2 of the spectrum, 1, is above the decay, 0\.25"):
        decay_lower_bound([1.0, 1.0], n_examples=10, radius=1.0, power=2.0)
    with pytest.raises(ValueError, match="power must be above 1"):
        decay_lower_bound([1.0], n_examples=10, radius=1.0, power=0.5)
    with pytest.raises(ValueError, match="n >= 2d/3"):
        decay_lower_bound(1.0 / np.arange(1, 31) ** 2, n_examples=19, radius=1.0, power=2.0)


def test_boosting_keeps_what_its_bound_says():
    """Excess risks of 30 boosted ridge solutions, in closed form: all within the bound that fails in one of 20."""
    spectrum, n, failure = np.array([0.6, 0.3, 0.1]), 2000, 0.05
    best, ridge = np.array([0.5, -0.3, 0.2]), 0.01
    parts, held_out = 4, 500
    rng = np.random.default_rng(0)
    bound = 3 * np.e * excess_risk_bound(spectrum, n_examples=375, ridge=ridge, radius=1.0)
    bound += (8 * 4 + 8 * 2 * 2 / 3) / held_out * np.log(4 * parts / failure)
    excess = []
    for seed in range(30):
        A = rng.choice([-1.0, 1.0], (n, 3)) * np.sqrt(spectrum)
        y = np.where(rng.random(n) < (1 + A @ best) / 2, 1.0, -1.0)
        found = boost_confidence(
            A,
            y,
            lambda X, z: solve_ridge(X, z, ridge * len(X), radius=1.0).coef,
            lambda scores, z: 0.5 * (scores - z) ** 2,
            failure=failure,
            random_state=seed,
        )
        assert len(found.losses) == parts
        assert found.losses[found.part] == found.losses.min()
        excess.append(0.5 * np.sum(spectrum * (found.coef - best) ** 2))
    assert max(excess) <= bound


def test_rows_for_confidence_add_up():
    options = {"radius": 2.0, "slope": 1.5, "curvature": 0.5}
    spectrum = 1.0 / np.arange(1, 100) ** 2
    plan = confident_rows_needed(spectrum, excess=0.1, failure=0.01, spread=3.0, **options)
    assert plan.parts == 6  # log(200) = 5.3
    first = 3 * np.e * excess_risk_bound(spectrum, n_examples=plan.rows, ridge=0.1 / (6 * np.e) / 4, **options)
    second = (8 * 1.5**2 / 0.5 + 8 * 1.5 * 3.0 / 3) / plan.validation * np.log(4 * 6 / 0.01)
    assert 0.0999 < first + second <= 0.1
    assert plan.total == 6 * plan.rows + plan.validation
    for failure in (0.0, 1.0, "0.1"):
        with pytest.raises(ValueError, match="failure must lie strictly between 0 and 1"):
            confident_rows_needed(spectrum, excess=0.1, failure=failure, radius=1.0)


def test_boosting_refuses_what_it_cannot_do():
    def mean(X, z):
        return np.full(X.shape[1], z.mean())

    def square(scores, z):
        return (scores - z) ** 2

    A, y = np.ones((5, 2)), np.ones(5)
    with pytest.raises(ValueError, match="5 rows, 2 of them for validation, leave none for some of 4 parts"):
        boost_confidence(A, y, mean, square)
    with pytest.raises(ValueError, match="validation must lie strictly between 0 and 1"):
        boost_confidence(A, y, mean, square, validation=1.5)
    with pytest.raises(ValueError, match=r"solve returned coefficients of shape \(3,\) for 2 columns"):
        boost_confidence(np.ones((50, 2)), np.ones(50), lambda X, z: np.ones(3), square)
    with pytest.raises(ValueError, match="y has 4 targets for 5 examples"):
        boost_confidence(A, y[:4], mean, square)
    with pytest.raises(ValueError, match="validation loss of part 0 is not finite"):
        boost_confidence(np.ones((50, 2)), np.ones(50), mean, lambda scores, z: scores * np.nan)
