"""Commands of studies: `study create`, `ask`, `tell`, `import`, ..., for people with a spreadsheet."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sparing.cli.app import Force, app, names_in, one_line_errors, show, table_of
from sparing.cli.writing import Writer

study_app = typer.Typer(help="Buy over weeks, at several sites, with nothing lost.", no_args_is_help=True)
app.add_typer(study_app, name="study")

Address = Annotated[str, typer.Argument(help="An SQLite file, or postgresql://user@host/database.")]
Name = Annotated[str | None, typer.Option("--name", help="The study, if the database has several.")]
Who = Annotated[str | None, typer.Option(help="Who asks or tells; by default the user of this machine.")]
Key = Annotated[str, typer.Argument(help="The key of an ask.")]
Values = Annotated[list[str] | None, typer.Argument(help="attribute=number, =unavailable or ='not bought'.")]
Target = Annotated[str | None, typer.Option(help="The target: a number or a label.")]
Why = Annotated[str, typer.Option(help="The reason, for the history.")]
Output = Annotated[Path, typer.Option(help="The file to write.")]
PAUSE = 60.0  # seconds between two rounds of a worker


@contextmanager
def _opened(address: str, name: str | None) -> Iterator[Any]:
    """A study; what it refuses is said in one line."""
    with _refusals():
        from sparing.study import Study

        with Study.open(address, name=name) as study:
            yield study


@contextmanager
def _refusals() -> Iterator[None]:
    with one_line_errors():
        from sparing.study import StudyError
        from sparing.types import OverBudget

        try:
            yield
        except (StudyError, OverBudget) as error:
            raise ValueError(str(error)) from error


# Beginning ------------------------------------------------------------------------------------------------------------


@study_app.command("create")
def create_command(
    address: Address,
    budget: Annotated[str, typer.Option(help="Money for each example; without --costs, a number of attributes.")],
    costs: Annotated[Path | None, typer.Option(help="CSV file: attribute, cost and, for panels, group.")] = None,
    attributes: Annotated[str, typer.Option(help="Names, separated by commas, where there are no prices.")] = "",
    total: Annotated[str | None, typer.Option(help="Money for the whole study; never passed.")] = None,
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
    with _refusals():
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


# Buying ---------------------------------------------------------------------------------------------------------------


@study_app.command("ask")
def ask_command(
    address: Address,
    examples: Annotated[list[str] | None, typer.Argument(help="Names of examples.")] = None,
    many: Annotated[int, typer.Option(min=0, help="Ask for so many new examples, named example-1 and so on.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Write the open asks once more; ask for nothing new.")] = False,
    output: Annotated[Path | None, typer.Option(help="The sheet to write; without it, asks are printed.")] = None,
    who: Who = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """What to buy of examples; with --output, a sheet for whoever measures."""
    with _opened(address, name) as study:
        from sparing.files import InputError

        writer = None if output is None else Writer([output], force=force)
        if bool(examples) + bool(many) + open_ != 1:
            raise InputError("nothing, or too much, is asked for", "name examples, or give {many} or {open}",
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
    """Asks for named examples, or for so many new ones; those that the money does not pay for are left out."""
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
            print(f"{len(asks)} of {many} asks: {error}")
            break
    return asks


@study_app.command("tell")
def tell_command(
    address: Address, key: Key, values: Values = None, target: Target = None, who: Who = None, name: Name = None
) -> None:
    """Tell values of an ask, all at once or in parts."""
    with _opened(address, name) as study:
        event = study.tell(key, _pairs(values), _target(study, target), who=who)
        print(f"event {event}")


@study_app.command("import")
def import_command(
    address: Address,
    sheet: Annotated[Path, typer.Argument(help="A sheet that `study ask` wrote, filled in.")],
    who: Who = None,
    name: Name = None,
) -> None:
    """Tell all that a sheet says: rows in any order, filled in part, sent twice."""
    with _opened(address, name) as study:
        rows, new = study.tell_sheet(sheet, who=who)
        print(f"{rows:,} rows with values, {new:,} of them new")


@study_app.command("cancel")
def cancel_command(
    address: Address,
    keys: Annotated[list[str], typer.Argument(help="Keys of asks.")],
    who: Who = None,
    name: Name = None,
) -> None:
    """Give up asks, and release the money for what was not told."""
    with _opened(address, name) as study:
        for key in keys:
            study.cancel(key, who=who)
        print(_books(study))


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
    """Replace what was told of an example; without --expected, show what is known."""
    with _opened(address, name) as study:
        if expected is None:
            known = study.example(example)
            table = table_of(example, ("attribute", "value"), words=["attribute"])
            for attribute, value in {**known.values, "target": known.y}.items():
                table.add_row(attribute, "" if value is None else str(value))
            show(table, [f"{known.state}, event {known.event}"])
            return
        new, y = _pairs(values), _target(study, target)
        print(f"event {study.correct(example, new, y, expected=expected, who=who, why=why)}")


@study_app.command("withdraw")
def withdraw_command(
    address: Address,
    example: Annotated[str, typer.Argument(help="The name of the example.")],
    why: Why = "",
    who: Who = None,
    name: Name = None,
) -> None:
    """Keep an example out of the model; what was spent stays spent."""
    with _opened(address, name) as study:
        print(f"event {study.withdraw(example, who=who, why=why)}")


# Looking --------------------------------------------------------------------------------------------------------------


@study_app.command("status")
def status_command(
    address: Address,
    forecast: Annotated[bool, typer.Option("--forecast", help="Also what more money would bring: minutes.")] = False,
    name: Name = None,
) -> None:
    """Money, examples, looks by attribute, and how good the model is."""
    with _opened(address, name) as study:
        report = study.report(forecast=forecast)
        table = table_of("Looks", ("attribute", "looks", "unavailable", "spent"), words=["attribute"])
        for each in report.attributes:
            table.add_row(each.attribute, f"{each.looks:,}", f"{each.unavailable:,}", each.spent)
        show(table, report.lines())


@study_app.command("check")
def check_command(
    address: Address,
    replay: Annotated[bool, typer.Option("--replay", help="Go through all events; draw every query again.")] = False,
    name: Name = None,
) -> None:
    """Whether the books equal the events."""
    with _opened(address, name) as study:
        found = study.check(replay=replay)
        again = f"; {found.queries:,} queries were drawn again" if replay else ""
        print(f"in order: {found.events:,} events, {found.examples:,} examples, {found.asks:,} asks{again}")


# Files ----------------------------------------------------------------------------------------------------------------


@study_app.command("export")
def export_command(
    address: Address, output: Output = Path("sparing-cells.csv"), name: Name = None, force: Force = False
) -> None:
    """Write the cells of settled examples, with plan and chance of each: .csv or .parquet."""
    with _opened(address, name) as study:
        Writer([output], inputs=[address], force=force).write("cells", output, study.export)


@study_app.command("merge")
def merge_command(
    files: Annotated[list[Path], typer.Argument(help="Files that `study export` wrote.")],
    output: Output = Path("sparing-merged.csv"),
    force: Force = False,
) -> None:
    """Write one file of several: equal examples once, differing ones are refused."""
    with _refusals():
        from sparing.study import merge

        Writer([output], inputs=files, force=force).write("cells", output, lambda path: merge(files, path))


@study_app.command("backup")
def backup_command(address: Address, output: Output, name: Name = None, force: Force = False) -> None:
    """Copy a study's file while others write to it."""
    with _opened(address, name) as study:
        writer = Writer([output], inputs=[address], force=force)
        writer.write("backup", output, lambda path: study.backup(path, force=True))


@study_app.command("upgrade")
def upgrade_command(address: Address) -> None:
    """Bring a database of an older format to the present one; make a backup first."""
    with _refusals():
        from sparing.study import upgrade

        upgrade(address)
        print(f"{address} has the present format")


@study_app.command("work")
def work_command(
    address: Address,
    once: Annotated[bool, typer.Option("--once", help="One round, instead of one a minute until Ctrl-C.")] = False,
    name: Name = None,
) -> None:
    """Expire leases, make plans that are due and keep the cells ready, so that nobody waits for it."""
    with _opened(address, name) as study:
        while True:
            study.work()
            if once:
                break
            time.sleep(PAUSE)


# Words ----------------------------------------------------------------------------------------------------------------


def _pairs(values: list[str] | None) -> dict[str, float | str]:
    """Values by attribute, from attribute=value."""
    pairs: dict[str, float | str] = {}
    for text in values or []:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise ValueError(f"values are written attribute=number; got {text!r}.")
        try:
            pairs[name] = float(value)
        except ValueError:
            pairs[name] = value
    return pairs


def _target(study, text: str | None):
    if text is None or study.settings.classes is not None:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--target must be a number; got {text!r}.") from None


def _books(study) -> str:
    return ", ".join(f"{amount} {what}" for what, amount in study.money().items())
