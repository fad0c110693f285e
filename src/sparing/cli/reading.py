"""Options for the files that commands read, and checks of their paths before slow imports."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.files import refuse_data_path, refuse_missing_file

FILE = "A .csv, .csv.gz, .tsv, .parquet or .npz file"
Data = Annotated[Path, typer.Argument(help=f"{FILE}.")]
Files = Annotated[list[Path], typer.Argument(help=f"{FILE}, or several Parquet files.")]
ByRowGroup = Annotated[
    bool,
    typer.Option(
        "--by-row-group",
        help="Read a few columns of each row group of a Parquet file, never all of it; always so with several files.",
    ),
]
Target = Annotated[str | None, typer.Option(help="Column to predict; for npz an array or a .npy file.")]
Budget = Annotated[
    float,
    typer.Option(
        min=0, help="Attributes to buy of each example, from 2 to all of them; with --costs, money for each example."
    ),
]
BudgetOrNone = Annotated[
    str,
    typer.Option(
        help="Attributes to buy of each example, from 2 to all of them; with --costs, money for each example; `none` "
        "buys nothing and learns from every available value."
    ),
]
Costs = Annotated[Path | None, typer.Option(help="CSV file: attribute, cost and, for panels, group.")]
Drop = Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")]
Encode = Annotated[bool, typer.Option("--encode", help="Turn columns that are not numeric into indicators.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]


def introduce(data: Path | list[Path], table, quiet: bool) -> None:
    """Print what was read, and what was left out and why."""
    if not quiet:
        first, *others = table.lines()
        print(f"{named(data)}: {first}", *others, sep="\n", flush=True)


def named(data: Path | list[Path]) -> str:
    """A file, or several, in words."""
    first, *others = [data] if isinstance(data, Path) else data
    return f"{first.name} and {len(others)} more" if others else first.name


def plain(budget: float) -> float:
    """5.0 is 5: without prices a budget is a number of attributes."""
    return int(budget) if float(budget).is_integer() else budget


def refuse_paths(data: Path | list[Path], *others: object) -> None:
    """Refuse a missing file before the slow imports."""
    files = [data] if isinstance(data, Path) else data
    if len(files) > 1 or files[0].suffix != ".sparing":  # a model may take the place of data
        for file in files:
            refuse_data_path(file)
    for path in (*files, *others):
        if isinstance(path, Path) or str(path).endswith(".npy"):
            refuse_missing_file(path)
