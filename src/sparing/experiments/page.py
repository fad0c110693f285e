"""The page of the documentation that judges the papers' claims, written from archived runs.

python -m sparing.experiments.page docs                # write the page and its pictures again
python -m sparing.experiments.page docs --from FOLDER  # first renew docs/runs from a folder of `sparing reproduce`
"""

import argparse
from collections import Counter
from pathlib import Path

from sparing.experiments.archive import read_archive, write_archive
from sparing.experiments.claims import ClaimResult, assess
from sparing.experiments.figures import FULL, RATIO, Figure
from sparing.experiments.html_report import count
from sparing.experiments.pictures import draw_figure
from sparing.experiments.reproduction import CATALOGUE, Reproduction
from sparing.experiments.runs import Runs
from sparing.files import InputError, write_text

PAPERS = {
    "kukliansky-shamir": "Kukliansky & Shamir",
    "hazan-koren": "Hazan & Koren",
    "compadagrad": "CompAdaGrad",
    "effective-dimension": "Effective dimension",
}
OURS = "Ours: "  # prefix of claims that no paper makes

HEAD = """# The papers' claims, one by one

This page is written by `python -m sparing.experiments.page docs` from the runs in `docs/runs` (one file per figure, one
row per point, one column per repetition). [The page on reproduction](reproduction.md) says how they were made and how
claims are judged. Claims that begin with "Ours" are not the papers'.

**Of the papers' own claims: {summary}.**
"""


def write_page(docs: Path) -> Path:
    """Write ``reproduction-claims.md`` from ``docs/runs``, with a picture of every figure."""
    text, verdicts = [], []
    for figure in CATALOGUE:
        if found := read_archive(docs / "runs", figure):
            runs = Runs(found)
            results = [assess(claim, runs) for claim in figure.claims]
            draw_figure(figure, runs, docs / "pictures" / "reproduction" / figure.name, kinds=(".png",))
            text.append(_section(figure, runs, results))
            verdicts += [result.verdict for result in results if not result.claim.words.startswith(OURS)]
    page = docs / "reproduction-claims.md"
    write_text(page, "\n".join([HEAD.format(summary=count(verdicts)), *text]))
    return page


def renew_archive(archive: Path, folder: Path) -> None:
    """Archive the runs of a folder of the full protocol. A figure that lacks a whole panel keeps its earlier runs."""
    if not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {str(folder)!r}; name one that `sparing reproduce` wrote.")
    reproduction = Reproduction(folder, FULL, 0)
    reproduction.open()
    for figure in CATALOGUE:
        found = reproduction.runs(figure)
        if {run.panel for run in found} == set(figure.panels):
            write_archive(archive, figure, found)
        elif found:
            print(f"{figure.title} is left as it was: some of its panels have no runs yet.")


def repetitions(figure: Figure, runs: Runs) -> str:
    """The number of repetitions of each point, in words; series that differ from most are named."""
    counts = {
        name: Counter(
            len(runs.errors(panel, name, spend)) for panel in runs.panels for spend in runs.spends(panel, name)
        )
        for name in dict.fromkeys(name for panel in runs.panels for name in runs.algorithms(panel) if name != RATIO)
    }
    usual = sum(counts.values(), Counter()).most_common(1)[0][0]
    others = [
        f"{figure.style(name)['label']}: {_span(count)}" for name, count in counts.items() if set(count) != {usual}
    ]
    return f"{usual} repetitions of each point" + (f" ({'; '.join(others)})" if others else "") + "."


def _span(counts: Counter) -> str:
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"


def _section(figure: Figure, runs: Runs, results: list[ClaimResult]) -> str:
    rows = "\n".join(
        f"| {result.claim.words}{f' *{result.explanation}*' if result.explanation else ''} "
        f"| {result.verdict} | {result.numbers} |"
        for result in results
    )
    return f"""## {PAPERS[figure.paper]}, {figure.kind} {figure.number}

{figure.shows[0].upper()}{figure.shows[1:]}. {repetitions(figure, runs)}

![{figure.title}](pictures/reproduction/{figure.name}.png)

| claim | verdict | numbers |
| --- | --- | --- |
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path, help="folder of the documentation")
    parser.add_argument("--from", dest="runs", type=Path, help="folder of runs; whole repetitions are taken")
    options = parser.parse_args()
    if options.runs:
        try:
            renew_archive(options.docs / "runs", options.runs)
        except (OSError, InputError) as error:
            parser.error(str(error))
    print(write_page(options.docs))


if __name__ == "__main__":
    main()
