"""The second moment of the gradient estimate, by enumerating every draw."""

from itertools import product

import numpy as np
import pytest

from sparing.theory import gradient_second_moment, risk_bound, step_size

B = 3.0


@pytest.mark.parametrize(("k1", "k2"), [(1, 1), (2, 1), (2, 2), (3, 1), (1, 3)])
@pytest.mark.parametrize("rule", ["square", "absolute", "moment"])
def test_second_moment_of_the_gradient_by_enumeration(k1, k2, rule):
    x, w, y = np.array([0.7, -0.2, 0.4]), np.array([0.5, -1.0, 0.3]), 0.6
    q = np.array([0.5, 0.2, 0.3])
    p = {"square": w**2, "absolute": np.abs(w), "moment": np.abs(w) * [0.9, 0.1, 0.5]}[rule]
    p = p / p.sum()
    expected, mean = 0.0, np.zeros(3)
    for point in product(range(3), repeat=k1):
        for inner in product(range(3), repeat=k2):
            chance = np.prod(q[list(point)]) * np.prod(p[list(inner)])
            estimate = sum(x[i] / q[i] * np.eye(3)[i] for i in point) / k1
            gradient = (sum(w[j] * x[j] / p[j] for j in inner) / k2 - y) * estimate
            expected, mean = expected + chance * gradient @ gradient, mean + chance * gradient
    np.testing.assert_allclose(mean, (w @ x - y) * x, rtol=1e-12)
    second = gradient_second_moment(x, y, w, q, p, point_looks=k1, inner_looks=k2)
    assert second == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("name", "power"), [("AERR", 2), ("AELR", 1)])
def test_no_example_passes_the_bound_on_the_gradient(name, power):
    """Lemmas 3.3 and 3.8 of Hazan & Koren 2012: at most 8 B^2 d/k for every example of norm one."""
    rng = np.random.default_rng(1)
    d, k = 5, 2
    bound = 8 * B**2 * d / k
    worst = 0.0
    for _ in range(300):
        x, w = rng.normal(size=d), rng.normal(size=d)
        x, w = x / np.linalg.norm(x), B * w / np.linalg.norm(w, ord=power)
        p = np.abs(w) ** power / (np.abs(w) ** power).sum()
        worst = max(worst, gradient_second_moment(x, -B, w, np.full(d, 1 / d), p, point_looks=k))
    assert bound / 4 < worst <= bound
    here = {"n_attributes": d, "budget": k + 1, "n_examples": 5000, "radius": B}
    step, size = step_size(name, **here), risk_bound(name, **here)
    gradient2 = size / step / (1 if name == "AERR" else 10 * B)  # the G^2 behind both
    assert gradient2 == pytest.approx(bound, rel=1e-12)


def test_values_that_cannot_be_seen_do_not_count():
    """An attribute that is zero needs no probability, and at w = 0 the inner product needs no look."""
    second = gradient_second_moment([1.0, 0.0], 2.0, [0.0, 3.0], [1.0, 0.0], [1.0, 0.0], point_looks=3)
    assert second == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": [0.5, 0.6]}, "q must be probabilities that sum to 1"),
        ({"q": [1.5, -0.5]}, "q must be probabilities"),
        ({"p": [1.0, 0.0]}, "p must be probabilities .* are positive where"),
        ({"x": [1.0]}, "vectors of one length; got shapes .1,., .2,."),
        ({"point_looks": 0}, "point_looks must be a whole number"),
        ({"inner_looks": 0}, "inner_looks must be a whole number"),
    ],
)
def test_gradient_refusals(changed, message):
    options = {"x": [1.0, 2.0], "y": 0.0, "w": [1.0, 1.0], "q": [0.5, 0.5], "p": [0.5, 0.5], "point_looks": 1}
    with pytest.raises(ValueError, match=message):
        gradient_second_moment(**(options | changed))
