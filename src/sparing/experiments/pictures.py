"""A figure as PNG and SVG: error against what was seen, bars of one standard deviation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparing.experiments.figures import RATIO, Figure
from sparing.experiments.runs import Runs
from sparing.plotting import BARS, empty_figure, label_powers, save_picture

WIDTHS = {1: (8.6, 4.8), 2: (12.0, 4.8), 4: (12.0, 8.4)}  # inches, by the number of panels
HIGHEST = 1.5  # times the zero predictor's loss; larger errors are not drawn to scale


def draw_figure(figure: Figure, runs: Runs, path: Path, *, kinds: Sequence[str] = (".png", ".svg")) -> list[Path]:
    """Write path.png and path.svg, or those kinds that are named."""
    drawing = empty_figure(figsize=WIDTHS[len(runs.panels)])
    columns = 1 if len(runs.panels) == 1 else 2
    places = drawing.subplots(len(runs.panels) // columns, columns, squeeze=False).ravel()
    shown = {}
    for axes, panel in zip(places, runs.panels, strict=True):
        for name in runs.algorithms(panel):
            if name != RATIO:
                shown[name] = _draw_runs(axes, runs, panel, name, figure.style(name))
        _dress(axes, figure, runs, panel)
    labels = [figure.style(name)["label"] for name in shown]
    drawing.legend(shown.values(), labels, loc="outside right upper", frameon=False)
    return [save_picture(drawing, path.with_name(f"{path.name}{suffix}"), dpi=120) for suffix in kinds]


def _draw_runs(axes, runs: Runs, panel: str, name: str, style: Mapping[str, Any]):
    """A curve, or a horizontal line for an algorithm that ran at one spend only."""
    spends = runs.spends(panel, name)
    errors = [np.array(list(runs.errors(panel, name, spend).values())) for spend in spends]
    means = [values.mean() for values in errors]
    spread = [values.std(ddof=1) if values.size > 1 else 0.0 for values in errors]
    if len(spends) > 1:
        seen = [runs.seen(panel, name, spend) for spend in spends]
        return axes.errorbar(seen, means, yerr=spread, **style, **BARS)
    colour = style["color"]
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
