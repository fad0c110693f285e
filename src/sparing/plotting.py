"""The picture of a comparison: test error against attributes bought."""

from pathlib import Path
from typing import Any

from sparing.compare import ALGORITHMS, Comparison

FAMILY: dict[str, dict[str, Any]] = {
    "ridge": {"linestyle": "-"},
    "lasso": {"linestyle": "--", "markerfacecolor": "white"},
}


def plot_comparison(comparison: Comparison, path, *, title: str = "") -> Path:
    """Write a PNG (or whatever the suffix says): one curve an algorithm, bars of one standard deviation.

    An algorithm has the same colour and marker in every picture; the lasso family is dashed with hollow markers.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot: no display, no global state
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
    except ImportError:
        raise ImportError('drawing needs matplotlib; run: pip install "sparing[plot]"') from None

    figure = Figure(figsize=(8.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for name in comparison.algorithms:
        curve, look = comparison.curve(name), ALGORITHMS[name]
        if curve:
            axes.errorbar(
                [point.cells for point in curve],
                [point.error for point in curve],
                yerr=[point.deviation for point in curve],
                label=f"{look.label} (whole rows)" if look.whole_rows else look.label,
                color=look.colour,
                marker=look.marker,
                markersize=6,
                linewidth=1.6,
                elinewidth=1,
                capsize=3,
                **FAMILY[look.penalty],
            )
    _label(axes, comparison, title)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=150)
    return Path(path)


def _label(axes, comparison: Comparison, title: str) -> None:
    axes.set_xscale("log")
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
