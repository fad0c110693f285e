"""Functions of columns: centred and uncorrelated over the looks, by scipy's quantiles, and by loops over cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from sparing.cells import Cells
from sparing.models import bases
from sparing.models.bases import LEAST_CURVE, MOST_KNOTS, Kind, learn_basis
from sparing.models.summary import LOOKS_FOR_A_SCALE

KINDS = [Kind(transform, hinges) for transform in ("winsorized", "normal scores") for hinges in (0, 1, 3)]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
few = settings(max_examples=30, deadline=None)


def column_cells(*columns, targets=None):
    """Whole rows of some columns."""
    rows = np.column_stack(columns)
    n, d = rows.shape
    cells = Cells(d)
    cells.extend(np.full(n, d), np.tile(np.arange(d), n), rows.ravel(), np.zeros(n) if targets is None else targets)
    return cells


def ragged_cells(n=60, d=5, seed=0, n_outputs=2):
    """Of up to all columns; the last but one is constant, the last is never seen."""
    rng, cells = np.random.default_rng(seed), Cells(d, n_outputs=n_outputs)
    for _ in range(n):
        seen = rng.permutation(d - 1)[: rng.integers(0, d)]
        values = np.where(seen == d - 2, 3.0, rng.gamma(1.0, size=seen.size))
        chances = rng.uniform(0.1, 1.0, seen.size)
        cells.append(seen, values, rng.standard_normal(n_outputs), probabilities=chances)
    return cells


LOOKS = st.one_of(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=12, max_size=80),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=12, max_size=80),
)


@few
@given(LOOKS, st.sampled_from(KINDS))
def test_functions_are_centred_uncorrelated_and_of_variance_one_over_the_looks(looks, kind):
    (column,) = learn_basis(kind, column_cells(looks)).columns
    found = column(np.array(looks))
    size = found.shape[1]
    assert size <= 1 + kind.hinges
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.T @ found / len(looks), np.eye(size), atol=1e-8)
    usual = max(looks.count(value) for value in set(looks))
    assert (size > 0) == (len(looks) - usual >= LOOKS_FOR_A_SCALE)


@every_kind
def test_functions_are_linear_between_knots_and_constant_outside_them(kind):
    x = np.random.default_rng(0).gamma(1.0, size=500)
    (column,) = learn_basis(kind, column_cells(x)).columns
    assert np.all(np.diff(column.knots) > 0)
    grid = np.concatenate([np.linspace(-5.0, 20.0, 1001), column.knots])
    expected = np.column_stack([np.interp(grid, column.knots, values) for values in column.values.T])
    np.testing.assert_allclose(column(grid), expected, rtol=1e-10, atol=1e-10)
    ends = column(np.array([-1e300, column.knots[0], column.knots[-1], 1e300]))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_allclose(ends[2], ends[3], rtol=1e-14)


@pytest.mark.parametrize("distinct", [True, False])
def test_normal_scores_are_the_normal_quantiles_of_mid_ranks(distinct):
    """Standardized, at every value seen; ties share the middle of their ranks."""
    rng = np.random.default_rng(0)
    x = rng.gamma(1.0, size=150) if distinct else rng.poisson(2.0, 150).astype(float)
    (column,) = learn_basis(Kind("normal scores", 0), column_cells(x)).columns
    scores = ndtri((rankdata(x) - 0.5) / x.size)
    expected = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(column(x)[:, 0], expected, rtol=1e-10, atol=1e-12)


def test_of_many_values_normal_scores_have_knots_at_some_of_them():
    """200 knots of 20,000 values: between them, within two standard deviations, scores are off by less than 0.01."""
    x = np.random.default_rng(0).gamma(1.0, size=20_000)
    (column,) = learn_basis(Kind("normal scores", 0), column_cells(x)).columns
    assert column.knots.size <= MOST_KNOTS
    assert set(column.knots) <= set(x)
    scores = ndtri((rankdata(x) - 0.5) / x.size)
    middle = np.abs(scores) < 2.0
    slope, shift = np.polyfit(scores[middle], column(x)[middle, 0], 1)
    assert slope == pytest.approx(1.0, abs=0.05)  # interpolated tails have a variance of their own
    np.testing.assert_allclose((column(x)[middle, 0] - shift) / slope, scores[middle], atol=0.01)


@pytest.mark.parametrize("hinges", [0, 1, 3])
@pytest.mark.parametrize("change", [np.exp, np.cbrt, lambda x: 1e-9 * x, lambda x: -1.0 / (x + 10.0)])
def test_at_knots_normal_scores_do_not_depend_on_increasing_changes_of_units(hinges, change):
    """Every value is a knot, as there are few of them; between knots of very many, only lines stay lines."""
    x = np.random.default_rng(0).standard_normal(150)
    found = [learn_basis(Kind("normal scores", hinges), column_cells(v)).columns[0](v) for v in (x, change(x))]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("hinges", [0, 1, 3])
@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0.0), (1e-6, 5e-6), (3.0, -1e3)])
def test_winsorized_functions_do_not_depend_on_scale_and_shift(hinges, scale, shift):
    x = np.random.default_rng(0).standard_t(2.0, 300)
    moved = scale * x + shift
    found = [learn_basis(Kind("winsorized", hinges), column_cells(v)).columns[0](v) for v in (x, moved)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8, atol=1e-8)


def test_winsorizing_moves_tails_to_quantiles():
    """0.005 of 1,000 looks on each side are five: the sixth least and the sixth largest are the ends."""
    x = np.random.default_rng(0).standard_t(2.0, 1000)
    (column,) = learn_basis(Kind("winsorized", 0), column_cells(x)).columns
    ordered = np.sort(x)
    kept = np.clip(x, ordered[5], ordered[-6])
    np.testing.assert_allclose(column(x)[:, 0], (kept - kept.mean()) / kept.std(), rtol=1e-10, atol=1e-12)


@every_kind
def test_functions_have_something_of_their_own(kind):
    """What is left of each after regression on those before it is not nearly nothing: they are not copies."""
    x = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    (column,) = learn_basis(kind, column_cells(x)).columns
    assert column.values.shape[1] <= 2  # of three values there are two functions beside a constant
    assert np.linalg.matrix_rank(column.values, tol=LEAST_CURVE) == column.values.shape[1]


def test_with_one_hinge_a_v_is_reproduced():
    """With its corner at the median of a uniform column: the span of a constant and both functions holds it."""
    x = np.linspace(-1.0, 1.0, 151)
    scores = ndtri((rankdata(x) - 0.5) / x.size)
    for transform, line in (("winsorized", np.clip(x, x[1], x[-2])), ("normal scores", scores)):
        (column,) = learn_basis(Kind(transform, 1), column_cells(x)).columns
        basis = np.column_stack([np.ones(x.size), column(x)])
        for curve in (line, np.abs(line), np.maximum(line, 0.0)):
            np.testing.assert_allclose(basis @ np.linalg.lstsq(basis, curve, rcond=None)[0], curve, atol=1e-10)
        left = np.abs(line - 0.5) - basis @ np.linalg.lstsq(basis, np.abs(line - 0.5), rcond=None)[0]
        assert np.abs(left).max() > 0.05  # not a V with its corner elsewhere


@few
@given(LOOKS, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_what_is_quicker_than_numpys_has_its_bits(looks, probabilities):
    values, parts = np.array(looks), np.array(probabilities)
    np.testing.assert_array_equal(bases.quantiles_of(values, parts), np.quantile(values, parts))
    np.testing.assert_array_equal(bases.distinct(values), np.unique(values))
    rows = np.column_stack([values, values**2])
    np.testing.assert_array_equal(bases.spreads_of(rows), rows.std(axis=0))
    np.testing.assert_array_equal(bases.spreads_of(values), values.std())


# Of cells -----------------------------------------------------------------------------------------------------------


@every_kind
def test_expanded_cells_are_those_of_a_loop(kind):
    cells = ragged_cells()
    basis = learn_basis(kind, cells)
    expected = Cells(basis.size, n_outputs=2)
    for example in range(cells.n_examples):
        attributes, values, chances = [], [], []
        for at in range(cells.starts[example], cells.starts[example + 1]):
            column = cells.attributes[at]
            here = basis.columns[column](cells.values[at : at + 1])[0]
            attributes += range(basis.starts[column], basis.starts[column] + here.size)
            values += here.tolist()
            chances += [cells.probabilities[at]] * here.size
        expected.append(attributes, values, cells.targets[example], probabilities=chances)
    expanded = basis.expand(cells)
    for name, array in expected.state().items():
        np.testing.assert_array_equal(expanded.state()[name], array, err_msg=name)


@every_kind
def test_the_summary_of_expanded_cells_is_known(kind):
    cells = ragged_cells()
    basis = learn_basis(kind, cells)
    expanded = basis.expand(cells)
    summary, at = basis.summary(expanded), expanded.attributes
    counts = np.bincount(at, minlength=basis.size)
    np.testing.assert_array_equal(summary.counts, counts)
    np.testing.assert_allclose(np.bincount(at, weights=expanded.values) / counts, summary.means, atol=1e-10)
    np.testing.assert_allclose(np.bincount(at, weights=expanded.values**2) / counts, summary.variances, rtol=1e-9)
    np.testing.assert_allclose(summary.target_means, cells.targets.mean(axis=0))
    np.testing.assert_allclose(summary.target_variances, cells.targets.var(axis=0))
    assert summary.known.all()


@every_kind
def test_functions_of_whole_rows_are_those_of_their_cells(kind):
    rows = np.random.default_rng(0).gamma(1.0, size=(40, 3))
    cells = column_cells(*rows.T)
    basis = learn_basis(kind, cells)
    np.testing.assert_allclose(basis.functions(rows).ravel(), basis.expand(cells).values, rtol=1e-12)


@every_kind
def test_a_column_that_hardly_varied_has_no_function(kind):
    lit = np.zeros((100, 4))
    lit[: LOOKS_FOR_A_SCALE - 1, 0] = lit[:LOOKS_FOR_A_SCALE, 1] = 1.0
    lit[:, 3] = np.arange(100.0)
    basis = learn_basis(kind, column_cells(*lit.T))
    sizes = np.diff(basis.starts)
    assert sizes[[0, 2]].tolist() == [0, 0]
    assert sizes[1] >= 1
    assert sizes[3] == 1 + kind.hinges
    assert basis.functions(lit).shape == (100, basis.size)


def test_no_column_need_have_a_function():
    cells = column_cells(np.ones(20), np.ones(20))
    basis = learn_basis(KINDS[1], cells)
    expanded = basis.expand(cells)
    assert (basis.size, len(expanded), expanded.n_examples) == (0, 0, 20)
    assert basis.functions(np.ones((3, 2))).shape == (3, 0)
