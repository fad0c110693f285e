"""Tables in a database: keyed batches of named columns, one statement for each distinct set of them."""

import decimal

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from sparing.sources import SQLSource

FRAME = pd.DataFrame(
    {"id": [30, 10, 20], "age": [61.0, 54.0, None], "ward": ["A", None, "B"], "sex": [True, False, True]}
)


@pytest.fixture
def engine():
    made = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    FRAME.to_sql("ward", made, index=False)
    return made


def test_one_statement_for_each_distinct_set_of_columns_and_500_keys(engine):
    wide = pd.DataFrame(np.arange(1200.0 * 4).reshape(1200, 4), columns=list("abcd")).assign(key=range(1200))
    wide.to_sql("wide", engine, index=False)
    source, said = SQLSource(engine, "wide", key="key"), []
    sa.event.listen(engine, "before_cursor_execute", lambda *seen: said.append(seen[2]))
    queries = [np.array([1, 0]) if at % 3 else np.array([3, 2]) for at in range(900)]
    answers = source.read_batch(np.arange(900), queries)
    assert len(said) == 3  # 600 of one kind, 300 of the other
    assert said[0].startswith('SELECT wide."key", wide.c, wide.d \nFROM wide \nWHERE wide."key" IN')
    for at in (0, 1, 899):
        assert answers[at].tolist() == wide.iloc[at, queries[at]].tolist()


def test_the_key_orders_the_examples_and_is_no_attribute(engine):
    source = SQLSource(engine, "ward", key="id", drop="ward")
    assert (source.names, source.n_examples) == (["age", "sex"], 3)
    np.testing.assert_array_equal([source.read(e, np.array([1, 0])) for e in range(3)], [[0, 54], [1, np.nan], [1, 61]])
    others, ages = SQLSource(engine, "ward", key="id").split_target("age")
    assert others.names == ["ward", "sex"]
    np.testing.assert_array_equal(ages, [54.0, np.nan, 61.0])


def test_tables_that_cannot_be_read_by_key_are_refused(engine):
    with pytest.raises(ValueError, match="there is no table 'wards' in this database"):
        SQLSource(engine, "wards", key="id")
    with pytest.raises(ValueError, match="there is no column 'number'; columns are id, age, ward, sex"):
        SQLSource(engine, "ward", key="number")
    with pytest.raises(ValueError, match="the key 'sex' is missing, or not unique, in some rows"):
        SQLSource(engine, "ward", key="sex")
    with pytest.raises(ValueError, match="column 'ward' is not numeric"):
        SQLSource(engine, "ward", key="id").read(0, np.array([1]))
    FRAME[:0].to_sql("empty", engine, index=False)
    with pytest.raises(ValueError, match="the table 'empty' has no rows"):
        SQLSource(engine, "empty", key="id")


def test_a_row_that_is_gone_and_a_number_that_is_none_are_said(engine):
    source = SQLSource(engine, "ward", key="id")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ward SET age = 'old' WHERE id = 10")
        connection.exec_driver_sql("DELETE FROM ward WHERE id = 20")
    with pytest.raises(ValueError, match="column 'age' was declared numeric but holds 'old'"):
        source.read(0, np.array([0]))
    with pytest.raises(RuntimeError, match="the row with key 20 was deleted since the source was made"):
        source.read_batch(np.array([1, 2]), [np.array([2])] * 2)


def test_targets_belong_to_the_keys_that_the_source_knows(engine):
    source = SQLSource(engine, "ward", key="id")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO ward VALUES (5, 33, 'C', 1)")
    np.testing.assert_array_equal(source.split_target("age")[1], [54.0, np.nan, 61.0])
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM ward WHERE id = 30")
    with pytest.raises(RuntimeError, match="the row with key 30 was deleted"):
        source.split_target("age")


def test_only_an_engine_of_its_own_is_disposed_of(tmp_path):
    address = f"sqlite:///{tmp_path}/ward.db"
    passed = sa.create_engine(address)
    FRAME.to_sql("ward", passed, index=False)
    disposed = []
    with SQLSource(passed, "ward", key="id") as borrowed, SQLSource(address, "ward", key="id") as own:
        for source in (borrowed, own):
            sa.event.listen(source.engine, "engine_disposed", disposed.append)
    assert disposed == [own.engine]
    passed.dispose()


def test_decimals_of_postgresql_are_numbers(postgres):
    address = f"{postgres}/postgres"
    engine = sa.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    table = sa.Table("exact", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("x", sa.Numeric(10, 2)))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": 1, "x": decimal.Decimal("1.25")}, {"id": 2, "x": None}])
    source = SQLSource(address, "exact", key="id")  # as people write it, without a driver
    np.testing.assert_array_equal([source.read(e, np.array([0])) for e in (0, 1)], [[1.25], [np.nan]])
    np.testing.assert_array_equal(source.split_target("x")[1], [1.25, np.nan])
    table.drop(engine)
    engine.dispose()
