"""`sparing fit` and `sparing plan` of files that are read by row group, and paid in bytes."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparing.cli import app
from sparing.planning import advice
from sparing.planning_in_bytes import JUDGED, plan_in_bytes
from sparing.sources import ParquetSource

D, ROWS, GROUPS = 12, 40, 40


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((ROWS * GROUPS, 2)) @ generator.standard_normal((2, D))
    X += generator.standard_normal(X.shape)
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(D)])
    frame["y"] = X @ generator.standard_normal(D) + generator.standard_normal(len(X))
    folder = tmp_path_factory.mktemp("big")
    paths = [folder / "a.parquet", folder / "b.parquet"]
    frame[:800].to_parquet(paths[0], row_group_size=ROWS)
    frame[800:].to_parquet(paths[1], row_group_size=ROWS)
    return [str(path) for path in paths]


def test_both_ways_are_measured_for_the_same_bytes(files):
    source, y = ParquetSource(files).split_target("y")
    chunk, before = source.column_bytes().mean(), source.bytes_read
    half, all_of_it = plan_in_bytes(source, y, budget=3)
    assert (half.few_examples, all_of_it.few_examples) == (4 * ROWS, 8 * ROWS)  # two rotations of four groups
    assert (half.whole_examples, all_of_it.whole_examples) == (ROWS, 2 * ROWS)
    assert all_of_it.spend == pytest.approx(8 * 3 * chunk / 1e6, rel=0.1)
    read = source.bytes_read - before
    assert read == pytest.approx((2 * (8 + 4) * 3 + JUDGED * D) * chunk, rel=0.1)
    for prospect in (half, all_of_it):
        assert prospect.few_interval[0] < prospect.few < prospect.few_interval[1]
    assert all_of_it.whole < all_of_it.few
    assert advice([all_of_it]).startswith("Whole rows of fewer examples are the better buy")


def test_too_few_row_groups_are_refused(files):
    source, y = ParquetSource(files).split_target("y")
    with pytest.raises(ValueError, match="3 row groups are too few for a pilot and 2 groups of test rows"):
        plan_in_bytes(source.take([0, 1, 2]), y[: 3 * ROWS], budget=3)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_fit_of_several_files_says_what_was_read(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("fit", *files, "--target", "y", "--budget", 4, "--learner", "pairwise")
    assert done.exit_code == 0, done.output
    assert "a.parquet and 1 more: 1,600 rows, 12 attributes, target 'y'" in done.output
    assert "6,400 of 19,200 values bought (33.3%)" in done.output
    assert "MB" in done.output
    assert "of 40 row groups: errors go by row group." in done.output
    predicted = run("predict", "sparing-fit-model.sparing", files[0])
    assert predicted.exit_code == 0, predicted.output


def test_one_file_is_read_by_row_group_if_that_is_asked_for(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = (files[0], "--target", "y", "--learner", "pairwise", "--quiet")
    assert run("fit", *options, "--by-row-group").exit_code == 0
    by_group = (tmp_path / "sparing-fit-weights.csv").read_text()
    assert run("fit", *options).exit_code == 0
    assert (tmp_path / "sparing-fit-weights.csv").read_text() != by_group


def test_plan_of_several_files_compares_in_bytes(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("plan", *files, "--target", "y", "--budget", 3)
    assert done.exit_code == 0, done.output
    assert "megabytes" in done.output
    assert "3 columns of each group" in done.output
    assert (tmp_path / "sparing-plan.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "--encode"), "--encode is not for files that are read by row group; leave it out."),
        (("plan", "--samples", "0.1"), "--samples is not for files that are read by row group"),
        (("fit", "--drop", "w"), "there is no column 'w'"),
    ],
)
def test_options_without_effect_are_refused(files, arguments, said):
    command, *options = arguments
    done = run(command, *files, "--target", "y", *options)
    assert done.exit_code == 2
    assert said in done.output


def test_a_target_that_is_missing_or_unnamed_is_refused(files, tmp_path):
    assert "no target given; name a column to predict with --target" in run("fit", *files).output
    table = pd.read_parquet(files[0])
    table.loc[3, "y"] = np.nan
    table.to_parquet(tmp_path / "c.parquet")
    done = run("fit", tmp_path / "c.parquet", "--by-row-group", "--target", "y")
    assert "the target 'y' is missing in 1 rows" in done.output
    (tmp_path / "d.csv").write_text("x,y\n1,2\n")
    assert "d.csv is not a Parquet file" in run("fit", files[0], tmp_path / "d.csv", "--target", "y").output
