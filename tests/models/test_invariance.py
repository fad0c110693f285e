"""Models do not depend on units, on shards, on constant columns, or much on outlying rows."""

import numpy as np
import pytest

from sparing.cells import Cells, store
from sparing.learners import AutoLearner, FactorModel, MeanImputed, PairwiseMoments
from sparing.models.gaussian import Gaussian

D, N = 6, 400
RNG = np.random.default_rng(5)
X = RNG.standard_normal((2 * N, 2)) @ RNG.standard_normal((2, D)) + RNG.standard_normal((2 * N, D))
Y = 2.0 * np.abs(X[:, 0]) + X[:, 1] - X[:, 2] + X[:, 3] * X[:, 4] + 0.3 * RNG.standard_normal(2 * N)
LEARNERS = {
    "linear": (AutoLearner, {}),
    "lasso": (AutoLearner, {"penalty": "lasso"}),
    "additive": (AutoLearner, {"features": "additive"}),
    "auto": (AutoLearner, {"features": "auto"}),
    "pairwise": (PairwiseMoments, {}),
    "factor": (FactorModel, {}),
    "full": (FactorModel, {"rank": "full"}),
    "imputed": (MeanImputed, {}),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def learn(name, rows, y, **options):
    cls, own = LEARNERS[name]
    return cls(rows.shape[1], **({"budget": 4, "random_state": 0} | own | options)).run(rows, y)


# Units --------------------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("of_y", [1e6, 1e-6])
def test_units_of_columns_and_targets_do_not_matter(name, of_y):
    """Columns times powers of ten between -6 and 6 and shifted by up to five spreads: looks and predictions are equal.

    Relative to the targets' spread, to 1e-6: sums of other numbers round otherwise.
    """
    rng = np.random.default_rng(1)
    units = 10.0 ** rng.integers(-6, 7, D)
    shifts = rng.uniform(-5.0, 5.0, D) * units
    plain, scaled = learn(name, X[:N], Y[:N]), learn(name, X[:N] * units + shifts, of_y * (Y[:N] + 3.0))
    np.testing.assert_array_equal(scaled.bought.attributes, plain.bought.attributes)
    expected, found = plain.fitted.predict(X[N:]), scaled.fitted.predict(X[N:] * units + shifts) / of_y - 3.0
    assert expected.std() > 0.1 * Y.std()
    assert plain.fitted.trees_share > 0.1 or name != "auto"
    np.testing.assert_allclose(found, expected, atol=1e-6 * Y.std())


# Order --------------------------------------------------------------------------------------------------------------


@every_learner
def test_the_order_of_rows_and_shards_leaves_no_trace(name):
    cls, own = LEARNERS[name]
    cells, rng = learn("imputed", X[:N], Y[:N]).bought, np.random.default_rng(0)
    parts = np.array_split(rng.permutation(N), 3)
    shuffled = Cells.merge([cells.take(part) for part in parts])
    models = [cls(D, budget=4, **own).fit_cells(one).fitted for one in (cells, shuffled)]
    np.testing.assert_array_equal(models[0].predict(X[N:]), models[1].predict(X[N:]))


@pytest.mark.parametrize("name", ["linear", "additive", "auto"])
def test_the_order_of_columns_decides_folds_and_draws_only(name, monkeypatch):
    """Rows are put in order by the numbers of the columns that were seen, and take turns in the folds.

    Which cells are hidden from held-out examples is drawn place by place, and so are unseen values that complete them.
    With all of that fixed, fits to the same cells agree to rounding errors: the order of columns decides nothing else.
    """
    cells, (cls, own) = learn(name, X[:N], Y[:N]).bought, LEARNERS[name]
    monkeypatch.setattr(store, "by_contents", lambda cells: (np.arange(cells.n_examples), None))
    monkeypatch.setattr(Cells, "partly_hidden", lambda self: self.where(np.sin(1e6 * self.values) > 0))
    monkeypatch.setattr(Gaussian, "simulate", lambda self, n, generator: np.tile(self.means, (n, 1)))
    found = []
    for order in (np.arange(D), np.random.default_rng(0).permutation(D)):
        renumbered = Cells(D)
        numbers = np.argsort(order)[cells.attributes]
        places = np.lexsort((numbers, cells.examples()))
        chances = cells.probabilities[places]
        sizes = np.diff(cells.starts)
        renumbered.extend(sizes, numbers[places], cells.values[places], cells.targets, probabilities=chances)
        found.append(cls(D, budget=4, **own).fit_cells(renumbered).fitted.predict(X[N:, order]))
    assert found[0].std() > 0.1 * Y.std()
    np.testing.assert_allclose(found[1], found[0], atol=1e-9 * Y.std())


# Columns that say nothing -------------------------------------------------------------------------------------------


def errors(rows, y, features, *, seeds, looks):
    """Of an automatic learner on fresh rows, relative to the variance, by seeds."""
    found = []
    for seed in range(seeds):
        learner = AutoLearner(rows.shape[1], budget=looks, features=features, random_state=seed).run(rows[:N], y[:N])
        found.append(np.mean((learner.fitted.predict(rows[N:])[:, 0] - y[N:]) ** 2) / y[N:].var())
    return np.array(found)


@pytest.mark.parametrize("features", ["linear", "additive"])
def test_a_constant_column_and_one_of_huge_noise_do_no_harm(features):
    """Four looks at eight columns, of which two are junk, are about three looks at the six others.

    So the error is compared with that, over three seeds; 0.03 of the variance is allowed, as seeds differ by as much.
    """
    junk = np.column_stack([np.full(2 * N, 7.0), 1e5 * np.random.default_rng(3).standard_normal(2 * N)])
    with_junk = errors(np.column_stack([X, junk]), Y, features, seeds=3, looks=4)
    assert with_junk.mean() < errors(X, Y, features, seeds=3, looks=3).mean() + 0.03


# Where there is nothing to learn ------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["linear", "additive", "auto"])
def test_one_extreme_row_among_log_normal_columns_does_no_harm(features):
    """Targets of noise, and one row that is a million times as large in all its columns and in its target."""
    rng = np.random.default_rng(0)
    rows, y = rng.lognormal(sigma=1.5, size=(800, 8)), rng.standard_normal(800)
    rows[7] *= 1e6
    y[7] = 1e3
    learner = AutoLearner(8, budget=4, features=features, random_state=0).run(rows[:400], y[:400])
    error = np.mean((learner.fitted.predict(rows[400:])[:, 0] - y[400:]) ** 2)
    assert error < 1.02 * np.mean((y[400:] - y[:400].mean()) ** 2)


def test_of_many_columns_of_noise_the_mean_is_taken():
    """751 columns, 180 rows, 20 looks: no worse than 1.02 of the mean target's error on fresh rows."""
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((1180, 751)), rng.standard_normal(1180)
    learner = AutoLearner(751, budget=20, features="auto", random_state=0).run(rows[:180], y[:180])
    error = np.mean((learner.fitted.predict(rows[180:])[:, 0] - y[180:]) ** 2)
    assert error < 1.02 * np.mean((y[180:] - y[:180].mean()) ** 2)
