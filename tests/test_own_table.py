"""The page "Your own table": its commands print what the page shows, on a real, messy table."""

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

PAGE = Path(__file__).resolve().parents[1] / "docs" / "your-own-table.md"
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf8"), re.S)


def files():
    """The files that the page shows, by name."""
    return re.findall(r"`([\w.-]+\.csv)`:\n\n```none\n(.*?)```", PAGE.read_text(encoding="utf8"), re.S)


def lay_out_files(folder):
    """The table of the page is that of the UCI repository with the header that the page shows."""
    (header,) = [text for name, text in files() if name == "cars.csv"]
    rows = (Path(os.environ["SPARING_DATA"]) / "tables" / "auto_imports.csv").read_text()
    (folder / "cars.csv").write_text(header.replace("\n", "") + "\n" + rows)
    for name, text in files():
        if name != "cars.csv":
            (folder / name).write_text(text)


def shape(text):
    """The words of an output, without its numbers and rules, and its numbers."""
    words = re.sub(r"[─\s]+", " ", NUMBER.sub("#", text)).strip()
    return words, [float(number.replace(",", "")) for number in NUMBER.findall(text)]


@pytest.mark.data
def test_the_page_shows_what_its_commands_print(tmp_path, monkeypatch):
    """Numbers may differ in the last digits shown, as processors round differently."""
    from sparing.cli import app

    monkeypatch.chdir(tmp_path)
    lay_out_files(tmp_path)
    commands, shown = blocks("sh"), blocks("text")
    assert len(commands) == len(shown) >= 4
    for command, expected in zip(commands, shown, strict=True):
        done = CliRunner().invoke(app, shlex.split(command.replace("\\\n", ""))[1:])
        assert done.exit_code == 0, done.output
        (words, numbers), (printed, found) = shape(expected), shape(done.output)
        assert printed == words
        assert found == pytest.approx(numbers, rel=0.02, abs=0.011)
