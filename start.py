"""Set up sparing in a virtual environment of its own; then `demo`, `test`, `docs`, `bench`, or a command after `run`.

python3 start.py demo     the demonstration on embedded data
python3 start.py test     every check that CI makes: lint, types, imports, tests, doctests, documentation
python3 start.py docs     the documentation site, in docs/_build/html
python3 start.py bench    the short form of every benchmark, or of those named, and the page of results
python3 start.py fuzz --minutes 30    broken files for all readers, for so long
python3 start.py run compare my.csv --target price --budget 5
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
TEST = "test,torch" if os.environ.get("CI") == "true" else "test"  # gigabytes that only CI must have
CHECKS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["lint-imports"])


def run(*command, folder=ROOT):
    """Run a tool of the environment, from the project's root unless told otherwise; stop here if it fails."""
    try:
        code = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=folder).returncode
    except KeyboardInterrupt:  # the tool was told too
        code = 130
    if code:
        sys.exit(code)


def install(extras):
    """Create the environment once, and bring it up to date whenever `pyproject.toml` has changed."""
    stamp = ENVIRONMENT / f"installed-{extras}"
    project = ROOT / "pyproject.toml"
    if stamp.exists() and stamp.stat().st_mtime > project.stat().st_mtime:
        return
    print(f"setting up {ENVIRONMENT.name} (a minute or two, once)", flush=True)
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        venv.create(ENVIRONMENT, with_pip=True)
    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f".[{extras}]")
    stamp.touch()


def find_data():
    """Use the data folder beside the project where there is one."""
    data = ROOT.parent / "shared" / "data"
    if data.is_dir():
        os.environ.setdefault("SPARING_DATA", str(data))
    if not os.environ.get("SPARING_DATA"):
        print("SPARING_DATA is not set: what needs MNIST, Covertype, RCV1 or the medical sets is skipped")


def test(arguments):
    """Everything CI proves."""
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn skips one of its checks
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # BLAS threads of two workers would wait for each other
    if not arguments:
        for check in CHECKS:
            print("$", *check, flush=True)
            run(*check)
    run("python", "-m", "pytest", "-n", "2", *arguments)


def fuzz(arguments):
    """The fuzz suite, for as many minutes as ``--minutes`` says."""
    parser = argparse.ArgumentParser(prog="start.py fuzz")
    parser.add_argument("--minutes", type=float, default=5.0, help="time for all readers together (default: 5)")
    os.environ["SPARING_FUZZ_MINUTES"] = str(parser.parse_args(arguments).minutes)
    run("python", "-m", "pytest", "-n", "0", "-q", "-s", "tests/fuzz")


def main(arguments):
    if sys.version_info < (3, 11):  # noqa: UP036 - this script is what an older Python would be tried with
        sys.exit(f"sparing needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "test":
        install(TEST)
        find_data()
        test(rest)
    elif command == "fuzz":
        install(TEST)
        fuzz(rest)
    elif command == "bench":
        install("test")
        find_data()
        run("python", "benchmarks/run_all.py", *rest)
    elif command == "docs":
        install("docs")
        find_data()
        run("sphinx-build", "-W", "-E", "-a", "docs", "docs/_build/html")  # anew, whatever is there
    elif command in ("demo", "run"):
        install("plot,sql,table" if rest[:1] == ["study"] else "plot,table")
        run("sparing", *(["demo"] if command == "demo" else []), *rest, folder=None)  # where the caller's files are
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
