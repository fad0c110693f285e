"""Code in the documents runs and prints what is shown, and the site builds without warnings."""

import re
import subprocess
import sys
import zlib
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import sparing

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
CODE_AND_OUTPUT = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
BLOCKS = [
    pytest.param(block, output, id=f"{page.name}-{number}")
    for page in PAGES
    for number, (block, output) in enumerate(CODE_AND_OUTPUT.findall(page.read_text(encoding="utf8")))
]


@pytest.mark.parametrize(("block", "output"), BLOCKS)
def test_python_blocks_run_and_print_what_is_shown(block, output, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "document", "exec"), {"__name__": "document"})
    if output:
        assert capsys.readouterr().out == output


def test_the_readme_is_short_enough_to_read():
    assert len((ROOT / "README.md").read_text(encoding="utf8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def columns(row):
    return len(re.split(r"(?<!\\)\|", row)) - 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_headers_of_tables_have_as_many_columns_as_their_rules(page):
    """Otherwise a table is shown as text."""
    lines = page.read_text(encoding="utf8").splitlines()
    for header, rule in pairwise(lines):
        if re.fullmatch(r"[|\s:-]*\|\s*:?---[|\s:-]*", rule):
            assert columns(header) == columns(rule), header


def test_thresholds_of_the_page_are_those_of_the_code():
    """Each under its name in its module; those by which a model is chosen are numbered, and at most fifteen."""
    _, section = (ROOT / "docs" / "keeping.md").read_text(encoding="utf8").split("### Thresholds\n")
    choosing, others = section.split("\n## ")[0].split("Other constants do not choose a model:")
    for table, most in ((choosing, 15), (others, 100)):
        named = re.findall(r"((?:`[A-Z_]+`(?:, )?)+) \((\w+)\)", "\n".join(re.findall(r"^\|.*", table, re.M)))
        places = [(module, name) for names, module in named for name in re.findall(r"`(\w+)`", names)]
        assert 5 < len(places) <= most
        elsewhere = {"keeping": "learners.keeping", "designs": "designs"}
        for module, name in places:
            path = elsewhere.get(module, f"models.{module}")
            assert hasattr(import_module(f"sparing.{path}"), name), f"{name} ({module})"


def public_names():
    """Every name in an ``__all__``, or defined in a public module that has none; those of the package only there."""
    for room in sparing.__all__:
        if callable(getattr(sparing, room)):
            yield f"sparing.{room}"
        elif room != "estimators":
            module = import_module(f"sparing.{room}")
            own = (name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__)
            yield from (f"sparing.{room}.{name}" for name in getattr(module, "__all__", own)
                        if name[0] != "_" and name not in sparing.__all__)  # fmt: skip


def test_the_site_builds_runs_its_examples_and_stands_alone(tmp_path):
    """Any warning is an error: a broken reference, a page in no table of contents, an example that fails."""
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-d", tmp_path / "cache", ROOT / "docs", tmp_path / "site"]
    build = subprocess.run(command, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    *_, inventory = (tmp_path / "site" / "objects.inv").read_bytes().split(b"\n", 4)
    described = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert not set(public_names()) - described
    pages = {path.name: path.read_text(encoding="utf8") for path in (tmp_path / "site").rglob("*.html")}
    assert {path.with_suffix(".html").name for path in (ROOT / "examples").glob("*.py")} <= pages.keys()
    loads_from_elsewhere = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)=["'](?:https?:)?//""")
    assert not [name for name, text in pages.items() if loads_from_elsewhere.search(text)]
