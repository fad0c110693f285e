"""A figure as PNG and SVG: error against what was seen, bars of one standard deviation."""

from pathlib import Path

import numpy as np

from sparing.experiments.figures import RATIO, Figure
from sparing.experiments.runs import Runs
from sparing.plotting import BARS, empty_figure, label_powers, look

WIDTHS = {1: (8.6, 4.8), 2: (12.0, 4.8), 4: (12.0, 8.4)}  # inches, by the number of panels
HIGHEST = 1.5  # of the zero predictor's loss: what is worse than that is all alike


def draw_figure(figure: Figure, runs: Runs, path: Path) -> list[Path]:
    """Write path.png and path.svg."""
    drawing = empty_figure(figsize=WIDTHS[len(runs.panels)])
    columns = 1 if len(runs.panels) == 1 else 2
    places = drawing.subplots(len(runs.panels) // columns, columns, squeeze=False).ravel()
    shown = {}
    for axes, panel in zip(places, runs.panels, strict=True):
        for name in runs.algorithms(panel):
            if name != RATIO:
                shown[name] = _draw_runs(axes, runs, panel, name)
        _dress(axes, figure, runs, panel)
    labels = [look(name)["label"] for name in shown]
    drawing.legend(shown.values(), labels, loc="outside right upper", frameon=False)
    files = [path.with_name(f"{path.name}{suffix}") for suffix in (".png", ".svg")]
    for file in files:
        drawing.savefig(file, dpi=120)
    return files


def _draw_runs(axes, runs: Runs, panel: str, name: str):
    """A curve; or, of an algorithm that ran at one spend alone, a level."""
    spends = runs.spends(panel, name)
    errors = [np.array(list(runs.errors(panel, name, spend).values())) for spend in spends]
    means = [values.mean() for values in errors]
    spread = [values.std(ddof=1) if values.size > 1 else 0.0 for values in errors]
    if len(spends) > 1:
        seen = [runs.seen(panel, name, spend) for spend in spends]
        return axes.errorbar(seen, means, yerr=spread, **look(name), **BARS)
    colour = look(name)["color"]
    axes.axhspan(means[0] - spread[0], means[0] + spread[0], color=colour, alpha=0.12, linewidth=0)
    return axes.axhline(means[0], color=colour, linewidth=1.6, linestyle="-.")


def _dress(axes, figure: Figure, runs: Runs, panel: str) -> None:
    title = panel
    if RATIO in runs.algorithms(panel):
        title += f" (improvement ratio {runs.errors(panel, RATIO, 0.0)[0]:.2g})"
    axes.set_title(title, loc="left", fontsize=11)
    label_powers(axes)
    axes.set_xlabel(figure.axes.seen)
    axes.set_ylabel(figure.axes.error)
    if figure.axes.log:
        axes.set_yscale("log")
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(max(0.0, low), min(HIGHEST, high))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
