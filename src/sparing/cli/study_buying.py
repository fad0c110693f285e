"""Commands of studies that buy: `ask`, `tell`, `import`, `cancel` and, for new cases, `visit`."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import Force, show, table_of
from sparing.cli.route_and_visit import Budget, Known, PriceOfError, TargetStd, hold_visit, values_in
from sparing.cli.study_options import (
    Address,
    Key,
    Name,
    Target,
    Values,
    Who,
    books_of,
    opened,
    pairs_of,
    study_app,
    target_of,
)
from sparing.cli.writing import Writer


@study_app.command("ask")
def ask_command(
    address: Address,
    examples: Annotated[list[str] | None, typer.Argument(help="Names of examples.")] = None,
    many: Annotated[int, typer.Option(min=0, help="Number of new examples to ask for, named example-1 and so on.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Write the open asks again; ask for nothing new.")] = False,
    output: Annotated[Path | None, typer.Option(help="The sheet to write; without it, asks are printed.")] = None,
    who: Who = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """Say what to buy of examples; with --output, write a sheet to fill in."""
    with opened(address, name) as study:
        from sparing.files import InputError

        writer = None if output is None else Writer([output], force=force)
        if bool(examples) + bool(many) + open_ != 1:
            raise InputError("it is not clear what to ask for", "name examples, or give {many} or {open}",
                             {"many": 50, "open": True})  # fmt: skip
        asks = study.asks(who=who) if open_ else _asked(study, examples or [], many, who)
        if output is not None and writer is not None:
            writer.write("sheet", output, lambda path: study.write_sheet(asks, path))
            return
        table = table_of("Asks", ("example", "price", "attributes", "key"), words=["example", "attributes", "key"])
        for ask in asks:
            table.add_row(ask.example, ask.price, ", ".join(ask.names), ask.key)
        show(table)


def _asked(study, examples: list[str], many: int, who: str | None) -> list:
    """Asks for named examples, or for ``many`` new ones as long as the money lasts."""
    from sparing.study import Taken
    from sparing.types import OverBudget

    asks = [study.ask(example, who=who) for example in examples]
    number = study.n_examples
    while len(asks) < many:
        number += 1
        try:
            asks.append(study.ask(f"example-{number}", who=who))
        except Taken:
            continue
        except OverBudget as error:
            if not asks:
                raise
            print(f"{len(asks):,} of {many:,} asks, and no more: {error}")
            break
    return asks


@study_app.command("tell")
def tell_command(
    address: Address, key: Key, values: Values = None, target: Target = None, who: Who = None, name: Name = None
) -> None:
    """Record values of an ask, all at once or in parts."""
    with opened(address, name) as study:
        event = study.tell(key, pairs_of(values), target_of(study, target), who=who)
        print(f"event {event}")


@study_app.command("import")
def import_command(
    address: Address,
    sheet: Annotated[Path, typer.Argument(help="A sheet that `study ask` wrote, filled in.")],
    who: Who = None,
    name: Name = None,
) -> None:
    """Record all values of a sheet; rows may be in any order, filled in part, or repeated."""
    with opened(address, name, sheet) as study:
        rows, new = study.tell_sheet(sheet, who=who)
        print(f"{rows:,} {'row' if rows == 1 else 'rows'} with values, {new:,} of them new")


@study_app.command("cancel")
def cancel_command(
    address: Address,
    keys: Annotated[list[str], typer.Argument(help="Keys of asks.")],
    who: Who = None,
    name: Name = None,
) -> None:
    """Give up asks, and release the money for what was not told."""
    with opened(address, name) as study:
        for key in keys:
            study.cancel(key, who=who)
        print(books_of(study))


@study_app.command("visit")
def visit_command(
    address: Address,
    example: Annotated[str, typer.Argument(help="The name of the new case.")],
    known: Known = "",
    price_of_error: PriceOfError = None,
    target_std: TargetStd = None,
    budget: Budget = None,
    who: Who = None,
    name: Name = None,
) -> None:
    """Predict for a new case: ask for its values, one purchase at a time; an empty answer is an unavailable value.

    Each purchase is an ask of this study. Run it again to continue; stop gives up the last purchase.
    """
    with opened(address, name) as study:
        options = {"price_of_error": price_of_error, "target_std": target_std, "budget": budget}
        visit = study.visit(example, values_in(known, study.settings.attributes), who=who, **options)
        hold_visit(visit, study.settings.attributes, study.settings.classes or [])
        for ask in study.asks(who=visit.who):
            if ask.example == example:
                study.cancel(ask, who=who)
        print(books_of(study))
