"""The kernels against the papers' pseudo-code, written out in plain NumPy on dense vectors and fed the same looks."""

import numpy as np
import pytest
from scipy import optimize, special

from learner_cases import kernel_parts
from sparing.kernels import state as kernel
from sparing.learners import AELR, AELSVR, AERR, DDAELR, DDAERR

D, N, RADIUS = 12, 300, 2.0
RNG = np.random.default_rng(2)
X = RNG.standard_normal((N, D)) * np.linspace(2, 0.1, D) + 0.3
Y = X @ RNG.standard_normal(D)
MOMENTS = np.mean(X**2, axis=0)


def estimates(attributes, drawn, x, y):
    """x_tilde and phi from the looks alone."""
    x_tilde = np.zeros(D)
    for i, weight in zip(attributes[drawn.point], drawn.point_weights, strict=True):
        x_tilde[i] += weight * x[i]
    phi = -y
    for j, weight in zip(attributes[drawn.inner], drawn.inner_weights[:, 0], strict=True):
        phi += weight * x[j]
    return x_tilde, phi


class Gaerr:
    """Algorithm 1 of Kukliansky & Shamir 2015, with constant, adaptive or AdaGrad steps."""

    def __init__(self, kind, step):
        self.kind, self.step, self.w, self.total = kind, step, np.zeros(D), 0.0
        self.squares = np.zeros(D)

    def weights(self):
        return self.w

    def update(self, gradient):
        if self.kind == "adagrad":
            self.squares += gradient**2
            roots = np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
            eta = self.step * RADIUS / np.sqrt(D) / roots
        elif self.kind == "adaptive":
            self.total += gradient @ gradient
            eta = self.step * RADIUS / np.sqrt(self.total)
        else:
            eta = self.step
        v = self.w - eta * gradient
        self.w = v * RADIUS / max(np.linalg.norm(v), RADIUS)


class Gaelr:
    """Algorithm 3 of Kukliansky & Shamir 2015, on logarithms of z+ and z-."""

    def __init__(self, kind, step):
        self.kind, self.step, self.plus, self.minus = kind, step, np.zeros(D), np.zeros(D)
        self.squares = np.zeros(D)

    def weights(self):
        top = max(self.plus.max(), self.minus.max())
        plus, minus = np.exp(self.plus - top), np.exp(self.minus - top)
        return (plus - minus) * RADIUS / (plus.sum() + minus.sum())

    def update(self, gradient):
        self.squares += gradient**2
        if self.kind == "adagrad":
            eta = self.step * np.sqrt(np.log(2 * D) / 5 / np.where(self.squares > 0, self.squares, 1.0))
        elif self.kind == "adaptive":
            eta = self.step * np.sqrt(np.log(2 * D) / 5 / self.squares.max())
        else:
            eta = self.step
        move = np.clip(eta * gradient, -1.0, 1.0)
        self.plus -= move
        self.minus += move


@pytest.mark.parametrize("options", [{"split": "paper"}, {"split": "even", "inner": "improved"}], ids=["paper", "even"])
@pytest.mark.parametrize("step", [("fixed", 0.02), ("fixed", 5.0), ("adaptive", 1.0), ("adagrad", 1.0)])
@pytest.mark.parametrize("cls", [AERR, DDAERR, AELR, DDAELR])
def test_kernels_do_what_the_pseudo_code_says(cls, step, options):
    kind, size = step
    known = {"second_moments": MOMENTS} if cls in (DDAERR, DDAELR) else {}
    if not known:
        options = options | {"inner": "paper"}
    how = {"step_size": size} if kind == "fixed" else {"step_size": kind, "step_scale": size}
    learner = cls(D, budget=6, radius=RADIUS, random_state=1, **how, **options, **known)
    plain = (Gaelr if cls in (AELR, DDAELR) else Gaerr)(kind, size)
    total = np.zeros(D)
    for x, y in zip(X, Y, strict=True):
        query = learner.ask()
        np.testing.assert_allclose(learner.last_coef, plain.weights(), rtol=0, atol=1e-9)
        x_tilde, phi = estimates(query.attributes, learner.drawn, x, y)
        total += plain.weights()
        plain.update(phi * x_tilde)
        learner.tell(query, x[query.attributes], y)
    np.testing.assert_allclose(learner.coef, total / N, rtol=0, atol=1e-9)


def nearest_in_own_norm(v, h):
    """The least sum of h (u - v)^2 in the ball by SLSQP, over the entries that have had a gradient; others stay."""
    moved = h > 0
    room = RADIUS**2 - v[~moved] @ v[~moved]
    if v[moved] @ v[moved] <= room:
        return v
    found = optimize.minimize(
        lambda u: h[moved] @ (u - v[moved]) ** 2,
        v[moved] * np.sqrt(room / (v[moved] @ v[moved])),
        jac=lambda u: 2 * h[moved] * (u - v[moved]),
        constraints={"type": "ineq", "fun": lambda u: room - u @ u, "jac": lambda u: -2 * u},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    projected = v.copy()
    projected[moved] = found.x
    return projected


@pytest.mark.parametrize("start", [np.zeros(D), np.linspace(-1.0, 1.0, D) * 0.6])
def test_adagrads_own_projection_is_the_one_of_a_generic_solver(start):
    """AERR with AdaGrad's steps from two starts; to 1e-5, the accuracy of SLSQP."""
    learner = AERR(D, budget=6, radius=RADIUS, step_size="adagrad", step_scale=4.0, projection="own", random_state=1)
    learner.begin()
    model, _, _, options = kernel_parts(learner)
    kernel.restart(model, start[:, None], options)
    learner = AERR.from_state(learner.state() | {f"model.{name}": array for name, array in model._asdict().items()})
    squares, active, total = np.zeros(D), 0, np.zeros(D)
    for x, y in zip(X[:60], Y[:60], strict=True):
        query, w = learner.ask(), learner.last_coef
        total += w
        x_tilde, phi = estimates(query.attributes, learner.drawn, x, y)
        squares += (phi * x_tilde) ** 2
        v = w - 4.0 * RADIUS / np.sqrt(D) * phi * x_tilde / np.sqrt(np.where(squares > 0, squares, 1.0))
        active += np.linalg.norm(v) > RADIUS
        learner.tell(query, x[query.attributes], y)
        np.testing.assert_allclose(learner.last_coef, nearest_in_own_norm(v, np.sqrt(squares)), atol=1e-5)
        assert np.linalg.norm(learner.last_coef) <= RADIUS * (1 + 1e-9)
    np.testing.assert_allclose(learner.coef, total / 60, atol=1e-9)
    assert active > 10


@pytest.mark.parametrize(
    ("cls", "options", "words"),
    [
        (AERR, {"step_size": "adaptive"}, "pass step_size='adagrad' to a ridge learner"),
        (AELR, {"step_size": "adagrad"}, "Got step_size='adagrad' for AELR"),
        (AERR, {"step_size": "adagrad", "radius": 0.0}, "radius must be a positive"),
    ],
)
def test_own_projection_without_adagrad_on_the_ball_is_refused(cls, options, words):
    with pytest.raises(ValueError, match=words):
        cls(D, projection="own", budget=6, **{"radius": RADIUS} | options)


def test_support_vector_regression_on_the_1_norm_ball_is_gaelr_with_the_slope_of_the_tube():
    learner = AELSVR(
        D, budget=6, radius=RADIUS, estimator="plug-in", tube=0.3, accuracy=0.4, step_size=0.05, random_state=1
    )
    plain = Gaelr("fixed", 0.05)
    for x, y in zip(X, Y, strict=True):
        query = learner.ask()
        np.testing.assert_allclose(learner.last_coef, plain.weights(), rtol=0, atol=1e-9)
        x_tilde, theta = estimates(query.attributes, learner.drawn, x, y)
        slope = (special.erf((theta - 0.3) / 0.4) + special.erf((theta + 0.3) / 0.4)) / 2
        plain.update(slope * x_tilde)
        learner.tell(query, x[query.attributes], y)
