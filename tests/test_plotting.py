"""Pictures: every attribute has its bar, names are drawn literally, and files are the ones that were named."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparing.cli import app
from sparing.compare.algorithms import ALGORITHMS, LINE_UPS
from sparing.fitting import Bought, fit_table
from sparing.plotting import (
    FORMATS,
    empty_figure,
    label_powers,
    picture_path,
    plot_comparison,
    plot_curves,
    plot_plan,
    plot_report,
    save_picture,
    shortened,
)
from sparing.tables import read_table

LONG = "the concentration of the substance in "


def drawn(monkeypatch, names, tmp_path, **options):
    """The figure that a report of these attributes gives."""
    figures = []
    monkeypatch.setattr(
        "sparing.plotting.empty_figure", lambda **size: figures.append(empty_figure(**size)) or figures[-1]
    )
    attributes = [Bought(name, 1.0, 1.0 + i, 3, 5.0) for i, name in enumerate(names)]
    plot_report(SimpleNamespace(attributes=attributes), tmp_path / "fit.png", **options)
    return figures[0]


def test_names_with_a_common_beginning_have_bars_of_their_own(monkeypatch, tmp_path):
    names = [LONG + end for end in ("blood", "urine")] + ["age"]
    effects, spends = drawn(monkeypatch, names, tmp_path).axes
    assert [bar.get_width() for bar in effects.patches] == [3.0, 2.0, 1.0]
    assert len({bar.get_y() for bar in effects.patches}) == len(spends.patches) == 3
    labels = [label.get_text() for label in effects.get_yticklabels()]
    assert labels == ["age", "the concentrat…tance in urine", "the concentrat…tance in blood"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a" * 20, "b"], ["a" * 5 + "…" + "a" * 5, "b"]),
        (["a" * 20, "a" * 21], ["a" * 20, "a" * 21]),
        (["x" * 11], ["x" * 11]),
        ([], []),
    ],
)
def test_short_names_are_distinct(names, expected):
    assert shortened(names, 11) == expected


@pytest.mark.parametrize("name", [r"$\rate$", "$", "a$b$c_{", r"\$x\$", "$$", "", "_hidden", "two\nlines", "{}%"])
def test_dollar_signs_in_names_are_no_mathematics(monkeypatch, tmp_path, name):
    figure = drawn(monkeypatch, [name, "other"], tmp_path, title=f"{name}: {name}")
    assert figure.axes[0].get_yticklabels()[1].get_text() == name
    prospect = SimpleNamespace(spend=10.0, few=0.5, few_interval=(0.4, 0.6), whole=0.6, whole_interval=(0.5, 0.7))
    assert plot_plan([prospect], tmp_path / "plan.svg", title=name).stat().st_size > 1_000


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_offered_can_be_written(tmp_path, suffix):
    path = save_picture(empty_figure(figsize=(1, 1)), tmp_path / f"picture{suffix.upper()}")
    assert path.stat().st_size > 100
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_without_a_suffix_is_a_png_and_other_suffixes_are_refused(tmp_path):
    assert save_picture(empty_figure(figsize=(1, 1)), tmp_path / "noext") == tmp_path / "noext.png"
    assert [path.name for path in tmp_path.iterdir()] == ["noext.png"]
    with pytest.raises(ValueError, match=r"picture\.xyz is not the name of a picture; let it end in one of \.png"):
        picture_path("picture.xyz")


@pytest.mark.parametrize("command", [["demo"], ["plan", "absent.csv", "--target", "y"]])
def test_an_unknown_suffix_is_refused_before_anything_is_read_or_computed(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*command, "--output", "picture.xyz"])
    assert (result.exit_code, "picture.xyz is not the name of a picture" in result.stderr) == (2, True)
    assert len(result.output.splitlines()) == 1


def test_plotting_knows_no_algorithm_and_importing_sparing_draws_nothing():
    code = (
        "import sys, sparing; sparing.plotting\n"
        "print(*[name for name in ('matplotlib', 'pandas', 'sparing.compare', 'sklearn') if name in sys.modules])\n"
        "sparing.compare, sparing.planning; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\nFalse\n"


@pytest.mark.parametrize(
    ("ends", "marks"),
    [((0.06, 0.14), {"0.06", "0.1"}), ((2_000, 200_000), {"3,000", "100,000"}), ((0.01, 20), {"0.01", "0.3", "10"})],
)
def test_axes_of_money_and_of_megabytes_have_numbers_for_people(ends, marks):
    """Spends stood there as powers of ten, and fractions of a megabyte as 7 times ten to the minus two."""
    axes = empty_figure().add_subplot()
    axes.plot(ends, [0.0, 1.0])
    label_powers(axes)
    axes.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    shown = [tick for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert marks <= {tick.label1.get_text() for tick in shown}


def curves_of(monkeypatch, tmp_path, frame, y):
    """The figure of the curves of a fit to this frame."""
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    report = fit_table(read_table(tmp_path / "t.csv", "y", as_is=True, task="auto"), budget=2)
    figures = []
    monkeypatch.setattr(
        "sparing.plotting.empty_figure", lambda **size: figures.append(empty_figure(**size)) or figures[-1]
    )
    plot_curves(report, tmp_path / "curves.png")
    return figures[0]


def frame_of_kinds(n=300):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-03-01") + pd.to_timedelta(np.append(0, rng.integers(0, 500, n - 1)), unit="D")
    kinds = {
        "a name that is much too long for one panel": rng.choice(["red", "green", "blue"], n),
        "size": rng.normal(size=n),
    }
    return pd.DataFrame(kinds | {"when": days.strftime("%Y-%m-%d")}), rng


def test_curves_of_dates_say_since_when(monkeypatch, tmp_path):
    frame, rng = frame_of_kinds()
    figure = curves_of(monkeypatch, tmp_path, frame, frame["size"] + 0.1 * rng.normal(size=len(frame)))
    labels = {axes.get_title(loc="left"): axes.get_xlabel() for axes in figure.axes if axes.get_visible()}
    assert labels == {"size": "", "when": "days since 2020-03-01", "a name th…one panel": ""}
    (days,) = [axes for axes in figure.axes if axes.get_xlabel()]
    assert 0 <= min(days.lines[0].get_xdata()) < max(days.lines[0].get_xdata()) < 500  # lines went on beyond what is


def test_curves_of_three_classes_have_their_own_colours_bars_and_names(monkeypatch, tmp_path):
    """Bars of several classes lay upon one another, and no line said which class it was."""
    frame, rng = frame_of_kinds()
    score = frame["size"] + 2.0 * (frame.iloc[:, 0] == "red") + 0.3 * rng.normal(size=len(frame))
    figure = curves_of(monkeypatch, tmp_path, frame, np.digitize(score, [0.0, 1.5]).astype(str) + "th")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["0th", "1th", "2th"]
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert len({line.get_color() for line in panels["size"].lines[:3]}) == 3
    bars = panels["a name th…one panel"].patches
    assert len(bars) == 9
    assert len({round(bar.get_x(), 6) for bar in bars}) == 9


def test_a_curve_beyond_the_top_of_a_comparison_says_so(monkeypatch, tmp_path):
    """It was in the legend, and nowhere in the picture."""
    figures = []
    monkeypatch.setattr(
        "sparing.plotting.empty_figure", lambda **size: figures.append(empty_figure(**size)) or figures[-1]
    )
    curves = {
        name: [SimpleNamespace(cells=n, error=error, deviation=0.1) for n in (10, 20)]
        for name, error in (("good", 0.5), ("bad", 9.0))
    }
    comparison = SimpleNamespace(algorithms=[*curves], curve=curves.get, style=lambda name: {"label": name})
    plot_comparison(comparison, tmp_path / "c.png")
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["good", "bad: above 1.5"]


def test_no_two_algorithms_of_a_line_up_share_a_colour():
    """Two of them were grey."""
    for names in LINE_UPS.values():
        assert len({ALGORITHMS[name].colour for name in names}) == len(names)
