"""Variances that held-out errors confirm, against worlds whose variances are known."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from sparing import BudgetClassifier, BudgetRidge
from sparing.models.calibration import Calibration, HeldOut, part_left

ONE, ZERO = np.ones(1), np.zeros(1)


def held_out(share, n=20_000, seed=0):
    """Errors whose variance is what ``share`` leaves of what is claimed, about all of a variance of 4."""
    rng = np.random.default_rng(seed)
    explained = rng.uniform(0.0, 0.9, n)
    errors = rng.standard_normal(n) * np.sqrt(4.0 * part_left(share, explained))
    claimed = 4.0 * np.array([[0.9]])
    return claimed, HeldOut(errors[:, None], np.zeros((n, 1)), claimed - 4.0 * explained[:, None, None], np.ones(n))


@pytest.mark.parametrize("share", [0.5, 0.9, 1.3, 2.5])
def test_the_share_that_errors_show_is_found(share):
    claimed, found = held_out(share)
    learnt = Calibration.of_nothing(4.0 * ONE).learnt(claimed, found, len(found.targets))
    assert learnt.share == pytest.approx(share, rel=0.05)
    everything = np.zeros((1, 1, 1))
    assert learnt.variances(claimed, everything)[0, 0] == pytest.approx(4.0 * part_left(share, 0.9), rel=0.15)
    assert learnt.variances(claimed, claimed[None])[0, 0] == 4.0
    for probability in (0.05, 0.5, 0.95):  # of normal errors, where as much is known as usual
        normal = Calibration.of_nothing(4.0 * ONE).quantiles(probability, claimed, everything, ZERO)
        assert learnt.quantiles(probability, claimed, everything, ZERO)[0, 0] == pytest.approx(normal[0, 0], abs=0.05)


def test_examples_with_hidden_parts_do_not_count_for_variances():
    claimed, found = held_out(1.3, n=500)
    alone = Calibration.of_nothing(4.0 * ONE).learnt(claimed, found, 500)
    both = HeldOut(*(np.concatenate([of, 3.0 * of]) for of in found))
    learnt = Calibration.of_nothing(4.0 * ONE).learnt(claimed, both, 500)
    assert learnt.share == alone.share
    for probability in (0.1, 0.8):
        quantiles = [one.quantiles(probability, claimed, claimed[None] / 2, ZERO) for one in (learnt, alone)]
        np.testing.assert_array_equal(*quantiles)


@pytest.mark.parametrize("seed", [0, 1])
def test_intervals_of_nothing_known_end_at_targets_that_many_share(seed):
    """Where trees were judged, held-out targets have another mean: ends were just inside the values 1 and 6."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 6)) + rng.standard_normal((600, 1))
    y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(600), [-1.0, -0.5, 0.0, 0.5, 1.0]) + 1.0
    model = BudgetRidge(budget=2, random_state=seed).fit(X, y)
    assert np.ravel(model.predict_interval(np.full((1, 6), np.nan), 0.9)).tolist() == [1.0, 6.0]


def test_labels_that_were_held_out_are_labels():
    """Standardized by each split they were not quite, and slopes of probabilities ran away."""
    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetClassifier(budget=30, features="linear", random_state=0).fit(X[:200], y[:200]).learner_.fitted
    held_out = model.calibration.held_out
    assert set(held_out.targets.ravel()) == {-1.0, 1.0}
    assert len(held_out.targets) == 2 * len(model.calibration.errors) == 400
    assert held_out.unexplained[:200].max() < 1e-9 < held_out.unexplained[200:].mean()  # whole rows, and hidden parts


def test_trees_learnt_from_whole_rows_predict_from_parts():
    """Steps that only trees see: the best predictions from one of two columns leave half of the variance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 2))
    y = np.floor(2 * X[:, 0]) % 2 + np.floor(2 * X[:, 1]) % 2
    model = BudgetRidge(budget=2, random_state=0).fit(X[:1000], y[:1000])
    assert model.learner_.fitted.trees_share > 0.5
    in_part = np.where(np.arange(2) == 0, X[1000:], np.nan)
    assert np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) < 0.3 * y.var()
    assert np.mean((model.predict(in_part) - y[1000:]) ** 2) < 0.75 * y.var()


def test_rows_in_part_have_a_share_of_trees_of_their_own():
    """Trees that help with whole digits can do harm to six pixels of them: there they get another share.

    Over seven orders of the rows, of which some have no trees. A full share would do harm.
    """
    X, y = load_digits(return_X_y=True)
    X, y = X[(y == 3) | (y == 5)], y[(y == 3) | (y == 5)] - 3.0
    errors, shares = [], []
    for seed in range(7):
        order = np.random.default_rng(seed).permutation(len(y)) if seed else np.arange(len(y))
        train, test = order[:240], order[240:]
        model = BudgetRidge(budget=64, random_state=0).fit(X[train], y[train])
        fitted, route = model.learner_.fitted, [purchase.columns[0] for purchase in model.route()][:6]
        in_part = np.full_like(X[test], np.nan)
        in_part[:, route] = X[np.ix_(test, route)]
        for one in (fitted, replace(fitted, trees_share_in_part=1.0)):
            errors.append(np.mean((one.predict(in_part)[:, 0] - y[test]) ** 2))
        shares.append([fitted.trees_share, fitted.trees_share_in_part])
    with_trees = np.array([share for share in shares if share[0]])
    assert len(with_trees) >= 3
    assert with_trees[:, 0].mean() > 0.5 > with_trees[:, 1].mean()
    assert np.mean(errors[::2]) < np.mean(errors[1::2])


def test_a_claim_of_more_than_everything_is_replaced_by_what_is_expected():
    """From seen parts a share of one was confirmed; whole rows are said to explain 1.4 of the variance of 4."""
    _, found = held_out(1.0)
    impossible = 4.0 * np.array([[1.4]])
    found = found._replace(unexplained=found.unexplained + impossible - 4.0 * 0.9)  # the same parts are explained
    everything, alone = np.zeros((1, 1, 1)), Calibration.of_nothing(4.0 * ONE)
    learnt = alone.learnt(impossible, found, len(found.targets), expected=0.6)
    assert learnt.variances(impossible, everything)[0, 0] == pytest.approx(4.0 * 0.4, rel=0.01)
    possible = alone.learnt(4.0 * np.array([[0.9]]), held_out(1.0)[1], len(found.targets), expected=0.6)
    assert possible.share == pytest.approx(1.0, rel=0.05)


def test_a_model_of_uncorrelated_attributes_explains_no_more_of_whole_rows_than_is_expected():
    """What is known of parts of rows stays as it is."""
    claimed, found = held_out(1.0)
    arguments, alone = (claimed, found, len(found.targets), 0.6), Calibration.of_nothing(4.0 * ONE)
    learnt, other = alone.learnt(*arguments, correlated=False), alone.learnt(*arguments)
    everything, little = np.zeros((1, 1, 1)), claimed[None] - 4.0 * 0.3
    assert learnt.variances(claimed, everything)[0, 0] == pytest.approx(4.0 * 0.4)
    assert other.variances(claimed, everything)[0, 0] == pytest.approx(4.0 * 0.1, rel=0.5)
    np.testing.assert_array_equal(learnt.variances(claimed, little), other.variances(claimed, little))
    worthless = alone.learnt(*arguments[:3], expected=-0.2, correlated=False)
    assert worthless.variances(claimed, claimed[None])[0, 0] == 4.0  # never more than that of the target
