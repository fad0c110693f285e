"""Pictures: a comparison, a fit and its spend, a plan; and how every algorithm looks in all of them."""

from pathlib import Path
from typing import Any

from sparing.compare import ALGORITHMS, Comparison
from sparing.compare.algorithms import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED

FAMILY: dict[str, dict[str, Any]] = {
    "ridge": {"linestyle": "-"},
    "lasso": {"linestyle": "--", "markerfacecolor": "white"},
}
BARS = {"markersize": 6, "linewidth": 1.6, "elinewidth": 1, "capsize": 3}
WIDE_AXIS = 1e5
ADAGRAD = "-AdaGrad"  # after the name of an algorithm: the same with AdaGrad's steps
PALETTE: dict[str, tuple[str, str]] = {  # what is drawn beside the algorithms of a comparison: colour and marker
    "diagonal AdaGrad": (ORANGE, "^"),
    "CompAdaGrad": (BLUE, "o"),
    "full-matrix AdaGrad": (BLACK, "v"),
    "100 attributes": (BLUE, "o"),
    "400 attributes": (RED, "s"),
    "Corollary 1, 400 attributes": (GREY, "P"),
    "proximal point": (RED, "s"),
    "conjugate gradients, same sketch": (GREEN, "D"),
    "plain conjugate gradients": (ORANGE, "^"),
    "conjugate gradients after a sketch": (GREEN, "D"),
}


def look(name: str) -> dict[str, Any]:
    """Label, colour, marker and line of an algorithm: the same in every picture, and told apart without colours.

    The lasso family is dashed with hollow markers; AdaGrad's steps are dotted with hollow markers.

    >>> look("DDAERR")["color"] == look("DDAERR-AdaGrad")["color"]
    True
    """
    algorithm = ALGORITHMS.get(name.removesuffix(ADAGRAD))
    if algorithm is None:
        colour, marker = PALETTE[name]
        return {"label": name, "color": colour, "marker": marker, "linestyle": "-"}
    label = f"{algorithm.label} (whole rows)" if algorithm.whole_rows else algorithm.label
    style = FAMILY[algorithm.penalty]
    if name.endswith(ADAGRAD):
        label, style = f"{algorithm.label}, AdaGrad", {"linestyle": ":", "markerfacecolor": "white"}
    return {"label": label, "color": algorithm.colour, "marker": algorithm.marker, **style}


def plot_comparison(comparison: Comparison, path, *, title: str = "") -> Path:
    """Write a PNG (or whatever the suffix says): one curve an algorithm, bars of one standard deviation.

    An algorithm has the same colour and marker in every picture; the lasso family is dashed with hollow markers.
    """
    figure = empty_figure(figsize=(8.6, 4.8))
    axes = figure.add_subplot()
    for name in comparison.algorithms:
        if curve := comparison.curve(name):
            axes.errorbar(
                [point.cells for point in curve],
                [point.error for point in curve],
                yerr=[point.deviation for point in curve],
                **look(name),
                **BARS,
            )
    _label(axes, comparison, title)
    label_powers(axes)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=150)
    return Path(path)


def _label(axes, comparison: Comparison, title: str) -> None:
    axes.set_xlabel("attributes bought (distinct values, log scale)")
    axes.set_ylabel("test loss / loss of the zero predictor")
    axes.set_title(title, loc="left", fontsize=11)
    axes.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate("zero predictor", (1, 1), xytext=(-4, 3), ha="right", fontsize=8, color="0.4", **place)
    worst = max(point.error for name in comparison.algorithms for point in comparison.curve(name))
    axes.set_ylim(-0.02, min(1.5, max(1.08, 1.1 * worst)))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def label_powers(axes) -> None:
    """Mark 1, 3, 10, 30, ... of the horizontal axis, in figures; powers of ten where these would not fit."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if high > WIDE_AXIS * low:
        return
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def empty_figure(**size):
    """A figure that needs no display and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('drawing needs matplotlib; run: pip install "sparing[plot]"') from None
    return Figure(layout="constrained", **size)


def plot_report(report, path, *, title: str = "", most: int = 20) -> Path:
    """Write a picture of a fit: the largest effects, and what was spent on those attributes."""
    shown = report.attributes[:most][::-1]
    names = [bought.attribute[:30] for bought in shown]
    figure = empty_figure(figsize=(9.0, 1.2 + 0.28 * len(shown)))
    effects, spends = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    effects.barh(names, [bought.effect for bought in shown], color=BLUE)
    effects.axvline(0.0, color="0.4", linewidth=1)
    effects.set_xlabel("weight × spread of the attribute")
    effects.set_title(title, loc="left", fontsize=11)
    spends.barh(names, [bought.spent for bought in shown], color=ORANGE)
    spends.set_xlabel("spent on it")
    for axes in (effects, spends):
        axes.grid(axis="x", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    return Path(path)


def plot_plan(prospects, path, *, title: str = "") -> Path:
    """Write a picture of a plan: expected error against spend, by both ways, bars of one standard deviation."""
    figure = empty_figure(figsize=(7.4, 4.4))
    axes = figure.add_subplot()
    spends = [prospect.spend for prospect in prospects]
    for label, name, colour, marker in (
        ("a few values of each example", "few", PURPLE, "*"),
        ("whole rows of fewer examples", "whole", BLACK, "v"),
    ):
        errors = [getattr(prospect, name) for prospect in prospects]
        spread = [getattr(prospect, f"{name}_deviation") for prospect in prospects]
        axes.errorbar(spends, errors, yerr=spread, label=label, color=colour, marker=marker, markersize=7, capsize=3)
    axes.set_xscale("log")
    axes.set_xlabel("total spend (log scale)")
    axes.set_ylabel("expected error / error of the mean predictor")
    axes.set_title(title, loc="left", fontsize=11)
    axes.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
    axes.set_ylim(0.0, 1.15)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    return Path(path)
