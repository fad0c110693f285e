"""Budget estimators on a cluster: equal to one machine, to the last bit for the same chunks, whoever dies."""

import pickle
from functools import cache

import numpy as np
import pandas
import pytest
from dask import array, dataframe, delayed
from killing import killed_after
from on_workers import cells_of, in_brackets, noted_chunk
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR, SketchedRidge, distributed, save_model
from sparing.cells import Cells
from sparing.distributed.blocks import load
from sparing.distributed.order import every_in_order
from sparing.distributed.parts import Parts
from sparing.learners import FactorModel

N, D = 3000, 8
MODELS = {
    "pairwise": lambda: BudgetRidge(3, learner="pairwise", random_state=0),
    "given ridge": lambda: BudgetRidge(3, learner="pairwise", alpha=0.1, random_state=0),
    "auto": lambda: BudgetRidge(3, features="linear", random_state=0),
    "lasso": lambda: BudgetLasso(3, learner="pairwise", alpha=0.05, random_state=0),
    "prices": lambda: BudgetRidge(
        5.0, learner="pairwise", costs=1.0 + np.arange(D), groups=["a", "a", *[None] * 6], random_state=0
    ),
    "uniform": lambda: BudgetRidge(3, learner="pairwise", design="uniform", pay_for_missing=False, random_state=0),
}


@cache
def data():
    """Correlated columns of which the last hardly varies, some values unavailable, and two targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) @ (np.eye(D) + 0.3 * rng.standard_normal((D, D)))
    X[:, -1] = 0.0
    X[[10, 2000], -1] = 1.0
    y = X @ rng.standard_normal((D, 2)) + rng.standard_normal((N, 2))
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, y


def chunked(X, y, size=800):
    return array.from_array(X, chunks=(size, 5)), array.from_array(y, chunks=(1000, *y.shape[1:]))


def fitted(client, model, y, size=800):
    return distributed.fit(model, *chunked(data()[0], y, size), client=client)


def same(ours, theirs):
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-10, abs=1e-10)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-10, abs=1e-10)
    assert (ours.cells_, ours.spent_, ours.n_iter_) == (theirs.cells_, theirs.spent_, theirs.n_iter_)
    assert ours.learner_.buyer.ledger.in_vain == theirs.learner_.buyer.ledger.in_vain
    assert ours.report_["setting"] == theirs.report_["setting"]


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_on_a_cluster_is_that_of_one_machine(client, name):
    X, y = data()
    ours = fitted(client, MODELS[name](), y[:, 0])
    theirs = MODELS[name]().fit(X, y[:, 0])
    same(ours, theirs)
    bought, alone = ours.learner_.bought.gather().in_order(), theirs.learner_.bought.in_order()
    for part in ("starts", "attributes", "values", "targets"):
        assert np.array_equal(getattr(bought, part), getattr(alone, part))
    _, ours_std = ours.predict(X[:50], return_std=True)
    assert ours_std == pytest.approx(theirs.predict(X[:50], return_std=True)[1], rel=1e-8)


def by_em(**options):
    """A learner that no option of the estimator asks for: few iterations of EM."""

    class ByEM(BudgetRidge):
        def _keeping(self, given):
            return FactorModel(D, rounds=3, **given, **options)

    return ByEM(3, learner="factor", random_state=0)


@pytest.mark.parametrize("rank", [2, "full"])
def test_expectation_maximisation_and_several_targets(client, rank):
    X, y = data()
    one, other = (fitted(client, by_em(rank=rank), y, size) for size in (800, 1700))
    same(one, other)
    same(one, by_em(rank=rank).fit(X, y))


def test_classes(client):
    X, y = data()
    labels = np.array(["low", "middle", "high"])[np.digitize(y[:, 0], [-1.0, 1.0])]
    make = lambda: BudgetClassifier(3, learner="pairwise", class_weight="balanced", random_state=0)  # noqa: E731
    ours, theirs = fitted(client, make(), labels), make().fit(X, labels)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.predict_proba(X[:100]) == pytest.approx(theirs.predict_proba(X[:100]), abs=1e-9)


def test_a_sample_in_order_is_that_of_all_cells(client):
    """Also where many examples have the same first keys."""
    rng = np.random.default_rng(0)
    parts = []
    for size in (300, 1, 77, 200, 150, 90):
        cells = Cells(4)
        for _ in range(size):
            cells.append(
                rng.choice(4, 2, replace=False),
                values := rng.standard_normal(2).round(1),
                1.0 * (values[0] > 0),
                probabilities=0.5,
            )
        parts.append(cells)
    there = Parts(client, client.scatter(parts))
    for step in (1, 7, 300):
        sample, expected = every_in_order(there, step), Cells.merge(parts).in_order().every(step)
        assert all(np.array_equal(sample.state()[name], expected.state()[name]) for name in expected.state())


def test_sums_are_taken_by_trees_of_sixteen_parts_one_after_the_other(client):
    parts = Parts(client, client.map(str, range(22), pure=False))
    expected = "(((((((01)2)3)(((45)6)7))(((89)10)11))(((1213)14)15))((((1617)18)19)(2021)))"
    assert parts.summed(str, combine=in_brackets) == expected


def test_rows_and_targets_of_one_chunk_are_loaded_together(client, tmp_path):
    """By the task that needs them, so that no chunk waits: once, and those at which a new plan begins twice."""
    made = [
        array.from_delayed(delayed(noted_chunk)(tmp_path / "made", k, D + 1), (400, D + 1), float) for k in range(4)
    ]
    both = array.concatenate(made)
    X, y = both[:, :-1], both[:, -1]
    assert load(X, y, client).graphs is not None
    for name, loads in (("uniform", "0123"), ("pairwise", "011223")):  # plans begin at rows 27, 54, 108, 216, 432, 864
        ours = distributed.fit(MODELS[name](), X, y, client=client)
        assert "".join(sorted((tmp_path / "made").read_text().split())) == loads
        theirs = MODELS[name]().fit(*(np.asarray(of) for of in (X, y)))
        assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-10, abs=1e-10)
        (tmp_path / "made").unlink()


def test_chunks_that_are_loaded_or_have_common_parts_are_left_to_dask(client):
    X, y = data()
    apart = array.from_array(X, chunks=(800, D)), array.from_array(y[:, 0], chunks=800)
    for rows, targets in (client.persist(apart), chunked(X, y[:, 0])):
        assert load(rows, targets, client).graphs is None
    assert load(*apart, client).graphs is not None
    coefs = [distributed.fit(MODELS["pairwise"](), *of).coef_ for of in (apart, client.persist(apart))]
    assert np.array_equal(*coefs)


# Death ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        (MODELS["uniform"], ("purchase", "pair_sums")),
        (lambda: by_em(rank="full"), ("standardized", "covariance_gradients")),
    ],
)
def test_workers_that_die_change_no_bit(client, model, steps):
    y = data()[1][:, 0]
    expected = fitted(client, model(), y).coef_
    with killed_after(client, *steps):
        assert np.array_equal(fitted(client, model(), y).coef_, expected)


def test_workers_that_die_while_they_load_change_no_bit(client):
    X, y = data()
    apart = array.from_array(X, chunks=(800, D)), array.from_array(y[:, 0], chunks=800)
    expected = fitted(client, MODELS["pairwise"](), y[:, 0]).coef_
    with killed_after(client, "beginning", "purchase"):
        assert np.array_equal(distributed.fit(MODELS["pairwise"](), *apart, client=client).coef_, expected)


def test_workers_that_die_while_cells_are_put_in_order(client):
    X, y = data()
    parts = Parts(client, client.compute([delayed(cells_of)(X[k::5], y[k::5, :1]) for k in range(5)]))
    expected = every_in_order(parts, 10)
    with killed_after(client, "in_order", "piece"):
        assert np.array_equal(every_in_order(parts, 10).targets, expected.targets)


# What is refused, and what a model of a cluster does not have --------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BudgetRidge(3), "features='linear'"),
        (BudgetRidge(3, features="linear", total_budget=100.0), "total_budget=100.0 is for one machine"),
        (BudgetRidge(None, features="linear"), "budget=None is for one machine"),
        (BudgetRidge(3, learner="online"), "distributed.average"),
        (BudgetSVR(3), "distributed.average"),
    ],
)
def test_what_cannot_be_exact_is_refused(client, model, words):
    with pytest.raises(ValueError, match=words):
        fitted(client, model, data()[1][:, 0])


def test_bad_rows_and_targets_are_refused(client):
    X, y = (each.copy() for each in data())
    y[1500, 0], X[1500] = np.nan, np.inf
    with pytest.raises(ValueError, match="y contains NaN"):
        distributed.fit(MODELS["uniform"](), *chunked(X, y), client=client)
    with pytest.raises(ValueError, match=r"begins at row 800: .*in row 700"):
        distributed.fit(MODELS["uniform"](), *chunked(X, y[:, 1]), client=client)
    with pytest.raises(ValueError, match="2999 targets for 3000 rows"):
        distributed.fit(MODELS["uniform"](), chunked(X, y)[0], y[1:, 1], client=client)
    with pytest.raises(ValueError, match="y must be a vector of labels; got a matrix"):
        distributed.fit(BudgetClassifier(3, learner="pairwise"), *chunked(X, y > 0), client=client)
    with pytest.raises(ValueError, match=r"got ndarray.*from_array"):
        distributed.fit(MODELS["uniform"](), X, y, client=client)


def test_cells_stay_on_the_workers(client, tmp_path):
    X, y = data()
    model = fitted(client, MODELS["uniform"](), y)
    with pytest.raises(ValueError, match="gather"):
        save_model(model, tmp_path / "model.sparing")
    with pytest.raises(ValueError, match="gather"):
        model.partial_fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict(X[:9]), model.predict(X[:9]))
    with pytest.raises(ValueError, match="stayed on the workers"):
        copied.learner_.bought.gather()
    model.learner_.bought = model.learner_.bought.gather()
    assert save_model(model, tmp_path / "model.sparing").exists()


# Other kinds of rows -------------------------------------------------------------------------------------------------


def test_data_frames_and_parquet_files(client, tmp_path):
    X, y = data()
    names = list("abcdefgh")
    frame = pandas.DataFrame(X, columns=names).assign(target=y[:, 0])
    theirs = MODELS["uniform"]().fit(X, y[:, 0])
    table = dataframe.from_pandas(frame, npartitions=3)
    of_frame = distributed.fit(MODELS["uniform"](), table[names], table["target"], client=client)
    files = [tmp_path / f"{part}.parquet" for part in range(2)]
    for file, part in zip(files, (frame[:1000], frame[1000:]), strict=True):
        part.to_parquet(file)
    of_files = distributed.fit(MODELS["uniform"](), files, "target", client=client)
    for ours in (of_frame, of_files):
        same(ours, theirs)
        assert ours.feature_names_in_.tolist() == names
    expected = theirs.predict(X)
    for rows in (table, files):
        assert distributed.predict(of_files, rows).compute() == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="name of the target's column"):
        distributed.fit(MODELS["uniform"](), files, y, client=client)
    with pytest.raises(ValueError, match="column 'a' holds"):
        distributed.fit(MODELS["uniform"](), table.assign(a="text"), table["target"], client=client)


def test_files_without_rows_are_left_out(client, tmp_path):
    X, y = (each[:300] for each in data())
    frame = pandas.DataFrame(X, columns=list("abcdefgh")).assign(target=y[:, 0])
    files = [tmp_path / f"{part}.parquet" for part in range(3)]
    for file, rows in zip(files, (frame[:0], frame, frame[:0]), strict=True):
        rows.to_parquet(file)
    ours = distributed.fit(MODELS["uniform"](), files, "target", client=client)
    theirs = MODELS["uniform"]().fit(X, y[:, 0])
    same(ours, theirs)
    assert distributed.predict(ours, files).compute() == pytest.approx(theirs.predict(X), rel=1e-10)
    for nothing, words in ((files[:1], "no rows"), ([], "list of Parquet files is empty")):
        with pytest.raises(ValueError, match=words):
            distributed.fit(MODELS["uniform"](), nothing, "target", client=client)


@pytest.mark.parametrize("other", ["12", pandas.Timestamp("2026-01-01")])
def test_columns_of_files_that_are_no_numbers_are_refused(client, tmp_path, other):
    frame = pandas.DataFrame(np.arange(20.0).reshape(10, 2), columns=["a", "b"])
    file, model = tmp_path / "rows.parquet", BudgetRidge(2, learner="pairwise")
    frame.assign(a=other).to_parquet(file)
    for target in ("b", ["a", "b"]):
        with pytest.raises(ValueError, match=r"column 'a' holds (large_)?(string|timestamp)"):
            distributed.fit(model, [file], target, client=client)
    model.fit(frame, frame["b"])
    with pytest.raises(ValueError, match="column 'a' holds"):
        distributed.predict(model, [file]).compute(scheduler="synchronous")


def test_predictions_of_files_need_names_and_files():
    model = BudgetRidge(3, learner="pairwise").fit(*(each[:100] for each in data()))
    for files, words in (
        (["rows.parquet"], "without names; pass a Dask array"),
        ([], "list of Parquet files is empty"),
    ):
        with pytest.raises(ValueError, match=words):
            distributed.predict(model, files)


@pytest.mark.parametrize("model", [BudgetRidge(2, learner="pairwise"), SketchedRidge()])
def test_names_of_an_earlier_fit_are_forgotten(client, model):
    X, y = np.nan_to_num(data()[0][:200]), data()[1][:200, 0]
    model.fit(pandas.DataFrame(X, columns=list("abcdefgh")), y)
    assert not hasattr(distributed.fit(model, *chunked(X, y), client=client), "feature_names_in_")


def test_the_average_of_online_learners_is_that_of_the_blocks(client):
    X, y = np.nan_to_num(data()[0]), data()[1][:, 0]
    rows, targets = array.from_array(X, chunks=(1000, D)), array.from_array(y, chunks=1000)
    model = distributed.average(BudgetRidge(3, learner="online", random_state=5), rows, targets, client=client)
    alone = [
        BudgetRidge(3, learner="online", random_state=5 + k).fit(X[k * 1000 :][:1000], y[k * 1000 :][:1000])
        for k in range(3)
    ]
    assert model.coef_ == pytest.approx(np.mean([each.coef_ for each in alone], axis=0), rel=1e-12)
    assert model.cells_ == sum(each.cells_ for each in alone)
    uncounted = distributed.average(SketchedRidge(random_state=0), rows, targets, client=client)
    assert not hasattr(uncounted, "cells_")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BudgetClassifier(3), "regressors"),
        (BudgetRidge(3), "features='linear'"),
        (LinearRegression(), "LinearRegression has no random_state"),
        (DecisionTreeRegressor(max_depth=1, random_state=0), "DecisionTreeRegressor has no coef_"),
    ],
)
def test_what_has_no_weights_to_average_is_refused(client, model, words):
    rows, targets = chunked(np.nan_to_num(data()[0][:200]), data()[1][:200, 0])
    with pytest.raises(ValueError, match=words):
        distributed.average(model, rows, targets, client=client)
