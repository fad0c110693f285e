"""Tiny figures, really run: runs are stored one by one, resumed, and refused if settings differ."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sparing.cli import app
from sparing.datasets import make_power_law
from sparing.experiments.archive import read_archive, write_archive
from sparing.experiments.claims import Claim
from sparing.experiments.comparisons import Lower, Printed
from sparing.experiments.figures import FULL, RATIO, Figure, Scale, Task
from sparing.experiments.html_report import write_report
from sparing.experiments.journal import Journal, Run
from sparing.experiments.kukliansky_shamir import ADAGRAD, ADAGRAD_STYLES
from sparing.experiments.page import renew_archive, write_page
from sparing.experiments.pictures import draw_figure
from sparing.experiments.prefixes import Prefixes, line_up
from sparing.experiments.reproduction import CATALOGUE, Reproduction, find_figures
from sparing.experiments.runs import Runs
from sparing.files import UNFINISHED
from sparing.geometry import improvement_ratio

TINY = Scale("quick", points=2, repetitions=3, folds=2, slow_repetitions=1, slow_stride=2)
LINE_UP = line_up("AERR", "DDAERR", "OnlineRidge", "Ridge", "AutoLearner") | {"AERR-AdaGrad": ADAGRAD["AERR-AdaGrad"]}

EXACT = improvement_ratio(make_power_law(1, 20, exponent=-2.0).second_moments)


def small_data(scale, seed):
    X, y = make_power_law(1500, 20, exponent=-2.0, random_state=seed, return_X_y=True)
    return Prefixes(X[:1000], y[:1000], X[1000:], y[1000:], 4, seed, LINE_UP, scale.folds)


@pytest.fixture
def figure():
    claims = Claim("moments help", Lower("DDAERR", "AERR")), Claim("the ratio", Printed(RATIO, (EXACT,), (0.02,)))
    return Figure("tiny", 1, "twenty attributes", {"panel": small_data}, claims, minutes={"quick": 1, "full": 1},
                  styles=ADAGRAD_STYLES)  # fmt: skip


def test_every_run_of_the_protocol_is_there_and_as_the_library_gives_it(figure, tmp_path, monkeypatch):
    reproduction = Reproduction(tmp_path / "out", TINY, 0)
    reproduction.open()
    parts = []
    reproduction.run([figure], jobs=2, progress=parts.append)
    assert sum(parts) == pytest.approx(1.0)
    runs = reproduction.runs(figure)
    counts = {name: sum(run.algorithm == name for run in runs) for name in LINE_UP}
    assert counts == {"AERR": 6, "DDAERR": 6, "OnlineRidge": 6, "Ridge": 6, "AutoLearner": 1, "AERR-AdaGrad": 6}
    assert all(run.seen <= run.spend for run in runs)
    assert all(run.error < 1.1 for run in runs if run.algorithm != RATIO)
    experiment = small_data(TINY, 0)
    setting = experiment.choose("DDAERR", 4000.0)
    assert setting is not None
    mine = next(run for run in runs if run[1:4] == ("DDAERR", 4000.0, 2))
    assert experiment.measure(Task("DDAERR", 4000.0, 2), setting) == (mine.seen, mine.error)
    assert [result.verdict for result in reproduction.assess(figure)][1] == "reproduced"
    files = draw_figure(figure, Runs(runs), tmp_path / "drawn")
    assert files[0].read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in files[1].read_text(encoding="utf-8")
    monkeypatch.setattr("sparing.experiments.reproduction.CATALOGUE", [figure])
    page = write_report(reproduction).read_text(encoding="utf-8")
    assert "3 repetitions, settings chosen by 2 folds; 1 repetitions of learners that keep their cells" in page
    for words in ("tiny-figure-1.csv</code>", "picture: attributes seen", "the attributes that an algorithm may buy"):
        assert words in page


def test_archived_runs_give_the_same_verdicts_and_page(figure, tmp_path, monkeypatch):
    """Errors to four digits, the mean of what was seen; series that ran less often are named on the page."""
    reproduction = Reproduction(tmp_path / "out", TINY, 0)
    reproduction.open()
    reproduction.run([figure])
    for folder in ("docs/runs", "docs/pictures/reproduction"):
        (tmp_path / folder).mkdir(parents=True)
    runs = reproduction.runs(figure)
    write_archive(tmp_path / "docs" / "runs", figure, runs)
    archived = {run[:4]: run for run in read_archive(tmp_path / "docs" / "runs", figure)}
    assert archived.keys() == {run[:4] for run in runs}
    assert all(archived[run[:4]].error == pytest.approx(run.error, rel=1e-3) for run in runs)
    seen = np.mean([run.seen for run in runs if run.algorithm == "AERR" and run.spend == 4000.0])
    assert archived["panel", "AERR", 4000.0, 0].seen == pytest.approx(seen)
    monkeypatch.setattr("sparing.experiments.page.CATALOGUE", [figure])
    monkeypatch.setattr("sparing.experiments.page.PAPERS", {"tiny": "A tiny paper"})
    text = write_page(tmp_path / "docs").read_text(encoding="utf-8")
    for result in reproduction.assess(figure):
        assert f"| {result.claim.words} | {result.verdict} | holds in" in text
    assert "## A tiny paper, figure 1\n\nTwenty attributes. 3 repetitions of each point (keeping all cells: 1)." in text
    assert (tmp_path / "docs/pictures/reproduction/tiny-figure-1.png").exists()


def test_only_figures_with_runs_in_all_panels_are_archived(figure, tmp_path, monkeypatch, capsys):
    """An interrupted command leaves panels without runs, which cannot be judged and must not replace earlier runs."""
    halves = replace(figure, panels={"first": small_data, "second, with a comma": small_data})
    monkeypatch.setattr("sparing.experiments.page.CATALOGUE", [halves])
    (archive := tmp_path / "runs").mkdir()
    Reproduction(tmp_path / "out", FULL, 0).open()
    journal = Journal(tmp_path / "out" / "tiny-figure-1.csv", Run)
    journal.add(Run("first", "AERR", 4000.0, 0, 1.0, 0.5, 0.0))
    renew_archive(archive, tmp_path / "out")
    assert read_archive(archive, halves) == []
    assert "tiny, figure 1 is left as it was" in capsys.readouterr().out
    second = Run("second, with a comma", "Corollary 1, 400 attributes", 4000.0, 0, 1.0, 0.5, 0.0)
    journal.add(second)
    renew_archive(archive, tmp_path / "out")
    assert read_archive(archive, halves) == [journal.rows["first", "AERR", 4000.0, 0], second]


def test_runs_of_another_protocol_are_not_archived(tmp_path):
    Reproduction(tmp_path / "quick", TINY, 0).open()
    with pytest.raises(ValueError, match="holds runs with protocol 'quick', not 'full'"):
        renew_archive(tmp_path, tmp_path / "quick")
    with pytest.raises(NotADirectoryError, match="there is no folder"):
        renew_archive(tmp_path, tmp_path / "elsewhere")


def test_the_page_is_that_of_the_archived_runs(tmp_path):
    """Whoever changes runs or claims writes the page again: python -m sparing.experiments.page docs."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    shutil.copytree(docs / "runs", tmp_path / "runs")
    (tmp_path / "pictures" / "reproduction").mkdir(parents=True)
    written = write_page(tmp_path).read_text(encoding="utf-8")
    assert written == (docs / "reproduction-claims.md").read_text(encoding="utf-8")


def test_what_is_done_is_not_done_again(figure, tmp_path):
    reproduction = Reproduction(tmp_path, TINY, 0)
    reproduction.open()
    path = tmp_path / "tiny-figure-1.csv"
    kept = Run("panel", "AERR", 4000.0, 0, 1.0, 0.123, 0.0)  # a value that no run gives
    Journal(path, Run).add(kept)
    with path.open("a", encoding="utf-8") as file:
        file.write("panel,AERR,4000.0,1,39")  # the run was killed while it wrote this
    reproduction.run([figure])
    runs = reproduction.runs(figure)
    assert kept in runs
    assert len(runs) == len({run[:4] for run in runs}) == 32
    before = path.read_text(encoding="utf-8")
    assert len(before.splitlines()) == 33
    reproduction.run([figure])
    assert path.read_text(encoding="utf-8") == before


def test_runs_of_another_figure_on_the_same_data_are_taken_over(figure, tmp_path):
    """And are those that the figure would have made."""
    lender, borrower = replace(figure, number=2), replace(figure, number=3, lender="tiny-figure-2")
    few = {"panel": lambda scale, seed: replace(small_data(scale, seed), algorithms=line_up("AERR", "Ridge"))}
    alone, together = (Reproduction(tmp_path / name, TINY, 0) for name in ("alone", "together"))
    for reproduction in (alone, together):
        reproduction.open()
    alone.run([replace(borrower, panels=few)])
    together.run([replace(lender, panels=few), borrower])
    mine = {run[:4]: run for run in together.runs(borrower)}
    assert {run[:4]: run[:6] for run in alone.runs(borrower)}.items() <= {
        key: run[:6] for key, run in mine.items()
    }.items()
    lent = {run[:4]: run for run in together.runs(lender)}
    assert all(mine[key] == run for key, run in lent.items())  # times included: none was made twice
    assert len(mine) > len(lent)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
def test_a_killed_command_goes_on_where_it_was(tmp_path):
    folder = tmp_path / "out"
    path = folder / "effective-dimension-figure-3.csv"
    arguments = ["reproduce", "effective-dimension", "--figure", "3", "--quick", "--jobs", "1", "--output", str(folder)]
    with subprocess.Popen([sys.executable, "-m", "sparing", *arguments], stderr=subprocess.PIPE) as process:
        while process.poll() is None and (not path.exists() or path.read_text().count("\n") < 9):
            time.sleep(0.1)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGKILL)
    before = path.read_text(encoding="utf-8")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    whole = before[: before.rfind("\n") + 1]
    assert path.read_text(encoding="utf-8").startswith(whole)
    assert len(Journal(path, Run).rows) == len(path.read_text(encoding="utf-8").splitlines()) - 1 == 5 * (5 + 7)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == page.count("<img") == 1
    assert "http" not in page
    assert "Spend</i> is\nthe same as what was seen" in page
    assert "up to κ = 10⁶, without: beyond, they are thousands" in page
    shown = [" ".join(line.split()) for line in result.output.splitlines()]
    at = shown.index("effective-dimension, figure 3")
    claim, numbers = shown[at + 3 : at + 5]  # below the head of the table; whole, though no terminal is so wide
    assert claim == f"reproduced {CATALOGUE[-1].claims[0].words}"
    assert numbers.startswith("holds in 1 of 1 comparisons, contradicted in 0; mean estimate ")
    refused = CliRunner().invoke(app, [*arguments, "--seed", "1"])
    assert (refused.exit_code, "holds runs with seed 0, not 1" in refused.stderr) == (2, True)


def test_folders_of_other_settings_or_other_files_are_refused(tmp_path):
    Reproduction(tmp_path / "runs", TINY, 0).open()
    Reproduction(tmp_path / "runs", TINY, 0).open()
    with pytest.raises(ValueError, match="with protocol 'quick', not 'full'; ask for the same, or choose a new"):
        Reproduction(tmp_path / "runs", TINY._replace(name="full"), 0).open()
    with pytest.raises(ValueError, match="holds other files; choose a new folder"):
        Reproduction(tmp_path, TINY, 0).open()
    for number, text in enumerate(("[1]", "{", '{"editor.fontSize": 12}')):  # of some other program
        theirs = tmp_path / f"theirs{number}" / "settings.json"
        theirs.parent.mkdir()
        theirs.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="holds other files; choose a new folder with folder"):
            Reproduction(theirs.parent, TINY, 0).open()
        assert theirs.read_text(encoding="utf-8") == text


def test_settings_are_written_once_and_at_once(tmp_path):
    (tmp_path / f"settings.json.1{UNFINISHED}").write_text("{", encoding="utf-8")  # left by a run that was killed
    Reproduction(tmp_path, TINY, 0).open()
    file = tmp_path / "settings.json"
    same = file.read_text(encoding="utf-8").replace("\n", "")
    file.write_text(same, encoding="utf-8")
    Reproduction(tmp_path, TINY, 0).open()
    assert file.read_text(encoding="utf-8") == same


def test_a_journal_is_repaired_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    Journal(path, Run).add(Run("panel", "AERR", 50.0, 0, 48.0, 0.9, 0.1))
    before = path.read_text(encoding="utf-8") + "panel,AE"
    path.write_text(before, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Journal(path, Run)
    assert path.read_text(encoding="utf-8") == before
    assert len(Journal(path, Run).rows) == 1
    assert path.read_text(encoding="utf-8") == before.removesuffix("panel,AE")
    assert list(tmp_path.iterdir()) == [path]


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["newton"], "there is no paper 'newton'; choose from kukliansky-shamir"),
        (["hazan-koren", "--figure", "3"], "hazan-koren has no figure 3; it has figure 1, figure 2"),
        (["compadagrad", "--table", "2"], "has no table 2; it has figure 1, table 1"),
        (["all", "--output", "no/where"], "there is no folder 'no'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.output.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["list"], ["LIST"], ["all", "--list"]])
def test_the_list_names_every_figure(arguments):
    shown = CliRunner().invoke(app, ["reproduce", *arguments])
    assert shown.exit_code == 0
    for figure in CATALOGUE:
        assert any(
            figure.paper in line and f"--{figure.kind} {figure.number}" in line and figure.shows in line
            for line in shown.output.splitlines()
        )


def test_the_catalogue_is_whole():
    names = [figure.name for figure in CATALOGUE]
    assert len(set(names)) == len(names) == 15
    assert [figure.number for figure in find_figures("kukliansky-shamir")] == list(range(1, 9))
    assert find_figures("all") == list(CATALOGUE)
    for figure in CATALOGUE:
        assert figure.claims
        assert 0 < figure.minutes["quick"] < figure.minutes["full"] < 8 * 60
        lenders = [other for other in CATALOGUE if other.name == figure.lender]
        assert bool(lenders) == bool(figure.lender)
        assert all(figure.panels.keys() <= other.panels.keys() for other in lenders)


@pytest.mark.parametrize("figure", [*find_figures("effective-dimension"), *find_figures("compadagrad")])
def test_series_and_claims_speak_of_the_same(figure):
    """Runs of errors drawn at random: every claim finds its algorithms, every series has a look of its own."""
    rng = np.random.default_rng(0)
    runs = [
        Run(title, *task, 10.0 + task.spend, rng.random() + 0.1, 0.0)
        for title, make in figure.panels.items()
        for task in make(TINY, 0).tasks(TINY)
    ]
    for claim in figure.claims:
        assert all(comparison.evidence(Runs(runs)) for comparison in claim.sides)
    names = {run.algorithm for run in runs}
    assert len({(figure.style(name)["color"], figure.style(name)["marker"]) for name in names}) == len(names)
