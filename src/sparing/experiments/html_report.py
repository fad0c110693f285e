"""One self-contained HTML page: every figure, and the verdict on every claim with its numbers."""

import base64
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from sparing.experiments.agarwal_gonen import DIMENSION_AXES
from sparing.experiments.claims import VERDICTS, ClaimResult
from sparing.experiments.figures import RATIO, Axes, Figure
from sparing.experiments.pictures import draw_figure
from sparing.experiments.reproduction import Reproduction
from sparing.experiments.runs import Runs
from sparing.files import write_text

SPENDS = {  # what the spend is, if the horizontal axis shows something else
    Axes(): "the attributes that an algorithm may buy",
    DIMENSION_AXES: "the excess risk ε",
}

PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sparing: the papers' experiments</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; } table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #ddd; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.verdict { font-weight: bold; white-space: nowrap; }
.reproduced { color: #00664b; } .partly { color: #8a5a00; } .not { color: #a33f00; } .cannot { color: #555; }
summary { cursor: pointer; color: #555; }
</style></head><body>
<h1>The papers' experiments</h1>
<p>$settings</p>
<p>A claim is <b>reproduced</b> if it holds in two thirds of its comparisons or more and is contradicted in none,
<b>partly</b> if it holds in some. If it holds in none, it is <b>not reproduced</b> where some comparison contradicts
it, and otherwise <b>inconclusive</b>. Of a claim with several sides the weakest decides. A comparison holds, or is
contradicted, if the 95 % interval over repetitions lies inside, or outside, what the claim allows; otherwise it is
open. Algorithms are compared repetition by repetition.</p>
<p class="verdict">$summary</p>
$figures
</body></html>
""")

FIGURE = Template("""<h2>$title</h2>
<p>$shows.</p>
<img alt="$title" src="data:image/png;base64,$picture">
<table><tr><th>verdict</th><th>claim</th><th>numbers</th></tr>
$claims</table>
<details><summary>mean ± standard deviation of every point</summary>
<p>Here and in <code>$name.csv</code> <i>seen</i> and <i>error</i> are the axes of the picture: $axes. <i>Spend</i> is
$spend; <i>runs</i> are the repetitions of the point.</p>
<table><tr><th>panel</th><th>algorithm</th><th>spend</th><th>seen</th><th>error</th><th>runs</th></tr>
$points</table></details>
""")

CLAIM = Template("""<tr><td class="verdict $kind">$verdict</td><td>$words$explanation</td>
<td>$numbers<details><summary>each comparison</summary>$evidence</details></td></tr>
""")


def write_report(reproduction: Reproduction) -> Path:
    """Draw every finished figure of the folder, assess its claims, and write ``report.html`` beside them."""
    sections, verdicts = [], []
    for figure in reproduction.finished():
        runs, results = Runs(reproduction.runs(figure)), reproduction.assess(figure)
        picture = draw_figure(figure, runs, reproduction.folder / figure.name)[0]
        sections.append(_section(figure, runs, results, picture))
        verdicts += [result.verdict for result in results]
    scale = reproduction.scale
    made = (
        f"The {scale.name} protocol, seed {reproduction.seed}: {scale.repetitions} repetitions, settings chosen by "
        f"{scale.folds} folds; {scale.slow_repetitions} repetitions of learners that keep their cells, which are slow; "
        "compadagrad and effective-dimension have their own. The table below each figure counts the runs of each point."
    )
    page = reproduction.folder / "report.html"
    text = PAGE.substitute(settings=made, summary=escape(count(verdicts)), figures="\n".join(sections))
    write_text(page, text)
    return page


def count(verdicts: list[str]) -> str:
    """How often each verdict was given.

    >>> count(["partly", "reproduced", "partly"])
    'of 3 claims 1 reproduced, 2 partly, 0 inconclusive, 0 not reproduced'
    """
    parts = [f"{verdicts.count(name)} {name}" for name in VERDICTS]
    return f"of {len(verdicts)} claims {', '.join(parts)}"


def _section(figure: Figure, runs: Runs, results: list[ClaimResult], picture: Path) -> str:
    return FIGURE.substitute(
        title=escape(figure.title),
        shows=escape(figure.shows[0].upper() + figure.shows[1:]),
        name=figure.name,
        axes=escape(f"{figure.axes.seen}; {figure.axes.error}"),
        spend=escape(SPENDS.get(figure.axes, "the same as what was seen")),
        picture=base64.b64encode(picture.read_bytes()).decode("ascii"),
        claims="".join(_claim(result) for result in results),
        points="".join(_points(figure, runs)),
    )


def _claim(result: ClaimResult) -> str:
    explanation = result.explanation
    return CLAIM.substitute(
        verdict=result.verdict,
        kind=result.verdict.split()[0],
        words=escape(result.claim.words),
        explanation=f"<br><i>{escape(explanation)}</i>" if explanation else "",
        numbers=escape(result.numbers),
        evidence="<br>".join(escape(str(piece)) for piece in result.evidence),
    )


def _points(figure: Figure, runs: Runs):
    for panel in runs.panels:
        for name in runs.algorithms(panel):
            for spend in runs.spends(panel, name):
                errors = np.array(list(runs.errors(panel, name, spend).values()))
                spread = f" ± {errors.std(ddof=1):.3g}" if errors.size > 1 else ""
                label = name if name == RATIO else figure.style(name)["label"]
                numbers = f"{spend:,.6g}", f"{runs.seen(panel, name, spend):,.6g}", f"{errors.mean():.4g}{spread}"
                cells = "".join(f'<td class="number">{value}</td>' for value in (*numbers, str(errors.size)))
                yield f"<tr><td>{escape(panel)}</td><td>{escape(label)}</td>{cells}</tr>\n"
