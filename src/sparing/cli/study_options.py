"""What the commands of studies share: the command group, arguments, and errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sparing.cli.app import app, one_line_errors
from sparing.cli.route_and_visit import number_or_text
from sparing.files import refuse_missing_file

study_app = typer.Typer(help="Keep the books of purchases that take weeks, at several sites.", no_args_is_help=True)
app.add_typer(study_app, name="study")

Address = Annotated[str, typer.Argument(help="An SQLite file, or postgresql://user@host/database.")]
Name = Annotated[str | None, typer.Option("--name", help="The study, if the database has several.")]
Who = Annotated[str | None, typer.Option(help="Who asks or tells; by default the user of this machine.")]
Key = Annotated[str, typer.Argument(help="The key of an ask.")]
Values = Annotated[list[str] | None, typer.Argument(help="attribute=number, =unavailable or ='not bought'.")]
Target = Annotated[str | None, typer.Option(help="The target: a number or a label.")]
Why = Annotated[str, typer.Option(help="The reason, for the history.")]
Output = Annotated[Path, typer.Option(help="The file to write.")]


@contextmanager
def opened(address: str, name: str | None, *files: Path) -> Iterator[Any]:
    """Open a study, with its errors printed as one line; ``files`` are read with it."""
    with refusals(address, *files):
        from sparing.study import Study

        with Study.open(address, name=name) as study:
            yield study


@contextmanager
def refusals(address: str | None = None, *files: Path | None) -> Iterator[None]:
    """Print the errors of studies as one line, and those of missing files before anything is imported."""
    with one_line_errors():
        if address is not None and "://" not in address and not Path(address).exists():
            raise ValueError(f"there is no study in {address!r}; check the address, or create one.")
        for file in files:
            if file is not None:
                refuse_missing_file(file)

        from sparing.study import StudyError
        from sparing.types import OverBudget

        try:
            yield
        except (StudyError, OverBudget) as error:
            raise ValueError(str(error)) from error


def texts_of(values: list[str] | None) -> dict[str, str]:
    """Texts by attribute, from attribute=text."""
    pairs = [text.rpartition("=") for text in values or []]
    for name, equals, text in pairs:
        if not equals:
            raise ValueError(f"values are written attribute=value; got {name + text!r}.")
    return {name: text for name, _, text in pairs}


def pairs_of(values: list[str] | None) -> dict[str, float | str]:
    """Values by attribute, from attribute=value; text that looks like a number becomes one."""
    return {name: number_or_text(text) for name, text in texts_of(values).items()}


def target_of(study, text: str | None):
    """The target as a number or a label of the study."""
    if text is None or study.settings.classes is not None:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--target must be a number; got {text!r}.") from None


def books_of(study) -> str:
    """The money of a study, in one line."""
    return ", ".join(f"{amount} {what}" for what, amount in study.money().items())
