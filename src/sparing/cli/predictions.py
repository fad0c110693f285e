"""The command that uses a model: `predict`."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import Force, Quiet, app, names_in, one_line_errors, show, table_of
from sparing.cli.reading import Data, refuse_paths
from sparing.cli.writing import Writer


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
    words = [name for name in predictions.columns if name != "standard error"]
    table = table_of("First predictions", predictions.columns, words=words)
    for row in predictions.rows[:SHOWN]:
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row))
    show(table, predictions.notes)
