"""Pictures of a comparison, a fit and a plan, and the colours that all pictures share.

Labels and styles come with the data: this module knows no algorithm and no experiment.
"""

from collections.abc import Sequence
from pathlib import Path

from sparing.files import InputError, written_whole

PURPLE, SKY, GREY, RED, BLUE, GREEN, ORANGE, BLACK, PINK = (
    "#7B3294",
    "#56B4E9",
    "#8C8C8C",
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#E69F00",
    "#000000",
    "#CC79A7",
)  # distinguishable for most colour-blind readers (Okabe & Ito, and two more)
OF_CLASSES = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, PINK, BLACK, GREY)
BARS = {"markersize": 6, "linewidth": 1.6, "elinewidth": 1, "capsize": 3}
HIGHEST = 1.5  # loss over that of the zero predictor up to which a comparison is drawn
WIDE_AXIS = 1e5
NARROW_AXIS = 5.0  # ratio of its ends below which an axis has a mark at every digit
CURVES_ABREAST = 4  # panels in a row
LABELLED = 0.03  # fraction of a route's gain from which a purchase is labelled
LONGEST_NAME = 30  # characters of an attribute beside its bar
LONGEST_TITLE = 20  # characters of an attribute above its curve
LONGEST_CATEGORY = 16  # characters of a category on an axis; about four panels are abreast
FORMATS = (".png", ".svg", ".pdf", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")


# Files --------------------------------------------------------------------------------------------------------------


def picture_path(path) -> Path:
    """The file that a picture is written to: a name without a suffix gets .png, an unknown suffix is refused.

    >>> picture_path("fit").name, picture_path("fit.svg").name
    ('fit.png', 'fit.svg')
    """
    path = Path(path)
    if not path.suffix:
        return path.with_name(f"{path.name}.png")
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path.name} is not the name of a picture", f"let it end in one of {', '.join(FORMATS)}")
    return path


def save_picture(figure, path, *, dpi: int = 150) -> Path:
    """Write a picture, whole or not at all, in the format of its suffix; return its path."""
    path = picture_path(path)
    with written_whole(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=dpi)
    return path


def empty_figure(**size):
    """A figure that needs no display and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('drawing needs matplotlib; run: pip install "sparing[plot]"') from None
    return Figure(layout="constrained", **size)


# Pictures -----------------------------------------------------------------------------------------------------------


def plot_comparison(comparison, path, *, title: str = "") -> Path:
    """Draw a :class:`sparing.compare.Comparison`: one curve per algorithm, bars of one standard deviation.

    ``comparison.style(name)`` says how each algorithm looks.
    """
    figure = empty_figure(figsize=(8.6, 4.8))
    axes = figure.add_subplot()
    curves = {name: curve for name in comparison.algorithms if (curve := comparison.curve(name))}
    top = min(HIGHEST, max(1.08, 1.1 * max(point.error for curve in curves.values() for point in curve)))
    for name, curve in curves.items():
        style = comparison.style(name)
        if min(point.error for point in curve) > top:
            style = style | {"label": f"{style['label']}: above {top:g}"}
        axes.errorbar(
            [point.cells for point in curve],
            [point.error for point in curve],
            yerr=[point.deviation for point in curve],
            **style,
            **BARS,
        )
    axes.set_ylim(-0.02, top)
    _label(axes, comparison, title)
    label_powers(axes)
    figure.legend(loc="outside right upper", frameon=False)
    return save_picture(figure, path)


def _label(axes, comparison, title: str) -> None:
    priced = getattr(comparison, "priced", False)
    axes.set_xlabel("money spent (log scale)" if priced else "attributes bought (distinct values, log scale)")
    axes.set_ylabel("test loss / loss of the zero predictor")
    axes.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate("zero predictor", (1, 1), xytext=(-4, 3), ha="right", fontsize=8, color="0.4", **place)
    _finish(axes, title)


def plot_report(report, path, *, title: str = "", most: int = 20) -> Path:
    """Draw the report of a fit: the largest effects, and the spend on those attributes."""
    shown = report.attributes[:most][::-1]
    places = range(len(shown))
    figure = empty_figure(figsize=(9.0, 1.2 + 0.28 * len(shown)))
    effects, spends = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    effects.barh(places, [bought.effect for bought in shown], color=BLUE)
    effects.set_yticks(places, shortened([bought.attribute for bought in shown]), parse_math=False)
    effects.axvline(0.0, color="0.4", linewidth=1)
    effects.set_xlabel("standard deviation of its part of the prediction")
    spends.barh(places, [bought.spent for bought in shown], color=ORANGE)
    spends.set_xlabel("spent on it")
    _finish(effects, title, grid="x")
    _finish(spends, "", grid="x")
    return save_picture(figure, path)


def plot_curves(report, path, *, title: str = "", most: int = 12) -> Path:
    """Draw what the most important attributes add to the prediction, as functions of their values."""
    import numpy as np  # not above: commands check names of pictures before anything slow is imported

    bought_at_all = [bought for bought in report.attributes if bought.looks]  # what was never bought has no curve
    shown = [bought for bought in bought_at_all[:most] if bought.effect] or bought_at_all[:most]
    rows = -(-len(shown) // CURVES_ABREAST)
    figure = empty_figure(figsize=(9.0, 0.6 + 2.1 * rows))
    panels = figure.subplots(rows, CURVES_ABREAST, sharey=True, squeeze=False).ravel()
    titles = shortened([bought.attribute for bought in shown], LONGEST_TITLE)
    for axes, bought, name in zip(panels, shown, titles, strict=False):
        column = report.table.names.index(bought.attribute)
        values, parts = report.model.effect(column)
        parts = np.atleast_2d(parts)  # one for each class
        if values.dtype.kind == "U":
            _plot_categories(axes, values.tolist(), parts)
        else:
            shown_at = np.clip(values, *report.range_of(column))  # lines are known beyond what was seen
            for part, style in zip(parts, _styles(len(parts)), strict=True):
                axes.plot(shown_at, np.interp(shown_at, values, part), **style)
            if first := report.first_day(column):
                axes.set_xlabel(f"days since {first}", fontsize=9)
        axes.axhline(0.0, color="0.6", linewidth=1, linestyle=":")
        _finish(axes, name)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    if len(classes := getattr(report.model, "classes_", ())) > 2:
        from matplotlib.lines import Line2D

        lines = [Line2D([], [], **style) for style in _styles(len(classes))]
        words = shortened([str(label) for label in classes])
        figure.legend(lines, words, loc="outside lower center", ncols=CURVES_ABREAST, frameon=False)
    figure.suptitle(title, fontsize=11, parse_math=False)
    figure.supylabel("adds to the prediction", fontsize=10)
    return save_picture(figure, path)


def _styles(n: int) -> list[dict]:
    """Colour and line of each of several classes; of one curve alone, the first."""
    lines = ("-", "--", ":")
    return [
        {"color": OF_CLASSES[at % len(OF_CLASSES)], "linestyle": lines[at // len(OF_CLASSES) % len(lines)]}
        for at in range(n)
    ]


def _plot_categories(axes, names: list[str], parts, most: int = 8) -> None:
    """Draw what the categories with the largest positive and negative effects add to the prediction of each class."""
    import numpy as np

    sizes = np.abs(parts).max(axis=0)
    largest = sorted(sorted(range(len(names)), key=lambda at: -sizes[at])[:most])
    width = 0.8 / len(parts)
    for at, (part, style) in enumerate(zip(parts, _styles(len(parts)), strict=True)):
        places = np.arange(len(largest)) + (at - (len(parts) - 1) / 2) * width
        axes.bar(places, part[largest], width, color=style["color"])
    words = shortened([names[at] for at in largest], longest=LONGEST_CATEGORY)
    axes.set_xticks(range(len(largest)), words, rotation=45, ha="right", parse_math=False)


def plot_plan(prospects, path, *, title: str = "", spend: str = "total spend") -> Path:
    """Draw what :func:`sparing.planning.plan` returns: expected error against spend, with intervals of 90 %.

    ``spend`` says what is spent, on the horizontal axis.
    """
    figure = empty_figure(figsize=(7.4, 4.4))
    axes = figure.add_subplot()
    spends = [prospect.spend for prospect in prospects]
    for label, name, colour, marker in (
        ("a few values of each example", "few", PURPLE, "*"),
        ("whole rows of fewer examples, by ridge regression", "whole", BLACK, "v"),
    ):
        errors = [getattr(prospect, name) for prospect in prospects]
        lows, highs = zip(*(getattr(prospect, f"{name}_interval") for prospect in prospects), strict=True)
        axes.plot(spends, errors, label=label, color=colour, marker=marker, markersize=7)
        axes.fill_between(spends, lows, highs, color=colour, alpha=0.15, linewidth=0)
    label_powers(axes)
    axes.set_xlabel(f"{spend} (log scale)")
    axes.set_ylabel("expected error / error of the mean predictor\n(shaded: 90 % intervals)")
    axes.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
    axes.set_ylim(0.0, 1.15)
    _finish(axes, title)
    axes.legend(frameon=False)
    return save_picture(figure, path)


def plot_route(route, path, *, title: str = "") -> Path:
    """Draw what ``model.route`` returns: the expected error against the money spent on a case."""
    figure = empty_figure(figsize=(7.4, 4.4))
    axes = figure.add_subplot()
    totals, errors = [0.0, *(p.total for p in route)], [route.start, *(p.error for p in route)]
    axes.step(totals, errors, where="post", color=PURPLE, marker="o", markersize=4)
    for purchase, before in zip(route, errors, strict=False):
        place = {"xytext": (3, 3), "textcoords": "offset points", "rotation": 35, "fontsize": 8, "parse_math": False}
        if before - purchase.error > LABELLED * (errors[0] - errors[-1]):
            axes.annotate(shortened([purchase.name])[0], (purchase.total, purchase.error), **place)
    axes.set_xlabel("spent on a case")
    axes.set_ylabel(f"{route.measure} to expect")
    axes.set_ylim(0.0, 1.15 * errors[0])
    _finish(axes, title)
    return save_picture(figure, path)


def plot_demonstration(curves, steps, truth: float, path, *, titles: Sequence[str]) -> Path:
    """Draw the two parts of the demonstration: R² against money for each way to buy, and the visit of a new patient.

    ``curves`` maps the name of each way to points (spent, lower, median, upper); ``steps`` are the steps of the visit.
    """
    figure = empty_figure(figsize=(10.0, 4.2))
    learning, visit = figure.subplots(1, 2, width_ratios=(3, 2))
    for (way, points), colour, marker in zip(curves.items(), (PURPLE, ORANGE, BLACK), "*ov", strict=True):
        spent, lower, middle, upper = zip(*points, strict=True)
        learning.plot(spent, middle, label=way, color=colour, marker=marker, markersize=7)
        learning.fill_between(spent, lower, upper, color=colour, alpha=0.12, linewidth=0)
    label_powers(learning)
    learning.set(xlabel="dollars spent on tests (log scale)", ylim=(0.0, 0.6))
    learning.set_ylabel("R² on new patients\n(median and quartiles of the splits)")
    learning.legend(frameon=False, loc="lower right")
    _plot_visit(visit, steps, truth)
    for axes, title in zip((learning, visit), titles, strict=True):
        _finish(axes, title)
    return save_picture(figure, path)


def _plot_visit(axes, steps, truth: float) -> None:
    """Draw the prediction and its standard deviation after each purchase, from top to bottom, and the true value."""
    places = range(len(steps))
    predictions, stds = [step.prediction for step in steps], [step.std for step in steps]
    axes.axvline(truth, color=GREEN, linestyle="--", linewidth=1.2)
    place = {"xytext": (4, 0), "textcoords": "offset points", "va": "top", "color": GREEN}
    axes.annotate("a year later", (truth, -0.55), **place)
    axes.errorbar(predictions, places, xerr=stds, color=PURPLE, marker="o", capsize=4, linestyle="")
    words = [f"+ {step.test}\n${step.price:.2f}" if step.test else "on file\n$0.00" for step in steps]
    axes.set_yticks(places, words, parse_math=False)
    axes.set(xlabel="predicted progression (± its std)", ylim=(len(steps) - 0.6, -0.6))


# Parts --------------------------------------------------------------------------------------------------------------


def label_powers(axes) -> None:
    """Mark 1, 3, 10, 30, ... on the horizontal axis, or powers of ten if these do not fit."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if high > WIDE_AXIS * low:
        return
    narrow = high < NARROW_AXIS * low
    axes.xaxis.set_major_locator(LogLocator(subs=range(1, 10) if narrow else (1.0, 3.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def shortened(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Names with their middle left out, unless that would make two of them equal.

    >>> shortened(["left ventricular wall", "left ventricular mass", "age"], longest=11)
    ['left … wall', 'left … mass', 'age']
    """
    half = (longest - 1) // 2
    short = [name if len(name) <= longest else f"{name[:half]}…{name[-half:]}" for name in names]
    return [name if short.count(brief) > 1 else brief for name, brief in zip(names, short, strict=True)]


def _finish(axes, title: str, *, grid: str = "both") -> None:
    """Title, grid and spines. A title may name a file or a column: a dollar sign in it is not mathematics."""
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    axes.grid(axis=grid, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
