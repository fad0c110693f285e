"""The command that uses a model: `predict`."""

from math import floor, log10
from pathlib import Path
from typing import Annotated, Any

import typer

from sparing.cli.app import Force, Quiet, app, names_in, one_line_errors, show, table_of
from sparing.cli.reading import Data, refuse_paths
from sparing.cli.writing import Writer

STANDARD_DEVIATION, PROBABILITY = "standard deviation", "probability of "  # columns of numbers, by their names
MOST_DECIMALS, LARGE = 6, 1e12  # beyond these, numbers are printed in scientific notation


@app.command("predict")
def predict_command(
    model: Annotated[Path, typer.Argument(help="The model that `sparing fit` wrote: PREFIX-model.sparing.")],
    data: Data,
    keep: Annotated[str, typer.Option(help="Columns to repeat beside the predictions, such as an ID.")] = "",
    output: Annotated[Path, typer.Option(help="Where to write the predictions.")] = Path("sparing-predictions.csv"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a file with a model that was fitted before; columns are found by name."""
    with one_line_errors():
        refuse_paths(data, model)
        writer = Writer([output], inputs=[model, data], force=force)

        from sparing.estimators import load_model
        from sparing.predicting import category_columns, predict_rows
        from sparing.tables import read_rows

        fitted = load_model(model)
        rows = read_rows(data, text=category_columns(fitted))
        predictions = predict_rows(fitted, rows, keep=names_in(keep), source=data.name)
        if not quiet:
            _show(fitted, data.name, predictions)
        writer.write("predictions", output, predictions.write)


def _show(model, name: str, predictions) -> None:
    from sparing.predicting import SHOWN

    target = getattr(model, "target_name_", None)
    of = f" of {target!r}" if target else ""
    n = len(predictions.rows)
    print(f"{name}: {n:,} row{'s' * (n != 1)}; a model{of} that was fitted to {model.n_iter_:,} examples")
    columns = predictions.columns
    numbers = [STANDARD_DEVIATION, *(name for name in columns if name.startswith(PROBABILITY))]
    numbers += [] if hasattr(model, "classes_") else ["prediction"]
    table = table_of("First predictions", columns, words=[name for name in columns if name not in numbers])
    for row in predictions.rows[:SHOWN]:
        table.add_row(*_rounded(dict(zip(columns, row, strict=True))))
    show(table, predictions.notes)


def _rounded(row: dict[str, Any]) -> list[str]:
    """The values of a row as text: with three digits of the standard deviation, which is what can be relied upon.

    >>> _rounded({"car": "A", "prediction": 9167.4421, "standard deviation": 4339.8302})
    ['A', '9,167', '4,340']
    >>> _rounded({"prediction": 3.714172, "standard deviation": 0.0171124})
    ['3.7142', '0.0171']
    """
    decimals: int | None = None
    error = row.get(STANDARD_DEVIATION)
    if isinstance(error, float) and error > 0:
        decimals = 2 - floor(log10(error))
    texts = []
    for name, value in row.items():
        if not isinstance(value, float):
            texts.append(str(value))
        elif name.startswith(PROBABILITY):
            texts.append(f"{value:.3f}")
        elif decimals is not None and decimals <= MOST_DECIMALS and name in ("prediction", STANDARD_DEVIATION):
            texts.append(f"{value:,.{max(decimals, 0)}f}" if abs(value) < LARGE else f"{value:.6g}")
        else:
            texts.append(f"{value:.6g}")
    return texts
