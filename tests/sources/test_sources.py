"""Sources answer what they are asked and nothing else."""

import numpy as np
import pytest
from scipy import sparse

from sparing.learners import AERR
from sparing.sources import ArraySource, CallableSource

X = np.arange(12.0).reshape(3, 4) * (np.arange(12).reshape(3, 4) % 3 > 0)


@pytest.mark.parametrize(
    "layout",
    [np.array, np.asfortranarray, np.float32, np.int64, sparse.csr_array, sparse.csc_matrix, sparse.coo_array],
)
def test_arrays_answer_in_the_order_asked(layout):
    source = ArraySource(layout(X))
    assert (source.n_examples, source.n_attributes) == (3, 4)
    for example, attributes in ((0, [3, 0]), (2, [1]), (1, [2, 3, 0, 1])):
        values = source.read(example, np.array(attributes))
        assert values.dtype == np.float64
        assert values.tolist() == X[example, attributes].tolist()


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    source = ArraySource(sparse.csr_array(([1.0, 2.0, 5.0], [1, 1, 0], [0, 3]), shape=(1, 2)))
    assert source.read(0, np.array([1, 0])).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("mode", ["r", None])
def test_only_what_is_asked_for_is_read_and_nan_is_an_unavailable_value(mode, tmp_path):
    np.save(tmp_path / "X.npy", np.where(X == 4, np.nan, np.where(X == 7, np.inf, X)))
    source = ArraySource(np.load(tmp_path / "X.npy", mmap_mode=mode))
    np.testing.assert_array_equal(source.read(1, np.array([0, 1])), [np.nan, 5.0])
    assert isinstance(source.X, np.memmap) == (mode == "r")
    with pytest.raises(ValueError, match="X contains infinity, in row 1, column 3"):
        source.read(1, np.array([0, 3, 1]))


def test_reading_is_no_writing():
    fixed = X.copy()
    values = ArraySource(fixed).read(1, np.array([1, 2]))
    values[:] = -1.0
    np.testing.assert_array_equal(fixed, X)


def test_a_function_is_called_once_a_purchase_with_what_was_asked():
    calls = []

    def function(example, attributes):
        calls.append((example, attributes.tolist()))
        return X[example, attributes]

    source = CallableSource(function, n_examples=3, n_attributes=4)
    assert source.read(2, np.array([3, 1])).tolist() == X[2, [3, 1]].tolist()
    assert calls == [(2, [3, 1])]


def test_a_function_may_not_have_a_value():
    source = CallableSource(lambda example, attributes: [np.nan] * len(attributes), n_examples=1, n_attributes=4)
    assert np.isnan(source.read(0, np.array([0, 1]))).all()


@pytest.mark.parametrize("answer", [[1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_a_function_that_answers_something_else_is_refused(answer):
    source = CallableSource(lambda example, attributes: answer, n_examples=2, n_attributes=4)
    with pytest.raises(ValueError, match=r"answered \d values for the 2 attributes of example 1; it must return one"):
        source.read(1, np.array([0, 3]))


@pytest.mark.parametrize("name", ["n_examples", "n_attributes"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3"])
def test_sizes_are_whole_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a whole number, 1 or more; got {value!r}"):
        CallableSource(len, **({"n_examples": 3, "n_attributes": 4} | {name: value}))


def test_a_wrong_answer_leaves_the_learner_as_it_was():
    def function(example, attributes):
        return X[example, attributes] if example == 0 else [1.0] * (len(attributes) + 1)

    learner = AERR(4, budget=2, radius=1.0, n_examples=3)
    with pytest.raises(ValueError, match="one value per attribute"):
        learner.run(CallableSource(function, n_examples=3, n_attributes=4), [1.0, 2.0, 3.0])
    expected = AERR(4, budget=2, radius=1.0, n_examples=3).run(X[:1], [1.0])
    assert learner.n_rounds == 1
    np.testing.assert_array_equal(learner.last_coef, expected.last_coef)
