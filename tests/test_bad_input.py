"""Bad input is refused before anything is read, with what was got and what was expected."""

import re

import numpy as np
import pandas
import pytest
from scipy import sparse

import sparing
from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR
from sparing.learners import AELR, AERR, DDAELR, DDAERR, PlugInSVR, TwoPhasedDDAELR, TwoPhasedDDAERR
from sparing.learners.keeping import KeepingLearner

D, N = 6, 80
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = X @ np.arange(1.0, D + 1)
LABELS = np.where(Y > 0, "up", "down")
FITTED = ("coef_", "intercept_", "cells_", "n_iter_", "learner_", "classes_")

LEARNERS = [AERR, AELR, DDAERR, DDAELR, TwoPhasedDDAERR, TwoPhasedDDAELR, PlugInSVR]
INFORMED = [DDAERR, DDAELR, PlugInSVR]
REGRESSORS = [BudgetRidge, BudgetLasso, BudgetSVR]
ESTIMATORS = [*REGRESSORS, BudgetClassifier]
every_learner = pytest.mark.parametrize("cls", LEARNERS)
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS)
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)

BUDGETS = [
    (1, "budget must be a whole number, 2 or more; got 1"),
    (0, "budget must be a whole number, 2 or more; got 0"),
    (-3, "budget must be a whole number, 2 or more; got -3"),
    (2.5, "budget must be a whole number, 2 or more; got 2.5"),
    (3.0, "budget must be a whole number, 2 or more; got 3.0"),
    (True, "budget must be a whole number, 2 or more; got True"),
    ("3", "budget must be a whole number, 2 or more; got '3'"),
    ("none", "budget must be a whole number, 2 or more; got 'none'"),
    (D + 1, f"budget is {D + 1} attributes per example but there are only {D}"),
]
MOMENTS = [
    (np.ones(D - 1), f"second_moments has {D - 1} entries for {D} attributes"),
    (np.ones((2, D)), rf"got shape \(2, {D}\)"),
    ([1, 1, -0.5, 1, 1, 1], "must be finite and not negative; entry 2 is -0.5"),
    ([1, np.nan, 1, np.nan, 1, 1], r"entry 1 is nan \(2 such entries\)"),
    ([1, np.inf, 1, 1, 1, 1], "entry 1 is inf"),
    (np.zeros(D), "second_moments are all zero"),
]
OPTIONS = [
    ({"radius": 0.0}, "radius must be a positive finite number; got 0.0"),
    ({"radius": np.nan}, "radius must be a positive finite number; got nan"),
    ({"radius": True}, "radius must be a positive finite number; got True"),
    ({"radius": "large"}, "radius must be a positive finite number; got 'large'"),
    ({"step_size": "quick"}, "step_size must be one of 'theory', 'adaptive', 'adagrad'; got 'quick'"),
    ({"step_size": -1.0}, "step_size must be a positive finite number; got -1.0"),
    ({"scale": np.ones(D - 1)}, rf"each of the {D} attributes; got shape \({D - 1},\)"),
    ({"scale": np.zeros(D)}, "scale must hold one positive finite number"),
    ({"n_examples": 0}, "n_examples must be a whole number, 1 or more; got 0"),
    ({"random_state": -1}, r"random_state must lie between 0 and 2\*\*63 - 1; got -1"),
]
PRICES = [
    ({"costs": np.ones(D - 1)}, rf"costs has shape \({D - 1},\) for {D} attributes"),
    ({"costs": -np.ones(D)}, "costs must be non-negative and finite; got -1.0"),
    ({"costs": np.full(D, 9.0)}, "Raise the budget"),
    ({"costs": np.ones(D), "budget": -1.0}, "budget must be a positive finite number; got -1.0"),
    ({"costs": np.ones(D), "budget": "auto"}, "with costs= the budget is money per example, .*; pass budget="),
]
ROWS = [
    (X[0], r"X must be a matrix of numbers, one row per example; got float64 of shape \(6,\)"),
    (X.astype(object), "X must be a matrix of numbers, one row per example; got object"),
    (X.astype(complex), "got complex128"),
    (X[:, :-1], f"X has {D - 1} columns; this learner was made for {D} attributes"),
    (X[:0], "X has no rows"),
    (np.where(X[[7]] == X, np.inf, X), "X contains infinity, in row 7"),
    (sparse.csr_array(np.where(X[[7]] == X, -np.inf, X)), "X contains infinity, in row 7"),
]
TARGETS = [
    (Y[:-1], f"y has {N - 1} targets for {N} examples"),
    (np.append(Y, 1.0), f"y has {N + 1} targets for {N} examples"),
    (np.column_stack([Y, Y]), "y has 2 columns for n_outputs=1"),
    (np.where(Y[3] == Y, np.nan, Y), "y contains NaN or infinity"),
    (np.where(Y[3] == Y, -np.inf, Y), "y contains NaN or infinity"),
    (Y.reshape(N, 1, 1), rf"got shape \({N}, 1, 1\)"),
]


def learner(cls, **options):
    known = {"second_moments": np.ones(D)} if cls in INFORMED else {}
    if cls is PlugInSVR:
        known["step_size"] = "adaptive"
    return cls(D, **({"budget": 3, "radius": 1.0, "n_examples": N} | known | options))


def snapshot(learner):
    return {name: array.tolist() for name, array in learner.state().items()}


class Recording:
    """A source that says whether anything was read."""

    n_examples, n_attributes = N, D

    def __init__(self):
        self.reads = 0

    def read(self, example, attributes):
        self.reads += 1
        return X[example, attributes]


def refuse(model, X, y, message, verb="fit", **more):
    """The call fails with this message and leaves nothing that looks like a model."""
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, verb)(X, y, **more)
    assert not [name for name in FITTED if hasattr(model, name)]


# Learners -----------------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize(("budget", "message"), BUDGETS)
def test_learners_refuse_a_budget(cls, budget, message):
    with pytest.raises(ValueError, match=message):
        learner(cls, budget=budget)


@pytest.mark.parametrize("cls", INFORMED)
@pytest.mark.parametrize(("moments", "message"), MOMENTS)
def test_learners_refuse_moments(cls, moments, message):
    with pytest.raises(ValueError, match=message):
        learner(cls, second_moments=moments)


@every_learner
@pytest.mark.parametrize(
    ("options", "message"),
    [
        *OPTIONS,
        ({"split": "odd"}, "split must be one of 'paper', 'even'; got 'odd'"),
        ({"inner": "best"}, "inner must be one of 'paper', 'improved', 'absolute'; got 'best'"),
        ({"n_outputs": 0}, "n_outputs must be a whole number, 1 or more; got 0"),
        ({"step_scale": 0}, "step_scale must be a positive finite number; got 0"),
        ({"norm_bound": np.inf}, "norm_bound must be a positive finite number; got inf"),
    ],
)
def test_learners_refuse_options(cls, options, message):
    with pytest.raises(ValueError, match=message):
        learner(cls, **options)


@every_learner
@pytest.mark.parametrize(("rows", "message"), ROWS)
def test_learners_refuse_rows_and_stay_as_they_were(cls, rows, message):
    fresh, running = learner(cls), learner(cls).run(X[:20], Y[:20])
    y = np.ones(rows.shape[0])
    for model in (fresh, running):
        before = snapshot(model)
        with pytest.raises(ValueError, match=message):
            model.run(rows, y)
        assert snapshot(model) == before


@every_learner
@pytest.mark.parametrize(("targets", "message"), TARGETS)
def test_learners_refuse_targets_before_anything_is_read(cls, targets, message):
    source, running = Recording(), learner(cls).run(X[:20], Y[:20])
    before = snapshot(running)
    for rows in (X, source):
        with pytest.raises(ValueError, match=message):
            running.run(rows, targets)
        assert snapshot(running) == before
    assert source.reads == 0


@pytest.mark.parametrize("cls", [AERR, AELR, DDAERR, DDAELR])
def test_theory_wants_to_know_how_many_examples_will_come(cls):
    model = learner(cls, n_examples=None)
    with pytest.raises(ValueError, match="depends on how many examples will come; pass n_examples="):
        model.ask()
    assert model.n_rounds == 0


@every_learner
def test_a_column_that_is_always_zero_does_no_harm(cls):
    blind = X * (np.arange(D) != 2)
    assert np.isfinite(learner(cls).run(blind, Y).coef).all()
    assert np.isfinite(learner(cls).run(0 * X, Y).coef).all()


# Estimators ---------------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize(("budget", "message"), BUDGETS)
def test_estimators_refuse_a_budget(cls, verb, budget, message):
    refuse(cls(budget), X, LABELS if cls is BudgetClassifier else Y, message, verb)


@every_estimator
@pytest.mark.parametrize(("moments", "message"), MOMENTS)
def test_estimators_refuse_moments(cls, moments, message):
    refuse(cls(3, second_moments=moments), X, LABELS if cls is BudgetClassifier else Y, message)


@every_estimator
@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[case for case in OPTIONS if "n_examples" not in case[0]],
        ({"learner": "oracle"}, "learner must be one of 'auto', 'online', 'pairwise', 'factor'; got 'oracle'"),
        (
            {"design": "best"},
            "design must be one of 'auto', 'adaptive', 'uniform', 'moments', 'two-phase'; got 'best'",
        ),
        ({"design": "moments"}, "design='moments' needs second_moments="),
        ({"alpha": 0.0}, "alpha must be a positive finite number; got 0.0"),
        ({"alpha": "strong"}, "alpha must be a positive finite number; got 'strong'"),
        ({"scale": "unit"}, "scale must be .*; got 'unit'"),
        ({"pilot": 0}, "pilot must be a whole number, 1 or more; got 0"),
        ({"pilot": 0.1}, "pilot must be a whole number, 1 or more; got 0.1"),
        *PRICES,
        ({"random_state": "dice"}, "'dice' cannot be used to seed"),
    ],
)
def test_online_estimators_refuse_options_before_the_pilot(cls, options, message):
    """On rows too few for the pilot to end, so that nothing but the options can have been looked at."""
    options = {"budget": 3, "learner": "online"} | options
    refuse(cls(**options), X[:2], ["up", "down"] if cls is BudgetClassifier else Y[:2], message)


@pytest.mark.parametrize("cls", [BudgetRidge, BudgetLasso, BudgetClassifier])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a positive finite number; got 0.0"),
        ({"alpha": "strong"}, "alpha must be a positive finite number; got 'strong'"),
        *PRICES,
        ({"random_state": "dice"}, "'dice' cannot be used to seed"),
    ],
)
def test_keeping_estimators_refuse_options(cls, options, message):
    refuse(cls(**({"budget": 3} | options)), X, LABELS if cls is BudgetClassifier else Y, message)


@every_estimator
def test_partial_fit_refuses_numbers_of_examples(cls):
    y = LABELS if cls is BudgetClassifier else Y
    for wrong in (0, -5, 2.5, "many"):
        message = f"n_examples must be a whole number, 1 or more; got {re.escape(repr(wrong))}"
        refuse(cls(3, n_examples=wrong), X, y, message, "partial_fit")
    if cls is not BudgetSVR:
        message = "depends on how many examples will come; pass n_examples="
        refuse(cls(3, learner="online", step_size="theory"), X, y, message, "partial_fit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tube": -0.1}, "tube must be a non-negative finite number; got -0.1"),
        ({"tube": None}, "tube must be a non-negative finite number; got None"),
        ({"accuracy": 0.0}, "accuracy must be a positive finite number; got 0.0"),
        ({"step_size": "theory"}, "the plug-in slope has no theorem"),
    ],
)
def test_the_tube_is_checked_before_the_pilot(options, message):
    refuse(BudgetSVR(3, **options), X[:2], Y[:2], message)


@every_estimator
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, 0], "Expected 2D array, got 1D array"),
        (np.full(X.shape, "tall"), "could not convert string to float: .*'tall'"),
        (np.full(X.shape, {}, dtype=object), "argument must be .* a real number"),
        (X.astype(complex), "Complex data not supported"),
        (X[:0], r"Found array with 0 sample\(s\) \(shape=\(0, 6\)\)"),
        (X[:, :0], r"0 feature\(s\) \(shape=\(80, 0\)\)"),
        (np.where(X[[7]] == X, np.inf, X), "X contains infinity, in row 7"),
        (sparse.csr_array(np.where(X[[7]] == X, -np.inf, X)), "X contains infinity, in row 7"),
        (X[:-1], r"inconsistent numbers of samples: \[79, 80\]"),
    ],
)
def test_estimators_refuse_rows(cls, verb, rows, message):
    y = LABELS if cls is BudgetClassifier else Y
    refuse(cls(3), rows, y if rows.shape[0] else y[:0], message, verb)


@every_estimator
def test_text_is_for_data_frames_and_learners_that_keep(cls):
    y, frame = LABELS if cls is BudgetClassifier else Y, pandas.DataFrame(X, columns=[*"abcdef"])
    frame["c"] = np.where(frame["c"] > 0, "Rome", "Paris")
    refuse(cls(3), frame.to_numpy(), y, "could not convert string to float.*columns of a pandas DataFrame")
    refuse(
        cls(3, learner="online"), frame, y, "column 'c' is categorical, and an online learner has weights of numbers"
    )


@every_estimator
def test_rows_of_another_width_leave_the_model_as_it_was(cls):
    y = LABELS if cls is BudgetClassifier else Y
    model = cls(3, random_state=0).fit(X, y)
    before = model.coef_.copy(), model.cells_
    for call in (model.predict, lambda rows: model.partial_fit(rows, y)):
        with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6 features"):
            call(X[:, :-1])
    np.testing.assert_array_equal(model.coef_, before[0])
    assert model.cells_ == before[1]


@every_estimator
@pytest.mark.parametrize("learner", ["auto", "online"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_need_finite_values_and_those_of_online_learners_whole_rows(cls, learner, bad):
    model = cls(3, learner=learner, random_state=0).fit(X, LABELS if cls is BudgetClassifier else Y)
    rows = np.where(X[7, 2] == X, bad, X)
    if np.isnan(bad) and isinstance(model.learner_, KeepingLearner):
        np.testing.assert_array_equal(model.predict(rows)[:7], model.predict(X)[:7])
        return
    words = "a row with NaN needs a description of the attributes" if np.isnan(bad) else "Input X contains infinity"
    with pytest.raises(ValueError, match=words):
        model.predict(rows)


@every_regressor
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (Y[:-1], r"inconsistent numbers of samples: \[80, 79\]"),
        (np.where(Y[3] == Y, np.nan, Y), "Input y contains NaN"),
        (np.where(Y[3] == Y, np.inf, Y), "Input y contains infinity"),
        (LABELS, "y must hold numbers .*; if they are labels of classes, use a classifier"),
        (None, "requires y to be passed"),
    ],
)
def test_regressors_refuse_targets(cls, targets, message):
    refuse(cls(3), X, targets, message)


@pytest.mark.parametrize("targets", [1e308 * np.sign(Y), np.append(Y[1:], -2e307)])
@pytest.mark.parametrize(
    "make",
    [
        *(lambda cls=cls: cls(3) for cls in REGRESSORS),
        *(lambda name=name: BudgetRidge(3, learner=name) for name in ("pairwise", "factor", "online")),
        lambda: BudgetRidge(None),
        *(sparing.SketchedRidge, sparing.SketchedRidgeCV, sparing.SketchedKernelRidge, sparing.OnlineRegressor),
    ],
)
def test_targets_whose_sums_overflow_are_refused_in_words(make, targets):
    """Weights were zero or NaN, after warnings of NumPy, which are errors here."""
    with pytest.raises(
        ValueError, match=r"y has a value of size [\d.]+e\+30[78], and sums of such values overflow; correct"
    ):
        make().fit(X, targets)


def test_no_rows_are_no_rows_in_a_frame_too():
    """An empty Series of targets ended in an error about reshaping."""
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        BudgetRidge(2).fit(pandas.DataFrame(X[:0]), pandas.Series([], dtype=float))


@every_regressor
def test_the_number_of_outputs_stays(cls):
    """Within the pilot too, where one column could pass for two."""
    for rows in (3, 70):
        model = cls(3, n_examples=N, random_state=0).partial_fit(X[:rows], np.column_stack([Y, Y])[:rows])
        with pytest.raises(ValueError, match="y has 1 outputs; the rows before had 2"):
            model.partial_fit(X[rows:], Y[rows:])
        assert model.n_iter_ == rows
        assert model.predict(X).shape == (N, 2)


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.full(N, "up"), r"y holds only one class, \['up'\]; a classifier needs at least two classes"),
        (Y, "Unknown label type: continuous"),
        (np.where(Y[3] == Y, np.nan, Y > 0), "Input y contains NaN"),
        (LABELS[:-1], r"inconsistent numbers of samples: \[80, 79\]"),
    ],
)
def test_the_classifier_refuses_labels(verb, targets, message):
    refuse(BudgetClassifier(3), X, targets, message, verb)


def test_the_classifier_refuses_labels_that_nobody_named():
    message = r"y holds labels that were not there at first: \['down'\]; name all of them with classes="
    refuse(BudgetClassifier(3), X, LABELS, message, "partial_fit", classes=["left", "up"])
    model = BudgetClassifier(3, random_state=0).partial_fit(X, LABELS)
    with pytest.raises(ValueError, match=r"not there at first: \['sideways'\]"):
        model.partial_fit(X, np.where(Y > 0, "up", "sideways"))
    with pytest.raises(ValueError, match=r"classes are \['left', 'up'\], but in the first call .* \['down', 'up'\]"):
        model.partial_fit(X, LABELS, classes=["left", "up"])
    assert model.n_iter_ == N
