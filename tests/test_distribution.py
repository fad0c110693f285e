"""What is released: wheel and sdist in an environment that holds nothing else, versions, and public types."""

import inspect
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import sparing

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]

BARE = """
import numpy as np, sparing
X = np.random.default_rng(0).normal(size=(60, 4))
model = sparing.BudgetRidge(2, learner="pairwise", random_state=0).fit(X, X[:, 0])
assert model.cells_ == 120 and model.coef_[0] > 0.5, (model.cells_, model.coef_)

def missing(extra, statement):
    try:
        exec(statement)
    except ImportError as error:
        assert f'pip install "sparing[{extra}]"' in str(error), error
    else:
        raise AssertionError(f"{statement} needs nothing of {extra}")

open("table.csv", "w").write("a,b\\n1,2\\n3,4\\n")
missing("plot", "from sparing.plotting import empty_figure; empty_figure()")
missing("table", "from sparing.tables import read_table; read_table('table.csv', target='b')")
missing("torch", "import sparing.optim.torch")
missing("sql", "sparing.Study.open('study.db')")
"""

USES = {  # what each extra is for, in the words of a user
    "plot": "from sparing.plotting import empty_figure; empty_figure()",
    "table": "from sparing.tables import read_table; assert len(read_table('table.csv', target='b').y) == 2",
    "sql": "import sparing.study.store",
    "dask": "import dask, distributed; from sparing.distributed import fit",
    "http": "from sparing.sources import HTTPSource; HTTPSource('http://shop', examples=1, names=['a'], study='s')",
}
ELSEWHERE = {"torch", "docs", "test"}  # installed by `start.py test` in CI, where the whole suite runs on them


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist; the wheel is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def run(*command, folder=None):
    """Run in an environment that does not know this one's packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_clean_environment_is_enough_and_each_extra_brings_what_it_names(built, tmp_path):
    assert USES.keys() | ELSEWHERE == PROJECT["optional-dependencies"].keys(), "a new extra needs a line in USES"
    venv.create(tmp_path / "clean")
    python = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check", "install")
    pip = (*pip, "--no-compile")
    run(*pip, built[0])
    run(python, "-c", BARE, folder=tmp_path)
    run(*pip, f"{built[0]}[{','.join(USES)}]")
    for statement in USES.values():
        run(python, "-c", statement, folder=tmp_path)


def test_wheel_and_sdist_hold_what_they_should(built):
    wheel, sdist = built
    names = zipfile.ZipFile(wheel).namelist()
    assert {"sparing/py.typed", "sparing/__init__.py"} <= set(names)
    assert all(name.startswith(("sparing/", f"sparing-{sparing.__version__}.dist-info/")) for name in names)
    with tarfile.open(sdist) as archive:
        root = f"sparing-{sparing.__version__}"
        assert {f"{root}/{name}" for name in ("LICENSE", "CITATION.cff", "start.py", "tests/conftest.py")} <= set(
            archive.getnames()
        )


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
    assert f"\nversion: {sparing.__version__}\n" in citation
    assert f"\n## [{sparing.__version__}]" in changelog


def public_callables():
    """Public functions, and the methods of public classes that are defined within sparing."""
    for name in sparing.__all__:
        thing = getattr(sparing, name)
        module = thing if inspect.ismodule(thing) else import_module(thing.__module__)
        for shown in getattr(module, "__all__", ()) if inspect.ismodule(thing) else (name,):
            found = getattr(thing, shown) if inspect.ismodule(thing) else thing
            if inspect.isclass(found):
                yield from (
                    (f"{shown}.{method}", function)
                    for method, function in inspect.getmembers(found, inspect.isfunction)
                    if not method.startswith("_") and function.__module__.startswith("sparing")
                )
            elif inspect.isfunction(found):
                yield shown, found


def test_public_functions_and_methods_say_what_they_return():
    assert not sorted({name for name, f in public_callables() if "return" not in inspect.get_annotations(f)})
