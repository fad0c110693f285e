"""Commands of studies about files: `export`, `merge`, `backup`, `upgrade`."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import Force
from sparing.cli.study_options import Address, Name, Output, opened, refusals, study_app
from sparing.cli.writing import Writer


@study_app.command("export")
def export_command(
    address: Address, output: Output = Path("sparing-cells.csv"), name: Name = None, force: Force = False
) -> None:
    """Write the cells of settled examples, each with its plan and probability: .csv or .parquet."""
    with opened(address, name) as study:
        Writer([output], inputs=[address], force=force).write("cells", output, study.export)


@study_app.command("merge")
def merge_command(
    files: Annotated[list[Path], typer.Argument(help="Files that `study export` wrote.")],
    output: Output = Path("sparing-merged.csv"),
    force: Force = False,
) -> None:
    """Join exported files; equal examples are kept once, contradictory ones are refused."""
    with refusals(None, *files):
        from sparing.study import merge

        Writer([output], inputs=files, force=force).write("cells", output, lambda path: merge(files, path))


@study_app.command("backup")
def backup_command(address: Address, output: Output, force: Force = False) -> None:
    """Copy the file of a study, of any format, while others write to it."""
    with refusals(address):
        from sparing.study.databases import backup

        writer = Writer([output], inputs=[address], force=force)
        writer.write("backup", output, lambda path: backup(address, path, force=True))


@study_app.command("upgrade")
def upgrade_command(address: Address) -> None:
    """Upgrade a database of an older format to the current one; make a backup first."""
    with refusals(address):
        from sparing.study import upgrade

        upgrade(address)
        print(f"{address} has the present format")
