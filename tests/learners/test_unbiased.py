r"""Every draw enumerated: the expectation of the gradient estimate *is* the gradient.

All sequences of draws of a round are listed with their probabilities for d <= 4; the kernel that turns looks into an
estimate is given each of them, and the average over the sequences is compared with the gradient at 1e-12.
"""

from itertools import product

import numpy as np
import pytest

from learner_cases import kernel_parts
from sparing.kernels.ask import Draws, new_draws, new_scratch
from sparing.kernels.compiling import entry
from sparing.kernels.run import ask_once
from sparing.kernels.state import ROUND
from sparing.kernels.tell import estimate
from sparing.learners import AELR, AERR, DDAELR, DDAERR

RNG = np.random.default_rng(11)
X_HERE, Y_HERE = np.array([0.7, -1.3, 0.4, 2.0]), 0.9


@entry
def fill_estimates(draws, values, y, seen, options, point, phi):
    estimate(draws, values, y, seen, options, point, phi)


def gradient_estimate(draws, values, y, seen, options, d):
    point, phi, gradient = np.zeros(draws.attributes.size), np.zeros(1), np.zeros(d)
    fill_estimates(draws, values, y, seen, options, point, phi)
    touched = draws.sizes[1]
    gradient[draws.attributes[:touched]] = phi[0] * point[:touched]
    return gradient


def possible_draws(learner):
    """Every possible outcome of the next ask, with its probability."""
    w, d = learner.last_coef, learner.n_attributes
    model, table, _, _ = kernel_parts(learner)
    q, masses = table.probability, model.tree[:d]
    p = masses / masses.sum() if masses.any() else None
    n_point, n_inner = learner.point_looks, learner.budget - learner.point_looks if p is not None else 0
    for drawn in product(range(d), repeat=n_point + n_inner):
        point, inner = list(drawn[:n_point]), list(drawn[n_point:])
        probability = np.prod(q[point]) * (np.prod(p[inner]) if inner else 1.0)
        if probability == 0.0:
            continue
        attributes = list(dict.fromkeys(drawn))
        inner_weights = [[w[j] / (n_inner * p[j])] for j in inner]
        draws = Draws(
            attributes=np.array(attributes),
            place=np.array([attributes.index(i) for i in drawn]),
            point_weights=1.0 / (n_point * q[point]),
            inner_weights=np.array(inner_weights).reshape(-1, 1),
            sizes=np.array([len(attributes), len(set(point)), len(inner)]),
        )
        yield probability, draws


def prepared(cls, d, *, zero_weights, **options):
    learner = cls(d, radius=50.0, step_size=1e-3, random_state=3, **options)
    if zero_weights:
        learner.ask()
    else:
        X = RNG.standard_normal((40, d)) + 1.0
        learner.run(X, X @ np.arange(1.0, d + 1.0))
    return learner


def options_of(cls, inner, d):
    known = {"second_moments": np.array([2.0, 0.5, 1.0, 0.1])[:d]} if cls in (DDAERR, DDAELR) else {}
    return known | {"inner": inner}


CASES = [(cls, inner) for cls in (AERR, DDAERR, AELR, DDAELR) for inner in ("paper", "absolute", "improved")]
CASES = [(cls, inner) for cls, inner in CASES if inner != "improved" or cls in (DDAERR, DDAELR)]


@pytest.mark.parametrize("zero_weights", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(("d", "budget", "split"), [(4, 3, "paper"), (4, 4, "even"), (3, 3, "even"), (2, 2, "paper")])
@pytest.mark.parametrize(("cls", "inner"), CASES)
def test_expected_estimate_is_the_gradient(cls, inner, d, budget, split, center, zero_weights):
    learner = prepared(
        cls, d, budget=budget, split=split, center=center, zero_weights=zero_weights, **options_of(cls, inner, d)
    )
    x, w = X_HERE[:d], learner.last_coef
    _, _, seen, options = kernel_parts(learner)
    mean_x, mean_y = (learner.means, seen.targets[0]) if center else (np.zeros(d), 0.0)
    known = learner.looks > 0 if center else True
    centred = np.where(known, x - mean_x, 0.0)  # a first look has no mean to be compared with
    gradient = (w @ centred - (Y_HERE - mean_y)) * centred
    total, mass = np.zeros(d), 0.0
    for probability, draws in possible_draws(learner):
        y = np.array([Y_HERE])
        total += probability * gradient_estimate(draws, x[draws.attributes], y, seen, options, d)
        mass += probability
    assert mass == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(total, gradient, rtol=0, atol=1e-12 * max(1.0, np.abs(gradient).max()))


def test_the_looks_that_learners_ask_for_are_those_enumerated():
    """Many rounds at fixed weights: frequencies match the probabilities, and weights are those enumerated."""
    learner = prepared(DDAERR, 3, zero_weights=False, budget=2, **options_of(DDAERR, "improved", 3))
    expected = {}
    for probability, draws in possible_draws(learner):
        expected[tuple(draws.attributes[draws.place])] = (probability, draws)
    counts, rounds = dict.fromkeys(expected, 0), 40_000
    (model, table, _, options), asked = kernel_parts(learner), new_draws(1, 1, 1)
    for t in range(rounds):
        model.counts[ROUND] = t
        ask_once(model, table.cells, options, asked, new_scratch(asked))
        key = tuple(asked.attributes[asked.place])
        counts[key] += 1
        same = expected[key][1]
        assert abs(asked.point_weights[0] / same.point_weights[0] - 1) < 1e-12
        assert abs(asked.inner_weights[0, 0] / same.inner_weights[0, 0] - 1) < 1e-12
    for key, (probability, _) in expected.items():
        error = np.sqrt(probability * (1 - probability) / rounds)
        assert abs(counts[key] / rounds - probability) < 4.5 * error
