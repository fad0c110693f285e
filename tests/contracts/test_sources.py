"""The contract of all sources: they return the values asked for, in that order, and learners do the same with all."""

from contextlib import ExitStack
from itertools import count

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from scipy import sparse

import sparing.sources
from http_shop import Shop, running
from sparing.learners import PairwiseMoments
from sparing.sources import ArraySource, CallableSource, ChunkSource, HTTPSource, ParquetSource, SQLSource
from sparing.types import Ledger

N, D, ROWS = 60, 6, 7  # rows of a block: the last one is shorter
GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((N, D))
X[GENERATOR.random((N, D)) < 0.1] = np.nan
Y = np.nan_to_num(X) @ [1.0, -1.0, 0.5, 0.0, 0.0, 2.0] + GENERATOR.standard_normal(N)
NAMES = [f"x{at}" for at in range(D)]
TABLES = count()


class Stored(np.ndarray):
    """An array in chunks, as zarr and h5py have them."""

    chunks = (ROWS, 2)


def memory_map(folder):
    np.save(folder / "X.npy", X)
    return ArraySource(np.load(folder / "X.npy", mmap_mode="r"))


def parquet(folder):
    frame = pd.DataFrame(X, columns=NAMES)
    frame[: 4 * ROWS].to_parquet(folder / "a.parquet", row_group_size=ROWS)
    frame[4 * ROWS :].to_parquet(folder / "b.parquet", row_group_size=ROWS)
    return ParquetSource(str(folder / "*.parquet"))


def table(address):
    engine, name = sa.create_engine(address), f"rows_{next(TABLES)}"
    frame = pd.DataFrame(X, columns=NAMES).assign(key=np.arange(N) * 3)
    frame.sample(frac=1.0, random_state=0).to_sql(name, engine, index=False)  # in no order
    return SQLSource(engine, name, key="key")


def postgresql(request):
    return table(request.getfixturevalue("postgres").replace("postgresql:", "postgresql+psycopg:") + "/postgres")


def behind_http(stack):
    address = stack.enter_context(running(Shop(X, NAMES)))
    return HTTPSource(address, examples=N, names=NAMES, study="contract")


MAKERS = {
    "array": lambda folder, request, stack: ArraySource(X),
    "memory map": lambda folder, request, stack: memory_map(folder),
    "sparse": lambda folder, request, stack: ArraySource(sparse.csr_array(X)),
    "function": lambda folder, request, stack: CallableSource(lambda e, a: X[e, a], n_examples=N, n_attributes=D),
    "chunks": lambda folder, request, stack: ChunkSource(X.view(Stored)),
    "parquet": lambda folder, request, stack: parquet(folder),
    "sqlite": lambda folder, request, stack: table(f"sqlite:///{folder / 'rows.db'}"),
    "postgresql": lambda folder, request, stack: postgresql(request),
    "http": lambda folder, request, stack: behind_http(stack),
}


@pytest.fixture(params=MAKERS)
def source(request, tmp_path):
    with ExitStack() as stack:
        yield MAKERS[request.param](tmp_path, request, stack)


def test_every_source_has_a_case(tmp_path, request):
    with ExitStack() as stack:
        makers = (make for name, make in MAKERS.items() if name != "postgresql")
        made = {type(make(tmp_path, request, stack)).__name__ for make in makers}
    assert made == set(sparing.sources.__all__)


def test_it_answers_in_the_order_asked_and_changes_nothing(source):
    assert (source.n_examples, source.n_attributes) == (N, D)
    for example, attributes in ((0, [3, 0]), (N - 1, [5]), (17, [2, 3, 0, 1]), (0, [3, 0])):
        values = source.read(example, np.array(attributes))
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, X[example, attributes])
        values[:] = -1.0


def test_blocks_and_batches_are_the_same_values(source):
    if hasattr(source, "read_block"):
        ends = np.cumsum(source.blocks())
        assert ends[-1] == N
        for block, (n, end) in enumerate(zip(source.blocks(), ends, strict=True)):
            np.testing.assert_array_equal(source.read_block(block, np.array([4, 1])), X[end - n : end][:, [4, 1]])
    if hasattr(source, "read_batch"):
        examples, queries = np.array([5, 2, 40, 7]), [np.array(q) for q in ([1, 0], [3], [0, 1], [4, 2])]
        for example, query, values in zip(examples, queries, source.read_batch(examples, queries), strict=True):
            np.testing.assert_array_equal(values, X[example, query])


@pytest.mark.parametrize("options", [{}, {"total_budget": 70}, {"total_budget": 70, "pay_for_missing": False}])
def test_a_learner_buys_the_same_of_all_sources_and_the_books_agree(source, options):
    ledger = Ledger(pay_for_missing=options.get("pay_for_missing", True))
    learner = PairwiseMoments(D, budget=2, **options).run(source, Y, ledger=ledger)
    assert (ledger.cells, ledger.spent, ledger.examples) == (learner.cells, learner.spent, N)
    assert learner.spent <= options.get("total_budget", np.inf)
    same = ChunkSource(X.view(Stored)) if hasattr(source, "read_block") else X
    other = PairwiseMoments(D, budget=2, **options).run(same, Y)
    for name, array in other.state().items():
        np.testing.assert_array_equal(array, learner.state()[name], err_msg=name)


def test_targets_of_another_number_are_refused_before_anything_is_read(source):
    learner = PairwiseMoments(D, budget=2)
    with pytest.raises(ValueError, match="y has 59 targets for 60 examples"):
        learner.run(source, Y[:-1])
    assert learner.cells == learner.n_rounds == 0
