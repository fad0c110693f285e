"""Commands for new cases: `route`, an order of purchases, and `visit`, which asks for the values of one case."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sparing.cli.app import Force, Quiet, app, names_in, one_line_errors, show, table_of
from sparing.cli.writing import Writer
from sparing.files import refuse_missing_file

Model = Annotated[Path, typer.Argument(help="A model file that `sparing fit` wrote.")]
Costs = Annotated[Path | None, typer.Option(help="CSV file: attribute, cost and, for panels, group.")]
Known = Annotated[str, typer.Option(help="Values that are known anyway: name=value, separated by commas.")]
PriceOfError = Annotated[float | None, typer.Option(help="What a wrong label costs, or one unit of squared error.")]
TargetStd = Annotated[float | None, typer.Option(help="Stop when the standard deviation is this small.")]
Budget = Annotated[float | None, typer.Option(help="The most to spend on this case.")]
UNAVAILABLE = ("", "nan", "na", "?")  # answers for an unavailable value
STOP = ("stop", "quit", "q")


@app.command("route")
def route_command(
    model: Model,
    costs: Costs = None,
    known: Annotated[str, typer.Option(help="Columns that are known anyway, separated by commas.")] = "",
    output: Annotated[Path | None, typer.Option(help="Where to write a picture.")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Show in which order to buy the values of a new case, and the error to expect after each purchase."""
    with one_line_errors():
        _refuse_missing(model, costs)

        from sparing.estimators.model_files import load_model
        from sparing.plotting import picture_path, plot_route

        picture = None if output is None else picture_path(output)
        writer = Writer([picture] if picture else [], inputs=[model, costs], force=force)
        fitted = load_model(model)
        route = fitted.route([column_of(fitted, name) for name in names_in(known)], **prices_of(fitted, costs))
        if not quiet:
            show_route(route)
        if picture:
            writer.draw(picture, lambda path: plot_route(route, path, title=model.name))


def show_route(route) -> None:
    """Print a route as a table."""
    from sparing.tables.numbers import number_shown

    table = table_of("Route", ("", "buy", "price", "in all", route.measure), words=["buy"])
    table.add_row("0", "nothing", "", "0.00", number_shown(route.start, 4))
    for place, p in enumerate(route, 1):
        table.add_row(str(place), p.name, f"{p.price:,.2f}", f"{p.total:,.2f}", number_shown(p.error, 4))
    show(table)


@app.command("visit")
def visit_command(
    model: Model,
    costs: Costs = None,
    known: Known = "",
    price_of_error: PriceOfError = None,
    target_std: TargetStd = None,
    budget: Budget = None,
) -> None:
    """Ask for the values of one new case, one purchase at a time; an empty answer is an unavailable value."""
    with one_line_errors():
        _refuse_missing(model, costs)

        from sparing.estimators.model_files import load_model
        from sparing.predicting import refuse_unseen

        fitted = load_model(model)
        names = list(getattr(fitted, "feature_names_in_", ()))
        values = {column_of(fitted, name): value for name, value in values_in(known, names).items()}
        for name, value in values.items():
            if name in names:
                refuse_unseen(fitted, names.index(name), value)
        visit = fitted.visit(
            values, price_of_error=price_of_error, target_std=target_std, budget=budget,
            **prices_of(fitted, costs),
        )  # fmt: skip
        hold_visit(visit, names, list(getattr(fitted, "classes_", ())), partial(refuse_unseen, fitted))


def _refuse_missing(*paths: Path | None) -> None:
    """Refuse a mistyped name before the slow imports."""
    for path in paths:
        if path is not None:
            refuse_missing_file(path)


def hold_visit(
    visit, names: list[str], labels: list, check: Callable[[int, Any], None] = lambda column, value: None
) -> None:
    """Ask in the terminal until the visit ends or somebody says stop.

    A value of a column that ``check`` refuses is asked for again.
    """
    from sparing.tables.numbers import number_shown

    print(standing(visit, labels))
    while (query := visit.ask()) is not None:
        offer = visit.offer
        before, after = number_shown(offer.before, 4), number_shown(offer.after, 4)
        print(f"next: {offer.name} for {offer.price:,.2f}; error to expect {before} -> {after}")
        answers = [_answer(names[column] if names else f"column {column}") for column in query.attributes]
        if None in answers:
            print("stopped")
            break
        try:
            for column, answer in zip(query.attributes, answers, strict=True):
                check(column, answer)
            visit.tell(query, answers)
        except ValueError as error:  # the loop asks again
            print(f"  {error} An empty line says that the value is unavailable; stop ends the visit.")
        else:
            print(standing(visit, labels))
    else:
        print(f"stop: {visit.why}")


def standing(visit, labels: list) -> str:
    """The prediction and what was spent, in one line."""
    from sparing.tables.numbers import number_shown

    if visit.proba is None:
        prediction, std = number_shown(visit.prediction, 5), number_shown(visit.std, 3)
        edge = f" ({visit.edge} target seen; predictions stay within their range)" if visit.edge else ""
        return f"prediction {prediction} ± {std}{edge}, spent {visit.spent:,.2f}"
    chances = ", ".join(f"{label}: {chance:.1%}" for label, chance in zip(labels, visit.proba, strict=True))
    return f"prediction {visit.prediction} ({chances}), spent {visit.spent:,.2f}"


def _answer(name: str) -> float | str | None:
    """A number or text, NaN for an unavailable value, None to stop."""
    try:
        text = input(f"  {name}: ").strip()
    except EOFError:
        return None
    if text.lower() in STOP:
        return None
    return float("nan") if text.lower() in UNAVAILABLE else number_or_text(text)


def number_or_text(text: str) -> float | str:
    """The text as a number if it looks like one, else unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def values_in(text: str, names: Sequence[str] = ()) -> dict[str, float | str]:
    """The values in a comma-separated list of name=value; a name with "=" in it must be one of ``names``.

    >>> values_in("age=54, ward=B, dose=high=1", ["age", "ward", "dose=high"])
    {'age': 54.0, 'ward': 'B', 'dose=high': 1.0}
    """
    pairs = [_name_and_value(pair, names) for pair in names_in(text)]
    values = {name: number_or_text(value) for name, value in pairs}
    if len(values) < len(pairs):
        raise ValueError("--known names a column twice; give each value once.")
    return values


def _name_and_value(pair: str, names: Sequence[str]) -> tuple[str, str]:
    """Before and after the last "=" that ends the name of a column; of unknown names, the first one."""
    parts = pair.split("=")
    splits = [("=".join(parts[:at]).strip(), "=".join(parts[at:]).strip()) for at in range(1, len(parts))]
    splits = [(name, value) for name, value in splits if name and value]
    if not splits:
        raise ValueError(f"--known must be name=value, separated by commas; got {pair!r}.")
    return next((split for split in reversed(splits) if split[0] in names), splits[0])


def column_of(model, name: str) -> str | int:
    """The name of a column, or its number if the columns of the model have no names."""
    return int(name) if name.isdecimal() and not hasattr(model, "feature_names_in_") else name


def prices_of(model, costs: Path | None) -> dict:
    """Prices and panels from a file, for the columns of a model."""
    if costs is None:
        return {}
    from sparing.tables import read_prices

    names = list(getattr(model, "feature_names_in_", ()))
    if not names:
        raise ValueError(
            "the model was fitted to columns without names, so prices cannot be matched; leave out --costs."
        )
    prices = read_prices(costs, names)
    return {"costs": prices.costs, "groups": prices.groups if any(prices.groups) else None}
