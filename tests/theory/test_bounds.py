"""Step sizes and bounds against the papers' closed forms, typed here anew, and against plain runs."""

from math import ceil, log, sqrt

import numpy as np
import pytest

from sparing import theory
from sparing.theory import (
    ALGORITHMS,
    confidence_width,
    risk_bound,
    sample_complexity,
    step_size,
)

D, K, M, B, EPSILON = 40, 4, 5000, 3.0, 1e-4
MOMENTS = np.arange(1, D + 1) ** -2.0 / 2  # sums to less than 1
HALF = np.sqrt(MOMENTS).sum() ** 2
HALF_ABOVE = np.sqrt(2 * MOMENTS + 10 * EPSILON / 3).sum() ** 2
LOG = log(2 * D)
COMMON = {"n_attributes": D, "budget": K + 1, "n_examples": M, "radius": B}
EXTRA = {
    "AERR": {},
    "DDAERR": {"second_moments": MOMENTS},
    "TwoPhasedDDAERR": {"second_moments": MOMENTS, "epsilon": EPSILON},
    "OnlineRidge": {},
    "AELR": {},
    "DDAELR": {"second_moments": MOMENTS},
    "TwoPhasedDDAELR": {"second_moments": MOMENTS, "epsilon": EPSILON},
    "OnlineLasso": {},
}
RIDGE = [name for name in ALGORITHMS if ALGORITHMS[name].penalty == "ridge"]
LASSO = [name for name in ALGORITHMS if ALGORITHMS[name].penalty == "lasso"]


def two_phase_ridge(half):
    return sqrt(K / (M * (2 * half + 2 * sqrt(5 / 3) * D * sqrt(half * EPSILON) + K)))


STEPS = {
    "AERR": sqrt(K / (2 * D * M)),
    "DDAERR": 1 / sqrt(M * (HALF / K + 1)),
    "TwoPhasedDDAERR": max(sqrt(K / (6 * D * M)), two_phase_ridge(HALF_ABOVE)),
    "OnlineRidge": 1 / sqrt(M),
    "AELR": sqrt(K * LOG / (10 * D * M)) / (2 * B),
    "DDAELR": sqrt(LOG / (5 * M * (MOMENTS.sum() / K + 1))) / (2 * B),
    "TwoPhasedDDAELR": sqrt(K * LOG / (20 * B**2 * M * (8 * MOMENTS.sum() + 20 * D * EPSILON + K))),
    "OnlineLasso": sqrt(LOG / (5 * M)) / (2 * B),
}
BOUNDS = {
    "AERR": 4 * B**2 * sqrt(2 * D / (K * M)),
    "DDAERR": 4 * B**2 / sqrt(M) * sqrt(HALF / K + 1),
    "TwoPhasedDDAERR": 4
    * B**2
    / sqrt(M)
    * sqrt(2 / K * HALF_ABOVE + 2 / K * sqrt(5 / 3) * D * sqrt(HALF_ABOVE * EPSILON) + 1),
    "OnlineRidge": 4 * B**2 / sqrt(M),
    "AELR": 4 * B**2 * sqrt(10 * D * LOG / (K * M)),
    "DDAELR": 4 * B**2 * sqrt(5 * LOG * (MOMENTS.sum() / K + 1) / M),
    "TwoPhasedDDAELR": 4 * B**2 * sqrt(5 * LOG * (8 * MOMENTS.sum() + 20 * D * EPSILON + K) / (K * M)),
    "OnlineLasso": 4 * B**2 * sqrt(5 * LOG / M),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_step_and_bound_are_the_papers(name):
    assert step_size(name, **COMMON, **EXTRA[name]) == pytest.approx(STEPS[name], rel=1e-12)
    assert risk_bound(name, **COMMON, **EXTRA[name]) == pytest.approx(BOUNDS[name], rel=1e-12)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_step_minimises_the_theorem(name):
    """Theorems 3.1 and 4.1, with G recovered from the bound, evaluated on a grid around the step."""
    step, bound = step_size(name, **COMMON, **EXTRA[name]), risk_bound(name, **COMMON, **EXTRA[name])
    etas = step * np.linspace(0.5, 2.0, 301)  # holds the step itself, at 1.0
    if name in RIDGE:
        gradient = bound * sqrt(M) / (2 * B)
        values = 2 * B**2 / (etas * M) + etas * gradient**2 / 2
    else:
        gradient = bound / (2 * B) * sqrt(M / (5 * LOG))
        values = B * (LOG / (etas * M) + 5 * etas * gradient**2)
        assert step <= 1 / (2 * gradient)
    assert etas[values.argmin()] == pytest.approx(step, rel=1e-12)
    assert values.min() == pytest.approx(bound, rel=1e-12)


def test_aelr_step_is_not_the_ridge_step():
    """The step printed with AELR is that of ridge: it would give 157 in place of 61."""
    d, k, m = 784, 4, 5000
    options = {"n_attributes": d, "budget": k + 1, "n_examples": m, "radius": 3.0}
    gradient = 2 * 3.0 * sqrt(2 * d / k)

    def theorem(eta):
        return 3.0 * (log(2 * d) / (eta * m) + 5 * eta * gradient**2)

    assert round(theorem(2 * 3.0 / (gradient * sqrt(m)))) == 157
    assert round(risk_bound("AELR", **options)) == 61
    assert theorem(step_size("AELR", **options)) == pytest.approx(risk_bound("AELR", **options))


@pytest.mark.parametrize("half", [1.0, 5.0, 30.0, 100.0])
def test_known_half_norm_takes_the_k_out_of_the_inner_root(half):
    """Theorem 3.6 as its proof has it; with k under the inner root the step would be many times too small."""
    d, k, m1 = 100, 5, 10**7
    epsilon = confidence_width(n_attributes=d, budget=k + 1, n_pilot=m1, confidence=0.95)
    options = {"n_attributes": d, "budget": k + 1, "n_examples": 1, "radius": 1.0, "epsilon": epsilon}
    step = step_size("TwoPhasedDDAERR", half_norm=half, **options)
    right = 2 * half + 2 * sqrt(5 / 3) * d * sqrt(half * epsilon) + k
    misplaced = 2 * half + 2 * sqrt(5 / 3) * d * sqrt(half) * sqrt(epsilon + k)
    assert step == pytest.approx(sqrt(k / right), rel=1e-12)
    assert step > 5 * sqrt(k / misplaced)


def test_fallback_is_six_d():
    """With a useless phase one the bound is 4 B^2 sqrt(6d/(k m)), and its step that of Lemma 3.8."""
    options = COMMON | {"half_norm": float(D), "epsilon": 100.0}
    bound = risk_bound("TwoPhasedDDAERR", **options)
    assert bound == pytest.approx(4 * B**2 * sqrt(6 * D / (K * M)), rel=1e-12)
    step = step_size("TwoPhasedDDAERR", **options)
    assert step == pytest.approx(sqrt(K / (6 * D * M)), rel=1e-12)
    gradient2 = 24 * B**2 * D / K
    at_twelve = 2 * B**2 / (step / sqrt(2) * M) + step / sqrt(2) / 2 * gradient2
    assert at_twelve / bound == pytest.approx(3 * sqrt(12) / (4 * sqrt(6)))  # the misprinted 12d fails the bound
    assert at_twelve > bound


def test_lasso_caps_epsilon_at_one():
    at = [step_size("TwoPhasedDDAELR", **COMMON, second_moments=MOMENTS, epsilon=e) for e in (0.5, 1.0, 7.0)]
    assert at[0] > at[1] == at[2]


def test_half_norm_comes_before_the_moments():
    for name in ("DDAERR", "TwoPhasedDDAERR"):
        given = EXTRA[name] | {"half_norm": 2.5, "epsilon": 1e-4}
        alone = {"half_norm": 2.5, "epsilon": 1e-4}
        assert step_size(name, **COMMON, **given) == step_size(name, **COMMON, **alone)


def test_foreseen_bounds():
    """Theorems 3.12 and 4.7 from the true moments."""
    options = COMMON | {"second_moments": MOMENTS, "foreseen": True}
    root, epsilon = sqrt(HALF), 1e-7
    ridge = 16 * B**2 / sqrt(M) * sqrt((root + D * sqrt(2 * epsilon)) ** 2 / K + 1)
    assert risk_bound("TwoPhasedDDAERR", **options, epsilon=epsilon) == pytest.approx(ridge, rel=1e-12)
    assert risk_bound("TwoPhasedDDAERR", **options, epsilon=1.0) == pytest.approx(
        4 * B**2 * sqrt(6 * D / (K * M)), rel=1e-12
    )
    lasso = 4 * B**2 * sqrt(5 * (16 * MOMENTS.sum() + 88 * D / 3 * EPSILON + K) * LOG / (K * M))
    assert risk_bound("TwoPhasedDDAELR", **options, epsilon=EPSILON) == pytest.approx(lasso, rel=1e-12)
    flat = COMMON | {"second_moments": np.ones(D), "foreseen": True, "budget": D, "epsilon": 9.0}
    worst = 61 * B**2 * sqrt(D * LOG / ((D - 1) * M))
    assert 0.99 * worst < risk_bound("TwoPhasedDDAELR", **flat) < worst
    known = COMMON | {"half_norm": HALF, "epsilon": EPSILON}
    assert risk_bound("TwoPhasedDDAERR", **known, foreseen=True) == risk_bound("TwoPhasedDDAERR", **known)
    assert risk_bound("AERR", **COMMON, foreseen=True) == risk_bound("AERR", **COMMON)


@pytest.mark.parametrize("name", ["TwoPhasedDDAERR", "TwoPhasedDDAELR"])
def test_what_was_foreseen_covers_what_phase_one_can_find(name):
    """For any A within the confidence region the bound from A is at most the foreseen one."""
    rng = np.random.default_rng(0)
    for epsilon in (1e-8, 1e-6, 1e-4, 1e-2):
        foreseen = risk_bound(name, **COMMON, second_moments=MOMENTS, epsilon=epsilon, foreseen=True)
        low, high = np.maximum(MOMENTS / 2 - 5 / 3 * epsilon, 0), np.minimum(2 * MOMENTS + 7 / 6 * epsilon, 1)
        for share in (0.0, 1.0, rng.uniform(size=D)):
            averages = low + share * (high - low)
            assert risk_bound(name, **COMMON, second_moments=averages, epsilon=epsilon) <= foreseen


@pytest.mark.parametrize("name", ALGORITHMS)
def test_more_of_anything_scarce_helps(name):
    def bound(**changed):
        return risk_bound(name, **(COMMON | EXTRA[name] | changed))

    assert bound(n_examples=4 * M) == pytest.approx(bound() / 2)
    assert bound(radius=2 * B) == pytest.approx(4 * bound())
    if "Online" in name:
        assert bound(budget=None) == bound(budget=2) == bound()
    else:
        assert bound(budget=K + 2) < bound()
        assert bound(point_looks=2) == bound(budget=3) > bound()
    if "second_moments" in EXTRA[name]:
        assert bound(second_moments=MOMENTS / 2) < bound()
    if "epsilon" in EXTRA[name]:
        assert bound(epsilon=2 * EPSILON) > bound() > bound(epsilon=0)


def test_moments_help_and_full_information_is_best():
    for uniform, informed, full in (("AERR", "DDAERR", "OnlineRidge"), ("AELR", "DDAELR", "OnlineLasso")):
        bounds = [risk_bound(name, **COMMON, **EXTRA[name]) for name in (uniform, informed, full)]
        assert bounds == sorted(bounds, reverse=True)
        flat = np.full(D, 1 / D if uniform == "AERR" else 1.0)
        assert risk_bound(informed, **COMMON, second_moments=flat) <= bounds[0]


# Data of another norm


def gaerr(X, y, q, eta, radius, k, rng):
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        total += w
        looks = rng.choice(x.size, size=k, p=q)
        estimate = np.bincount(looks, x[looks] / q[looks], x.size) / k
        uniform = rng.uniform()
        inner = 0.0
        if w.any():
            p = w**2 / (w @ w)
            j = min(np.searchsorted(np.cumsum(p), uniform), x.size - 1)
            inner = w[j] * x[j] / p[j]
        w = w - eta * (inner - target) * estimate
        w = w * radius / max(np.linalg.norm(w), radius)
    return total / len(y)


def gaelr(X, y, q, eta, radius, k, rng):
    log_z, total = np.zeros((2, X.shape[1])), np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        z = np.exp(log_z - log_z.max())
        w = (z[0] - z[1]) * radius / z.sum()
        total += w
        looks = rng.choice(x.size, size=k, p=q)
        estimate = np.bincount(looks, x[looks] / q[looks], x.size) / k
        uniform = rng.uniform()
        inner = 0.0
        if w.any():
            p = np.abs(w) / np.abs(w).sum()
            j = min(np.searchsorted(np.cumsum(p), uniform), x.size - 1)
            inner = w[j] * x[j] / p[j]
        step = np.clip(eta * (inner - target) * estimate, -1, 1)
        log_z += np.array([-step, step])
    return total / len(y)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("norm", [0.1, 7.0])
def test_a_run_does_not_depend_on_the_scale_of_the_data(name, norm):
    """Examples of norm X with radius B learn as x/X with radius X B do: same predictions, same bound."""
    d, m, k, radius = 6, 80, 2, 1.5
    rng = np.random.default_rng(3)
    ridge = name in RIDGE
    X = rng.normal(size=(m, d)) * np.arange(1, d + 1) ** -1.0
    X *= norm / (np.linalg.norm(X, axis=1, keepdims=True) if ridge else np.abs(X).max())
    y = X @ rng.normal(size=d) / 2
    moments = (X**2).mean(axis=0)
    q = np.sqrt(moments) / np.sqrt(moments).sum()
    options = {"n_attributes": d, "budget": k + 1, "n_examples": m, "epsilon": 0.01}
    here = options | {"second_moments": moments, "radius": radius, "norm_bound": norm}
    there = options | {"second_moments": moments / norm**2, "radius": radius * norm}
    assert risk_bound(name, **here) == pytest.approx(risk_bound(name, **there), rel=1e-12)

    run = gaerr if ridge else gaelr
    one = run(X, y, q, step_size(name, **here), radius, k, np.random.default_rng(5))
    other = run(X / norm, y, q, step_size(name, **there), radius * norm, k, np.random.default_rng(5))
    assert np.linalg.norm(one) > 1e-4 / norm  # it moved
    np.testing.assert_allclose(X @ one, X / norm @ other, rtol=1e-9, atol=1e-12)
    unscaled = step_size(name, **(there | {"radius": radius}))
    assert step_size(name, **here) != pytest.approx(unscaled, rel=0.5)


def test_half_norm_is_in_the_units_of_the_data():
    here = COMMON | {"half_norm": 9 * HALF, "norm_bound": 3.0}
    there = COMMON | {"half_norm": HALF, "radius": 3 * B}
    assert risk_bound("DDAERR", **here) == pytest.approx(risk_bound("DDAERR", **there))
    assert step_size("DDAERR", **here) == pytest.approx(step_size("DDAERR", **there) / 9)


# How many examples


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("excess", [1e-6, 0.01, 0.7, 300.0, 1e6])
def test_sample_complexity_is_the_least(name, excess):
    options = {key: value for key, value in COMMON.items() if key != "n_examples"} | EXTRA[name]
    m = sample_complexity(name, excess=excess, **options)
    least = 1 if name in RIDGE else ceil(LOG)
    assert m >= least
    assert risk_bound(name, n_examples=m, **options) <= excess
    assert m == least or risk_bound(name, n_examples=m - 1, **options) > excess


# What is refused


@pytest.mark.parametrize("function", [step_size, risk_bound])
@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("SGD", {}, "algorithm must be one of 'AERR', 'DDAERR'.*; got 'SGD'"),
        ("AERR", {"n_attributes": 0}, "n_attributes must be a whole number, 1 or more; got 0"),
        ("AERR", {"budget": None}, "budget must be a whole number, 2 or more; got None"),
        ("AERR", {"budget": 41}, "budget is 41 attributes per example but there are only 40"),
        ("AERR", {"point_looks": 0}, "point_looks must be a whole number, 1 or more; got 0"),
        ("AERR", {"point_looks": 5}, "point_looks is 5 of a budget of 5 looks; leave at least one"),
        ("AERR", {"radius": -1.0}, "radius must be a positive finite number; got -1.0"),
        ("AERR", {"norm_bound": 0.0}, "norm_bound must be a positive finite number; got 0.0"),
        ("AERR", {"n_examples": 0}, "n_examples must be a whole number, 1 or more; got 0"),
        ("DDAERR", {}, "DDAERR needs second_moments; got None. Pass one E"),
        ("DDAERR", {"half_norm": 0.0}, "half_norm must be a positive finite number; got 0.0"),
        ("DDAELR", {"half_norm": 1.0}, "DDAELR needs second_moments; got None"),
        ("DDAERR", {"second_moments": MOMENTS[1:]}, "second_moments has 39 entries for 40 attributes"),
        ("TwoPhasedDDAERR", {"half_norm": 1.0}, "TwoPhasedDDAERR needs epsilon; got None. Pass epsilon="),
        ("TwoPhasedDDAELR", {"second_moments": MOMENTS}, "TwoPhasedDDAELR needs epsilon; got None"),
        ("TwoPhasedDDAERR", {"epsilon": 0.1}, "TwoPhasedDDAERR needs second_moments; got None"),
        ("TwoPhasedDDAERR", {"epsilon": -0.1}, "epsilon must be a non-negative finite number; got -0.1"),
        ("AELR", {"n_examples": 4}, r"m >= log\(2d\) = 4.38 examples; got n_examples=4. Pass 5 or more"),
        ("OnlineLasso", {"n_examples": 4}, r"m >= log\(2d\)"),
    ],
)
def test_refusals(function, name, changed, message):
    with pytest.raises(ValueError, match=message):
        function(name, **(COMMON | changed))


@pytest.mark.parametrize("name", LASSO)
def test_lasso_works_from_log_2d_on(name):
    options = COMMON | EXTRA[name] | {"n_examples": 5}
    gradient = risk_bound(name, **options) / (2 * B) * sqrt(5 / (5 * LOG))
    assert step_size(name, **options) <= 1 / (2 * gradient)


def test_moments_beyond_the_norm_are_refused_by_bounds():
    sums = {"second_moments": np.full(D, 0.1)}
    with pytest.raises(ValueError, match=r"second_moments sum to 4, too much for examples of norm 1; pass"):
        risk_bound("DDAERR", **COMMON, **sums)
    with pytest.raises(ValueError, match="second_moments sum to 4"):
        risk_bound("TwoPhasedDDAERR", **COMMON, **sums, epsilon=0.1, foreseen=True)
    with pytest.raises(ValueError, match=r"second_moments rise to 4, too much for examples of norm 1\.5"):
        risk_bound("DDAELR", **COMMON, second_moments=np.full(D, 4.0), norm_bound=1.5)
    options = {key: value for key, value in COMMON.items() if key != "n_examples"}
    with pytest.raises(ValueError, match="second_moments sum to 4"):
        sample_complexity("DDAERR", excess=0.1, **options, **sums)
    assert risk_bound("DDAERR", **COMMON, **sums, norm_bound=2.0) > 0
    # averages of phase one are noisy and may sum to more than the squared norm
    assert risk_bound("TwoPhasedDDAERR", **COMMON, **sums, epsilon=0.1) > 0


def test_an_excess_risk_of_zero_is_refused():
    with pytest.raises(ValueError, match="excess must be a positive finite number; got 0"):
        sample_complexity("AERR", excess=0, radius=1.0, n_attributes=D, budget=K + 1)


def test_every_algorithm_is_in_the_tables_of_this_file():
    assert set(theory.ALGORITHMS) == set(STEPS) == set(BOUNDS) == set(EXTRA)
