"""Lower bounds for few looks and their data, and the looks at which whole rows gain nothing but a constant."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sparing.datasets import make_hidden_signs
from sparing.theory import examples_lower_order, full_information_looks, risk_bound, sample_complexity


@pytest.mark.parametrize(("d", "excess", "k"), [(4, 0.5, 4), (30, 0.25, 16), (9, 1.0, 1), (50, 0.3, 11)])
def test_hidden_signs_are_the_instance_of_appendix_b(d, excess, k):
    """All k examples of the distribution are listed; the best weights of the ball are those of a generic solver."""
    made = make_hidden_signs(2000, d, excess, random_state=1)
    hidden = np.flatnonzero(made.coef)
    assert hidden.size == k
    assert np.linalg.norm(made.coef) == pytest.approx(1.0)
    rows = made.data.toarray()
    np.testing.assert_array_equal(np.abs(rows).sum(axis=1), 1.0)
    np.testing.assert_array_equal(made.target, 1.0)
    np.testing.assert_allclose(rows @ made.coef, 1 / np.sqrt(k))
    np.testing.assert_array_equal(made.second_moments > 0, made.coef != 0)
    assert np.unique(rows, axis=0).shape[0] == k
    points = np.diag(np.sign(made.coef))[hidden]  # each with probability 1/k

    def loss(w):
        return np.mean((points @ w - 1) ** 2)

    assert loss(made.coef) == pytest.approx((1 - k**-0.5) ** 2, abs=1e-12)  # Lemma B.4
    best = minimize(
        loss, np.zeros(d), constraints={"type": "ineq", "fun": lambda w: 1 - w @ w}, method="SLSQP", tol=1e-12
    )
    assert best.fun == pytest.approx(loss(made.coef), abs=1e-6)
    np.testing.assert_allclose(best.x, made.coef, atol=1e-3)


def test_more_hidden_signs_begin_with_fewer():
    few, more = (make_hidden_signs(n, 20, 0.5, random_state=3) for n in (5, 50))
    np.testing.assert_array_equal(few.coef, more.coef)
    np.testing.assert_array_equal(few.data.toarray(), more.data.toarray()[:5])


@pytest.mark.parametrize("excess", [0.0, -0.1, 0.05, 1.5, np.nan])
def test_hidden_signs_need_as_many_attributes(excess):
    with pytest.raises(ValueError, match="excess must"):
        make_hidden_signs(10, 100, excess)


@pytest.mark.parametrize(("d", "k", "excess"), [(400, 3, 0.1), (1000, 9, 0.05), (10_000, 50, 0.5)])
def test_aerr_is_a_constant_from_the_lower_bound_of_ridge(d, k, excess):
    """Theorem 3.1 solved for m is 32 d / (k eps^2) at B = 1, whatever d, k and eps (HK: tight up to constants)."""
    enough = sample_complexity("AERR", excess=excess, n_attributes=d, radius=1.0, budget=k + 1)
    assert enough == pytest.approx(
        32 * examples_lower_order("ridge", excess=excess, n_attributes=d, budget=k), rel=1e-3
    )


def test_the_lower_bound_of_lasso_is_below_what_aelr_needs():
    for d, k, excess in ((100, 3, 0.05), (5000, 20, 0.01)):
        enough = sample_complexity("AELR", excess=excess, n_attributes=d, radius=1.0, budget=k + 1)
        assert examples_lower_order("lasso", excess=excess, n_attributes=d, budget=k) < enough


@pytest.mark.parametrize(
    ("penalty", "options", "words"),
    [
        ("ridge", {"excess": 0.01, "n_attributes": 100, "budget": 4}, "from 1/sqrt.d. = 0.1 to 1"),
        ("ridge", {"excess": 0.5, "n_attributes": 100, "budget": 101}, "k <= d"),
        ("lasso", {"excess": 0.1, "n_attributes": 100, "budget": 4}, "below 1/16"),
        ("lasso", {"excess": 0.01, "n_attributes": 100, "budget": 1}, "k > 1"),
        ("lasso", {"excess": 0.01, "n_attributes": 16, "budget": 4}, "d > 4k"),
        ("ridge", {"excess": -1.0, "n_attributes": 100, "budget": 4}, "excess must be a positive"),
        ("elastic", {"excess": 0.5, "n_attributes": 100, "budget": 4}, "penalty must be one of"),
    ],
)
def test_where_the_theorems_are_silent_so_are_the_functions(penalty, options, words):
    with pytest.raises(ValueError, match=words):
        examples_lower_order(penalty, **options)


@pytest.mark.parametrize(
    ("penalty", "few", "whole"), [("ridge", "DDAERR", "OnlineRidge"), ("lasso", "DDAELR", "OnlineLasso")]
)
@pytest.mark.parametrize("power", [0.0, -1.0, -2.0])
def test_so_many_looks_cost_a_root_of_two_and_one_less_costs_more(penalty, few, whole, power):
    """Against the bounds of both theorems at the same number of rounds."""
    moments = np.arange(1.0, 41.0) ** power
    moments /= moments.sum() if penalty == "ridge" else moments.max()
    k = full_information_looks(moments, penalty, norm_bound=1.0)
    assert k == full_information_looks(3.0 * moments, penalty)  # by default in units of the data
    shared = {"n_attributes": 41, "n_examples": 10_000, "radius": 2.0}
    moments = np.append(moments, 0.0)  # room for k + 1 looks at 40 equal attributes

    def ratio(k):
        return risk_bound(few, second_moments=moments, budget=k + 1, **shared) / risk_bound(whole, **shared)

    assert ratio(k) <= np.sqrt(2) * (1 + 1e-9)
    assert k == 1 or ratio(k - 1) > np.sqrt(2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm_bound": 0.0}, "norm_bound must be a positive"),
        ({"norm_bound": 1.0}, "need examples of norm 1.41421"),
        ({"penalty": "shrunk"}, "penalty must be one of"),
    ],
)
def test_bad_options_of_the_looks_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        full_information_looks([1.0, 1.0], **options)
    with pytest.raises(ValueError, match="second_moments"):
        full_information_looks([-1.0, 1.0])
