"""The documentation site. `python3 start.py docs` builds it in docs/_build/html; a warning is an error."""

import importlib.util
import inspect
import re
from pathlib import Path

from docutils.nodes import literal_block
from sphinx.addnodes import pending_xref
from sphinx_gallery.sorting import ExplicitOrder

import sparing
from sparing.theory import ALGORITHMS

project = "sparing"
copyright = author = "the sparing developers"
release = sparing.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
nitpicky = True

# MathJax from a package, as one file that draws its own glyphs: the site needs no network.
mathjax = importlib.util.find_spec("sphinx-mathjax-offline")
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"scale": 0.9}}

html_theme = "furo"
html_title = "sparing"
html_static_path = ["_static", str(Path(mathjax.origin).parent / "static" / "mathjax" / mathjax_path)]
html_css_files = ["site.css"]
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "substitution"]
myst_dmath_allow_digits = False  # "$5 or $7" is money
myst_heading_anchors = 3

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed: the reference of sparing.optim.torch is built without it")
    autodoc_mock_imports = ["torch"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks = {"GL01", "GL06", "GL07", "GL08", "GL10", "SS02", "SS04", "PR02", "PR05", "PR10", "RT02"}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(["medical_tests.py", "paid_tests.py", "clinic_visit.py", "*"]),
    "run_stale_examples": True,  # an example may stay as it is while the library changes
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
}


def spread_of(name: str) -> str:
    """A line on an algorithm's V, from the docstrings of the functions that compute it."""
    row = ALGORITHMS[name]
    line = f"* **{name}** ({row.penalty}): {inspect.getdoc(row.spread)}"
    if row.foreseen:
        line += f" Foreseen before phase one: {inspect.getdoc(row.foreseen)}"
    return re.sub(r":math:`(.+?)`", r"$\1$", " ".join(line.split()))


myst_substitutions = {"spreads": "\n".join(map(spread_of, ALGORITHMS))}


def skip_inherited_from_others(app, what, name, member, skip, options):
    """Show what a class inherits within sparing, not what scikit-learn, tuples and the like bring along."""
    module = getattr(getattr(member, "fget", member), "__module__", None) or ""
    return skip or not module.startswith("sparing")


def find_short_names(app, doctree):
    """Let docstrings name a class of another module by its last name, as code that imports it does."""
    for reference in doctree.findall(pending_xref):
        if reference["refdomain"] == "py":
            reference["refspecific"] = True


def mark_printed_tables(app, doctree):
    """Let the style sheet find outputs that are tables, whose lines must not be broken on narrow screens."""
    for block in doctree.findall(literal_block):
        if "───" in block.astext():
            block["classes"].append("printed-table")


def stay_on_the_site(app, docname, source):
    """Links that lead to a file on a code host lead to its page here."""
    inside = source[0].replace("](../benchmarks/README.md)", "](benchmarks.md)")
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", inside)


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited_from_others)
    app.connect("doctree-read", find_short_names)
    app.connect("doctree-read", mark_printed_tables)
    app.connect("source-read", stay_on_the_site)
