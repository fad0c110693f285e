"""Commands of studies, for people with a spreadsheet: `create`, `status`, `check`, `correct`, `withdraw`, `work`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import names_in, progress_bar, show, table_of
from sparing.cli.study_options import (
    Address,
    Name,
    Target,
    Values,
    Who,
    Why,
    opened,
    pairs_of,
    refusals,
    study_app,
    target_of,
    texts_of,
)

PAUSE = 60.0  # seconds between two rounds of `work`


@study_app.command("create")
def create_command(
    address: Address,
    budget: Annotated[str, typer.Option(help="Money for each example; without --costs, a number of attributes.")],
    costs: Annotated[Path | None, typer.Option(help="CSV file: attribute, cost and, for panels, group.")] = None,
    attributes: Annotated[str, typer.Option(help="Names, separated by commas, if there are no prices.")] = "",
    categories: Annotated[
        list[str] | None, typer.Option(help="attribute=name,name,... for a categorical attribute; may be repeated.")
    ] = None,
    total: Annotated[str | None, typer.Option(help="Money for the whole study, never exceeded.")] = None,
    classes: Annotated[str, typer.Option(help="Labels, separated by commas, if the target is one.")] = "",
    learner: Annotated[str, typer.Option(help="auto, pairwise or factor.")] = "auto",
    penalty: Annotated[str, typer.Option(help="ridge, or lasso for few weights.")] = "ridge",
    features: Annotated[str, typer.Option(help="auto, additive (curves) or linear (weights).")] = "auto",
    n_examples: Annotated[
        int | None, typer.Option(min=1, help="How many examples will come, if that is known.")
    ] = None,
    lease: Annotated[float | None, typer.Option(help="Hours after which others may take over an ask.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same number, same queries.")] = 0,
    name: Annotated[str, typer.Option(help="Several studies may share a database.")] = "study",
) -> None:
    """Begin a study."""
    with refusals(None, costs):
        from sparing.files import InputError
        from sparing.study import Study
        from sparing.tables import priced_names, read_prices

        if (costs is None) == (not attributes):
            raise InputError("a study needs attributes", "give either {costs} or {attributes}",
                             {"costs": None, "attributes": None})  # fmt: skip
        names = names_in(attributes) if costs is None else priced_names(costs)
        prices = None if costs is None else read_prices(costs, names)
        with Study.create(
            address,
            budget=budget,
            attributes=names,
            prices=None if prices is None else prices.costs.tolist(),
            groups=None if prices is None or not any(prices.groups) else prices.groups,
            total=total,
            categories={name: names_in(of) for name, of in texts_of(categories).items()},
            classes=names_in(classes) or None,
            learner=learner,
            penalty=penalty,
            features=features,
            n_examples=n_examples,
            seed=seed,
            lease=None if lease is None else 3600.0 * lease,
            name=name,
        ) as study:
            print(f"study {study.name!r} with {len(study.settings.attributes):,} attributes: {address}")


# Looking --------------------------------------------------------------------------------------------------------------


@study_app.command("status")
def status_command(
    address: Address,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Also forecast what more money would bring; takes minutes.")
    ] = False,
    name: Name = None,
) -> None:
    """Show money, examples, looks by attribute, and how good the model is."""
    with opened(address, name) as study:
        with progress_bar(not forecast, doing="forecasting") as done:
            report = study.report(forecast=forecast, progress=done)
        table = table_of("Looks", ("attribute", "looks", "unavailable", "spent"), words=["attribute"])
        for each in report.attributes:
            table.add_row(each.attribute, f"{each.looks:,}", f"{each.unavailable:,}", each.spent)
        show(table, report.lines())


@study_app.command("check")
def check_command(
    address: Address,
    replay: Annotated[bool, typer.Option("--replay", help="Replay all events, and draw every query again.")] = False,
    name: Name = None,
) -> None:
    """Check that the books agree with the events."""
    with opened(address, name) as study:
        with progress_bar(not replay, doing="checking") as done:
            found = study.check(replay=replay, progress=done)
        again = f"; {found.queries:,} queries were drawn again" if replay else ""
        print(f"in order: {found.events:,} events, {found.examples:,} examples, {found.asks:,} asks{again}")


@study_app.command("work")
def work_command(
    address: Address,
    once: Annotated[bool, typer.Option("--once", help="One round, instead of one a minute until Ctrl-C.")] = False,
    name: Name = None,
) -> None:
    """Expire leases, make plans that are due and keep the cells ready, so that nobody has to wait."""
    with opened(address, name) as study:
        while True:
            study.work()
            if once:
                break
            time.sleep(PAUSE)


# Changing -------------------------------------------------------------------------------------------------------------


@study_app.command("correct")
def correct_command(
    address: Address,
    example: Annotated[str, typer.Argument(help="The name of the example.")],
    values: Values = None,
    target: Target = None,
    expected: Annotated[int | None, typer.Option(help="The last event of the example, as shown without it.")] = None,
    why: Why = "",
    who: Who = None,
    name: Name = None,
) -> None:
    """Replace values of an example; without --expected, show what is known."""
    with opened(address, name) as study:
        if expected is None:
            known = study.example(example)
            table = table_of(example, ("attribute", "value"), words=["attribute"])
            for attribute, value in {**known.values, "target": known.y}.items():
                table.add_row(attribute, "" if value is None else str(value))
            show(table, [f"{known.state}, event {known.event}"])
            if values or target is not None:  # only somebody who has seen the old values may replace them
                raise ValueError(f"nothing was changed; to replace what is shown, add --expected {known.event}.")
            return
        new, y = pairs_of(values), target_of(study, target)
        print(f"event {study.correct(example, new, y, expected=expected, who=who, why=why)}")


@study_app.command("withdraw")
def withdraw_command(
    address: Address,
    example: Annotated[str, typer.Argument(help="The name of the example.")],
    why: Why = "",
    who: Who = None,
    name: Name = None,
) -> None:
    """Keep an example out of the model; its money stays spent."""
    with opened(address, name) as study:
        print(f"event {study.withdraw(example, who=who, why=why)}")
