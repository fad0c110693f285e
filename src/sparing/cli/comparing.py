"""Commands that compare algorithms: `demo` and `compare`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sparing.cli.app import (
    Jobs,
    Points,
    Quiet,
    RandomState,
    Seeds,
    app,
    names_in,
    one_line_errors,
    progress_bar,
    refuse_output,
    written,
)

DEMO = ("AutoLearner", "AERR", "DDAERR", "TwoPhasedDDAERR", "OnlineRidge", "Ridge")


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("sparing-demo.png"),
    seeds: Seeds = 3,
    points: Points = 5,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
) -> None:
    """Is a handwritten digit odd? Told from 6 of the 64 pixels of each image: keep what was bought, or forget it."""
    with one_line_errors():
        from sparing.compare import compare
        from sparing.datasets import load_digits_parity

        refuse_output(output)
        pixels, is_odd = load_digits_parity(return_X_y=True)
        if not quiet:
            print(f"is a digit odd? {len(is_odd):,} images of 64 pixels, 6 looks at each", flush=True)
        with progress_bar(quiet) as report:
            comparison = compare(
                pixels,
                is_odd,
                budget=6,
                algorithms=DEMO,
                seeds=seeds,
                points=points,
                jobs=jobs,
                random_state=random_state,
                progress=report,
            )
        _show(comparison, quiet)
        _draw(comparison, output, "Is a handwritten digit odd? 64 pixels, 6 looks an image")


@app.command("compare")
def compare_command(
    data: Annotated[Path, typer.Argument(help="A .csv, .csv.gz, .tsv, .parquet or .npz file.")],
    target: Annotated[str | None, typer.Option(help="Column to predict; for npz an array or a .npy file.")] = None,
    budget: Annotated[int, typer.Option(help="Attributes to look at of each example.")] = 5,
    penalty: Annotated[str, typer.Option(help="ridge or lasso: which of the papers' line-ups to run.")] = "ridge",
    algorithms: Annotated[str | None, typer.Option(help="Names, separated by commas, in place of a line-up.")] = None,
    seeds: Seeds = 10,
    test_fraction: Annotated[float, typer.Option(help="Part of the rows that is kept for the test error.")] = 0.25,
    points: Points = 6,
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    encode: Annotated[
        bool, typer.Option("--encode", help="Turn columns that are not numeric into indicators.")
    ] = False,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")] = False,
    no_scale: Annotated[bool, typer.Option("--no-scale", help="Take the numbers as they are.")] = False,
    output: Annotated[Path, typer.Option(help="Beginning of the names of the files written.")] = Path(
        "sparing-compare"
    ),
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
) -> None:
    """Which algorithm learns most from the same number of attributes of your own data?"""
    with one_line_errors():
        from sparing.compare import compare
        from sparing.tables import read_table, write_rows

        refuse_output(output)
        table = read_table(data, target, drop=names_in(drop), encode=encode, drop_missing=drop_missing)
        with progress_bar(quiet) as report:
            comparison = compare(
                table.X,
                table.y,
                budget=budget,
                penalty=penalty,
                algorithms=names_in(algorithms) if algorithms is not None else None,
                seeds=seeds,
                points=points,
                test_fraction=test_fraction,
                scale=not no_scale,
                jobs=jobs,
                random_state=random_state,
                progress=report,
            )
        if not quiet:
            _introduce(data.name, table, scale=not no_scale)
        _show(comparison, quiet)
        written("runs", output.with_name(output.name + ".csv"), lambda path: write_rows(path, comparison.rows))
        _draw(comparison, output.with_name(output.name + ".png"), f"{data.name}: {budget} looks an example")


# What is shown ------------------------------------------------------------------------------------------------------


def _introduce(name: str, table, scale: bool) -> None:
    """What was read, and what is done to it before learning."""
    print(f"{name}: {table.X.shape[0]:,} rows, {table.X.shape[1]:,} attributes, target {table.target!r}")
    if table.n_dropped:
        print(f"{table.n_dropped:,} rows with missing values were left out")
    if table.classes:
        print(f"two classes: {table.classes[0]} is -1, {table.classes[1]} is +1")
    if scale:
        print("attributes are divided by their largest absolute value, and centred like the target, by training data")


def _show(comparison, quiet: bool) -> None:
    """The table, what it rests on, and its reading."""
    if quiet:
        return
    from sparing.compare import ALGORITHMS

    title = "Test loss over that of the zero predictor, mean ± standard deviation"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("attributes\nallowed", justify="right", no_wrap=True)
    curves = {name: {point.allowance: point for point in comparison.curve(name)} for name in comparison.algorithms}
    for name in curves:
        rows = "\nwhole rows" if ALGORITHMS[name].whole_rows else ""
        table.add_column(ALGORITHMS[name].label + rows, justify="right")
    for allowance in sorted({row.allowance for row in comparison.rows}):
        points = [curve.get(allowance) for curve in curves.values()]
        cells = [f"{point.error:.3f}±{point.deviation:.2f}".replace("0.", ".") if point else "—" for point in points]
        table.add_row(f"{allowance:,}", *cells)
    console = Console()
    console.print(table)
    for line in (*comparison.notes(), comparison.reading()):
        console.print(line, highlight=False, soft_wrap=not console.is_terminal)


def _draw(comparison, path: Path, title: str) -> None:
    """Write the picture and say where; without matplotlib say what to install."""
    from sparing.plotting import plot_comparison

    try:
        written("picture", path, lambda path: plot_comparison(comparison, path, title=title))
    except ImportError as error:
        print(f"no picture: {error}")
