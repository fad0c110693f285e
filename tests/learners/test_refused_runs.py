"""Nothing is read that is not bought; a run that buys an infinite value is refused, and leaves no trace."""

import numpy as np
import pytest
from scipy import sparse

from learner_cases import ALL, D, N, X, Y, label, make, step_by_step
from sparing.sources import CallableSource
from sparing.types import Ledger

every_learner = pytest.mark.parametrize("case", ALL, ids=label)
CUT, BAD = 30, 70  # rows learnt from before the run that is refused; the row that ends it
LATE = X.copy()
LATE[BAD] = np.inf  # whatever is bought of this row
MESSAGE = rf"X contains infinity, in row {BAD - CUT}, column \d+; nothing was learnt or charged"


def assert_same_state(left, right):
    left_state, right_state = left.state(), right.state()
    assert left_state.keys() == right_state.keys()
    for name in left_state:
        np.testing.assert_array_equal(left_state[name], right_state[name], err_msg=name)


def what_it_buys(case):
    """Which cells a learner reads of X."""
    read = np.zeros(X.shape, bool)

    def answer(example, attributes):
        read[example, attributes] = True
        return X[example, attributes]

    return make(case).run(CallableSource(answer, n_examples=N, n_attributes=D), Y), read


@every_learner
def test_values_that_are_not_bought_may_be_anything(case):
    told, read = what_it_buys(case)
    for layout in (np.asarray, np.asfortranarray, sparse.csr_array, lambda rows: rows.astype(np.float32)):
        rows = layout(np.where(read, X, np.inf))
        expected = told if rows.dtype == np.float64 else make(case).run(X.astype(np.float32), Y)
        assert_same_state(make(case).run(rows, Y), expected)


@every_learner
@pytest.mark.parametrize(("fresh", "layout"), [(True, sparse.csr_array), (False, np.asarray)])
def test_a_run_that_buys_infinity_leaves_no_trace(case, fresh, layout):
    """Many rounds after the first, and after phase one of those that have phases."""
    learner, first = make(case), 0 if fresh else CUT
    if not fresh:
        learner.run(X[:CUT], Y[:CUT])
    before, pending = learner.state(), None if fresh else learner.ask()
    with pytest.raises(ValueError, match=MESSAGE.replace(str(BAD - CUT), str(BAD - first))):
        learner.run(layout(LATE[first:]), Y[first:])
    after = learner.state()
    assert after.keys() == before.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    if not fresh:
        np.testing.assert_array_equal(learner.ask().attributes, pending.attributes)
    assert_same_state(learner.run(X[first:], Y[first:]), make(case).run(X, Y))


@every_learner
def test_a_single_row_is_refused_as_well(case):
    learner = make(case).run(X[:CUT], Y[:CUT])
    with pytest.raises(ValueError, match="X contains infinity, in row 0"):
        learner.run(LATE[[BAD]], Y[[BAD]])
    assert_same_state(learner, make(case).run(X[:CUT], Y[:CUT]))


@every_learner
def test_a_refused_run_is_not_booked(case):
    learner, ledger = make(case), Ledger()
    learner.run(X[:CUT], Y[:CUT], ledger=ledger)
    books = ledger.examples, ledger.cells, ledger.spent_units
    with pytest.raises(ValueError, match=MESSAGE):
        learner.run(LATE[CUT:], Y[CUT:], ledger=ledger)
    assert (ledger.examples, ledger.cells, ledger.spent_units) == books
    assert_same_state(learner.run(X[CUT:], Y[CUT:], ledger=ledger), make(case).run(X, Y))


@every_learner
def test_nan_is_an_unavailable_value(case):
    """As when it is told: what needs the value is left out."""
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    told = step_by_step(make(case), holes, Y)
    for layout in (np.asarray, sparse.csr_array):
        assert_same_state(make(case).run(layout(holes), Y), told)
