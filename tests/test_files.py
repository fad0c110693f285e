"""Files are written whole or not at all, and never over a file that is not ours to replace."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparing.cells import Cells
from sparing.cli import app
from sparing.files import InputError, refuse_to_replace, write_csv, write_text, written_whole

OLD = "what was there before"


class Broken(Exception):
    pass


def write_half(path, failure):
    with written_whole(path) as file:
        file.write(b"half of the n")
        raise failure


# Whole or not at all ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [Broken, KeyboardInterrupt, SystemExit])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "report.csv"
    path.write_text(OLD)
    with pytest.raises(failure):
        write_half(path, failure)
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "model.json"
    path.write_text(OLD)

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        write_text(path, "new")
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_rows_that_fail_halfway_write_nothing(tmp_path):
    def rows():
        yield 1, 2
        raise Broken

    with pytest.raises(Broken):
        write_csv(tmp_path / "rows.csv", ["a", "b"], rows())
    assert not list(tmp_path.iterdir())


def test_what_is_written_can_be_read_by_others_and_through_links(tmp_path):
    write_text(tmp_path / "plain", "new")
    os.symlink(tmp_path / "plain", tmp_path / "link")
    write_text(tmp_path / "link", "é")
    assert (tmp_path / "plain").read_text(encoding="utf-8") == "é"
    assert (tmp_path / "link").is_symlink()
    beside = tmp_path / "beside"
    beside.touch()
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == stat.S_IMODE(beside.stat().st_mode)


def test_cells_are_saved_whole(tmp_path, monkeypatch):
    cells = Cells(3)
    cells.append([0, 2], [1.0, 2.0], 0.5)
    path = cells.save(tmp_path / "cells")
    before = path.read_bytes()

    def half(file, **_):
        file.write(b"PK half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(KeyboardInterrupt):
        cells.save(tmp_path / "cells")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


SLOW_WRITES = """
import os, sys, time
from sparing.cli import app

def slow(handle):  # the file is written, and not yet in its place
    print("writing", flush=True)
    time.sleep(60)
os.fsync = slow
app(sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_a_fit_that_is_stopped_while_it_writes_leaves_no_half_file(tmp_path, sent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    pd.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0]).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "out-weights.csv").write_text(OLD)
    command = [sys.executable, "-c", SLOW_WRITES, "fit", "data.csv", "--target", "y", "--budget", "2", "--quiet"]
    with subprocess.Popen(
        [*command, "--output", "out", "--learner", "online", "--force"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout.readline() == "writing\n", process.stderr.read()
        process.send_signal(sent)
        process.wait()
    names = {path.name for path in tmp_path.iterdir() if not path.name.endswith(".part")}
    assert names == {"data.csv", "out-weights.csv"}
    assert (tmp_path / "out-weights.csv").read_text() == OLD
    if sent == signal.SIGINT:
        assert not list(tmp_path.glob(".*"))


# Replacing ----------------------------------------------------------------------------------------------------------


def test_a_new_name_may_be_written(tmp_path):
    refuse_to_replace(tmp_path / "new.csv", inputs=[tmp_path / "data.csv"])


def test_an_input_is_never_replaced_by_whatever_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(OLD)
    os.symlink("data.csv", "link.csv")
    os.link("data.csv", "hard.csv")
    for name in ("data.csv", "link.csv", "hard.csv", tmp_path / "data.csv"):
        with pytest.raises(InputError, match="is an input and would be replaced; choose another name with output"):
            refuse_to_replace(name, inputs=["absent.csv", Path("data.csv")], force=True)


def test_what_a_command_wrote_under_its_own_name_may_be_written_again(tmp_path):
    own = tmp_path / "sparing-fit.png"
    own.write_bytes(b"of the last run")
    refuse_to_replace(own)
    with pytest.raises(InputError, match="is an input"):
        refuse_to_replace(own, inputs=[own], force=True)


def test_other_files_need_force_and_folders_and_devices_cannot_be_replaced(tmp_path):
    path = tmp_path / "old.png"
    path.write_text(OLD)
    with pytest.raises(InputError, match=r"already exists; choose another name with output, or .* with force=True"):
        refuse_to_replace(path)
    refuse_to_replace(path, force=True)
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling")
    with pytest.raises(InputError, match="already exists"):
        refuse_to_replace(tmp_path / "dangling")
    with pytest.raises(InputError, match="is a folder; choose another name"):
        refuse_to_replace(tmp_path, force=True)
    with pytest.raises(InputError, match="is not a regular file"):
        refuse_to_replace(os.devnull, force=True)
    with pytest.raises(InputError, match=r"'\.' is a folder; name a file"):
        refuse_to_replace(".", force=True)
    with pytest.raises(InputError, match="there is no folder"):
        refuse_to_replace(tmp_path / "none" / "a.csv")


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["compare", "houses.csv", "--target", "y", "--output", "houses"], "houses.csv"),
        (["compare", "houses.csv", "--target", "y", "--output", "houses", "--force"], "houses.csv"),
        (["fit", "houses-cells.npz", "--output", "houses", "--force"], "houses-cells.npz"),
        (["fit", "houses.csv", "--target", "y", "--costs", "out-weights.csv", "--output", "out"], "out-weights.csv"),
        (["plan", "houses.csv", "--target", "y", "--output", "picture.png"], "picture.png"),
        (["demo", "--output", "picture.png"], "picture.png"),
        (["demo", "--output", "picture"], "picture.png"),
        (["fit", "houses.csv", "--target", "y", "--output", "picture"], "picture.png"),
    ],
)
def test_no_command_replaces_what_it_did_not_make(tmp_path, monkeypatch, arguments, kept):
    monkeypatch.chdir(tmp_path)
    for name in {"houses.csv", kept}:
        Path(name).write_text(OLD)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert f"'{kept}'" in result.stderr
    assert "--output" in result.stderr
    assert len(result.output.splitlines()) == 1
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"houses.csv": OLD, kept: OLD}


def test_a_missing_folder_is_named_rather_than_a_temporary_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere' to write to; create it first\.$"):
        write_text(tmp_path / "nowhere" / "model.txt", "")
