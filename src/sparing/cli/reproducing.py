"""The command that runs the papers' experiments: `reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import Jobs, Quiet, app, one_line_errors, progress_bar, show, table_of

LIST = "list"


@app.command("reproduce")
def reproduce_command(
    paper: Annotated[str, typer.Argument(help="A paper, all, or list, which shows what there is.")] = LIST,
    figure: Annotated[list[int] | None, typer.Option(help="Only this figure; may be given several times.")] = None,
    table: Annotated[list[int] | None, typer.Option(help="Only this table; may be given several times.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs of fewer rows: minutes, not hours.")] = False,
    jobs: Jobs = -1,
    seed: Annotated[int, typer.Option(min=0, help="Same number, same result.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder of runs, pictures and report; a run goes on in it.")] = Path(
        "sparing-reproduction"
    ),
    show_list: Annotated[bool, typer.Option("--list", help="Show what there is.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the papers' experiments, and report for each of their claims whether it is reproduced."""
    with one_line_errors(f"finished runs are kept in {output}, and the same command resumes there"):
        if show_list or paper.lower() == LIST:
            _show_catalogue()
            return
        from sparing.experiments.figures import FULL, QUICK
        from sparing.experiments.html_report import write_report
        from sparing.experiments.reproduction import Reproduction, find_figures
        from sparing.files import refuse_missing_folder
        from sparing.plotting import empty_figure

        refuse_missing_folder(output)
        empty_figure()  # fails at once if matplotlib is missing, not after hours of computing
        figures = find_figures(paper.lower(), figures=figure or (), tables=table or ())
        reproduction = Reproduction(output, QUICK if quick else FULL, seed)
        reproduction.open()
        with progress_bar(quiet, doing="reproducing") as report:
            reproduction.run(figures, jobs=jobs, progress=report)
        page = write_report(reproduction)
        if not quiet:
            _show_verdicts(reproduction, figures)
        print(f"report: {page}")


def _show_catalogue() -> None:
    from sparing.experiments.reproduction import CATALOGUE

    words = "paper", "figure", "what it shows"
    table = table_of("What can be reproduced (times on two cores)", [*words, "--quick", "full"], words=words)
    for figure in CATALOGUE:
        quick, full = figure.minutes["quick"], figure.minutes["full"]
        times = f"{quick:.1f} min", f"{full / 60:.1f} h" if full >= 60 else f"{full:.0f} min"
        table.add_row(figure.paper, f"--{figure.kind} {figure.number}", figure.shows, *times)
    show(table, ["sparing reproduce kukliansky-shamir --figure 3 --quick   or   sparing reproduce all --quick"])


def _show_verdicts(reproduction, figures) -> None:
    """Print one table per figure, with the numbers below each claim, where claims have room."""
    columns = "verdict", "claim and numbers"
    for figure in figures:
        table = table_of(figure.title, columns, words=columns)
        for result in reproduction.assess(figure):
            table.add_row(result.verdict, f"{result.claim.words}\n{result.numbers}")
        show(table)
