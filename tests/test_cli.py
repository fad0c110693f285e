"""The commands, run for real on small data."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from sparing import demonstration
from sparing.cli import app
from sparing.compare import ALGORITHMS, Row, compare
from sparing.compare.result import Comparison
from sparing.datasets import load_digits_pair

DOCS = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
QUICK = ["--seeds", "2", "--points", "2"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def digits(tmp_path):
    """The same 365 digits as CSV, Parquet and npz."""
    pair = load_digits_pair(3, 5)
    frame = pd.DataFrame(pair.data, columns=pair.feature_names).assign(digit=np.where(pair.target > 0, "five", "3"))
    frame.to_csv(tmp_path / "digits.csv", index=False)
    frame.to_parquet(tmp_path / "digits.parquet")
    np.savez(tmp_path / "digits.npz", X=pair.data, y=pair.target)
    return pair


def is_picture(path: Path) -> bool:
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 10_000


def test_demo_tells_its_story_and_writes_a_picture(run, tmp_path):
    result = run("demo", "--splits", 2)
    assert result.exit_code == 0, result.output
    for words in (*demonstration.WAYS, "a new patient", "body mass index for $1.00", "picture: sparing-demo.png"):
        assert words in result.output
    assert is_picture(tmp_path / "sparing-demo.png")


def test_compare_has_data_of_its_own(run, tmp_path):
    result = run("compare", "--demo", "--budget", 6, "--algorithms", "AERR,Ridge", *QUICK)
    assert result.exit_code == 0, result.output
    assert "1,797 rows, 64 attributes" in result.output
    assert is_picture(tmp_path / "sparing-compare.png")
    for arguments in (["compare"], ["compare", "--demo", "houses.csv"]):
        refused = run(*arguments)
        assert (refused.exit_code, "pass either a file, or --demo" in refused.stderr) == (2, True)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("points", [6, 12])
def test_tables_are_whole_in_a_terminal_of_80_columns_and_in_a_pipe(run, monkeypatch, terminal, points):
    monkeypatch.setenv("COLUMNS", "80")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    allowances = [7_777 * 2**point for point in range(points)]
    rows = [Row(name, allowance, 0, 9, 9, 9, 0.1234, 1.0, 1.0) for name in ALGORITHMS for allowance in allowances]
    rows[0] = rows[0]._replace(error=10.5)
    made = Comparison(rows, list(ALGORITHMS), 100, 100, 64, 6, 0.5)
    monkeypatch.setattr("sparing.compare.compare", lambda *_, **__: made)
    result = run("compare", "--demo")
    assert result.exit_code == 0, result.output
    lines = re.sub("\x1b[^m]*m", "", result.output).splitlines()
    shown = [line.rstrip() for line in lines if line.count("±") > 1]
    assert [line.count(".123±.00") for line in shown] == [points - 1] + [points] * (len(ALGORITHMS) - 1)
    assert "10.500±.00" in shown[0]
    if terminal and points == 6:
        assert max(map(len, shown)) <= 80
    if not terminal:
        assert all(
            line.startswith(ALGORITHMS[name].style["label"]) for line, name in zip(shown, ALGORITHMS, strict=True)
        )


@pytest.mark.parametrize(
    ("source", "names"), [("digits.csv", ["AERR"]), ("digits.parquet", ["AERR"]), ("digits.npz", None)]
)
def test_compare_writes_what_the_library_returns(run, digits, tmp_path, source, names):
    target = [] if source.endswith("npz") else ["--target", "digit"]
    given = [] if names is None else ["--algorithms", ",".join(names)]
    result = run("compare", source, *target, *given, "--budget", 8, *QUICK, "--output", "out")
    assert result.exit_code == 0, result.output
    assert is_picture(tmp_path / "out.png")
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert tuple(header) == Row._fields
    expected = compare(digits.data, digits.target, budget=8, algorithms=names, seeds=2, points=2).rows
    assert [Row(name, *map(float, numbers)) for name, *numbers in lines] == expected
    assert "365 rows, 64 attributes" in result.output


def test_compare_takes_its_options(run, digits, tmp_path):
    names = ["--algorithms", "aelr,Online-Lasso", "--penalty", "lasso", "--test-fraction", 0.5, "--no-scale"]
    options = ["--drop", "x1,x2", "--jobs", 1, "--random-state", 7, "--quiet", "--encode", "--drop-missing"]
    result = run("compare", "digits.npz", *names, *options, *QUICK)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == ["runs: sparing-compare.csv", "picture: sparing-compare.png"]
    kept = np.delete(digits.data, [1, 2], axis=1)
    expected = compare(kept, digits.target, budget=5, algorithms=["AELR", "OnlineLasso"], seeds=2, points=2,
                       test_fraction=0.5, scale=False, random_state=7)  # fmt: skip
    written = pd.read_csv(tmp_path / "sparing-compare.csv")
    assert written["error"].tolist() == [row.error for row in expected.rows]
    again = run("compare", "digits.npz", "--algorithms", "AELR", "--quiet", "--force", *QUICK)
    assert again.output.splitlines() == [f"{line} (replaced)" for line in result.output.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv", "--target", "digit"], "there is no file 'absent.csv'"),
        (["digits.xls"], "its name must end in one of"),
        (["digits.csv"], "name one with --target"),
        (["twice.csv", "--target", "y"], "twice.csv has two columns named 'y'; rename one of them."),
        (["digits.npz", "--output", "."], "'.' is a folder; name a file with --output."),
        (["digits.csv", "--target", "digti"], "did you mean 'digit'?"),
        (["digits.npz", "--budget", "65"], "pass a budget between 2 and 64"),
        (["digits.npz", "--budget", "1"], "budget must be a whole number, 2 or more; got 1"),
        (["digits.npz", "--algorithms", "sgd"], "choose from AutoLearner"),
        (["digits.npz", "--penalty", "none"], "penalty must be one of 'ridge', 'lasso'"),
        (["digits.npz", "--test-fraction", "0.9"], "365 rows are too few"),
        (["digits.npz", "--output", "nowhere/out"], "there is no folder 'nowhere'"),
        (["digits.npz", "--jobs", "0"], "jobs is a number of threads, or -1 for one per core; got 0"),
        (["empty.csv", "--target", "y"], "empty.csv is empty; it needs a header and one line per example"),
        (["header.csv", "--target", "y"], "header.csv has a header but no rows"),
        (["."], "'.' is a folder; name a file in it"),
        (["narrow.csv", "--target", "y"], "n_features = 1: there is nothing to choose; add attributes"),
        (["short.csv", "--target", "y"], "there is 1 row to learn from"),
        (["digits.csv", "--target", "digit", "--drop", "digit"], "'digit' is both the target and a column to leave"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(run, digits, tmp_path, arguments, message):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "header.csv").write_text("a,b,y\n")
    (tmp_path / "twice.csv").write_text("a,y,y\n1,2,2\n2,3,3\n4,5,5\n")
    (tmp_path / "narrow.csv").write_text("a,y\n" + "1,2\n3,4\n5,6\n" * 40)
    (tmp_path / "short.csv").write_text("a,b,y\n1,2,3\n")
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("sparing: ")
    assert len(result.output.splitlines()) == 1
    assert not list(tmp_path.glob("sparing-compare*"))


def test_compare_takes_text_and_holes_as_they_are(run, tmp_path):
    """It refused both, and after --encode --drop-missing it had lost most rows; indicators were counted one by one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 120), "size": rng.normal(size=120)})
    frame["y"] = (frame["kind"] == "a") + frame["size"] + 0.1 * rng.normal(size=120)
    frame["id"] = [f"case {at}" for at in range(120)]
    frame.loc[:2, "kind"], frame.loc[10:13, "size"] = None, np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run("compare", "t.csv", "--target", "y", "--budget", 2, "--algorithms", "ridge,aerr", *QUICK)
    assert result.exit_code == 0, result.output
    for said in (
        "120 rows, 4 attributes",
        "left out, because its text differs in every row: id",
        "for all algorithms alike: 1 column of text became 3 indicators, one per value; 7 missing values were filled",
    ):
        assert said in result.output
    rows = pd.read_csv(tmp_path / "sparing-compare.csv").query("algorithm == 'Ridge'")
    assert rows["error"].iloc[-1] < 0.5
    options = ["--encode", "--drop-missing", "--force", "--algorithms", "aerr"]
    fewer = run("compare", "t.csv", "--target", "y", "--budget", 2, *options, *QUICK)
    assert "113 rows, " in fewer.output
    assert "left out: 7 rows with a missing value" in fewer.output


def test_compare_prices_columns_and_not_their_indicators(run, tmp_path):
    """A price list had to name `kind=a`, `kind=b` and `kind=c`, and whole rows cost what these cost together."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(160, 2)), columns=["size", "age"])
    frame["kind"] = rng.choice(["a", "b", "c"], 160)
    frame.assign(y=(frame["kind"] == "a") + frame["size"]).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "prices.csv").write_text("attribute,cost,group\nage,0.5,\nkind,2.3,seen\nsize,1.2,seen\n")
    options = ["--budget", 3.5, "--costs", "prices.csv", "--algorithms", "ridge,PairwiseMoments", "--force"]
    result = run("compare", "t.csv", "--target", "y", *options, *QUICK)
    assert result.exit_code == 0, result.output
    rows = pd.read_csv(tmp_path / "sparing-compare.csv").query("algorithm == 'Ridge'")
    np.testing.assert_allclose(rows["spent"], 4.0 * rows["examples"])
    (tmp_path / "prices.csv").write_text("attribute,cost\nage,0.5\nkin,2.3\nsize,1.2\n")
    assert "is the line 'kin' meant?" in run("compare", "t.csv", "--target", "y", *options, *QUICK).stderr


def test_constant_target(run, tmp_path):
    np.savez(tmp_path / "flat.npz", X=np.eye(200), y=np.ones(200))
    result = run("compare", "flat.npz")
    assert (result.exit_code, "choose a target that varies" in result.stderr) == (2, True)


def python(code: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def test_without_matplotlib_the_table_still_appears(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None\nfrom sparing.cli import app; app(['demo', '--splits', '1'])"
    done = python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a few chosen tests of everybody" in done.stdout
    assert 'no picture: drawing needs matplotlib; run: pip install "sparing[plot]"' in done.stdout


def test_importing_the_command_line_pulls_in_no_extra():
    # scikit-learn imports pandas by itself where it is installed: only what is new after it counts
    code = (
        "import sys, sklearn.linear_model, sklearn.model_selection; before = set(sys.modules)\n"
        "import sparing, sparing.cli, sparing.compare, sparing.tables, sparing.plotting\n"
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "sparing" in done.stdout
    for extra in ("matplotlib", "pandas", "pyarrow", "torch"):
        assert repr(extra) not in done.stdout


def test_a_comparison_begins_before_scikit_learn_is_imported():
    code = (
        "import sys; from sparing.compare import compare; from sparing.datasets import load_digits_parity\n"
        "parts = []\n"
        "compare(*load_digits_parity(return_X_y=True), budget=6, algorithms=['AutoLearner'], seeds=1, points=1,\n"
        "        progress=parts.append)\n"
        "print(sum(parts), 'sklearn' in sys.modules)"
    )
    done = python(code)
    assert (done.stdout, done.stderr) == ("1.0 False\n", "")


def listen_to_interrupts():
    """What a shell starts in the background ignores them, and hands that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(arguments, first, seconds, folder=None):
    """Exit code and errors of a Python process that gets Ctrl-C some seconds after it printed its ``first`` line."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": listen_to_interrupts}
    with subprocess.Popen([sys.executable, *arguments], cwd=folder, **options) as process:
        assert first in process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, errors


STOPPED = (130, "sparing: stopped; nothing is left half-written.\n")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
def test_interrupt_ends_cleanly(tmp_path):
    assert interrupted(["-m", "sparing", "demo", "--splits", "5000"], "diabetes", 2.0, tmp_path) == STOPPED
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
def test_interrupt_does_not_wait_for_a_compiled_function():
    """The main thread is in one call for many minutes, as in a long kernel."""
    code = (
        "import hashlib; from sparing.cli.app import one_line_errors\n"
        "with one_line_errors():\n"
        "    print('begun', flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
    )
    assert interrupted(["-c", code], "begun", 0.5) == STOPPED


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
def test_interrupt_of_imports_is_answered():
    code = (
        "import os, signal, sys, time; from sparing.__main__ import main\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'sparing.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Slow()); main()"
    )
    done = python(code)
    assert (done.returncode, done.stderr) == (130, "sparing: stopped.\n")


def test_python_m_sparing_and_version():
    done = subprocess.run([sys.executable, "-m", "sparing", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", done.stdout)


def test_the_range_of_a_budget_is_in_the_help():
    for name in ("fit", "plan", "compare"):
        (budget,) = (p for p in typer.main.get_command(app).commands[name].params if p.name == "budget")
        assert "from 2 to all of them" in budget.help


def test_every_command_and_option_is_documented():
    text = DOCS.read_text(encoding="utf-8")
    root = typer.main.get_command(app)
    commands = {"": root, **root.commands}
    assert set(commands) >= {"demo", "compare", "fit", "plan"}
    for name, command in commands.items():
        section = text if not name else text.partition(f"\n## `sparing {name}`")[2].partition("\n## ")[0]
        assert section, f"docs/command-line.md has no section for sparing {name}"
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert f"`{option}`" in section or f" {option}`" in section, f"{name} {option} is not documented"
