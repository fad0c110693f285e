"""Commands that learn from what they buy: `fit` and `plan`."""

from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import (
    Force,
    Quiet,
    RandomState,
    app,
    names_in,
    one_line_errors,
    progress_bar,
    show,
    table_of,
)
from sparing.cli.reading import (
    Budget,
    BudgetOrNone,
    ByRowGroup,
    Costs,
    Drop,
    DropMissing,
    Encode,
    Files,
    Target,
    introduce,
    named,
    plain,
    refuse_paths,
)
from sparing.cli.writing import Writer, ending

SHOWN = 12  # attributes in the printed table
PILOT = 500  # rows of the pilot


@app.command("fit")
def fit_command(
    data: Files,
    target: Target = None,
    budget: BudgetOrNone = "5",
    by_row_group: ByRowGroup = False,
    costs: Costs = None,
    total_budget: Annotated[float | None, typer.Option(help="Limit on the spend for all examples together.")] = None,
    free_missing: Annotated[
        bool, typer.Option("--free-missing", help="Pay only for available values, not for missing ones.")
    ] = False,
    penalty: Annotated[str, typer.Option(help="ridge, or lasso for few weights.")] = "ridge",
    learner: Annotated[str, typer.Option(help="auto, pairwise, factor or online.")] = "auto",
    features: Annotated[str, typer.Option(help="auto, additive (curves) or linear (weights).")] = "auto",
    task: Annotated[
        str, typer.Option(help="regression, classification, or auto: by the values of the target.")
    ] = "auto",
    drop: Drop = "",
    encode: Encode = False,
    drop_missing: DropMissing = False,
    output: Annotated[Path, typer.Option(help="Prefix of the names of the files written.")] = Path("sparing-fit"),
    random_state: RandomState = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model of your own file from a few values of each row; report what it found and what it cost."""
    with one_line_errors():
        refuse_paths(data, costs, target)

        with progress_bar(quiet, doing="fitting") as done:  # imports and reading may take long, too
            from sparing import checks
            from sparing.fitting import FILES, fit_table
            from sparing.plotting import plot_curves, plot_report
            from sparing.tables import read_columnar, read_prices, read_table

            picture, curves = ending(output, ".png"), ending(output, "-curves.png")
            possible = [picture, curves, *(ending(output, end) for end in FILES.values())]
            writer = Writer(possible, inputs=[*data, costs, target], force=force)
            checks.one_of("--penalty", penalty, ("ridge", "lasso"))
            if by_row_group or len(data) > 1:
                _refuse_by_row_group(encode=encode, drop_missing=drop_missing)
                table = read_columnar(data, target, task=task, drop=names_in(drop))
            else:
                reading = {"drop": names_in(drop), "encode": encode, "drop_missing": drop_missing}
                table = read_table(data[0], target, task=task, as_is=True, **reading)
            prices = None if costs is None else read_prices(costs, table.names)
            report = fit_table(
                table,
                budget=_budget(budget),
                prices=prices,
                total_budget=total_budget,
                pay_for_missing=not free_missing,
                penalty=penalty,
                learner=learner,
                features=features,
                random_state=random_state,
                progress=done,
            )
        introduce(data, table, quiet)
        if not quiet:
            _show_report(report)
        for what, write in report.writers.items():
            writer.write(what, ending(output, FILES[what]), write)
        title = f"{named(data)}: {table.target}"
        writer.draw(picture, partial(plot_report, report, title=title))
        if report.has_curves:
            writer.draw(curves, partial(plot_curves, report, title=title))


def _show_report(report) -> None:
    from sparing.tables.numbers import number_shown

    columns = "attribute", "weight", "effect", "looks", "spent"
    table = table_of("Largest effects", columns, words=["attribute"])
    for bought in report.attributes[:SHOWN]:
        shown = report.weight_in_words(bought), number_shown(bought.effect, 3)
        table.add_row(bought.attribute, *shown, f"{bought.looks:,}", f"{bought.spent:,.2f}")
    show(table, report.lines())


@app.command("plan")
def plan_command(
    data: Annotated[
        list[Path],
        typer.Argument(help="A data file for a pilot, several Parquet files, or the model that `sparing fit` wrote."),
    ],
    target: Target = None,
    budget: Budget = 5,
    by_row_group: ByRowGroup = False,
    costs: Costs = None,
    pilot: Annotated[
        int | None,
        typer.Option(min=2, help=f"Rows of a data file in the pilot, {PILOT} by default; or row groups."),
    ] = None,
    spends: Annotated[str, typer.Option(help="Total spends to consider, separated by commas.")] = "",
    repetitions: Annotated[int, typer.Option(min=2, help="Simulations of whole rows.")] = 100,
    samples: Annotated[
        float | None, typer.Option(help="Also say how many whole rows ridge regression needs for this excess risk.")
    ] = None,
    drop: Drop = "",
    encode: Encode = False,
    drop_missing: DropMissing = False,
    output: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("sparing-plan.png"),
    random_state: RandomState = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Forecast from a pilot what error to expect if you spend more, and whether whole rows would be better."""
    with one_line_errors():
        from sparing.plotting import picture_path, plot_plan

        picture = picture_path(output)
        refuse_paths(data, costs, target)

        from sparing.planning import advice, bought_pilot, plan, whole_rows_needed

        writer = Writer([picture], inputs=[*data, costs, target], force=force)
        totals = _numbers_in("--spends", spends) or None
        budget = plain(budget)
        title = f"{named(data)}: what a spend buys"
        if by_row_group or len(data) > 1:
            _refuse_by_row_group(encode=encode, drop_missing=drop_missing, costs=costs, spends=totals, samples=samples)
            prospects = _plan_in_bytes(data, target, budget, pilot, names_in(drop), random_state, quiet)
            writer.draw(picture, partial(plot_plan, prospects, title=title, spend="megabytes read"))
            return
        reading = {"drop": names_in(drop), "encode": encode, "drop_missing": drop_missing}
        said = partial(introduce, data, quiet=quiet)
        bought = bought_pilot(data[0], target, budget, costs, pilot or PILOT, random_state, said=said, **reading)
        cells, prices, levels = bought
        priced = {} if prices is None else {"costs": prices.costs, "groups": prices.groups}
        with progress_bar(quiet, doing="planning") as report:
            prospects = plan(
                cells, budget=budget, levels=levels, spends=totals, repetitions=repetitions,
                random_state=random_state, progress=report, **priced,
            )  # fmt: skip
        if not quiet:
            _show_plan(cells, prospects, advice(prospects))
        if samples is not None:
            print(f"whole rows for an excess risk of {samples:g}: {whole_rows_needed(cells, samples):,} by the theorem")
        writer.draw(picture, partial(plot_plan, prospects, title=title))


def _plan_in_bytes(data, target, budget, pilot, drop, random_state, quiet):
    """Try both ways of reading row groups on a pilot, and print the result."""
    from sparing.planning import advice
    from sparing.planning_in_bytes import plan_in_bytes
    from sparing.tables import read_columnar

    table = read_columnar(data, target, drop=drop)
    introduce(data, table, quiet)
    with progress_bar(quiet, doing="planning") as report:
        options = {"budget": budget, "pilot": pilot, "random_state": random_state}
        prospects = plan_in_bytes(table.X, table.y, **options, progress=report)
    if not quiet:
        columns = "megabytes", "rows", f"{budget} columns of each group", "rows of whole groups", "all columns"
        title = "Error over that of the mean predictor on a pilot; 90 % intervals by rows of two groups"
        show(_prospects(title, columns, prospects), [advice(prospects)])
    return prospects


def _show_plan(cells, prospects, reading: str) -> None:
    print(f"pilot: {len(cells):,} values of {cells.n_examples:,} examples, {cells.n_attributes:,} attributes")
    columns = "spend", "examples", "a few values of each", "whole rows", "ridge regression"
    table = _prospects("Expected error over that of the mean predictor, with 90 % intervals", columns, prospects)
    unseen = cells.n_attributes - len(set(cells.attributes.tolist()))
    who, they = ("1 attribute is", "it") if unseen == 1 else (f"{unseen:,} attributes are", "they")
    never = f"{who} not in the pilot; what {they} would add to whole rows is unknown."
    show(table, [never, reading] if unseen else [reading])


def _prospects(title: str, columns, prospects):
    """A table with one line per spend."""
    table = table_of(title, columns, words=())
    for p in prospects:
        few, whole = _with_interval(p.few, p.few_interval), _with_interval(p.whole, p.whole_interval)
        table.add_row(f"{p.spend:,.6g}", f"{p.few_examples:,}", few, f"{p.whole_examples:,}", whole)
    return table


def _with_interval(error: float, interval: tuple[float, float]) -> str:
    return f"{error:.2f} ({interval[0]:.2f} to {interval[1]:.2f})" if isfinite(error) else "—"


# Options ------------------------------------------------------------------------------------------------------------


def _refuse_by_row_group(**given) -> None:
    """Refuse options that have no effect on files that are read by row group."""
    for name, value in given.items():
        if value:
            raise ValueError(f"--{name.replace('_', '-')} is not for files that are read by row group; leave it out.")


def _budget(text: str) -> float | None:
    """The budget as a number, or None for `none`."""
    if text.lower() == "none":
        return None
    try:
        return plain(float(text))
    except ValueError:
        raise ValueError(f"--budget must be a number, or none; got {text!r}.") from None


def _numbers_in(option: str, text: str) -> list[float]:
    """The numbers in a comma-separated list."""
    try:
        return [float(number) for number in names_in(text)]
    except ValueError:
        raise ValueError(f"{option} must be numbers, separated by commas; got {text!r}.") from None
