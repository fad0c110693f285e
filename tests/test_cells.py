"""The store of cells: what goes in comes out, refused calls change nothing, and order does not depend on origin."""

import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparing.cells import Cells

D = 6
VALUES = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1e6, 1e6, width=32))


few = settings(max_examples=40, deadline=None)


@st.composite
def purchases(draw, holes=False):
    """One example: distinct attributes in any order, their values, chances and two targets."""
    attributes = draw(st.lists(st.integers(0, D - 1), unique=True, max_size=D))
    value = st.one_of(VALUES, st.just(np.nan)) if holes else VALUES
    values = draw(st.lists(value, min_size=len(attributes), max_size=len(attributes)))
    chances = draw(st.lists(st.sampled_from([0.25, 0.5]), min_size=len(attributes), max_size=len(attributes)))
    targets = draw(st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0])))
    return attributes, values, chances, targets


def store(examples, **options):
    cells = Cells(D, n_outputs=2, **options)
    for attributes, values, chances, targets in examples:
        cells.append(attributes, values, targets, probabilities=chances)
    return cells


def told(cells):
    """What a store holds, example by example."""
    starts = cells.starts
    columns = (cells.attributes, cells.values, cells.probabilities)
    return [
        (*(column[a:b].tolist() for column in columns), tuple(cells.targets[e].tolist()))
        for e, (a, b) in enumerate(pairwise(starts))
    ]


def assert_same(left, right):
    left, right = left.state(), right.state()
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].dtype == right[name].dtype
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


# What goes in comes out ---------------------------------------------------------------------------------------------


@few
@given(st.lists(purchases(holes=True), max_size=12))
def test_what_was_had_is_kept_in_order_and_nothing_else(examples):
    cells = store(examples)
    expected = []
    for attributes, values, chances, targets in examples:
        had = [at for at, value in enumerate(values) if not np.isnan(value)]
        expected.append((*([column[at] for at in had] for column in (attributes, values, chances)), targets))
    assert told(cells) == expected
    assert (len(cells), cells.n_examples) == (sum(len(example[0]) for example in expected), len(examples))
    assert cells.examples().tolist() == [e for e, example in enumerate(expected) for _ in example[0]]


@few
@given(st.lists(purchases(holes=True), max_size=12), st.integers(0, 12))
def test_extend_is_append_by_append(examples, cut):
    at_once = Cells(D, n_outputs=2)
    for part in (examples[:cut], examples[cut:]):
        at_once.extend(
            [len(example[0]) for example in part],
            [i for example in part for i in example[0]],
            [x for example in part for x in example[1]],
            np.array([example[3] for example in part]).reshape(-1, 2),
            probabilities=[p for example in part for p in example[2]],
        )
    assert_same(at_once, store(examples))


@few
@given(st.lists(purchases(), max_size=10), st.lists(st.integers(0, 10), max_size=3))
def test_shards_merged_are_the_whole(examples, cuts):
    cuts = sorted(min(cut, len(examples)) for cut in cuts)
    ends = [0, *cuts, len(examples)]
    shards = [store(examples[a:b]) for a, b in pairwise(ends)]
    assert_same(Cells.merge(shards), store(examples))


@few
@given(st.lists(purchases(), min_size=1, max_size=10), st.data())
def test_taking_is_indexing(examples, data):
    picked = data.draw(st.lists(st.integers(0, len(examples) - 1), max_size=12))
    cells = store(examples)
    assert told(cells.take(np.array(picked, int))) == [examples[e] for e in picked]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(examples), max_size=len(examples))))
    assert told(cells.take(mask)) == [example for example, chosen in zip(examples, mask, strict=True) if chosen]


@settings(max_examples=20, deadline=None)
@given(examples=st.lists(purchases(), max_size=8), single=st.booleans())
def test_saved_and_loaded_is_the_same(tmp_path_factory, examples, single):
    cells = store(examples, dtype=np.float32 if single else np.float64)
    name = cells.save(tmp_path_factory.mktemp("cells") / "bought.by.me")
    assert name.suffix == ".npz"
    assert_same(Cells.load(name), cells)
    assert_same(Cells.from_state(cells.state()), cells)


def test_state_is_a_copy_and_unknown_chances_are_nan():
    cells = Cells(3)
    cells.append([2, 0], [1.0, 3.0], 0.0)
    cells.state()["values"][:] = 7.0
    assert cells.values.tolist() == [1.0, 3.0]
    assert np.isnan(cells.probabilities).all()


# Order --------------------------------------------------------------------------------------------------------------


@few
@given(st.lists(st.lists(purchases(), max_size=4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_order_does_not_tell_where_cells_came_from(shards, random):
    """Among a few values, targets and chances, so that examples often agree in all but one of them."""
    merged = Cells.merge([store(shard) for shard in shards])
    examples = [example for shard in shards for example in shard]
    random.shuffle(examples)
    assert_same(store(examples).in_order(), merged.in_order())
    assert sorted(map(str, told(merged.in_order()))) == sorted(map(str, examples))


def test_examples_that_are_nearly_alike_have_their_order():
    """Which of two comes first would decide the last bit of sums, and the fold that each is in."""
    one = ([0, 1], [1.0, 2.0], [0.5, 0.5], (1.0, -1.0))
    for other in (
        ([0, 1], [1.0, 2.0], [0.5, 0.5], (-1.0, 1.0)),
        ([0, 1], [1.0, 2.0], [0.5, 0.25], (1.0, -1.0)),
        ([1, 0], [2.0, 1.0], [0.5, 0.5], (1.0, -1.0)),
        ([0, 1], [2.0, 1.0], [0.5, 0.5], (1.0, -1.0)),
    ):
        assert_same(store([one, other]).in_order(), store([other, one]).in_order())


@few
@given(st.lists(purchases(), max_size=8), st.lists(st.sampled_from([1e-6, 0.5, 1.0, 1e6]), min_size=D, max_size=D))
def test_order_does_not_depend_on_units(examples, units):
    """Neither on those of attributes, shifted too, nor on those of targets."""
    units, shifts = np.array(units), np.arange(D) * 3.0
    examples = [(a, np.round(values, 2).tolist(), *more) for a, values, *more in examples]  # apart, also when shifted

    def scaled(examples):
        return store(
            [
                (attributes, (np.array(values) * units[attributes] + shifts[attributes]).tolist(), chances,
                 tuple(np.array(y) * 1e3 - 7.0))
                for attributes, values, chances, y in examples
            ]
        )  # fmt: skip

    assert_same(scaled(told(store(examples).in_order())), scaled(examples).in_order())


@pytest.mark.parametrize("more", [{}, {"weights": [1.0, 2.0, 0.0]}, {"blocks": [0, 1, -1]}])
def test_an_order_of_very_many_cells_is_that_of_few(monkeypatch, more):
    """Very many are not copied when they are put in order, but when they are asked for."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 4, 90)
    attributes = np.concatenate([rng.permutation(D)[:size] for size in sizes])
    cells = Cells(D)
    values, targets = rng.integers(-1, 2, attributes.size), rng.integers(0, 2, 90)
    cells.extend(sizes, attributes, values, targets, **{name: np.tile(of, 30) for name, of in more.items()})
    in_order, learnt = cells.in_order(), cells.to_learn_from()
    monkeypatch.setattr("sparing.cells.store.PIECE", 7)
    lazy = cells.in_order()
    assert type(lazy) is not Cells
    assert sys.getsizeof(lazy) > sys.getsizeof(cells) > cells.nbytes  # so asking makes no copy either
    assert "_whole" not in vars(lazy)
    assert_same(lazy.take(slice(5, None, 3)), in_order.take(slice(5, None, 3)))
    assert_same(cells.to_learn_from(), learnt)
    np.testing.assert_array_equal(lazy.hashes(), in_order.hashes())
    cells.append([0], [1.0], 0.0)  # which is not part of the order above
    assert_same(lazy, in_order)
    for each in (lazy, in_order):
        each.append([1], [5.0], 3.0)
    assert_same(lazy, in_order)
    assert_same(lazy.take([-1, 0]), in_order.take([-1, 0]))


@pytest.mark.parametrize("in_order", [True, False])
def test_pieces_are_all_examples(monkeypatch, in_order):
    for name in ("PIECE", "SUMMED"):
        monkeypatch.setattr(f"sparing.cells.store.{name}", 4)
    cells = Cells(D)
    sizes = [0, 3, 6, 0, 1, 2, 2, 5, 0, 0]
    cells.extend(sizes, np.concatenate([np.arange(size) for size in sizes]), np.arange(19.0), np.arange(10.0))
    for whole in (cells, cells.in_order()):
        pieces = list(whole.pieces(in_order=in_order))
        assert max(piece.values.size for piece in pieces) == 6  # an example is never cut
        assert len(pieces) > 3
        expected = cells if not in_order else whole
        for name in ("attributes", "values", "targets"):
            found = np.concatenate([getattr(piece, name) for piece in pieces])
            np.testing.assert_array_equal(found, getattr(expected, name))
        sizes = np.concatenate([np.diff(piece.starts) for piece in pieces])
        np.testing.assert_array_equal(sizes, np.diff(expected.starts))


def test_room_that_was_made_is_used():
    cells = Cells(D)
    cells.reserve(100, 300)
    held = cells.nbytes
    for _ in range(100):
        cells.append([0, 1, 2], [1.0, 2.0, 3.0], 0.0)
    assert cells.nbytes == held


@few
@given(st.lists(purchases(), max_size=8), st.lists(st.booleans(), min_size=D, max_size=D))
def test_only_some_attributes_of_all_examples(examples, wanted):
    """By a loop; examples of which nothing is left stay, with their targets."""
    expected = []
    for attributes, values, chances, y in examples:
        kept = [at for at, attribute in enumerate(attributes) if wanted[attribute]]
        expected.append((*([part[at] for at in kept] for part in (attributes, values, chances)), y))
    assert_same(store(examples).only(np.array(wanted)), store(expected))


# Refusals, and room -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1.0], 0.0), "1 values for 2 attributes"),
        (([0, D], [1.0, 1.0], 0.0), f"between 0 and {D - 1}"),
        (([-1], [1.0], 0.0), "between 0 and"),
        (([0], [np.inf], 0.0), "values hold infinity"),
        (([0], [1.0], np.nan), "y contains NaN"),
        (([0], [1.0], [1.0, 2.0]), "2 columns for 1 outputs"),
    ],
)
def test_a_refused_purchase_changes_nothing(arguments, message):
    cells = Cells(D)
    cells.append([3, 1], [1.0, 2.0], 5.0)
    before = Cells.from_state(cells.state())
    with pytest.raises(ValueError, match=message):
        cells.append(*arguments)
    assert_same(cells, before)


def test_a_bad_example_among_good_ones_keeps_all_of_them_out():
    cells = Cells(D)
    with pytest.raises(ValueError, match="infinity"):
        cells.extend([1, 1], [0, 1], [1.0, np.inf], [0.0, 1.0])
    assert len(cells) == cells.n_examples == 0
    with pytest.raises(ValueError, match="one value per attribute"):
        cells.extend([2, -1], [0], [1.0], [0.0, 1.0])


def test_stores_that_do_not_go_together_and_files_of_others_are_refused(tmp_path):
    for other in (Cells(5), Cells(4, n_outputs=2)):
        with pytest.raises(ValueError, match="cannot be merged"):
            Cells.merge([Cells(4), other])
    with pytest.raises(ValueError, match="nothing to merge"):
        Cells.merge([])
    with pytest.raises(ValueError, match="float64 or float32"):
        Cells(4, dtype=np.int64)
    np.savez(tmp_path / "other.npz", values=np.ones(3))
    with pytest.raises(ValueError, match="not a store of cells"):
        Cells.load(tmp_path / "other.npz")


@pytest.mark.parametrize(("dtype", "bytes_a_cell"), [(np.float64, 16), (np.float32, 12)])
def test_memory_is_near_sixteen_bytes_a_cell(dtype, bytes_a_cell):
    """Room for growth is a quarter at most; an example adds its target and where it ends."""
    cells = Cells(100, dtype=dtype)
    for _ in range(300):
        cells.append(np.arange(20), np.ones(20), 1.0)
    least = bytes_a_cell * len(cells) + 16 * cells.n_examples
    assert least <= cells.nbytes <= 1.25 * least + 16 * 64


def test_an_attribute_is_kept_once_of_an_example():
    cells = Cells(5)
    cells.append([0, 1], [1.0, 2.0], 0.5)
    with pytest.raises(ValueError, match="the same attribute twice"):
        cells.append([0, 1, 0], [1.0, 2.0, 1.0], 0.5)
    with pytest.raises(ValueError, match="the same attribute twice"):
        cells.extend([2, 3], [0, 1, 2, 3, 2], np.ones(5), np.zeros(2))
    cells.extend([2, 3], [0, 1, 2, 1, 0], np.ones(5), np.zeros(2))  # in different examples it may come again
    assert cells.n_examples == 3


def test_cells_that_were_pickled_have_the_data_types_of_numpy():
    """With others, which are equal, sums by ``ufunc.at`` take ten times as long."""
    cells = Cells(3)
    cells.append([0, 1], [1.0, 2.0], 3.0, weight=2.0)
    again = pickle.loads(pickle.dumps(cells))
    assert_same(again, cells)
    for name in ("values", "attributes", "probabilities", "targets", "weights"):
        assert getattr(Cells.merge([again]), name).dtype is getattr(cells, name).dtype, name
