"""The command that a newcomer runs first: `demo`."""

from pathlib import Path
from typing import Annotated

import typer

from sparing.cli.app import Force, Jobs, Quiet, RandomState, app, one_line_errors, progress_bar, show, table_of
from sparing.cli.writing import Writer


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("sparing-demo.png"),
    splits: Annotated[int, typer.Option(min=1, help="Splits into patients to learn from and new ones.")] = 8,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """An example: which medical tests are worth their price? Needs no file and no network."""
    with one_line_errors():
        from sparing.plotting import picture_path, plot_demonstration

        picture = picture_path(output)
        writer = Writer([picture], force=force)
        from sparing import demonstration as story

        if not quiet:
            print(_problem(story), flush=True)
        with progress_bar(quiet, doing="buying tests") as report:
            outcomes = story.all_ways(splits, jobs=jobs, random_state=random_state, progress=report)
        clinic = story.Clinic(random_state)
        patient = clinic.visit()
        curves = {way: story.curve(outcomes, way) for way in story.WAYS}
        if not quiet:
            _show_ways(curves, splits)
            _show_visit(patient, clinic.visit_everybody(), story)
        titles = "Learning: which tests to buy?", "Then: a new patient"
        writer.draw(picture, lambda path: plot_demonstration(curves, patient.steps, patient.truth, path, titles=titles))


def _problem(story) -> str:
    return (
        "How fast will a patient's diabetes progress? Age and sex are on file, and eight tests can be made.\n"
        f"All of them cost ${story.COSTS.sum():.2f} per patient; we pay at most ${story.BUDGET:.2f}. "
        "(Real patients, from scikit-learn;\nthe prices are made up in the style of a health service's list.)\n"
    )


def _show_ways(curves, splits: int) -> None:
    """Print R² on new patients for each way of buying and each sum of money."""
    spends = [point[0] for point in next(iter(curves.values()))]
    title = f"Learning: R² on new patients for the money spent, median of {splits} splits"
    table = table_of(title, ["", *(f"${spent:,.0f}" for spent in spends)], words=[""])
    for way, points in curves.items():
        table.add_row(way, *(f"{middle:.2f}" for _, _, middle, _ in points))
    show(table, ["R² is the fraction of the differences between patients that the model explains.", ""])


def _show_visit(patient, everybody, story) -> None:
    """Print a visit step by step, and then a summary of the visits of all new patients."""
    first, *tests = patient.steps
    print(
        f"Then: a new patient. {' and '.join(patient.on_file).capitalize()} are on file. The model asks for a test if"
    )
    print("that is worth its price, where being 50 points off costs $50, and 100 points $200:")
    print(f"  {'on file':<28} predicted progression {first.prediction:.0f} ± {first.std:.0f}")
    for step in tests:
        bought = f"{step.test} for ${step.price:.2f}"
        print(f"  {bought:<28} predicted progression {step.prediction:.0f} ± {step.std:.0f}")
    print(f"  stop: {patient.why}; a year later it was {patient.truth:.0f}")
    n, spent, from_visits, from_all_tests = everybody
    print(
        f"Such visits of all {n} new patients cost ${spent:.2f} each and explain {from_visits:.2f} of the differences;"
    )
    print(f"all tests cost ${story.COSTS.sum():.2f} each and explain {from_all_tests:.2f}.\n")
