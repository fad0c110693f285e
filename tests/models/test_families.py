"""Families of models: the same candidates in the same order from any cells, and costs that order them."""

import numpy as np
import pytest

from planted_cells import planted, uniform_cells
from sparing.cells import Cells
from sparing.models import families
from sparing.models.covariance import covariance_candidate, covariance_iterates
from sparing.models.em import StandardizedCells, nth_iterate
from sparing.models.factor import factor_candidate, factor_iterates
from sparing.models.factor_gradients import implied_covariance
from sparing.models.families import Size
from sparing.models.pairwise import PENALTIES, lasso_path
from sparing.models.summary import summarize

D = 12
ALL = {
    "mean target": families.mean_target(),
    "mean-imputed": families.mean_imputed(),
    "less and less shrunk": families.less_and_less_shrunk(),
    **{
        f"{make.__name__} {penalty}": make(penalty)
        for make in (families.pairwise_moments, families.full_covariance, families.near_factors, families.factor)
        for penalty in ("ridge", "lasso")
    },
}
every_family = pytest.mark.parametrize("family", ALL.values(), ids=ALL)


@pytest.fixture(scope="module")
def cells():
    X, y = planted(120, d=D)
    bought = uniform_cells(X, y, 5)
    both = Cells(D, n_outputs=2)
    both.extend(np.diff(bought.starts), bought.attributes, bought.values, np.column_stack([y, y**2]))
    return both.in_order()


@every_family
def test_candidates_come_in_the_same_number_and_order_on_any_fold(family, cells):
    """Also of seven examples, of a target that is constant, and where most attributes were never seen."""
    constant = Cells(D, n_outputs=2)
    constant.append([0, 1], [1.0, 2.0], [0.0, 1.0])
    constant.append([1], [2.0], [0.0, 1.0])
    settings = [
        [candidate.setting for candidate in family.candidates(part, summarize(part))]
        for part in (cells, cells.take(np.arange(120) % 4 != 1), cells.take(np.arange(7)), constant)
    ]
    assert settings == [settings[0]] * 4
    assert len(set(settings[0])) == len(settings[0])  # by which candidates are found again
    assert -len(settings[0]) <= family.usual < len(settings[0])


@every_family
def test_candidates_are_finite_and_have_a_covariance(family, cells):
    summary = summarize(cells)
    for candidate in family.candidates(cells, summary):
        gaussian = candidate.attributes()
        assert candidate.weights.shape == (D, 2)
        assert np.isfinite(candidate.weights).all()
        assert np.linalg.eigvalsh(gaussian.covariance)[0] > 0
        np.testing.assert_array_equal(gaussian.means, summary.means)


def test_what_is_usual(cells):
    """For ridge what is best as a rule; a lasso's likely models complete rows by nearly the regression they imply."""
    usual = {name: family.candidates(cells, summarize(cells))[family.usual].setting for name, family in ALL.items()}
    assert usual == {
        "mean target": "no weights",
        "mean-imputed": "ridge 100",
        "less and less shrunk": "prior sample size 5",
        "pairwise_moments ridge": "ridge 0.5 of the noise",
        "pairwise_moments lasso": "lasso 0.18 of the largest penalty",
        "full_covariance ridge": "prior sample size 5",
        "full_covariance lasso": "lasso 0.02 of the largest penalty",
        "near_factors ridge": "prior sample size 20",
        "near_factors lasso": "lasso 0.02 of the largest penalty",
        "factor ridge": "rank 20, 20 iterations",
        "factor lasso": "rank 20, lasso 0.02 of the largest penalty",
    }


def test_a_factor_family_is_every_rank_at_every_stop(cells):
    data = StandardizedCells(cells, summarize(cells))
    found = families.factor("ridge", (2, 3), (4, 6)).candidates(cells, data.summary)
    for candidate, (rank, stop) in zip(found, [(2, 4), (2, 6), (3, 4), (3, 6)], strict=True):
        factors = nth_iterate(factor_iterates(cells, data, rank), stop)
        assert candidate.setting == f"rank {rank}, {stop} iterations"
        np.testing.assert_array_equal(candidate.weights, factor_candidate("", data, factors).weights)


@every_family
def test_single_candidates_are_those_of_all(family, cells):
    summary = summarize(cells)
    everyone = family.candidates(cells, summary)
    some = everyone[:: max(len(everyone) // 2, 1)][:2]
    found = family.fitted(cells, summary, {candidate.setting for candidate in some})
    for candidate, expected in zip(found, some, strict=True):
        assert candidate.setting == expected.setting
        np.testing.assert_array_equal(candidate.weights, expected.weights)


def test_no_candidate_is_fitted_after_the_last_that_is_wanted(cells):
    def fits(cells, summary):
        yield from families.mean_target().candidates(cells, summary)
        pytest.fail("a second candidate was fitted")

    family = families.Family("one", fits, 0, lambda size: 0.0)
    assert [candidate.setting for candidate in family.fitted(cells, summarize(cells), {"no weights"})] == ["no weights"]


def test_a_covariance_near_factors_is_shrunk_toward_them(cells):
    data = StandardizedCells(cells, summarize(cells))
    factors = nth_iterate(factor_iterates(cells, data, families.RANKS[-1]), families.STOPS[-2])
    iterates = covariance_iterates(data, implied_covariance(factors), families.TOWARD_FACTORS)
    covariance = nth_iterate(iterates, families.FROM_FACTORS)
    (found,) = families.near_factors("ridge").candidates(cells, data.summary)
    np.testing.assert_array_equal(found.weights, covariance_candidate("", data, covariance).weights)


def test_a_covariance_starts_from_the_one_that_is_shrunk_more(cells):
    """So it takes a third of the iterations: continued, each gets where it gets alone."""
    data = StandardizedCells(cells, summarize(cells))
    identity = np.eye(D + 2)
    strong = nth_iterate(covariance_iterates(data, identity, 50.0), families.CONTINUED)
    weak = nth_iterate(covariance_iterates(data, identity, 15.0, strong), families.CONTINUED)
    found = families.less_and_less_shrunk().candidates(cells, data.summary)
    for candidate, covariance in zip(found[:2], (strong, weak), strict=True):
        np.testing.assert_array_equal(candidate.weights, covariance_candidate("", data, covariance).weights)
    alone, last = (nth_iterate(covariance_iterates(data, identity, 15.0, start), 3000) for start in (None, strong))
    np.testing.assert_allclose(alone, last, atol=1e-6)


def test_a_lasso_follows_its_path_on_the_standardized_covariance(cells):
    data = StandardizedCells(cells, summarize(cells))
    covariance = nth_iterate(covariance_iterates(data, np.eye(D + 2), families.USUAL_PRIOR), 3)
    found = families.full_covariance("lasso", iterations=3).candidates(cells, data.summary)
    path = lasso_path(covariance[:D, :D], covariance[:D, D:])
    assert len(found) == len(PENALTIES)
    for candidate, (setting, weights) in zip(found, path, strict=True):
        assert candidate.setting == setting
        np.testing.assert_allclose(candidate.weights, data.weights(weights), rtol=1e-12)


def test_a_covariance_near_factors_adds_what_pairs_say():
    """Two factors, and fifteen pairs of attributes besides: over four seeds 0.70 to 0.85 of the next best error."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2500, 30))
    noise[:, 1::2] = 0.9 * noise[:, ::2] + 0.4 * noise[:, 1::2]
    X, y = rng.standard_normal((2500, 2)) @ rng.standard_normal((2, 30)) + noise, noise.sum(axis=1)
    cells = uniform_cells(X[:1500], y[:1500], 6).in_order()
    summary, errors = summarize(cells), []
    for family in (families.near_factors("ridge"), families.factor("ridge"), families.full_covariance("ridge")):
        found = [candidate.weights[:, 0] for candidate in family.candidates(cells, summary)]
        errors.append(min(np.var(y[1500:] - X[1500:] @ weights) for weights in found) / y.var())
    assert errors[0] < 0.95 * min(errors[1:])


def test_the_size_of_a_fit_counts_cells_and_targets(cells):
    size = Size.of(cells)
    assert size == (D, 600, 120 * 7.0**3)


def test_costs_grow_with_what_they_depend_on():
    """Cubes of attributes for matrices, cells alone for factors: the only family for very wide data."""
    small, wide, long = Size(100, 10**4, 1e5), Size(10**5, 10**4, 1e5), Size(100, 10**7, 1e8)
    for family in ALL.values():
        if family.name == "mean target":
            assert family.seconds(wide) == 0.0
        elif family.name == "factor":
            assert family.seconds(wide) == family.seconds(small) < family.seconds(long)
        else:
            assert family.seconds(wide) > 1e4
            assert family.seconds(small) < 10.0
