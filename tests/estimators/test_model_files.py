"""One file holds a fitted model: it predicts the same to the last bit, and goes on learning where it stopped."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sparing import BudgetClassifier, BudgetLasso, BudgetRidge, BudgetSVR, SketchedRidge, load_model, save_model

DATA = Path(__file__).parent / "data"
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 6))
Y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.3 * X[:, 3] + 0.1 * rng.normal(size=500)  # trees and curves are worth it
LABELS = np.where(Y > 1.0, "high", np.where(Y > 0.0, "middle", "low"))
MONEY = {"costs": [1.0, 2.0, 0.5, 1.0, 3.0, 0.25], "groups": ["a", "a", None, "b", "b", ""], "total_budget": 1500.0}

CASES = {
    "auto": (BudgetRidge(budget=5, random_state=1), Y),
    "linear": (BudgetRidge(budget=4, features="linear", random_state=1), Y),
    "additive": (BudgetRidge(budget=4, features="additive", random_state=1), Y),
    "money": (BudgetRidge(budget=7.0, random_state=1, features="linear", **MONEY), Y),
    "pairwise": (BudgetRidge(budget=4, learner="pairwise", alpha=0.1, random_state=1), Y),
    "factor": (BudgetRidge(budget=3, learner="factor", random_state=1), Y),
    "two outputs": (BudgetRidge(budget=3, features="linear", random_state=1), np.column_stack([Y, -Y])),
    "lasso": (BudgetLasso(budget=3, random_state=np.random.RandomState(5)), Y),
    "two-phase": (BudgetRidge(budget=3, learner="online", random_state=1), Y),
    "priced online": (BudgetRidge(budget=6.0, learner="online", costs=MONEY["costs"], random_state=1), Y),
    "moments": (BudgetLasso(budget=3, learner="online", second_moments=np.ones(6), random_state=1), Y),
    "tube": (BudgetSVR(budget=3, random_state=1), Y),
    "classes": (BudgetClassifier(budget=3, features="linear", random_state=1), LABELS),
    "online classes": (BudgetClassifier(budget=3, learner="online", random_state=1), LABELS),
    "two classes": (BudgetClassifier(budget=3, features="linear", random_state=1), Y > 0.5),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_is_the_same_to_the_last_bit(name, tmp_path):
    model, y = CASES[name]
    model.fit(X[:400], y[:400])
    again = load_model(save_model(model, tmp_path / "model.sparing"))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for learnt in ("n_iter_", "cells_", "spent_", "draws_", "report_", "bound_"):
        assert getattr(again, learnt) == getattr(model, learnt), learnt
    if name == "auto":
        assert model.report_["trees_share"] > 0  # or trees would not be tested
    if name == "additive":
        np.testing.assert_array_equal(again.effect(2), model.effect(2))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("first", [15, 300])  # within the pilot of an online learner, and after it
def test_a_loaded_model_goes_on_learning(name, first, tmp_path):
    model, y = CASES[name]
    more = {"classes": np.unique(y)} if isinstance(model, BudgetClassifier) else {}
    again = load_model(save_model(_fresh(model).partial_fit(X[:first], y[:first], **more), tmp_path / "model"))
    straight = _fresh(model).partial_fit(X[:first], y[:first], **more).partial_fit(X[first:], y[first:])
    np.testing.assert_array_equal(again.partial_fit(X[first:], y[first:]).predict(X), straight.predict(X))
    assert (again.cells_, again.spent_, again.n_iter_) == (straight.cells_, straight.spent_, straight.n_iter_)


def _fresh(model):
    options = model.get_params()
    return type(model)(**options | {"random_state": 7})


def test_names_and_labels_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(6)])
    for labels in (LABELS, LABELS.astype(object), pd.Series(LABELS, dtype="category"), (Y > 0), (Y > 0).astype(int)):
        model = BudgetClassifier(budget=3, features="linear", random_state=0).fit(frame, labels)
        again = load_model(save_model(model, tmp_path / "model"))
        np.testing.assert_array_equal(again.classes_, model.classes_)
        assert again.classes_.dtype == model.classes_.dtype
        assert list(again.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_columns_of_any_kind_are_in_the_file(tmp_path):
    """Categories, dates and free columns; rows known in part, and a category that was never seen."""
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(500) % 50, "D")
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 2] > 0, "p", "q"), "day": days, "c": X[:, 1]})
    prices = {"a": 1.0, "kind": 2.0, "day": 0.0, "c": 1.0}
    model = BudgetRidge(budget=3.0, costs=prices, random_state=1).fit(frame, Y)
    again = load_model(save_model(model, tmp_path / "model.sparing"))
    new = frame[:9].assign(kind=["p", "q", "new", *frame["kind"][3:9]]).drop(columns="c")
    for one, other in zip(model.predict(new, return_std=True), again.predict(new, return_std=True), strict=True):
        np.testing.assert_array_equal(one, other)
    assert str(again.route(known=["kind"])) == str(model.route(known=["kind"]))


def test_a_file_of_format_1_is_read_by_all_later_versions():
    """Written by ``save_model`` when format 1 was made, with predictions of that version beside it."""
    again = load_model(DATA / "model_format_1.sparing")
    with np.load(DATA / "model_format_1.npz") as then:
        rows = pd.DataFrame(then["X"], columns=list("abcd"))
        np.testing.assert_allclose(again.predict(rows), then["predictions"], rtol=1e-12)
    assert list(again.feature_names_in_) == list("abcd")
    assert again.partial_fit(pd.DataFrame(X[:9, :4], columns=list("abcd")), Y[:9]).n_iter_ == again.learner_.n_rounds


# Refused ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    model = BudgetRidge(budget=3, features="linear", random_state=0).fit(X, Y)
    return save_model(model, tmp_path / "model.sparing")


def rewritten(path, change):
    """The file with its header changed, packed correctly."""
    with np.load(path) as stored:
        arrays = dict(stored)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path.open("wb"), **arrays)
    return path


def refused(path, *words):
    with pytest.raises(ValueError, match=".*".join(words)) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_a_newer_format_is_refused_with_what_to_do(saved):
    newer = rewritten(saved, lambda header, _: header.update(format=2))
    refused(newer, "format 2", "newer version", "update sparing")


def test_broken_files_are_refused_in_one_line(saved, tmp_path):
    content = saved.read_bytes()
    for broken in (b"", b"hello", content[:-50], content[:300]):
        saved.write_bytes(broken)
        refused(saved, "model.sparing is not a readable model file")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_model(tmp_path / "absent")


def test_no_pickle_is_ever_read(tmp_path):
    archive = io.BytesIO()
    np.savez(archive, header=np.array([{"format": 1}], dtype=object))
    (tmp_path / "evil").write_bytes(archive.getvalue())
    refused(tmp_path / "evil", "allow_pickle=False")


@pytest.mark.parametrize("part", ["weights", "intercept", "attributes.means", "attributes.noise"])
def test_parts_that_do_not_fit_together_are_refused(saved, part):
    def shortened(_, arrays):
        name = f"model.fitted.{part}"
        arrays[name] = arrays[name][:-1]

    refused(rewritten(saved, shortened), "do not fit the rest")


def test_only_fitted_budget_estimators_are_saved(tmp_path):
    with pytest.raises(AttributeError, match="not fitted yet"):
        save_model(BudgetRidge(budget=3), tmp_path / "model")
    with pytest.raises(ValueError, match="SketchedRidge has no model file"):
        save_model(SketchedRidge().fit(X, Y), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_the_file_is_an_archive_of_arrays_and_text(saved):
    with zipfile.ZipFile(saved) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
