"""The package as a whole: its imports, its public names, and what it must not contain."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import sparing
import sparing.learners

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("matplotlib", "pandas", "pyarrow", "torch", "sqlalchemy", "psycopg", "dask", "fastapi", "uvicorn", "plotly")


def modules_after(statement):
    """Top-level modules in a fresh interpreter after the statement."""
    code = f"{statement}; import sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(answer.stdout.split())


def test_importing_pulls_in_no_extra():
    everything = "import sparing; [getattr(sparing, name) for name in sparing.__all__]"
    beyond = modules_after(everything) - modules_after("import sklearn.linear_model")
    assert "sparing" in beyond
    assert not beyond.intersection(EXTRAS)
    assert not beyond.intersection(("typer", "rich"))  # those are for the command line


def test_public_names_are_there():
    for name in ("BudgetRidge", "BudgetLasso", "BudgetSVR", "BudgetClassifier"):
        assert isinstance(getattr(sparing, name), type)
    for name in (
        *("AERR", "DDAERR", "TwoPhasedDDAERR", "AELR", "DDAELR", "TwoPhasedDDAELR"),
        *("AESVR", "AER", "OnlineRidge", "OnlineLasso"),
    ):
        learner = getattr(sparing.learners, name)
        for method in ("ask", "tell", "run", "state", "from_state"):
            assert callable(getattr(learner, method))
        assert isinstance(learner.coef, property)
    for room, names in {
        "geometry": ("second_moments", "half_norm", "improvement_ratio"),
        "theory": ("step_size", "risk_bound", "sample_complexity"),
        "datasets": ("make_power_law", "load_mnist_pair", "load_covertype", "load_rcv1"),
        "sources": ("ArraySource", "CallableSource"),
    }.items():
        for name in names:
            assert callable(getattr(getattr(sparing, room), name)), f"sparing.{room}.{name}"


def test_every_name_offered_exists_and_others_do_not():
    for name in sparing.__all__:
        assert getattr(sparing, name) is not None
        assert name in dir(sparing)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = sparing.no_such_thing


def test_keywords_of_the_estimators():
    ridge = {
        *("budget", "learner", "design", "costs", "radius", "step_size", "second_moments", "fit_intercept", "alpha"),
        *("n_jobs", "random_state"),
    }
    for cls in (sparing.BudgetRidge, sparing.BudgetLasso, sparing.BudgetClassifier):
        assert ridge <= cls(3).get_params().keys()
    assert ridge | {"tube", "accuracy"} <= sparing.BudgetSVR(3).get_params().keys()


def test_the_version_is_that_of_the_distribution():
    assert sparing.__version__ == metadata.version("sparing")


def tracked_files():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        assert not os.environ.get("CI"), "CI checks a clone, so nothing is skipped there"
        pytest.skip("a copy without git's files: nothing says which files are ours")
    answer = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True, cwd=ROOT)
    return [ROOT / name for name in answer.stdout.split("\0") if name]


def test_no_file_names_a_path_of_somebodys_machine():
    machine_path = re.compile(rb"(?<![\w.~-])/(?:work|root|home)/\w")
    files = [path for path in tracked_files() if path.is_file()]
    assert ROOT / "pyproject.toml" in files
    assert machine_path.search(b"see " + b"/".join([b"", b"root", b"notes"]))
    guilty = [str(path.relative_to(ROOT)) for path in files if machine_path.search(path.read_bytes())]
    assert not guilty
