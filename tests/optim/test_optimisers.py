"""What holds for every optimiser: limits, refreshing, purity, shapes, and errors that change nothing."""

from copy import deepcopy

import numpy as np
import pytest

from sparing.optim import adagrad, comp_adagrad, full_adagrad, rada_grad
from sparing.optim import root as roots

OPTIMISERS = {
    "adagrad": lambda **more: adagrad(0.5, **more),
    "full": lambda **more: full_adagrad(0.5, **more),
    "compressed": lambda **more: comp_adagrad(0.5, k=3, random_state=0, **more),
    "compressed, k = 0": lambda **more: comp_adagrad(0.5, k=0, random_state=0, **more),
    "compressed, k = n": lambda **more: comp_adagrad(0.5, k=7, random_state=0, **more),
    "radagrad": lambda **more: rada_grad(0.5, k=3, random_state=0, **more),
}
every_optimiser = pytest.mark.parametrize("make", OPTIMISERS.values(), ids=OPTIMISERS)


def play(optimiser, gradients, x):
    init, update = optimiser
    state, path = init(x), []
    for g in gradients:
        x, state = update(g, state, x)
        path.append(x)
    return np.array(path), state


@pytest.mark.parametrize("n", [1, 5, 16])
@pytest.mark.parametrize(("l2", "l1"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)])
def test_limits_in_k(n, l2, l1):
    rng = np.random.default_rng(0)
    gradients, x = rng.standard_normal((20, n)), rng.standard_normal(n)
    for k, limit in ((0, adagrad), (n, full_adagrad)):
        found, _ = play(comp_adagrad(0.5, k=k, l2=l2, l1=l1, random_state=0), gradients, x)
        expected, _ = play(limit(0.5, l2=l2, l1=l1), gradients, x)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_stiff_complement_is_radagrad():
    gradients = np.random.default_rng(0).standard_normal((20, 16))
    found, _ = play(comp_adagrad(0.5, k=4, tau=1e10, random_state=0), gradients, np.zeros(16))
    expected, _ = play(rada_grad(0.5, k=4, random_state=0), gradients, np.zeros(16))
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("rank", [3, 64])
def test_refreshing_rarely_changes_nothing(rank, l2):
    """100 rounds on gradients of low and of high rank, with new directions coming in late."""
    rng = np.random.default_rng(rank)
    gradients = rng.standard_normal((100, rank)) @ rng.standard_normal((rank, 64))
    gradients[60:90:13] += rng.standard_normal((3, 64))
    always, _ = play(comp_adagrad(0.5, k=40, l2=l2, refresh=1, random_state=0), gradients, np.ones(64))
    for refresh in (5, 16, 50):
        rarely, state = play(comp_adagrad(0.5, k=40, l2=l2, refresh=refresh, random_state=0), gradients, np.ones(64))
        np.testing.assert_allclose(rarely, always, atol=1e-7)
    assert len(state.root.recent) > 1  # the short cut was taken


def test_the_root_has_the_right_trace():
    z = np.random.default_rng(0).standard_normal((90, 40))
    root = roots.no_moments(40)
    for row in z:
        root = roots.add(root, row, delta=1e-4, refresh=16)
    assert roots.trace(root) == pytest.approx(np.linalg.svd(z, compute_uv=False).sum(), rel=1e-10)


@every_optimiser
def test_neither_argument_is_changed_and_a_seed_repeats(make):
    init, update = make()
    x, g = np.arange(7.0), np.linspace(-1, 1, 7)
    state = init(x)
    before = deepcopy((x, g, state[1:]))
    first, _ = update(g, state, x)
    np.testing.assert_equal((x, g, state[1:]), before)
    again, _ = update(g, make()[0](x), x)
    np.testing.assert_array_equal(first, again)


@every_optimiser
def test_shape_and_precision_of_the_parameters_stay(make):
    init, update = make()
    x = np.ones((1, 7), np.float32)
    new, _ = update(x, init(x), x)
    assert new.shape == (1, 7)
    assert new.dtype == np.float32
    assert (new != x).any()


@every_optimiser
def test_a_zero_gradient_moves_nothing(make):
    init, update = make()
    x = np.arange(7.0)
    new, _ = update(np.zeros(7), init(x), x)
    np.testing.assert_allclose(new, x, atol=1e-15)


@every_optimiser
@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (np.full(7, np.nan), r"gradient must be finite; entry 0 is nan \(7 such entries\). Nothing was changed"),
        (np.array([0, 0, np.inf, 0, 0, 0, 0]), "entry 2 is inf"),
        (np.ones(6), r"gradient has shape \(6,\), params \(7,\); pass one derivative per parameter"),
        (np.ones((7, 1)), "pass one derivative per parameter"),
    ],
)
def test_bad_gradients_are_refused_and_the_state_goes_on(make, gradient, words):
    init, update = make()
    x = np.arange(7.0)
    x, state = update(np.ones(7), init(x), x)
    expected, _ = update(np.ones(7), state, x)
    with pytest.raises(ValueError, match=words):
        update(gradient, state, x)
    after, _ = update(np.ones(7), state, x)
    np.testing.assert_array_equal(after, expected)


@every_optimiser
def test_bad_parameters_are_refused(make):
    init, update = make()
    with pytest.raises(ValueError, match="this state was made for 7"):
        update(np.ones(8), init(np.ones(7)), np.ones(8))
    with pytest.raises(ValueError, match="params must be finite"):
        init(np.full(7, np.nan))
    with pytest.raises(ValueError, match="params is empty"):
        init(np.empty(0))
    with pytest.raises(TypeError, match="must hold real numbers"):
        init(np.ones(7, complex))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: comp_adagrad(1.0, k=9)[0](np.ones(8)), "k is 9, but there are only 8 parameters"),
        (lambda: comp_adagrad(1.0, k=-1), "k must be a whole number, 0 or more; got -1"),
        (lambda: comp_adagrad(1.0, k=2.5), "k must be a whole number"),
        (lambda: comp_adagrad(1.0, k=2, delta=-1.0), "delta must be a positive finite number; got -1.0"),
        (lambda: comp_adagrad(1.0, k=2, delta=0.0), "delta must be a positive"),
        (lambda: comp_adagrad(1.0, k=2, delta_r=-1.0), "delta_r must be a positive finite number; got -1.0"),
        (lambda: comp_adagrad(1.0, k=2, delta_c=0.0, scaled=True), "delta_c must be a positive"),
        (lambda: comp_adagrad(1.0, k=2, tau=0.0), "tau must be a positive"),
        (lambda: comp_adagrad(0.0, k=2), "step_size must be a positive"),
        (lambda: comp_adagrad(1.0, k=2, l2=-1.0), "l2 must be a non-negative"),
        (lambda: comp_adagrad(1.0, k=2, l1=np.nan), "l1 must be a non-negative"),
        (lambda: comp_adagrad(1.0, k=2, refresh=0), "refresh must be a whole number, 1 or more"),
        (lambda: rada_grad(1.0, k=0), "k must be a whole number, 1 or more"),
        (lambda: adagrad(np.inf), "step_size must be a positive finite number"),
        (lambda: full_adagrad(1.0, delta="small"), "delta must be a positive finite number; got 'small'"),
    ],
)
def test_bad_options_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("k", [1, 2, 3, 5, 16, 32, 33, 80])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_inverse_roots_are_those_of_the_eigenvectors(k, shift):
    """Small matrices by a tridiagonal form, larger ones by a decomposition with corrections; of any rank, and zero."""
    rng = np.random.default_rng(k)
    v, delta = rng.standard_normal(k), 1e-3
    for count in (0, 1, k // 2, k + 5):
        z = rng.standard_normal((count, k)) * 10.0 ** rng.uniform(-1, 1, count)[:, None]
        root = roots.no_moments(k)
        for row in z:
            root = roots.add(root, row, delta=delta, refresh=16)
        values, vectors = np.linalg.eigh(z.T @ z)
        expected = vectors @ (vectors.T @ v / (np.sqrt(np.maximum(values, 0.0) + delta) + shift))
        found = roots.solve(root, v, delta=delta, shift=shift)
        np.testing.assert_allclose(found, expected, atol=1e-7 * abs(expected).max())
        assert roots.trace(root) == pytest.approx(np.sqrt(np.maximum(values, 0.0)).sum(), rel=1e-6)


def test_gradients_that_cannot_be_squared_are_refused():
    for k, words in (
        (2, "too large to be squared"),
        (8, "squared gradients overflows; scale attributes or targets down"),
    ):
        init, update = comp_adagrad(k=k, random_state=0)
        x = np.zeros(8)
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=words):
            update(np.full(8, 1e200), init(x), x)
