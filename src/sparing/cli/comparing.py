"""The command that compares algorithms: `compare`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import (
    Force,
    Jobs,
    Points,
    Quiet,
    RandomState,
    Seeds,
    app,
    names_in,
    one_line_errors,
    progress_bar,
    show,
    table_of,
)
from sparing.cli.reading import (
    FILE,
    Budget,
    Costs,
    Drop,
    DropMissing,
    Encode,
    Target,
    introduce,
    plain,
    refuse_paths,
)
from sparing.cli.writing import Writer, ending

DIGITS = Path("digits")


@app.command("compare")
def compare_command(
    data: Annotated[Path | None, typer.Argument(help=f"{FILE}.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Instead of a file: is a handwritten digit odd?")] = False,
    target: Target = None,
    budget: Budget = 5,
    costs: Costs = None,
    penalty: Annotated[str, typer.Option(help="ridge or lasso: which set of the papers' algorithms to run.")] = "ridge",
    algorithms: Annotated[str | None, typer.Option(help="Names, separated by commas, instead of the line-up.")] = None,
    seeds: Seeds = 10,
    test_fraction: Annotated[float, typer.Option(help="Fraction of the rows used for the test error.")] = 0.25,
    points: Points = 6,
    drop: Drop = "",
    encode: Encode = False,
    drop_missing: DropMissing = False,
    no_scale: Annotated[bool, typer.Option("--no-scale", help="Take the numbers as they are.")] = False,
    output: Annotated[Path, typer.Option(help="Prefix of the names of the files written.")] = Path("sparing-compare"),
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Which algorithm learns most from the same number of attributes of your own data?"""
    with one_line_errors():
        if demo == (data is not None):
            raise ValueError("pass either a file, or --demo for data that ship with scikit-learn.")
        data = data or DIGITS
        if not demo:
            refuse_paths(data, target, costs)

        with progress_bar(quiet) as report:  # imports and reading may take long, too
            from sparing.compare import Row, compare
            from sparing.files import write_csv
            from sparing.plotting import plot_comparison
            from sparing.tables import prices_of_indicators, read_table

            runs, picture = ending(output, ".csv"), ending(output, ".png")
            writer = Writer([runs, picture], inputs=[data, target, costs], force=force)
            reading = {"drop": names_in(drop), "encode": encode or "repeated", "drop_missing": drop_missing}
            table = _digits() if demo else read_table(data, target, as_is=True, **reading)
            prices = None if costs is None else prices_of_indicators(costs, table.columns or table.names)
            comparison = compare(
                table.X,
                table.y,
                budget=plain(budget),
                costs=None if prices is None else prices.costs,
                groups=None if prices is None or not any(prices.groups) else prices.groups,
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
        introduce(data, table, quiet)
        if not quiet:
            _describe(table, scale=not no_scale)
            _show(comparison)
        writer.write("runs", runs, lambda path: write_csv(path, Row._fields, comparison.rows))
        title = f"{data.name}: {comparison.looks}"
        writer.draw(picture, partial(plot_comparison, comparison, title=title))


def _digits():
    """The digits that ship with scikit-learn, as a table."""
    from sparing.datasets import load_digits_parity
    from sparing.tables import Table

    digits = load_digits_parity()
    return Table(digits.data, digits.target, digits.feature_names, "is odd", ("even", "odd"), 0)


# Output -------------------------------------------------------------------------------------------------------------


def _describe(table, scale: bool) -> None:
    """Print how the table is prepared for learning."""
    (columns, indicators), holes = table.n_encoded, table.n_missing
    made = (
        [f"{columns:,} column{'s' * (columns > 1)} of text became {indicators:,} indicators, one per value"]
        if columns
        else []
    )
    filled = (
        [f"{holes:,} missing value{'s were' if holes > 1 else ' was'} filled with means of training rows"]
        if holes
        else []
    )
    if made or filled:
        print(f"for all algorithms alike: {'; '.join(made + filled)}")
    if table.classes:
        print(f"two classes: {table.classes[0]} is -1, {table.classes[1]} is +1; algorithms regress on these numbers")
    if scale:
        print("from training data: attributes centred and divided by their largest absolute value, target centred")


def _show(comparison) -> None:
    """Print the table with its notes and summary. Algorithms are rows, since a dozen columns would not fit."""
    allowances = sorted({row.allowance for row in comparison.rows})
    head = f"{comparison.unit} allowed"
    title = "Test loss over that of the zero predictor, mean ± deviation over splits"
    table = table_of(title, [head, *(f"{allowance:,.9g}" for allowance in allowances)], words=[head])
    table.padding = 0  # six allowances must fit into 80 columns
    for name in comparison.algorithms:
        points = {point.allowance: point for point in comparison.curve(name)}
        cells = [_cell(points[allowance]) if allowance in points else "—" for allowance in allowances]
        table.add_row(comparison.style(name)["label"], *cells)
    show(table, [*comparison.notes(), comparison.reading()])


def _cell(point) -> str:
    if point.error >= 1000:
        return "over 1000"
    error, deviation = (number.removeprefix("0") for number in (f"{point.error:.3f}", f"{point.deviation:.2f}"))
    return f"{error}±{deviation}"
