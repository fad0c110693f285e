"""The page of benchmarks: every script has a short form, and the page says what the results say."""

import json
import os
import select
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(HERE))

import run_all  # noqa: E402


def test_every_benchmark_has_a_short_form():
    scripts = {path.stem for path in HERE.glob("*.py")} - {"run_all"}
    assert {benchmark.script for benchmark in run_all.BENCHMARKS} == scripts


def test_the_page_is_made_of_the_results():
    results = json.loads(run_all.RESULTS.read_text(encoding="utf8"))
    assert run_all.PAGE.read_text(encoding="utf8") == run_all.page(results)
    assert not [run["script"] for run in results["benchmarks"] if run["outcome"].startswith("failed")]


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "HERE", tmp_path)
    (tmp_path / "fine.py").write_text("import sys; print('# Ratios', sys.argv[1:])")
    (tmp_path / "broken.py").write_text("raise SystemExit(3)")
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    (tmp_path / "parallel.py").write_text(
        "import subprocess, sys; print('half'); subprocess.run(['sleep', '60'], stdout=open(sys.argv[1], 'w'))"
    )


@pytest.mark.usefixtures("scripts")
def test_what_cannot_run_is_said():
    def outcome(script, arguments="", needs=(), most=60.0):
        return run_all.run(run_all.Benchmark(script, arguments, "a", "b", needs), most)

    assert outcome("fine", "--quick 3")["output"] == "# Ratios ['--quick', '3']\n"
    assert outcome("broken")["outcome"] == "failed (3)"
    assert outcome("slow", most=0.5)["outcome"] == "stopped after 0.5 s"
    assert outcome("fine", needs=("no_such_package",))["outcome"] == "skipped: needs no_such_package"


@pytest.mark.usefixtures("scripts")
def test_stopping_ends_workers_and_keeps_the_output(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    stopped = run_all.run(run_all.Benchmark("parallel", str(tmp_path / "pipe"), "a", "b"), 3.0)
    assert (stopped["outcome"], stopped["output"]) == ("stopped after 3 s", "half\n")
    ended, _, _ = select.select([reader], [], [], 10.0)  # readable when nobody holds the other end any more
    os.close(reader)
    assert ended


def test_the_page_counts_what_ran():
    results = json.loads(run_all.RESULTS.read_text(encoding="utf8"))
    first = results["benchmarks"][0]
    shown = run_all.page(results | {"benchmarks": [first, first | {"outcome": "failed (3)"}]})
    assert f"Short forms of 1 of {len(run_all.BENCHMARKS)} benchmarks" in shown


def test_the_machine_is_described_without_its_name():
    described = run_all.machine()
    assert described["cores"].isdigit()
    assert "numpy" in described["packages"]
    assert not any("/" in value for value in described.values())
